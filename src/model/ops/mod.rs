//! Fused operations on Burn's backends. [`FusedOps`] is a backend extension. The whole loss of
//! a net is one operation: accumulate, activate, multiply by the layers, sigmoid, error, and all
//! gradients, in one pass over chunks of the batch that fit the cache. The kernel returns loss and
//! gradients together, so Burn's autodiff is not involved: tensors are those of the backend itself.
//! The step of an optimiser is another operation. Each exists for the CPU backend flex and for
//! GPUs. The plain tensor operations are their definition, and serve all other backends.

pub mod cpu;
#[cfg(feature = "wgpu")]
mod cube;
mod flex;
pub mod steps;
pub mod strips;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Backend, BackendTensor, Dispatch, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind,
    ExtensionType, backend_extension,
};
use burn::tensor::Tensor;

use super::aim::Aim;
use crate::batch::{BatchInputs, RowSet};
use cpu::{Kernel, SimdLevel};
pub use flex::{borrow_mut, borrow_values};
use steps::OptimizerStep;

/// Inputs of a fused operation from the host: the net, the positions, buffers.
#[derive(Clone)]
pub struct KernelJob<'a> {
    pub kernel: &'a Kernel,
    pub inputs: &'a BatchInputs,
    /// Touched rows for gradients; None: all rows.
    pub touched: Option<&'a RowSet>,
    /// Numbers `[batch]`; empty for logits.
    pub aim: Aim<'a>,
    pub memory: &'a StepMemory,
    /// Maximum bytes from accumulators' gradients on, and of cached lists; batches are split.
    pub room: usize,
    pub done: Option<Done<'a>>,
}

/// Called after each stage of a step on a GPU, once the stage is finished.
pub type Done<'a> = &'a dyn Fn(KernelStage);

/// Stages of a loss with its gradients on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelStage {
    /// Active inputs and targets are sent to the device.
    Upload,
    /// Accumulators, output, loss, and the gradients of the accumulators.
    Forward,
    /// Active inputs are inverted: lists by row.
    Index,
    /// Gradients of the weights are summed.
    Backward,
}

/// What a backend keeps from step to step, such as buffers and gradients: shapes stay the same.
#[derive(Clone, Debug, Default)]
pub struct StepMemory(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl StepMemory {
    /// Lends the memory to `work`; it is new if it had another type, or after a panic.
    fn lend<T: Any + Default + Send, R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lent: Box<T> = memory.take().and_then(|it| it.downcast().ok()).unwrap_or_default();
        let result = work(&mut lent);
        *memory = Some(lent);
        result
    }
}

/// The arrays of a net, or their gradients, in the order of `Architecture::arrays`; all are flat.
pub struct TensorArrays<B: Backend>(pub Vec<FloatTensor<B>>);

impl<B: Backend> ExtensionType<B> for TensorArrays<B> {
    type Target = TensorArrays<Dispatch>;

    fn map_to_dispatch<F>(self, map_kind: F, autodiff: DispatchAutodiffContext) -> Self::Target
    where
        F: Fn(BackendTensor<B>) -> DispatchTensorKind,
    {
        let wrap =
            |tensor| DispatchTensor { kind: map_kind(BackendTensor::Float(tensor)), autodiff };
        TensorArrays(self.0.into_iter().map(wrap).collect())
    }

    fn map_from_dispatch<F>(target: Self::Target, unwrap_kind: F) -> Self
    where
        F: Fn(DispatchTensor) -> BackendTensor<B>,
    {
        TensorArrays(target.0.into_iter().map(|tensor| unwrap_kind(tensor).float()).collect())
    }

    fn routing_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
        target.0.first()
    }

    fn routing_float_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
        target.0.first()
    }
}

/// A loss, `[1]`, with its gradients.
#[derive(ExtensionType)]
pub struct FusedGradients<B: Backend> {
    pub loss: FloatTensor<B>,
    #[extension_type]
    pub gradients: TensorArrays<B>,
}

#[backend_extension(Flex, Cube: cfg(feature = "wgpu"))]
pub trait FusedOps: Backend {
    fn net_gradients(
        #[extension_type] arrays: TensorArrays<Self>,
        job: KernelJob<'_>,
    ) -> FusedGradients<Self>;
    /// Computes the logits, `[batch]`, without gradients.
    fn net_logits(
        #[extension_type] arrays: TensorArrays<Self>,
        job: KernelJob<'_>,
    ) -> FloatTensor<Self>;
    /// Takes a step: from parameter, gradient and states to the next parameter and states.
    fn take_step(
        #[extension_type] arrays: TensorArrays<Self>,
        step: OptimizerStep,
        level: SimdLevel,
    ) -> TensorArrays<Self>;
}

/// Takes a step of a parameter and its states, in one pass at `level` if there is a kernel.
pub fn take_step(
    parameter: Tensor<1>,
    gradient: Tensor<1>,
    states: Vec<Tensor<1>>,
    step: OptimizerStep,
    level: Option<SimdLevel>,
) -> (Tensor<1>, Vec<Tensor<1>>) {
    let Some(level) = level else {
        return step.of_tensors(parameter, gradient, states);
    };
    let arrays = [parameter, gradient].into_iter().chain(states).map(Tensor::into_dispatch);
    let next = <Dispatch as FusedOps>::take_step(TensorArrays(arrays.collect()), step, level);
    let mut next = next.0.into_iter().map(Tensor::from_dispatch);
    let parameter = next.next().expect("the parameter comes first");
    (parameter, next.collect())
}
