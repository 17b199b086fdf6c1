//! Steps of optimisers on a GPU, one parameter per unit.

use burn::backend::TensorMetadata;
use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::form::{UNITS, is_finite, launch_grid};
use super::gpu::{Buffer, Gpu, make_contiguous};
use crate::model::ops::steps::{AdaGrad, AdamFactors, Mean, OptimizerStep, Sgd};

/// Returns the next parameter and states.
pub(super) fn step_tensors(tensors: Vec<CubeTensor>, step: OptimizerStep) -> Vec<CubeTensor> {
    let (rule, [decay, rate, epsilon, clip], [beta1, rest1, beta2, rest2], shrink, unbias) =
        match step {
            OptimizerStep::Adam(AdamFactors {
                shrink,
                coupled,
                beta1,
                rest1,
                beta2,
                rest2,
                rate,
                unbias,
                epsilon,
                clip,
            }) => {
                let betas = [beta1, rest1, beta2, rest2];
                (StepRule::Adam, [coupled, rate, epsilon, clip], betas, shrink, unbias)
            }
            OptimizerStep::AdaGrad(AdaGrad { epsilon, decay, rate, clip }) => {
                (StepRule::AdaGrad, [decay, rate, epsilon, clip], [0.0; 4], 1.0, 1.0)
            }
            OptimizerStep::Sgd(Sgd { beta, decay, rate, clip }) => {
                (StepRule::Sgd, [decay, rate, 0.0, clip], [beta, 0.0, 0.0, 0.0], 1.0, 1.0)
            }
            OptimizerStep::Mean(Mean { share }) => {
                (StepRule::Mean, [0.0, share, 0.0, f32::INFINITY], [0.0; 4], 1.0, 1.0)
            }
        };
    let factors =
        FactorsLaunch::new(shrink, decay, beta1, rest1, beta2, rest2, rate, unbias, epsilon, clip);
    let shape = tensors[0].shape();
    let len = shape.num_elements();
    let from: Vec<CubeTensor> = tensors.into_iter().map(make_contiguous).collect();
    let gpu = Gpu::of_tensor(&from[0]);
    // The parameter and its states, without the gradient.
    let to: Vec<Buffer> = from[1..].iter().map(|_| gpu.empty_buffer(len)).collect();
    let unused = gpu.empty_buffer(1);
    let from: Vec<BufferArg> = from.into_iter().map(|it| it.into_buffer_arg()).collect();
    let padded = |args: Vec<BufferArg>, count: usize| {
        let missing = count - args.len();
        args.into_iter().chain((0..missing).map(|_| unused.launch_arg()).collect::<Vec<_>>())
    };
    let args = padded(from, 4).chain(padded(to.iter().map(Buffer::launch_arg).collect(), 3));
    let args: Vec<BufferArg> = args.collect();
    let args = args.try_into().ok().expect("a parameter, its gradient and two states");
    let [p, g, m, v, next_p, next_m, next_v] = args;
    // SAFETY: all buffers that the rule reads or writes have as many numbers as the parameter.
    unsafe {
        take_step::launch_unchecked(
            &gpu.client,
            launch_grid(len.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            p,
            g,
            m,
            v,
            next_p,
            next_m,
            next_v,
            factors,
            len as u32,
            rule,
            clip.is_finite(),
        );
    }
    to.into_iter().map(|it| gpu.shaped_tensor(it, shape.clone())).collect()
}

/// The formulas of [`OptimizerStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum StepRule {
    Adam,
    AdaGrad,
    Sgd,
    Mean,
}

/// Factors of [`AdamFactors`]; `decay` is coupled, and a mean has its share as the rate.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Factors {
    shrink: f32,
    decay: f32,
    beta1: f32,
    rest1: f32,
    beta2: f32,
    rest2: f32,
    rate: f32,
    unbias: f32,
    epsilon: f32,
    clip: f32,
}

/// Clips to `-clip ..= clip`, except NaN, which shows a divergence.
#[cube]
fn bounded(p: f32, clip: f32, #[comptime] clipped: bool) -> f32 {
    match comptime!(clipped) {
        true => select(is_finite(p), min(max(p, -clip), clip), p),
        false => p,
    }
}

/// Takes a step. Rules with one state have it in `m`.
#[cube(launch_unchecked)]
fn take_step(
    p: &[f32],
    g: &[f32],
    m: &[f32],
    v: &[f32],
    next_p: &mut [f32],
    next_m: &mut [f32],
    next_v: &mut [f32],
    factors: Factors,
    len: u32,
    #[comptime] rule: StepRule,
    #[comptime] clipped: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let p = p[i];
        let g = factors.decay * p + g[i];
        let next = match comptime!(rule) {
            StepRule::Adam => {
                let m = factors.rest1 * g + factors.beta1 * m[i];
                let v = factors.beta2 * v[i] + factors.rest2 * g * g;
                next_m[i] = m;
                next_v[i] = v;
                let root = (v * factors.unbias).sqrt();
                p * factors.shrink - m * factors.rate / (root + factors.epsilon)
            }
            StepRule::AdaGrad => {
                let sum = m[i] + g * g;
                next_m[i] = sum;
                p - factors.rate * (g / (sum.sqrt() + factors.epsilon))
            }
            StepRule::Sgd => {
                let m = factors.beta1 * m[i] + g;
                next_m[i] = m;
                p - factors.rate * m
            }
            StepRule::Mean => p + factors.rate * (g - p),
        };
        next_p[i] = bounded(next, factors.clip, clipped);
    }
}
