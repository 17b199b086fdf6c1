//! Sums in a fixed order: over the lists that have an input, and over rows of partial sums.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::Spread;

/// The sum of the slopes of each segment, into `partial`, `[segments, hidden]`; a cube a segment.
///
/// # Buffers
/// - `slopes`: `[lists, hidden]`
/// - `index`: the segments, `[segments, 2]`, each as begin and end of its entries; and the
///   entries, which are lists
#[cube(launch_unchecked)]
pub(super) fn segments(
    slopes: &[f32],
    index: &[u32],
    partial: &mut [f32],
    segments: u32,
    #[comptime] spread: Spread,
) {
    let Spread { hidden, units, columns } = comptime!(spread);
    let segment = CUBE_POS;
    if segment < segments as usize {
        let entries = 2 * segments as usize;
        let begin = entries + index[2 * segment] as usize;
        let end = entries + index[2 * segment + 1] as usize;
        let unit = UNIT_POS_X as usize;
        for c in 0..columns {
            let column = unit + c * units;
            if column < hidden {
                let mut sum = 0.0f32;
                let mut at = begin;
                while at + 4 <= end {
                    let a = slopes[index[at] as usize * hidden + column];
                    let b = slopes[index[at + 1] as usize * hidden + column];
                    let c = slopes[index[at + 2] as usize * hidden + column];
                    let d = slopes[index[at + 3] as usize * hidden + column];
                    sum += (a + b) + (c + d);
                    at += 4;
                }
                while at < end {
                    sum += slopes[index[at] as usize * hidden + column];
                    at += 1;
                }
                partial[segment * hidden + column] = sum;
            }
        }
    }
}

/// The sum of the segments of each input, into `gradients`, `[inputs, hidden]`; a cube an input.
/// `starts`, `[inputs + 1]`, says which segments are an input's.
#[cube(launch_unchecked)]
pub(super) fn inputs(
    partial: &[f32],
    starts: &[u32],
    gradients: &mut [f32],
    inputs: u32,
    #[comptime] spread: Spread,
    #[comptime] adding: bool,
) {
    let Spread { hidden, units, columns } = comptime!(spread);
    let input = CUBE_POS;
    if input < inputs as usize {
        let begin = starts[input] as usize;
        let end = starts[input + 1] as usize;
        let unit = UNIT_POS_X as usize;
        for c in 0..columns {
            let column = unit + c * units;
            if column < hidden {
                let mut sum = 0.0f32;
                if adding {
                    sum = gradients[input * hidden + column];
                }
                let mut at = begin;
                while at + 4 <= end {
                    let a = partial[at * hidden + column];
                    let b = partial[(at + 1) * hidden + column];
                    let c = partial[(at + 2) * hidden + column];
                    let d = partial[(at + 3) * hidden + column];
                    sum += (a + b) + (c + d);
                    at += 4;
                }
                while at < end {
                    sum += partial[at * hidden + column];
                    at += 1;
                }
                gradients[input * hidden + column] = sum;
            }
        }
    }
}

/// Rows that one unit adds up.
pub(super) const ROWS: usize = 32;

/// Units of a cube that adds up rows.
pub(super) const UNITS: usize = 128;

/// The sums of each [`ROWS`] rows, `[rows, width]` to `[rows / ROWS, width]`. A unit takes a
/// column, a cube so many columns of one row of sums.
#[cube(launch_unchecked)]
pub(super) fn rows(from: &[f32], to: &mut [f32], rows: u32, #[comptime] width: usize) {
    let cubes = comptime!(width.div_ceil(UNITS));
    let row = CUBE_POS / cubes;
    let column = CUBE_POS % cubes * UNITS + UNIT_POS_X as usize;
    if column < width && row * ROWS < rows as usize {
        to[row * width + column] = sum_rows(from, row * ROWS, rows as usize, column, width);
    }
}

/// The last sums, of [`ROWS`] rows at most, each to its place; the loss becomes a mean.
#[cube(launch_unchecked)]
pub(super) fn last_rows(
    from: &[f32],
    output: &mut [f32],
    bias: &mut [f32],
    output_bias: &mut [f32],
    loss: &mut [f32],
    rows: u32,
    share: f32,
    #[comptime] outputs: usize,
    #[comptime] hidden: usize,
) {
    let width = comptime!(outputs + hidden + 2);
    let column = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if column < width {
        let sum = sum_rows(from, 0, rows as usize, column, width);
        if column < outputs {
            output[column] = sum;
        } else if column < outputs + hidden {
            bias[column - outputs] = sum;
        } else if column == outputs + hidden {
            output_bias[0] = sum;
        } else {
            loss[0] = sum * share;
        }
    }
}

#[cube]
fn sum_rows(
    from: &[f32],
    begin: usize,
    rows: usize,
    column: usize,
    #[comptime] width: usize,
) -> f32 {
    let end = min(begin + ROWS, rows);
    let mut sum = 0.0f32;
    for row in begin..end {
        sum += from[row * width + column];
    }
    sum
}
