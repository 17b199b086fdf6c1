//! The net `inputs -> hidden -> 1` with one view.

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
pub struct PlainNet {
    pub accumulator: Accumulator,
    pub output: Output,
    #[module(skip)]
    activation: Activation,
}

impl PlainNet {
    pub fn new(
        inputs: usize,
        hidden: usize,
        activation: Activation,
        weights: &Weights,
        device: &Device,
    ) -> Result<Self, WeightsError> {
        let accumulator = Accumulator::new(inputs, hidden, weights, device)?;
        let output = Output::new(hidden, weights, device)?;
        Ok(Self { accumulator, output, activation })
    }
}

impl Evaluation for PlainNet {
    fn logits(&self, inputs: &Inputs) -> Tensor<1> {
        let x = one_hot(inputs, 0, &self.output.bias.val().device()); // [batch, inputs]
        self.output.forward(activate(self.activation, self.accumulator.forward(x)))
    }
}
