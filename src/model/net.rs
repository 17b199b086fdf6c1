//! The net `(inputs -> hidden) x views -> 1`: one accumulator for all views, side to move first.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::accumulator::Accumulator;
use super::activation::activate;
use super::fused::Fused;
use super::ops::{Done, NetTensors};
use super::output::Output;
use super::{Compute, Evaluation, mean_loss, one_hot};
use crate::architecture::Activation;
use crate::batch::{Active, Batch, Inputs};
use crate::loss::Loss;
use crate::weights::{Weights, WeightsError};

#[derive(Module, Debug)]
pub struct NetModel {
    pub accumulator: Accumulator,
    pub output: Output,
    #[module(skip)]
    shape: NetShape,
    /// None: the plain tensor operations.
    #[module(skip)]
    fused: Option<Fused>,
}

/// Everything about a net but its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetShape {
    pub inputs: usize,
    pub views: usize,
    pub hidden: usize,
    pub activation: Activation,
}

impl NetModel {
    pub fn new(
        shape: NetShape,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        let NetShape { inputs, views, hidden, .. } = shape;
        let accumulator = Accumulator::new(inputs, hidden, weights, device)?;
        let output = Output::new(views * hidden, weights, device)?;
        Ok(Self { accumulator, output, shape, fused: Fused::new(shape, compute) })
    }

    /// The loss, while `done` hears of each stage of its computation on a GPU; elsewhere there are
    /// none.
    pub fn loss_in_stages(&self, batch: &Batch, targets: &[f32], done: &Done) -> Tensor<1> {
        let active = active(&batch.inputs);
        match &self.fused {
            Some(fused) => fused.loss_in_stages(self.tensors(), active, targets, done),
            None => self.loss(batch, targets),
        }
    }

    fn tensors(&self) -> NetTensors {
        NetTensors {
            accumulator: self.accumulator.weight.val(),
            bias: self.accumulator.bias.val(),
            output: self.output.weight.val(),
            output_bias: self.output.bias.val(),
        }
    }
}

impl Evaluation for NetModel {
    fn logits(&self, inputs: &Inputs) -> Tensor<1> {
        let active = active(inputs);
        if let Some(fused) = &self.fused {
            return fused.logits(self.tensors(), active);
        }
        let device = self.output.bias.val().device();
        let view = |view| {
            let x = one_hot(active, view, &device); // [batch, inputs]
            activate(self.shape.activation, self.accumulator.forward(x)) // [batch, hidden]
        };
        self.output.forward(Tensor::cat((0..self.shape.views).map(view).collect(), 1))
    }

    fn loss(&self, batch: &Batch, targets: &[f32]) -> Tensor<1> {
        match &self.fused {
            Some(fused) => fused.loss(self.tensors(), active(&batch.inputs), targets),
            None => mean_loss(self.logits(&batch.inputs), targets, Loss::Squared),
        }
    }
}

fn active(inputs: &Inputs) -> &Active {
    let Inputs::Active(active) = inputs else {
        panic!("a net takes one-hot inputs, not handcrafted terms");
    };
    active
}
