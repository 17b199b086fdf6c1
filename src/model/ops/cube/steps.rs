//! Steps of optimisers on a GPU, one parameter per unit.

use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::form::{UNITS, is_finite, launch_grid};
use super::gpu::{Buffer, Gpu};
use crate::model::ops::steps::{AdaGrad, AdamFactors, Mean, OptimizerStep, Sgd};

/// Returns the next parameter and states; all are flat.
pub(super) fn step_tensors(tensors: Vec<CubeTensor>, step: OptimizerStep) -> Vec<CubeTensor> {
    let neutral = AdamFactors {
        shrink: 1.0,
        coupled: 0.0,
        beta1: 0.0,
        rest1: 0.0,
        beta2: 0.0,
        rest2: 0.0,
        rate: 0.0,
        unbias: 1.0,
        epsilon: 0.0,
        clip: f32::INFINITY,
    };
    let (rule, factors) = match step {
        OptimizerStep::Adam(factors) => (StepRule::Adam, factors),
        OptimizerStep::AdaGrad(AdaGrad { epsilon, decay, rate, clip }) => {
            (StepRule::AdaGrad, AdamFactors { coupled: decay, rate, epsilon, clip, ..neutral })
        }
        OptimizerStep::Sgd(Sgd { beta, decay, rate, clip }) => {
            (StepRule::Sgd, AdamFactors { coupled: decay, beta1: beta, rate, clip, ..neutral })
        }
        OptimizerStep::Mean(Mean { share }) => {
            (StepRule::Mean, AdamFactors { rate: share, ..neutral })
        }
    };
    let AdamFactors { shrink, coupled, beta1, rest1, beta2, rest2, rate, unbias, epsilon, clip } =
        factors;
    let gpu = Gpu::of_tensor(&tensors[0]);
    let from: Vec<Buffer> = tensors.into_iter().map(Buffer::from_cube).collect();
    let len = from[0].len();
    // The parameter and its states, without the gradient.
    let to: Vec<Buffer> = from[1..].iter().map(|_| gpu.empty_buffer(len)).collect();
    let unused = gpu.empty_buffer(1);
    let arg = |buffers: &[Buffer], index| buffers.get(index).unwrap_or(&unused).launch_arg();
    // SAFETY: all buffers that the rule reads or writes have as many numbers as the parameter.
    unsafe {
        take_step::launch_unchecked(
            &gpu.client,
            launch_grid(len.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            arg(&from, 0),
            arg(&from, 1),
            arg(&from, 2),
            arg(&from, 3),
            arg(&to, 0),
            arg(&to, 1),
            arg(&to, 2),
            FactorsLaunch::new(
                shrink, coupled, beta1, rest1, beta2, rest2, rate, unbias, epsilon, clip,
            ),
            len as u32,
            rule,
            clip.is_finite(),
        );
    }
    to.into_iter().map(|it| gpu.flat_tensor(it)).collect()
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
