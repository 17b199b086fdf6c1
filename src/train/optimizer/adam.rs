//! Adam and AdamW, where Burn's own do not serve.

use burn::optim::{AdamWState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

use crate::model::Level;
use crate::model::ops::{cpu::Adam, take_step};

/// Adam and AdamW as one pass over each tensor, clipping included.
#[derive(Clone)]
pub struct FusedAdam {
    pub rule: Adam,
    pub level: Level,
    /// Times the learning rate.
    pub rate: f64,
}

impl Optimizer for FusedAdam {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let (first, second, time) = match state {
            Some(AdamWState { momentum }) => {
                (momentum.moment_1, momentum.moment_2, momentum.time + 1)
            }
            None => (grad.zeros_like(), grad.zeros_like(), 1),
        };
        let step = self.rule.at(lr * self.rate, time as u64);
        let (tensor, means) = take_step(tensor, grad, vec![first, second], step, self.level);
        let [moment_1, moment_2] = means.try_into().expect("Adam has two means");
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2, max_moment_2: None };
        (tensor, Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState { momentum: state.momentum.to_device(device) }
    }
}

/// AdamW whose means start at zero and are taken as they are, as in the trainers of many engines.
/// The state is Burn's, so that checkpoints of both kinds look alike.
#[derive(Clone)]
pub struct UncorrectedAdamW {
    pub beta_1: f32,
    pub beta_2: f32,
    pub epsilon: f32,
    pub decay: f32,
}

impl Optimizer for UncorrectedAdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let fresh = grad.clone().mul_scalar(1.0 - self.beta_1);
        let fresh_square = grad.square().mul_scalar(1.0 - self.beta_2);
        let (moment_1, moment_2, time) = match state {
            Some(AdamWState { momentum }) => (
                momentum.moment_1.mul_scalar(self.beta_1) + fresh,
                momentum.moment_2.mul_scalar(self.beta_2) + fresh_square,
                momentum.time + 1,
            ),
            None => (fresh, fresh_square, 1),
        };
        let delta = moment_1.clone() / moment_2.clone().sqrt().add_scalar(self.epsilon);
        let decayed = tensor.mul_scalar(1.0 - lr * f64::from(self.decay));
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2, max_moment_2: None };
        (decayed - delta.mul_scalar(lr), Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState { momentum: state.momentum.to_device(device) }
    }
}
