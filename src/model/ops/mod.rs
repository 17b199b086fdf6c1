//! Fused operations on Burn's backends, by the backend extension [`FusedOps`].
//!
//! The whole loss of a net is one operation: accumulate, activate, multiply by the layers, sigmoid,
//! error, and all gradients, in one pass over chunks of the batch that fit the cache. It returns loss
//! and gradients together, so Burn's autodiff is not involved, and tensors are those of the backend
//! itself. The step of an optimiser is another operation.
//!
//! Each operation exists for the CPU backend flex and for GPUs. The plain tensor operations define
//! what they compute, and serve all other backends.

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
    /// Rows that get gradients. None: all rows.
    pub touched: Option<&'a RowSet>,
    /// Objective of the gradients; without targets if only logits are computed.
    pub aim: Aim<'a>,
    pub memory: &'a StepMemory,
    /// Maximum bytes of a part of the batch on a GPU, from the gradients of its accumulators on, and
    /// of cached lists. Larger batches are split.
    pub budget: usize,
    pub on_stage: Option<StageCallback<'a>>,
}

/// A function that is called when a stage is finished on a GPU.
pub type StageCallback<'a> = &'a dyn Fn(KernelStage);

/// Stages of a loss with its gradients on a GPU, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelStage {
    /// Sends active inputs and targets to the device.
    Upload,
    /// Computes accumulators, outputs and loss, and the gradients of the accumulators.
    Forward,
    /// Inverts the active inputs: from rows by list to lists by row.
    Index,
    /// Sums the gradients of the weights.
    Backward,
}

/// Buffers and gradients of the last step, whose memory the next step reuses. Their type is the
/// backend's.
#[derive(Clone, Debug, Default)]
pub struct StepMemory(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl StepMemory {
    /// Passes the memory to `work`. It is new in the first step, after a step of another backend, and
    /// after a panic.
    fn lend<T: Any + Default + Send, R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lent: Box<T> = memory.take().and_then(|it| it.downcast().ok()).unwrap_or_default();
        let result = work(&mut lent);
        *memory = Some(lent);
        result
    }
}

/// The arrays of a net, or their gradients, in the order of
/// [`Architecture::list_arrays`](crate::architecture::Architecture::list_arrays), each flat. Or a
/// parameter, its gradient (in inputs only) and its states.
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

/// A loss with its gradients.
#[derive(ExtensionType)]
pub struct FusedGradients<B: Backend> {
    /// `[1]`
    pub loss: FloatTensor<B>,
    #[extension_type]
    pub gradients: TensorArrays<B>,
}

/// A backend with fused operations.
#[backend_extension(Flex, Cube: cfg(feature = "wgpu"))]
pub trait FusedOps: Backend {
    /// Computes the objective of a net, and its gradients by all arrays.
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

/// Takes a step of a parameter, and returns its next values and states: in one pass of a kernel at
/// `level`, or without a level by plain tensor operations. All tensors have the shape `[len]`.
pub fn take_step(
    parameter: Tensor<1>,
    gradient: Tensor<1>,
    states: Vec<Tensor<1>>,
    step: OptimizerStep,
    level: Option<SimdLevel>,
) -> (Tensor<1>, Vec<Tensor<1>>) {
    let Some(level) = level else {
        return step.step_tensors(parameter, gradient, states);
    };
    let arrays = [parameter, gradient].into_iter().chain(states).map(Tensor::into_dispatch);
    let next = <Dispatch as FusedOps>::take_step(TensorArrays(arrays.collect()), step, level);
    let mut next = next.0.into_iter().map(Tensor::from_dispatch);
    let parameter = next.next().expect("the parameter comes first");
    (parameter, next.collect())
}
