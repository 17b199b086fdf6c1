//! The kernels of handcrafted terms. The formulas are those of `sums`.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::rows::FLOATS;
use crate::model::ops::cube::slope::{Judging, by_logit, cost};
use crate::sums;

/// What is asked of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Its logit, into `results`, `[all positions]`.
    Logits,
    /// The derivatives of the loss by its sums, into `slopes`, `[SLOPES, positions]`; and loss and
    /// derivative by the tempo, added up over the cube, into `results`, `[all cubes, 2]`.
    Gradients(Judging),
    /// The same, where the targets are forces on the logits.
    Pull,
}

/// Positions a cube.
pub(super) const UNITS: usize = 128;

/// Sums that a position has slopes by: NORMAL, White's SAFETY, Black's SAFETY, each middlegame and
/// endgame, and COMPLEXITY.
pub(super) const SLOPES: usize = 7;

/// Units of a cube that adds up a segment.
pub(super) const SEGMENT_UNITS: usize = 64;

const SAFETY_MIDDLEGAME: f32 = sums::SAFETY_MIDDLEGAME as f32;
const SAFETY_ENDGAME: f32 = sums::SAFETY_ENDGAME as f32;

/// A unit takes a position. `words` and `floats` are those of `Rows`; `first` is the number of the
/// first position of `all`, `first_cube` that of the first cube; a loss counts `share`, times
/// `over_rated` where more is expected than the target, and `power` is its exponent, if it has one.
/// `targets` are `[all]`, and behind them what losses are multiplied by, if not 1.
#[cube(launch_unchecked)]
pub(super) fn values(
    weights: &[f32],
    tempo: &[f32],
    words: &[u32],
    floats: &[f32],
    targets: &[f32],
    slopes: &mut [f32],
    results: &mut [f32],
    first: u32,
    first_cube: u32,
    positions: u32,
    scale: f32,
    share: f32,
    all: u32,
    power: f32,
    over_rated: f32,
    #[comptime] purpose: Purpose,
    #[comptime] moving_tempo: bool,
) {
    let positions = positions as usize;
    let unit = UNIT_POS_X as usize;
    let row = CUBE_POS * UNITS + unit;
    let judging = comptime!(match purpose {
        Purpose::Gradients(judging) => Some(judging),
        _ => None,
    });
    let gradients = comptime!(judging.is_some() || purpose == Purpose::Pull);
    let mut losses = Shared::<[f32]>::new_slice(UNITS);
    let mut tempos = Shared::<[f32]>::new_slice(UNITS);
    let mut loss = 0.0f32;
    let mut tempo_slope = 0.0f32;

    if row < positions {
        let middlegame = floats[row];
        let endgame = floats[positions + row];
        let turn = floats[2 * positions + row];
        let mut normal_mg = floats[3 * positions + row];
        let mut normal_eg = floats[4 * positions + row];
        let mut white_mg = floats[5 * positions + row];
        let mut white_eg = floats[6 * positions + row];
        let mut black_mg = floats[7 * positions + row];
        let mut black_eg = floats[8 * positions + row];
        let mut complexity = floats[comptime!(FLOATS - 1) * positions + row];

        let entries = 3 * positions + 1;
        let normal = entries + words[3 * row] as usize;
        let safety = entries + words[3 * row + 1] as usize;
        let rest = entries + words[3 * row + 2] as usize;
        let end = entries + words[3 * row + 3] as usize;
        for i in normal..safety {
            let word = words[i];
            let term = 2 * (word & 65535u32) as usize;
            let count = low(word);
            normal_mg += weights[term] * count;
            normal_eg += weights[term + 1] * count;
        }
        for i in safety..rest {
            let word = words[i];
            let term = 2 * (word & 65535u32) as usize;
            white_mg += weights[term] * low(word);
            white_eg += weights[term + 1] * low(word);
            black_mg += weights[term] * high(word);
            black_eg += weights[term + 1] * high(word);
        }
        for i in rest..end {
            let word = words[i];
            complexity += weights[2 * (word & 65535u32) as usize + 1] * low(word);
        }

        let zero = 0.0f32;
        let danger =
            (black_mg * max(black_mg, zero) - white_mg * max(white_mg, zero)) / SAFETY_MIDDLEGAME;
        let mg = normal_mg + danger;
        let eg = normal_eg + (max(black_eg, zero) - max(white_eg, zero)) / SAFETY_ENDGAME;
        let sign = select(eg > zero, 1.0f32, select(eg < zero, -1.0f32, zero));
        let crossed = eg != zero && sign * eg + complexity < zero;
        let moved = select(crossed, zero, eg + sign * complexity);
        let white = middlegame * mg + endgame * moved;
        let logit = (white + turn * tempo[0]) / scale;

        if gradients {
            let target = targets[first as usize + row];
            let mut slope = target / scale;
            if comptime!(judging.is_some()) {
                let Judging { shape, weighted, .. } = comptime!(judging.unwrap());
                let expected = 1.0f32 / (1.0f32 + (-logit).exp());
                let mut weight = select(expected > target, over_rated, 1.0f32) * share;
                if weighted {
                    weight *= targets[(all + first) as usize + row];
                }
                loss = cost(logit, expected, target, power, shape) * weight;
                slope = by_logit(expected, target, power, shape) * weight / scale;
            }
            if moving_tempo {
                tempo_slope = slope * turn;
            }
            let by_mg = slope * middlegame;
            let by_eg = select(crossed, zero, slope * endgame);
            let steep = 2.0f32 * by_mg / SAFETY_MIDDLEGAME;
            let flat = by_eg / SAFETY_ENDGAME;
            slopes[row] = by_mg;
            slopes[positions + row] = by_eg;
            slopes[2 * positions + row] = -steep * max(white_mg, zero);
            slopes[3 * positions + row] = select(white_eg > zero, -flat, zero);
            slopes[4 * positions + row] = steep * max(black_mg, zero);
            slopes[5 * positions + row] = select(black_eg > zero, flat, zero);
            slopes[6 * positions + row] = by_eg * sign;
        } else {
            results[first as usize + row] = logit;
        }
    }

    if gradients {
        losses[unit] = loss;
        tempos[unit] = tempo_slope;
        sync_cube();
        let mut half = comptime!(UNITS / 2).runtime();
        while half > 0 {
            if unit < half {
                losses[unit] += losses[unit + half];
                tempos[unit] += tempos[unit + half];
            }
            sync_cube();
            half /= 2;
        }
        if unit == 0 && CUBE_POS * UNITS < positions {
            let cube = first_cube as usize + CUBE_POS;
            results[2 * cube] = losses[0];
            results[2 * cube + 1] = tempos[0];
        }
    }
}

