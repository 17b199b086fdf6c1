//! The fused operations on Burn's CPU backend.

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{BackendTensor, DispatchTensor, DispatchTensorKind, Flex, TensorMetadata};
use burn::tensor::{Shape, TensorData};

use super::cpu::{
    Scratch, SimdLevel, SliceGradients, SliceWeights, compute_logits, loss_and_gradients,
};
use super::steps::OptimizerStep;
use super::{FusedGradients, FusedOps, KernelJob, TensorArrays};

impl FusedOps for Flex {
    fn net_gradients(arrays: TensorArrays<Self>, job: KernelJob<'_>) -> FusedGradients<Self> {
        let arrays = own_tensors(arrays);
        let (weights, positions) =
            (borrow_weights(&job, &arrays), (job.inputs.one_hot(), job.touched));
        job.memory.lend(|CpuMemory { scratch, gradients: last }: &mut CpuMemory| {
            let lens = job.kernel.gradient_lens(job.touched);
            let mut gradients = reuse_tensors(std::mem::take(last), lens);
            let slices = gradients.iter_mut().map(|it| it.storage_mut());
            let slices = SliceGradients::new(&job.kernel.net, slices);
            let value =
                loss_and_gradients(job.kernel, &weights, positions, job.aim, slices, scratch);
            last.clone_from(&gradients);
            let loss = make_tensor(vec![value as f32]);
            FusedGradients { loss, gradients: TensorArrays(gradients) }
        })
    }

    fn net_logits(arrays: TensorArrays<Self>, job: KernelJob<'_>) -> FloatTensor<Self> {
        let arrays = own_tensors(arrays);
        let (weights, positions) = (borrow_weights(&job, &arrays), job.inputs.one_hot());
        let mut values = vec![0.0; positions.len()];
        job.memory.lend(|CpuMemory { scratch, .. }: &mut CpuMemory| {
            compute_logits(job.kernel, &weights, positions, &mut values, scratch);
        });
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

/// Buffers, and the gradients of the last step, whose memory the next one reuses.
#[derive(Default)]
struct CpuMemory {
    scratch: Scratch,
    gradients: Vec<FlexTensor>,
}

/// Returns tensors with arbitrary values, if possible `unused` ones.
fn reuse_tensors(unused: Vec<FlexTensor>, lens: Vec<usize>) -> Vec<FlexTensor> {
    let mut unused = unused.into_iter();
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
