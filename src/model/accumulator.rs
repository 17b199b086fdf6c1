//! The first layer: `a = H x + b`.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::weights::{Weights, WeightsError};

/// One weight matrix for every view of a position.
#[derive(Module, Debug)]
pub struct Accumulator {
    /// `[inputs, hidden]`
    pub weight: Param<Tensor<2>>,
    /// `[hidden]`
    pub bias: Param<Tensor<1>>,
}

impl Accumulator {
    pub fn new(
        inputs: usize,
        hidden: usize,
        weights: &Weights,
        device: &Device,
    ) -> Result<Self, WeightsError> {
        Ok(Self {
            weight: super::param(1, "accumulator.weight", [inputs, hidden], weights, device)?,
            bias: super::param(2, "accumulator.bias", [hidden], weights, device)?,
        })
    }

    /// # Shapes
    /// - `x`: `[batch, inputs]`
    /// - output: `[batch, hidden]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val()) + self.bias.val().unsqueeze()
    }
}