/// The sum of the slopes of each segment, by counts, into `partial`, `[segments, 2]`; a cube a
/// segment. `index` is the words of `Index`.
#[cube(launch_unchecked)]
pub(super) fn segments(
    slopes: &[f32],
    index: &[u32],
    partial: &mut [f32],
    segments: u32,
    positions: u32,
) {
    let segments = segments as usize;
    let positions = positions as usize;
    let segment = min(CUBE_POS, segments - 1);
    let unit = UNIT_POS_X as usize;
    let begin = 4 * segments + index[4 * segment] as usize;
    let end = 4 * segments + index[4 * segment + 1] as usize;
    let first = index[4 * segment + 2] as usize;
    let kind = index[4 * segment + 3];
    let mut mg = 0.0f32;
    let mut eg = 0.0f32;
    let mut i = begin + unit;
    while i < end {
        let word = index[i];
        let row = first + (word & 65535u32) as usize;
        if kind == 0u32 {
            mg += slopes[row] * low(word);
            eg += slopes[positions + row] * low(word);
        } else if kind == 1u32 {
            let (white, black) = (low(word), high(word));
            mg += slopes[2 * positions + row] * white + slopes[4 * positions + row] * black;
            eg += slopes[3 * positions + row] * white + slopes[5 * positions + row] * black;
        } else {
            eg += slopes[6 * positions + row] * low(word);
        }
        i += SEGMENT_UNITS;
    }
    let mut mgs = Shared::<[f32]>::new_slice(SEGMENT_UNITS);
    let mut egs = Shared::<[f32]>::new_slice(SEGMENT_UNITS);
    mgs[unit] = mg;
    egs[unit] = eg;
    sync_cube();
    let mut half = comptime!(SEGMENT_UNITS / 2).runtime();
    while half > 0 {
        if unit < half {
            mgs[unit] += mgs[unit + half];
            egs[unit] += egs[unit + half];
        }
        sync_cube();
        half /= 2;
    }
    if unit == 0 && CUBE_POS < segments {
        partial[2 * segment] = mgs[0];
        partial[2 * segment + 1] = egs[0];
    }
}

/// Units of a cube that adds up the segments of terms.
pub(super) const SUM_UNITS: usize = 128;

/// The sum of the segments of each term, added to `gradients`, `[terms, 2]`. A unit takes a number.
/// `starts` says which segments are a term's, `[terms + 1]`.
#[cube(launch_unchecked)]
pub(super) fn add_segments(partial: &[f32], starts: &[u32], gradients: &mut [f32], terms: u32) {
    let i = CUBE_POS * SUM_UNITS + UNIT_POS_X as usize;
    if i < 2 * terms as usize {
        let begin = starts[i / 2] as usize;
        let end = starts[i / 2 + 1] as usize;
        let mut sum = gradients[i];
        for segment in begin..end {
            sum += partial[2 * segment + i % 2];
        }
        gradients[i] = sum;
    }
}

/// The count for White, or for both sides.
#[cube]
fn low(word: u32) -> f32 {
    signed((word >> 16u32) & 255u32)
}

/// The count for Black.
#[cube]
fn high(word: u32) -> f32 {
    signed(word >> 24u32)
}

/// Eight bits as a number from -128 to 127.
#[cube]
fn signed(bits: u32) -> f32 {
    f32::cast_from(bits) - select(bits > 127u32, 256.0f32, 0.0f32)
}
