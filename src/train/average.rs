//! A mean of the weights that a run has been at.

use burn::module::{Module as _, ModuleVisitor, Param};
use burn::optim::{GradientsParams, LearningRate, ModuleOptimizer, Optimizer};
use burn::tensor::{Device, Tensor};

use super::optimizer::Averaged;
use crate::model::ops::{cpu::Mean, cpu::Step, take_step};
use crate::model::{Compute, Level, Model};

/// A mean of the weights that a run has been at, which is learnt in their place.
pub struct Average {
    /// Its parameters are the mean.
    pub model: Model,
    joins: ModuleOptimizer,
}

impl Average {
    /// `model` is the mean so far.
    pub fn new(model: Model, compute: Compute) -> Self {
        Self { model, joins: Joins { fused: compute.level() }.into() }
    }

    /// A model joins the mean, with its share of it, above 0, to 1.
    pub fn join(mut self, model: &Model, share: f64) -> Self {
        self.model = self.joins.step(share, self.model, parameters(model));
        self
    }
}

impl Averaged {
    /// The share that the weights after a step have in the mean; none where it has not begun. The run
    /// has so many steps, and this length since it had begun that many.
    pub fn share(self, step: u64, steps: u64, begun: u64) -> Option<f64> {
        match self {
            // Corrected for having started nowhere: all shares together are 1 at each step.
            Averaged::Decaying(decay) => Some((1.0 - decay) / (1.0 - decay.powf(step as f64))),
            Averaged::Last(share) => {
                let before = steps - ((steps as f64 * share).ceil() as u64).clamp(1, steps);
                // What was averaged for another length is none of these.
                let taken = step.checked_sub(before.max(begun))?;
                (taken > 0).then(|| 1.0 / taken as f64)
            }
        }
    }
}

/// The parameters of a model as if they were gradients.
pub fn parameters(model: &Model) -> GradientsParams {
    struct Collect(GradientsParams);

    impl ModuleVisitor for Collect {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let tensor = param.val();
            let tensor = if tensor.device().is_autodiff() { tensor.inner() } else { tensor };
            self.0.register(param.id, tensor);
        }
    }

    let mut collect = Collect(GradientsParams::new());
    model.visit(&mut collect);
    collect.0
}

/// An "optimiser" whose gradients join a mean, with the learning rate as their share.
#[derive(Clone)]
struct Joins {
    /// For one pass over each tensor; none for Burn's operations.
    fused: Option<Level>,
}

impl Optimizer for Joins {
    type State<const D: usize> = ();

    fn step<const D: usize>(
        &self,
        share: LearningRate,
        mean: Tensor<D>,
        joining: Tensor<D>,
        _: Option<()>,
    ) -> (Tensor<D>, Option<()>) {
        let mean = match self.fused {
            // The first one.
            _ if share == 1.0 => joining,
            Some(level) => {
                let step = Step::Mean(Mean { share: share as f32 });
                take_step(mean, joining, Vec::new(), step, level).0
            }
            None => mean.clone() + (joining - mean).mul_scalar(share),
        };
        (mean, None)
    }

    fn to_device<const D: usize>(_: (), _: &Device) {}
}
