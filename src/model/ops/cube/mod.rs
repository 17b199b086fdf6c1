//! The fused operations on GPUs, from one source for all of them. A kernel's sums have a fixed
//! order, which follows from the shapes and the batch alone: two runs on one device give the same
//! bits. Devices differ by rounding.
#![allow(
    clippy::needless_range_loop,
    clippy::manual_range_contains,
    reason = "kernels support neither iterators nor ranges that contain"
)]

mod chunks;
mod deep;
mod form;
mod gpu;
mod head;
mod index;
mod net;
mod pairs;
mod positions;
mod sets;
mod sort;
mod steps;
mod sums;

use burn::backend::Cube;
use burn::backend::tensor::FloatTensor;

use self::net::CubePass;
use super::cpu::SimdLevel;
use super::steps::OptimizerStep;
use super::{FusedGradients, FusedOps, KernelJob, TensorArrays};

impl FusedOps for Cube {
    fn net_gradients(arrays: TensorArrays<Self>, job: KernelJob<'_>) -> FusedGradients<Self> {
        let pass = CubePass::new(arrays, job, true);
        match &pass.head {
            Some(head) => deep::compute_gradients(&pass, head),
            None => pass.simple_gradients(),
        }
    }

    fn net_logits(arrays: TensorArrays<Self>, job: KernelJob<'_>) -> FloatTensor<Self> {
        let pass = CubePass::new(arrays, job, false);
        match &pass.head {
            Some(head) => deep::compute_logits(&pass, head),
            None => pass.simple_logits(),
        }
    }

    fn take_step(
        arrays: TensorArrays<Self>,
        step: OptimizerStep,
        _: SimdLevel,
    ) -> TensorArrays<Self> {
        TensorArrays(self::steps::step_tensors(arrays.0, step))
    }
}
