//! The steps of optimisers, a unit a parameter. The formulas stand with the CPU's kernels.

use burn::backend::TensorMetadata;
use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::form;
use super::gpu::{Buffer, Gpu, contiguous};
use super::number::is_finite;
use crate::model::ops::cpu::{AdamFactors, LionFactors, Mean, ScheduleFreeFactors, Step};

/// Units of a cube.
const UNITS: usize = 256;

/// Parameter, gradient and states to the next parameter and states.
pub(super) fn take(tensors: Vec<CubeTensor>, step: Step) -> Vec<CubeTensor> {
    let shape = tensors[0].shape();
    let len = shape.num_elements();
    let from: Vec<CubeTensor> = tensors.into_iter().map(contiguous).collect();
    assert_eq!(from.len(), 2 + step.states(), "a parameter, its gradient and its states");
    let gpu = Gpu::of(&from[0]);
    let to: Vec<Buffer> = from[1..].iter().map(|_| gpu.empty(len)).collect();
    let from: Vec<BufferArg> = from.into_iter().map(|it| it.into_buffer_arg()).collect();
    let args = from.into_iter().chain(to.iter().map(Buffer::arg)).collect();
    launch(&gpu.client, args, step, len);
    to.into_iter().map(|it| gpu.tensor(it, shape.clone())).collect()
}

/// The buffers of what was, and then of what will be, each with `len` numbers.
fn launch(client: &Client, args: Vec<BufferArg>, step: Step, len: usize) {
    let grid = form::grid(len.div_ceil(UNITS));
    let (units, len) = (CubeDim::new_1d(UNITS as u32), len as u32);
    let number = "as many buffers as the step needs";
    // SAFETY: all buffers have as many numbers as the parameter.
    unsafe {
        match step {
            Step::Adam(AdamFactors {
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
                let [p, g, m, v, next_p, next_m, next_v] = args.try_into().ok().expect(number);
                let factors = AdamLaunch::new(
                    shrink, coupled, beta1, rest1, beta2, rest2, rate, unbias, epsilon, clip,
                );
                let clipped = clip.is_finite();
                adam_step::launch_unchecked(
                    client, grid, units, p, g, m, v, next_p, next_m, next_v, factors, len, clipped,
                );
            }
            Step::Lion(LionFactors { shrink, beta1, rest1, beta2, rest2, rate, clip }) => {
                let [p, g, m, next_p, next_m] = args.try_into().ok().expect(number);
                let factors = LionLaunch::new(shrink, beta1, rest1, beta2, rest2, rate, clip);
                let clipped = clip.is_finite();
                lion_step::launch_unchecked(
                    client, grid, units, p, g, m, next_p, next_m, factors, len, clipped,
                );
            }
            Step::ScheduleFree(ScheduleFreeFactors {
                beta2,
                rest2,
                unbias,
                epsilon,
                decay,
                rate,
                share,
                beta1,
                rest1,
                of_y,
                of_z,
                clip,
            }) => {
                let [y, g, z, v, next_y, next_z, next_v] = args.try_into().ok().expect(number);
                let factors = ScheduleFreeLaunch::new(
                    beta2, rest2, unbias, epsilon, decay, rate, share, beta1, rest1, of_y, of_z,
                    clip,
                );
                let clipped = clip.is_finite();
                schedule_free_step::launch_unchecked(
                    client, grid, units, y, g, z, v, next_y, next_z, next_v, factors, len, clipped,
                );
            }
            Step::Mean(Mean { share }) => {
                let [p, g, next_p] = args.try_into().ok().expect(number);
                mean_step::launch_unchecked(client, grid, units, p, g, next_p, share, len);
            }
        }
    }
}

/// What is the same for each parameter.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Adam {
    shrink: f32,
    coupled: f32,
    beta1: f32,
    rest1: f32,
    beta2: f32,
    rest2: f32,
    rate: f32,
    unbias: f32,
    epsilon: f32,
    clip: f32,
}

#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Lion {
    shrink: f32,
    beta1: f32,
    rest1: f32,
    beta2: f32,
    rest2: f32,
    rate: f32,
    clip: f32,
}

#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct ScheduleFree {
    beta2: f32,
    rest2: f32,
    unbias: f32,
    epsilon: f32,
    decay: f32,
    rate: f32,
    share: f32,
    beta1: f32,
    rest1: f32,
    of_y: f32,
    of_z: f32,
    clip: f32,
}

/// Within `-clip ..= clip`. Clipped away, what is no number would hide that training diverged.
#[cube]
fn bounded(p: f32, clip: f32, #[comptime] clipped: bool) -> f32 {
    match comptime!(clipped) {
        true => select(is_finite(p), min(max(p, -clip), clip), p),
        false => p,
    }
}

#[cube(launch_unchecked)]
fn adam_step(
    p: &[f32],
    g: &[f32],
    m: &[f32],
    v: &[f32],
    next_p: &mut [f32],
    next_m: &mut [f32],
    next_v: &mut [f32],
    factors: Adam,
    len: u32,
    #[comptime] clipped: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let p = p[i];
        let g = factors.coupled * p + g[i];
        let m = factors.rest1 * g + factors.beta1 * m[i];
        let v = factors.beta2 * v[i] + factors.rest2 * g * g;
        let root = (v * factors.unbias).sqrt();
        let p = p * factors.shrink - m * factors.rate / (root + factors.epsilon);
        next_p[i] = bounded(p, factors.clip, clipped);
        next_m[i] = m;
        next_v[i] = v;
    }
}

#[cube(launch_unchecked)]
fn lion_step(
    p: &[f32],
    g: &[f32],
    m: &[f32],
    next_p: &mut [f32],
    next_m: &mut [f32],
    factors: Lion,
    len: u32,
    #[comptime] clipped: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let g = g[i];
        let way = factors.rest1 * g + factors.beta1 * m[i];
        let mut step = way;
        if is_finite(way) {
            step = 0.0f32;
            if way > 0.0f32 {
                step = factors.rate;
            }
            if way < 0.0f32 {
                step = -factors.rate;
            }
        }
        let p = p[i] * factors.shrink - step;
        next_p[i] = bounded(p, factors.clip, clipped);
        next_m[i] = factors.rest2 * g + factors.beta2 * m[i];
    }
}

#[cube(launch_unchecked)]
fn schedule_free_step(
    y: &[f32],
    g: &[f32],
    z: &[f32],
    v: &[f32],
    next_y: &mut [f32],
    next_z: &mut [f32],
    next_v: &mut [f32],
    factors: ScheduleFree,
    len: u32,
    #[comptime] clipped: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let g = g[i];
        let x = factors.of_y * y[i] - factors.of_z * z[i];
        let v = factors.beta2 * v[i] + factors.rest2 * g * g;
        let root = (v * factors.unbias).sqrt();
        let step = factors.decay * y[i] + g / (root + factors.epsilon);
        let z = bounded(z[i] - factors.rate * step, factors.clip, clipped);
        let x = x + factors.share * (z - x);
        next_y[i] = bounded(factors.beta1 * x + factors.rest1 * z, factors.clip, clipped);
        next_z[i] = z;
        next_v[i] = v;
    }
}

#[cube(launch_unchecked)]
fn mean_step(p: &[f32], g: &[f32], next_p: &mut [f32], share: f32, len: u32) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        next_p[i] = p[i] + share * (g[i] - p[i]);
    }
}
