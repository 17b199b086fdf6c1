//! Schedule-free AdamW.

use burn::optim::{LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

use super::held::bounded;
use super::memory::Memory;
use crate::model::Level;
use crate::model::ops::{cpu, take_step};

/// Schedule-free AdamW: see [`cpu::ScheduleFree`]. What the module holds while it is trained is `y`,
/// where gradients are taken.
#[derive(Clone)]
pub struct ScheduleFree {
    pub rule: cpu::ScheduleFree,
    /// For one pass over each tensor; none for Burn's operations.
    pub fused: Option<Level>,
    /// Times the learning rate.
    pub rate: f64,
    /// Instead of a step, what was learnt takes the place of the parameters, and the state stays.
    pub shows: bool,
}

impl ScheduleFree {
    /// What was learnt, `x`.
    fn mean<const D: usize>(&self, y: Tensor<D>, z: Tensor<D>) -> Tensor<D> {
        let [of_y, of_z] = self.rule.mean();
        y.mul_scalar(of_y) - z.mul_scalar(of_z)
    }

    /// The formulas as tensors.
    fn plainly<const D: usize>(
        &self,
        rate: f64,
        y: Tensor<D>,
        gradient: Tensor<D>,
        [z, v]: [Tensor<D>; 2],
        time: f64,
        share: f64,
    ) -> [Tensor<D>; 3] {
        let cpu::ScheduleFree { beta1, beta2, epsilon, decay, clip } = self.rule;
        let rounded = f64::from(beta2 as f32);
        let x = self.mean(y.clone(), z.clone());
        let v = v.mul_scalar(rounded) + gradient.clone().square().mul_scalar(1.0 - rounded);
        let root = v.clone().div_scalar(1.0 - beta2.powf(time)).sqrt().add_scalar(epsilon);
        let step = gradient / root + y.mul_scalar(decay);
        let z = bounded(z - step.mul_scalar(rate), clip);
        let x = x.clone() + (z.clone() - x).mul_scalar(share);
        let y = x.mul_scalar(beta1) + z.clone().mul_scalar(1.0 - beta1);
        [bounded(y, clip), z, v]
    }
}

/// `z` and `v`; the largest learning rate so far, and the sum of the weights of the mean.
impl Optimizer for ScheduleFree {
    type State<const D: usize> = Memory<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        if self.shows {
            let Some(memory) = state else { return (tensor, None) };
            let mean = self.mean(tensor, memory.arrays[0].clone());
            return (bounded(mean, self.rule.clip), Some(memory));
        }
        let mut memory = state.unwrap_or_else(|| {
            // Of its own: the parameter changes in place where nobody else holds it.
            Memory::of(vec![tensor.clone().mul_scalar(1.0), grad.zeros_like()])
        });
        memory.time += 1;
        let rate = lr * self.rate;
        let [largest, sum] = &mut memory.numbers;
        *largest = largest.max(rate);
        let weight = *largest * *largest;
        *sum += weight;
        // While nothing was learnt there is nothing to average.
        let share = if *sum > 0.0 { weight / *sum } else { 0.0 };
        let (tensor, arrays) = match self.fused {
            Some(level) => {
                let step = self.rule.at(rate, memory.time as u64, share);
                take_step(tensor, grad, memory.arrays, step, level)
            }
            None => {
                let states = memory.arrays.try_into().expect("it has two states");
                let [y, z, v] = self.plainly(rate, tensor, grad, states, memory.time as f64, share);
                (y, vec![z, v])
            }
        };
        (tensor, Some(Memory { arrays, ..memory }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        state.on(device)
    }
}
