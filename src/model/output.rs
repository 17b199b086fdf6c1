//! The last layer: `y = O h + c`.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::weights::{Weights, WeightsError};

#[derive(Module, Debug)]
pub struct Output {
    /// `[views * hidden]`, the side to move's half first.
    pub weight: Param<Tensor<1>>,
    /// `[1]`
    pub bias: Param<Tensor<1>>,
}

impl Output {
    pub fn new(width: usize, weights: &Weights, device: &Device) -> Result<Self, WeightsError> {
        Ok(Self {
            weight: super::param(3, "output.weight", [width], weights, device)?,
            bias: super::param(4, "output.bias", [1], weights, device)?,
        })
    }

    /// # Shapes
    /// - `h`: `[batch, views * hidden]`
    /// - output: `[batch]`
    pub fn forward(&self, h: Tensor<2>) -> Tensor<1> {
        let [positions, width] = h.dims();
        let y = h.matmul(self.weight.val().reshape([width, 1])); // [batch, 1]
        y.reshape([positions]) + self.bias.val()
    }
}
