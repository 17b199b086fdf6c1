//! The fused operations on GPUs, from one source for all of them.
//!
//! A kernel's sums have a fixed order, which follows from the shapes and the batch alone: two runs
//! on one device give the same bits. Devices differ by rounding.
#![allow(
    clippy::needless_range_loop,
    clippy::manual_range_contains,
    reason = "kernels know neither iterators nor ranges that contain"
)]

mod adam;
mod deep;
mod form;
mod gpu;
mod net;
mod slope;
mod sums;
mod terms;
mod tiles;

use burn::backend::tensor::FloatTensor;
use burn::backend::{Cube, TensorMetadata};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::cpu::Adam;
use super::{Arrays, FusedOps, Job, Kept, Slope, TermsJob, TermsSlope};
use gpu::{Buffer, Gpu, contiguous};

impl FusedOps for Cube {
    fn net_gradients(arrays: Arrays<Self>, job: Job<'_>) -> Slope<Self> {
        net::gradients(arrays, job)
    }

    fn net_logits(arrays: Arrays<Self>, job: Job<'_>) -> FloatTensor<Self> {
        net::logits(arrays, job)
    }

    fn terms_gradients(
        weights: FloatTensor<Self>,
        tempo: FloatTensor<Self>,
        job: TermsJob<'_>,
        kept: Kept,
    ) -> TermsSlope<Self> {
        terms::gradients(weights, tempo, job, &kept)
    }

    fn terms_logits(
        weights: FloatTensor<Self>,
        tempo: FloatTensor<Self>,
        job: TermsJob<'_>,
        kept: Kept,
    ) -> FloatTensor<Self> {
        terms::logits(weights, tempo, job, &kept)
    }

    fn adam_step(
        parameter: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        rule: Adam,
        learning_rate: f64,
        step: u64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let shape = parameter.shape();
        let len = shape.num_elements();
        let from = [parameter, gradient, first, second].map(contiguous);
        let gpu = Gpu::of(&from[0]);
        let [parameter, gradient, first, second] = from.map(|it| it.into_buffer_arg());
        let to = [(); 3].map(|()| gpu.empty(len));
        let [next_parameter, next_first, next_second] = to.each_ref().map(Buffer::arg);
        let factors = rule.factors(learning_rate, step);
        // SAFETY: all buffers have as many numbers as the parameter.
        unsafe {
            adam::step::launch_unchecked(
                &gpu.client,
                form::grid(len.div_ceil(adam::UNITS)),
                CubeDim::new_1d(adam::UNITS as u32),
                parameter,
                gradient,
                first,
                second,
                next_parameter,
                next_first,
                next_second,
                adam::FactorsLaunch::new(
                    factors.shrink,
                    factors.coupled,
                    factors.beta1,
                    factors.rest1,
                    factors.beta2,
                    factors.rest2,
                    factors.rate,
                    factors.unbias,
                    factors.epsilon,
                    factors.clip,
                ),
                len as u32,
                rule.clip != 0.0,
            );
        }
        let [parameter, first, second] = to.map(|it| gpu.tensor(it, shape.clone()));
        (parameter, first, second)
    }
}
