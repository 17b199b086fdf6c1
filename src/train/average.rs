//! A mean of the weights that a run has been at.

use burn::module::{Module as _, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::optimizer::{Averaged, changed};
use crate::model::ops::steps::{Mean, Step};
use crate::model::ops::take_step;
use crate::model::{Compute, Level, Model};

/// A mean of the weights that a run has been at, which is learnt in their place.
pub struct Average {
    /// Its parameters are the mean.
    pub model: Model,
    level: Option<Level>,
}

impl Average {
    /// `model` is the mean so far.
    pub fn new(model: Model, compute: Compute) -> Self {
        Self { model, level: compute.level() }
    }

    /// Adds a model to the mean; its share is above 0, up to 1.
    pub fn join(self, model: &Model, share: f64) -> Self {
        let Self { model: mean, level } = self;
        let mut joining = Joining { parameters: parameters(model), share, level };
        Self { model: mean.map(&mut joining), level }
    }
}

impl Averaged {
    /// The share in the mean of the weights after a step; `None` where the mean has not begun. The
    /// run has `steps` steps, a length that counts from the step `begun`.
    pub fn share(self, step: u64, steps: u64, begun: u64) -> Option<f64> {
        match self {
            // Corrected for the start at zero: all shares together are 1 at each step.
            Averaged::Decaying(decay) => Some((1.0 - decay) / (1.0 - decay.powf(step as f64))),
            Averaged::Last(share) => {
                let before = steps - ((steps as f64 * share).ceil() as u64).clamp(1, steps);
                // Means of another length do not count.
                let taken = step.checked_sub(before.max(begun))?;
                (taken > 0).then(|| 1.0 / taken as f64)
            }
        }
    }
}

/// The parameters of a model in the place of gradients.
fn parameters(model: &Model) -> GradientsParams {
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

struct Joining {
    parameters: GradientsParams,
    share: f64,
    level: Option<Level>,
}

impl ModuleMapper for Joining {
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
