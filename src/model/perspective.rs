//! The net `(inputs -> hidden)x2 -> 1`: one accumulator, two views, side to move first.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::accumulator::Accumulator;
use super::activation::activate;
use super::output::Output;
use super::{Evaluation, one_hot};
use crate::architecture::Activation;
use crate::batch::Inputs;
use crate::weights::{Weights, WeightsError};

#[derive(Module, Debug)]
pub struct PerspectiveNet {
    pub accumulator: Accumulator,
    pub output: Output,
    #[module(skip)]
    activation: Activation,
}

impl PerspectiveNet {
    pub fn new(
        inputs: usize,
        hidden: usize,
        activation: Activation,
        weights: &Weights,
        device: &Device,
    ) -> Result<Self, WeightsError> {
        let accumulator = Accumulator::new(inputs, hidden, weights, device)?;
        let output = Output::new(2 * hidden, weights, device)?;
        Ok(Self { accumulator, output, activation })
    }
}

impl Evaluation for PerspectiveNet {
    fn logits(&self, inputs: &Inputs) -> Tensor<1> {
        let device = self.output.bias.val().device();
        let hidden = [0, 1].map(|view| {
            let x = one_hot(inputs, view, &device); // [batch, inputs]
            activate(self.activation, self.accumulator.forward(x)) // [batch, hidden]
        });
        self.output.forward(Tensor::cat(hidden.into(), 1))
    }
}
