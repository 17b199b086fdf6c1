//! Sums in a fixed order: over the lists that have an input, and over rows of partial sums.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{Spread, grid};
use super::gpu::{Buffer, Gpu};
use crate::model::ops::index::NUMBERS;

/// The sum of the slopes of each segment, into its row of `partial`, `[segments, hidden]`; a cube a
/// segment.
///
/// # Buffers
/// - `slopes`: `[lists, hidden]`
/// - `index`: the words of `Index`
#[cube(launch_unchecked)]
pub(super) fn segments(
    slopes: &[f32],
    index: &[u32],
    partial: &mut [f32],
    segments: u32,
    #[comptime] spread: Spread,
) {
    let Spread { hidden, units, columns } = comptime!(spread);
    let segment = NUMBERS * CUBE_POS;
    if CUBE_POS < segments as usize {
        let entries = NUMBERS * segments as usize;
        let begin = index[segment] as usize;
        let end = index[segment + 1] as usize;
        let row = index[segment + 2] as usize;
        let first = index[segment + 3] as usize;
        let unit = UNIT_POS_X as usize;
        for c in 0..columns {
            let column = unit + c * units;
            if column < hidden {
                let mut sum = 0.0f32;
                let mut at = begin;
                while at + 4 <= end {
                    let one = index[entries + at / 2];
                    let two = index[entries + at / 2 + 1];
                    let a = slopes[(first + (one & 65535u32) as usize) * hidden + column];
                    let b = slopes[(first + (one >> 16u32) as usize) * hidden + column];
                    let c = slopes[(first + (two & 65535u32) as usize) * hidden + column];
                    let d = slopes[(first + (two >> 16u32) as usize) * hidden + column];
                    sum += (a + b) + (c + d);
                    at += 4;
                }
                while at < end {
                    let word = index[entries + at / 2] >> ((at % 2) as u32 * 16u32);
                    sum += slopes[(first + (word & 65535u32) as usize) * hidden + column];
                    at += 1;
                }
                partial[row * hidden + column] = sum;
            }
        }
    }
}

/// The sum of the segments of each input, into `gradients`, `[inputs, hidden]`; a cube an input.
/// `starts`, `[inputs + 1]`, from `at` on, says which segments are an input's.
#[cube(launch_unchecked)]
pub(super) fn inputs(
    partial: &[f32],
    starts: &[u32],
    gradients: &mut [f32],
    inputs: u32,
    at: u32,
    #[comptime] spread: Spread,
    #[comptime] adding: bool,
) {
    let Spread { hidden, units, columns } = comptime!(spread);
    let input = CUBE_POS;
    if input < inputs as usize {
        let begin = starts[at as usize + input] as usize;
        let end = starts[at as usize + input + 1] as usize;
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
const UNITS: usize = 128;

/// The sums of some runs of rows, `[rows, width]` to `[runs, width]`, in an order that follows from
/// the runs' lengths alone.
pub(super) fn runs(gpu: &Gpu, from: &Buffer, runs: &[Range<usize>], width: usize) -> Buffer {
    if let [run] = runs
        && run.start == 0
    {
        return down_to(gpu, from, run.end, width, 1).0;
    }
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

/// The sum of all rows, `[rows, width]`, so many at a time until no more than `most` are left; and
/// how many these are. The device needs no list of the groups.
pub(super) fn down_to(
    gpu: &Gpu,
    from: &Buffer,
    rows: usize,
    width: usize,
    most: usize,
) -> (Buffer, usize) {
    let (mut from, mut left) = (from.clone(), rows);
    // No rows have a sum all the same.
    while left > most || left == 0 {
        let count = left.div_ceil(ROWS).max(1);
        let to = gpu.empty(count * width);
        // SAFETY: the kernel reads and writes within the shapes that it names.
        unsafe {
            all_rows::launch_unchecked(
                &gpu.client,
                grid(count * width.div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                from.arg(),
                to.arg(),
                left as u32,
                count as u32,
                width,
            );
        }
        (from, left) = (to, count);
    }
    (from, left)
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
        to[group * width + column] = column_sum(from, begin, end, column, width);
    }
}

/// The same where all rows are one run, and each group but the last one has as many of them.
#[cube(launch_unchecked)]
fn all_rows(from: &[f32], to: &mut [f32], rows: u32, count: u32, #[comptime] width: usize) {
    let cubes = comptime!(width.div_ceil(UNITS));
    let group = CUBE_POS / cubes;
    let column = CUBE_POS % cubes * UNITS + UNIT_POS_X as usize;
    if column < width && group < count as usize {
        let begin = group * ROWS;
        let end = min(begin + ROWS, rows as usize);
        to[group * width + column] = column_sum(from, begin, end, column, width);
    }
}

/// A column of some rows, added up one after the other.
#[cube]
fn column_sum(
    from: &[f32],
    begin: usize,
    end: usize,
    column: usize,
    #[comptime] width: usize,
) -> f32 {
    let mut sum = 0.0f32;
    for row in begin..end {
        sum += from[row * width + column];
    }
    sum
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
    /// From `[buckets, rows, outputs + hidden + 2]`, the rows of a bucket added up.
    pub fn new(
        gpu: &Gpu,
        from: &Buffer,
        share: f32,
        [buckets, rows]: [usize; 2],
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
                rows as u32,
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
    rows: u32,
    share: f32,
    #[comptime] outputs: usize,
    #[comptime] hidden: usize,
) {
    let width = comptime!(outputs + hidden + 2);
    let column = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if column < width {
        let mut sum = 0.0f32;
        for bucket in 0..buckets as usize {
            let first = bucket * rows as usize;
            let value = column_sum(from, first, first + rows as usize, column, width);
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
