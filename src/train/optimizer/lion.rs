//! Lion in one pass over each tensor. Plainly it is Burn's.

use burn::optim::{LearningRate, LionState, Optimizer};
use burn::tensor::{Device, Tensor};

use crate::model::Level;
use crate::model::ops::{cpu::Lion, take_step};

/// Lion as one pass over each tensor, clipping included.
#[derive(Clone)]
pub struct FusedLion {
    pub rule: Lion,
    pub level: Level,
    /// Times the learning rate.
    pub rate: f64,
}

impl Optimizer for FusedLion {
    type State<const D: usize> = LionState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let momentum = state.map_or_else(|| grad.zeros_like(), |state| state.momentum);
        let step = self.rule.at(lr * self.rate);
        let (tensor, states) = take_step(tensor, grad, vec![momentum], step, self.level);
        let [momentum] = states.try_into().expect("Lion has one momentum");
        (tensor, Some(LionState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        LionState { momentum: state.momentum.to_device(device) }
    }
}
