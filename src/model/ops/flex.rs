//! The fused operations on Burn's CPU backend.

use std::any::Any;
use std::sync::{MutexGuard, PoisonError};

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{BackendTensor, DispatchTensor, DispatchTensorKind, Flex, TensorMetadata};
use burn::tensor::{Shape, TensorData};

use super::cpu::{
    Scratch, SimdLevel, SliceGradients, SliceWeights, compute_logits, loss_and_gradients,
};
use super::steps::OptimizerStep;
use super::{FusedGradients, FusedOps, GradientMemory, KernelJob, TensorArrays};

impl FusedOps for Flex {
    fn net_gradients(arrays: TensorArrays<Self>, job: KernelJob<'_>) -> FusedGradients<Self> {
        let arrays = own_tensors(arrays);
        let (weights, positions) =
            (borrow_weights(&job, &arrays), (job.inputs.one_hot(), job.touched));
        let mut gradients = reuse_tensors(&job.gradients, job.kernel.gradient_lens(job.touched));
        let slices = gradients.iter_mut().map(|it| it.storage_mut());
        let slices = SliceGradients::new(&job.kernel.net, slices);
        let scratch = &mut lock_scratch(&job);
        let value = loss_and_gradients(job.kernel, &weights, positions, job.aim, slices, scratch);
        *lock_memory(&job.gradients) = Some(Box::new(gradients.clone()));
        let loss = make_tensor(vec![value as f32]);
        FusedGradients { loss, gradients: TensorArrays(gradients) }
    }

    fn net_logits(arrays: TensorArrays<Self>, job: KernelJob<'_>) -> FloatTensor<Self> {
        let arrays = own_tensors(arrays);
        let (weights, positions) = (borrow_weights(&job, &arrays), job.inputs.one_hot());
        let mut values = vec![0.0; positions.len()];
        compute_logits(job.kernel, &weights, positions, &mut values, &mut lock_scratch(&job));
        make_tensor(values)
    }

    fn take_step(
        arrays: TensorArrays<Self>,
        step: OptimizerStep,
        level: SimdLevel,
    ) -> TensorArrays<Self> {
        let mut arrays = own_tensors(arrays);
        let gradient = arrays.remove(1);
        // In place unless the tensor is shared, else on a copy.
        let mut changed = arrays.iter_mut().map(FlexTensor::storage_mut);
        let parameter = changed.next().expect("the parameter comes first");
        step.take_step(level, parameter, gradient.storage(), changed.collect());
        TensorArrays(arrays)
    }
}

/// Locks the buffers. A panic leaves them usable: each call writes before it reads.
fn lock_scratch<'a>(job: &'a KernelJob) -> MutexGuard<'a, Scratch> {
    job.scratch.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock_memory(memory: &GradientMemory) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
    memory.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns tensors with arbitrary values, if possible those of the last step.
fn reuse_tensors(memory: &GradientMemory, lens: Vec<usize>) -> Vec<FlexTensor> {
    let unused = lock_memory(memory).take().and_then(|it| it.downcast::<Vec<FlexTensor>>().ok());
    let mut unused = unused.into_iter().flat_map(|it| *it);
    let tensor = |len: usize| match unused.next().filter(FlexTensor::is_unique) {
        Some(free) if free.shape().num_elements() == len => free,
        free => {
            let values = free.and_then(|it| it.into_data().try_into_vec().ok());
            let mut values: Vec<f32> = values.unwrap_or_default();
            values.resize(len, 0.0);
            make_tensor(values)
        }
    };
    lens.into_iter().map(tensor).collect()
}

/// Makes a tensor row-major from the start of its storage; the input may be a slice of another.
fn make_contiguous(tensor: FlexTensor) -> FlexTensor {
    if is_whole(&tensor) { tensor } else { FlexTensor::from_data(tensor.into_data()) }
}

fn is_whole(tensor: &FlexTensor) -> bool {
    tensor.is_contiguous()
        && tensor.layout().start_offset() == 0
        && tensor.bytes().len() == size_of::<f32>() * tensor.shape().num_elements()
}

/// Borrows the values of a tensor if they are row-major in memory.
pub fn borrow_values(tensor: &DispatchTensor) -> Option<&[f32]> {
    match &tensor.kind {
        DispatchTensorKind::Flex(BackendTensor::Float(tensor)) if is_whole(tensor) => {
            Some(tensor.storage())
        }
        _ => None,
    }
}

/// Borrows the values of a tensor on the CPU mutably; of a copy if it is shared.
pub fn borrow_mut(tensor: &mut DispatchTensor) -> Option<&mut [f32]> {
    let DispatchTensorKind::Flex(BackendTensor::Float(tensor)) = &mut tensor.kind else {
        return None;
    };
    if !is_whole(tensor) {
        *tensor = make_contiguous(tensor.clone());
    }
    Some(tensor.storage_mut())
}

fn own_tensors(arrays: TensorArrays<Flex>) -> Vec<FlexTensor> {
    arrays.0.into_iter().map(make_contiguous).collect()
}

fn borrow_weights<'a>(job: &KernelJob, arrays: &'a [FlexTensor]) -> SliceWeights<'a> {
    SliceWeights::new(&job.kernel.net, arrays.iter().map(FlexTensor::storage))
}

fn make_tensor(values: Vec<f32>) -> FlexTensor {
    let shape = Shape::new([values.len()]);
    FlexTensor::from_data(TensorData::new(values, shape))
}
