//! AdaGrad.

use burn::optim::{AdamWState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

/// `G += g^2; p -= rate * g / sqrt(epsilon + G)`, as in A. Grant, "Evaluation & Tuning in Chess
/// Engines". The state is Burn's for Adam, whose second mean is the sum here.
#[derive(Clone)]
pub struct AdaGrad {
    pub epsilon: f32,
    pub decay: f32,
}

impl Optimizer for AdaGrad {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let grad = grad + tensor.clone().mul_scalar(self.decay);
        let (moment_1, sum, time) = match state {
            Some(AdamWState { momentum }) => {
                (momentum.moment_1, momentum.moment_2, momentum.time + 1)
            }
            None => (grad.zeros_like(), grad.zeros_like(), 1),
        };
        let sum = sum + grad.clone().square();
        let step = grad / sum.clone().add_scalar(self.epsilon).sqrt();
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2: sum, max_moment_2: None };
        (tensor - step.mul_scalar(lr), Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState { momentum: state.momentum.to_device(device) }
    }
}
