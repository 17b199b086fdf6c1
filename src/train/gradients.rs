//! Operations on all gradients of a model: sums over ranks, means of parameters.

use burn::module::{Module as _, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use super::optimizer::changed;
use super::ranks::Ranks;
use crate::model::ops::steps::{Mean, Step};
use crate::model::ops::take_step;
use crate::model::{Level, Model, inner, on_host};

/// Results of a batch, or of a rank's share of it.
pub struct BatchGradients {
    /// Weighted mean over its positions.
    pub loss: f64,
    /// Gradients of that mean.
    pub gradients: GradientsParams,
    /// The sum of the weights of its positions.
    pub weight: f64,
    pub positions: u64,
    /// Whether a rank should stop after this step.
    pub stop: bool,
}

/// Combines the shares of all ranks, with the same bits on each of them. `values` is a buffer.
pub fn combine(
    ranks: &dyn Ranks,
    own: BatchGradients,
    model: &Model,
    values: &mut Vec<f32>,
) -> BatchGradients {
    let BatchGradients { loss, gradients, weight, positions, stop } = own;
    values.clear();
    model.visit(&mut ConcatGradients { gradients: &gradients, weight: weight as f32, values });
    // A share without weight has no loss.
    let loss = if weight > 0.0 { weight * loss } else { 0.0 };
    let mut numbers = [loss, weight, positions as f64, f64::from(u8::from(stop))];
    ranks.sum(values, &mut numbers);
    let [loss, weight, positions, stop] = numbers;
    let part = if weight > 0.0 { 1.0 / weight } else { 0.0 };
    let mut shaped =
        SplitGradients { from: gradients, to: GradientsParams::new(), part: part as f32, values };
    model.visit(&mut shaped);
    let (gradients, positions, stop) = (shaped.to, positions as u64, stop > 0.0);
    BatchGradients { loss: loss * part, gradients, weight, positions, stop }
}

/// Concatenates gradients, each times the weight.
struct ConcatGradients<'a> {
    gradients: &'a GradientsParams,
    weight: f32,
    values: &'a mut Vec<f32>,
}

impl ModuleVisitor for ConcatGradients<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            on_host(gradient, |values| {
                self.values.extend(values.iter().map(|value| value * self.weight));
            });
        }
    }
}

/// Replaces gradients by slices of the concatenated ones, each times `part`.
struct SplitGradients<'a> {
    from: GradientsParams,
    to: GradientsParams,
    part: f32,
    values: &'a [f32],
}

impl ModuleVisitor for SplitGradients<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(gradient) = self.from.remove::<D>(param.id) else { return };
        let (values, rest) = self.values.split_at(gradient.shape().num_elements());
        self.values = rest;
        let values: Vec<f32> = values.iter().map(|value| value * self.part).collect();
        let data = TensorData::new(values, gradient.shape());
        self.to.register(param.id, Tensor::<D>::from_data(data, &gradient.device()));
    }
}

/// Adds a model to a mean of models; its share is above 0, up to 1.
pub fn join_mean(mean: Model, model: &Model, share: f64, level: Option<Level>) -> Model {
    let mut collect = CollectParameters(GradientsParams::new());
    model.visit(&mut collect);
    mean.map(&mut AddToMean { parameters: collect.0, share, level })
}

/// Collects the parameters of a model as if they were gradients.
struct CollectParameters(GradientsParams);

impl ModuleVisitor for CollectParameters {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.register(param.id, inner(param.val()));
    }
}

struct AddToMean {
    parameters: GradientsParams,
    share: f64,
    level: Option<Level>,
}

impl ModuleMapper for AddToMean {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(joining) = self.parameters.remove::<D>(param.id) else { return param };
        changed(param, |_, mean| match self.share {
            1.0 => joining,
            share => {
                let step = Step::Mean(Mean { share: share as f32 });
                take_step(mean, joining, Vec::new(), step, self.level).0
            }
        })
    }
}
