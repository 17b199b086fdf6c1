//! Numbers of 16 bits, two a word, the first one low: weights in fixed point, as the processor's
//! mixed precision has them, and gradients of accumulators as the upper halves of floats.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::grid;
use super::gpu::{Buffer, Gpu};
use super::number::is_finite;

/// What stands for 1 in weights and accumulators.
const ONE: f32 = 4096.0;

/// The largest that there is.
const MOST: f32 = 32_767.0;

/// Added, it leaves no room for a fraction, and the integer in the lowest bits.
const WHOLE: f32 = 12_582_912.0;

/// Two weights that are 0: 16 bits count from -32,768.
pub(super) const BLANK: u32 = 0x8000_8000;

/// What is no number.
const NAN: u32 = 0x7fc0_0000;

/// Units of a cube.
const UNITS: usize = 256;

/// Weights `[rows, hidden]` as `[rows, words]`. Integers are always numbers: should a weight not be
/// finite, the word `poison` of the batch, which was 0, is no number afterwards.
pub(super) fn packed(
    gpu: &Gpu,
    weights: BufferArg,
    (batch, poison): (&Buffer, usize),
    [rows, hidden]: [usize; 2],
) -> Buffer {
    let words = rows * hidden.div_ceil(2);
    let to = gpu.empty(words);
    // SAFETY: the kernel reads and writes within the shapes that it names.
    unsafe {
        pack::launch_unchecked(
            &gpu.client,
            grid(words.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            weights,
            to.arg(),
            batch.arg(),
            poison as u32,
            words as u32,
            hidden,
        );
    }
    to
}

/// A unit takes a word.
#[cube(launch_unchecked)]
fn pack(
    weights: &[f32],
    to: &mut [u32],
    batch: &[Atomic<u32>],
    poison: u32,
    words: u32,
    #[comptime] hidden: usize,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < words as usize {
        let each = comptime!(hidden.div_ceil(2));
        let column = i % each * 2;
        let row = i / each * hidden;
        let low = weights[row + column];
        // Behind the last of an odd number there is none.
        let there = column + 1 < hidden;
        let high = select(there, weights[row + min(column + 1, comptime!(hidden - 1))], 0.0f32);
        to[i] = fixed(low) | fixed(high) << 16u32;
        if !is_finite(low) || !is_finite(high) {
            batch[poison as usize].fetch_or(NAN);
        }
    }
}

/// A weight as 16 bits, rounded, and held within the range.
#[cube]
fn fixed(weight: f32) -> u32 {
    let held = min(max(weight * ONE, -MOST), MOST);
    (u32::reinterpret(held + WHOLE) & 65535u32) ^ 32768u32
}

/// A weight or bias in units of the fixed point.
#[cube]
pub(super) fn in_units(weight: f32) -> f32 {
    f32::cast_from(fixed(weight)) - 32768.0f32
}

/// A weight as it comes back from 16 bits.
#[cube]
pub(super) fn rounded(weight: f32) -> f32 {
    select(is_finite(weight), in_units(weight) * comptime!(1.0 / ONE), weight)
}

/// The sum of four low weights in their units.
#[cube]
pub(super) fn low_weights(a: u32, b: u32, c: u32, d: u32) -> f32 {
    let sum = (a & 65535u32) + (b & 65535u32) + (c & 65535u32) + (d & 65535u32);
    f32::cast_from(sum) - 131072.0f32
}

/// The sum of four high weights in their units.
#[cube]
pub(super) fn high_weights(a: u32, b: u32, c: u32, d: u32) -> f32 {
    let sum = (a >> 16u32) + (b >> 16u32) + (c >> 16u32) + (d >> 16u32);
    f32::cast_from(sum) - 131072.0f32
}

/// An accumulator from its sum, held within the range. `poison` is no number where a weight is none,
/// and else 0.
#[cube]
pub(super) fn accumulator(sum: f32, bias: f32, poison: f32) -> f32 {
    let held = min(max(sum, -MOST), MOST) * comptime!(1.0 / ONE);
    held + poison + select(is_finite(bias), 0.0f32, f32::reinterpret(NAN))
}

/// Two gradients, rounded.
#[cube]
pub(super) fn gradients(low: f32, high: f32) -> u32 {
    upper(low) | upper(high) << 16u32
}

/// The upper half of a float, rounded to the nearest, or else to what is even.
#[cube]
fn upper(a: f32) -> u32 {
    let bits = u32::reinterpret(a);
    let rounded = (bits + 32767u32 + ((bits >> 16u32) & 1u32)) >> 16u32;
    // What is no number might become one.
    select(is_finite(a), rounded, comptime!(NAN >> 16).runtime())
}

/// The low gradient of a word.
#[cube]
pub(super) fn low_gradient(word: u32) -> f32 {
    f32::reinterpret(word << 16u32)
}

/// The high one.
#[cube]
pub(super) fn high_gradient(word: u32) -> f32 {
    f32::reinterpret(word & 4294901760u32)
}
