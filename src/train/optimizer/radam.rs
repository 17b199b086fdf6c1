//! RAdam, and Ranger, which is RAdam that looks ahead.

use burn::optim::{LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

use super::held::bounded;
use super::memory::Memory;
use crate::model::Level;
use crate::model::ops::{cpu::Adam, take_step};

/// RAdam: see [`Adam`].
#[derive(Clone)]
pub struct RAdam {
    /// Rectified.
    pub rule: Adam,
    /// For one pass over each tensor; none for Burn's operations.
    pub fused: Option<Level>,
    /// Times the learning rate.
    pub rate: f64,
    pub lookahead: Option<Lookahead>,
}

/// M. Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", 2019. After every so many
/// steps slow weights move a share of the way to the fast ones, which go on from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookahead {
    pub steps: u64,
    pub share: f64,
}

impl RAdam {
    /// The formulas as tensors.
    fn plainly<const D: usize>(
        &self,
        rate: f64,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        [first, second]: [Tensor<D>; 2],
        time: f64,
    ) -> [Tensor<D>; 3] {
        let Adam { beta1, beta2, epsilon, decay, clip, .. } = self.rule;
        let [beta1, beta2] = [beta1, beta2].map(|beta| f64::from(beta as f32));
        let first = first.mul_scalar(beta1) + gradient.clone().mul_scalar(1.0 - beta1);
        let second = second.mul_scalar(beta2) + gradient.square().mul_scalar(1.0 - beta2);
        let unbiased = first.clone().div_scalar(1.0 - self.rule.beta1.powf(time));
        let step = match self.rule.rectification(time) {
            None => unbiased,
            Some(r) => {
                let correction = (1.0 - self.rule.beta2.powf(time)).sqrt();
                let root = second.clone().sqrt().add_scalar(epsilon);
                unbiased.mul_scalar(r * correction) / root
            }
        };
        let parameter = parameter.mul_scalar(1.0 - rate * decay) - step.mul_scalar(rate);
        [bounded(parameter, clip), first, second]
    }
}

/// Means of gradients and of their squares, and the slow weights of who looks ahead.
impl Optimizer for RAdam {
    type State<const D: usize> = Memory<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let mut memory = state.unwrap_or_else(|| {
            // Of its own: the parameter changes in place where nobody else holds it.
            let slow = self.lookahead.map(|_| tensor.clone().mul_scalar(1.0));
            let means = [grad.zeros_like(), grad.zeros_like()];
            Memory::of(means.into_iter().chain(slow).collect())
        });
        memory.time += 1;
        let (rate, slow) = (lr * self.rate, memory.arrays.split_off(2).pop());
        let means = memory.arrays;
        let (mut tensor, mut arrays) = match self.fused {
            Some(level) => {
                let step = self.rule.at(rate, memory.time as u64);
                take_step(tensor, grad, means, step, level)
            }
            None => {
                let means = means.try_into().expect("RAdam has two means");
                let [tensor, first, second] =
                    self.plainly(rate, tensor, grad, means, memory.time as f64);
                (tensor, vec![first, second])
            }
        };
        if let Some((mut slow, Lookahead { steps, share })) = slow.zip(self.lookahead) {
            if (memory.time as u64).is_multiple_of(steps) {
                slow = slow.clone() + (tensor - slow).mul_scalar(share);
                tensor = slow.clone();
            }
            arrays.push(slow);
        }
        (tensor, Some(Memory { arrays, ..memory }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        state.on(device)
    }
}
