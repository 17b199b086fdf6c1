//! Another optimiser's steps, within bounds.

use burn::optim::{LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

/// Another optimiser at a learning rate times `rate`, with the parameters held within bounds after
/// each step.
#[derive(Clone)]
pub struct Held<O> {
    pub inner: O,
    pub clip: f64,
    pub rate: f64,
}

impl<O: Optimizer> Optimizer for Held<O> {
    type State<const D: usize> = O::State<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let (stepped, state) = self.inner.step(lr * self.rate, tensor, grad, state);
        (bounded(stepped, self.clip), state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        O::to_device(state, device)
    }
}

/// Within `-clip ..= clip`; a clip of 0 is none.
pub fn bounded<const D: usize>(tensor: Tensor<D>, clip: f64) -> Tensor<D> {
    match clip {
        0.0 => tensor,
        clip => tensor.clamp(-clip, clip),
    }
}
