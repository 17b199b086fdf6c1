//! A step of Adam, a unit a parameter.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Units of a cube.
pub(super) const UNITS: usize = 256;

/// What is the same for each parameter; see the CPU's kernel.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct Factors {
    pub shrink: f32,
    pub coupled: f32,
    pub beta1: f32,
    pub rest1: f32,
    pub beta2: f32,
    pub rest2: f32,
    pub rate: f32,
    pub unbias: f32,
    pub epsilon: f32,
    pub clip: f32,
}

/// The next parameters and means; all buffers are `[len]`.
#[cube(launch_unchecked)]
pub(super) fn step(
    parameters: &[f32],
    gradients: &[f32],
    first: &[f32],
    second: &[f32],
    next_parameters: &mut [f32],
    next_first: &mut [f32],
    next_second: &mut [f32],
    factors: Factors,
    len: u32,
    #[comptime] clipped: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let p = parameters[i];
        let g = factors.coupled * p + gradients[i];
        let m = factors.rest1 * g + factors.beta1 * first[i];
        let v = factors.beta2 * second[i] + factors.rest2 * g * g;
        let root = (v * factors.unbias).sqrt();
        let mut p = p * factors.shrink - m * factors.rate / (root + factors.epsilon);
        if clipped {
            // Clipped away, what is no number would hide that training diverged. By its bits: a
            // compiler may take for granted that every float is a number.
            let finite = u32::reinterpret(p) & 2139095040u32 != 2139095040u32;
            if finite {
                p = min(max(p, -factors.clip), factors.clip);
            }
        }
        next_parameters[i] = p;
        next_first[i] = m;
        next_second[i] = v;
    }
}
