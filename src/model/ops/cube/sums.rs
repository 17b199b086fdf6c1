//! Sums in a fixed order: over the lists that have an input, and over rows of partial sums.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{Spread, grid};
use super::gpu::{Buffer, Gpu};

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
const ROWS: usize = 32;

/// Units of a cube that adds up rows.
const UNITS: usize = 128;

/// The sums of some runs of rows, `[rows, width]` to `[runs, width]`, in an order that follows from
/// the runs' lengths alone.
pub(super) fn runs(gpu: &Gpu, from: &Buffer, runs: &[Range<usize>], width: usize) -> Buffer {
    let (mut from, mut runs) = (from.clone(), runs.to_vec());
    while runs.iter().enumerate().any(|(i, run)| *run != (i..i + 1)) {
        let (mut groups, mut next) = (Vec::new(), Vec::with_capacity(runs.len()));
        for run in &runs {
            let first = groups.len() / 2;
            // A run without rows has a sum all the same.
            for begin in (run.start..run.end.max(run.start + 1)).step_by(ROWS) {
                groups.extend([begin as u32, run.end.min(begin + ROWS) as u32]);
            }
            next.push(first..groups.len() / 2);
        }
        let count = groups.len() / 2;
        let (to, groups) = (gpu.empty(count * width), gpu.words(groups));
        // SAFETY: the kernel reads and writes within the shapes that it names.
        unsafe {
            rows::launch_unchecked(
                &gpu.client,
                grid(count * width.div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                from.arg(),
                groups.arg(),
                to.arg(),
                count as u32,
                width,
            );
        }
        (from, runs) = (to, next);
    }
    from
}

/// The sum of each group of rows, `[rows, width]` to `[groups, width]`. A unit takes a column, a
/// cube so many columns of one group. `groups` is `[groups, 2]`, begin and end of each.
#[cube(launch_unchecked)]
fn rows(from: &[f32], groups: &[u32], to: &mut [f32], count: u32, #[comptime] width: usize) {
    let cubes = comptime!(width.div_ceil(UNITS));
    let group = CUBE_POS / cubes;
    let column = CUBE_POS % cubes * UNITS + UNIT_POS_X as usize;
    if column < width && group < count as usize {
        let begin = groups[2 * group] as usize;
        let end = groups[2 * group + 1] as usize;
        let mut sum = 0.0f32;
        for row in begin..end {
            sum += from[row * width + column];
        }
        to[group * width + column] = sum;
    }
}

/// The sums of the tiles of each bucket, each to its place; the loss becomes a mean.
pub(super) struct Last {
    /// `[buckets, outputs]`
    pub output: Buffer,
    /// `[hidden]`
    pub bias: Buffer,
    /// `[buckets]`
    pub output_bias: Buffer,
    /// `[1]`
    pub loss: Buffer,
}

impl Last {
    /// From `[buckets, outputs + hidden + 2]`.
    pub fn new(
        gpu: &Gpu,
        from: &Buffer,
        share: f32,
        buckets: usize,
        outputs: usize,
        hidden: usize,
    ) -> Self {
        let [output, bias, output_bias, loss] =
            [buckets * outputs, hidden, buckets, 1].map(|len| gpu.empty(len));
        // SAFETY: the kernel reads and writes within the shapes that it names.
        unsafe {
            last::launch_unchecked(
                &gpu.client,
                grid((outputs + hidden + 2).div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                from.arg(),
                output.arg(),
                bias.arg(),
                output_bias.arg(),
                loss.arg(),
                buckets as u32,
                share,
                outputs,
                hidden,
            );
        }
        Self { output, bias, output_bias, loss }
    }
}

/// See [`Last`]. A unit takes a column.
#[cube(launch_unchecked)]
fn last(
    from: &[f32],
    output: &mut [f32],
    bias: &mut [f32],
    output_bias: &mut [f32],
    loss: &mut [f32],
    buckets: u32,
    share: f32,
    #[comptime] outputs: usize,
    #[comptime] hidden: usize,
) {
    let width = comptime!(outputs + hidden + 2);
    let column = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if column < width {
        let mut sum = 0.0f32;
        for bucket in 0..buckets as usize {
            let value = from[bucket * width + column];
            sum += value;
            if column < outputs {
                output[bucket * outputs + column] = value;
            } else if column == outputs + hidden {
                output_bias[bucket] = value;
            }
        }
        if column >= outputs && column < outputs + hidden {
            bias[column - outputs] = sum;
        } else if column == outputs + hidden + 1 {
            loss[0] = sum * share;
        }
    }
}
