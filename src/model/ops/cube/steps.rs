//! Adam's step on a GPU, one parameter a unit. Other steps are tensor operations there.

use burn::backend::TensorMetadata;
use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::form::{UNITS, grid, is_finite};
use super::gpu::{Buffer, Gpu, contiguous};
use crate::model::ops::steps::{AdamFactors, Step};

/// Returns the next parameter and means. Panics if the step is not Adam's.
pub(super) fn take(tensors: Vec<CubeTensor>, step: Step) -> Vec<CubeTensor> {
    let Step::Adam(factors) = step else { panic!("only Adam has a kernel on GPUs") };
    let shape = tensors[0].shape();
    let len = shape.num_elements();
    let from: Vec<CubeTensor> = tensors.into_iter().map(contiguous).collect();
    let gpu = Gpu::of(&from[0]);
    let to: Vec<Buffer> = from[1..].iter().map(|_| gpu.empty(len)).collect();
    let from: Vec<BufferArg> = from.into_iter().map(|it| it.into_buffer_arg()).collect();
    let args: Vec<BufferArg> = from.into_iter().chain(to.iter().map(Buffer::arg)).collect();
    let args = args.try_into().ok().expect("a parameter, its gradient and two means");
    let [p, g, m, v, next_p, next_m, next_v] = args;
    let AdamFactors { shrink, coupled, beta1, rest1, beta2, rest2, rate, unbias, epsilon, clip } =
        factors;
    let factors =
        AdamLaunch::new(shrink, coupled, beta1, rest1, beta2, rest2, rate, unbias, epsilon, clip);
    let (grid, units) = (grid(len.div_ceil(UNITS)), CubeDim::new_1d(UNITS as u32));
    let clipped = clip.is_finite();
    // SAFETY: all buffers have as many numbers as the parameter.
    unsafe {
        adam_step::launch_unchecked(
            &gpu.client,
            grid,
            units,
            p,
            g,
            m,
            v,
            next_p,
            next_m,
            next_v,
            factors,
            len as u32,
            clipped,
        );
    }
    to.into_iter().map(|it| gpu.tensor(it, shape.clone())).collect()
}

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

/// Clips to `-clip ..= clip`, except NaN, which shows a divergence.
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
