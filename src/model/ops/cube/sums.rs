//! Sums in a fixed order: over the lists that have an input, and over rows of partial sums.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{Tiles, UnitLayout, launch_grid};
use super::gpu::{Buffer, Gpu};
use super::index::{BitRound, IndexShape};
use crate::model::ops::strips::ROUND;

/// Lists whose gradients are loaded side by side, so that their latencies overlap.
const ABREAST: u32 = 8;

/// Sums the gradients of each strip's lists that contain an input, into `sums`, `[strips, inputs,
/// hidden]`. A cube computes a strip and an input, a unit one column. The inputs of a strip are
/// consecutive cubes, so that their data stay in a cache.
///
/// # Buffers
/// - `gradients`: `[lists, hidden]`
/// - `bits`: see [`find_bits`](super::index::find_bits)
/// - `batch`: from `order` on, the list of each slot of the strips, if they are ordered
#[cube(launch_unchecked)]
pub(super) fn strips(
    gradients: &[f32],
    bits: &[u32],
    batch: &[u32],
    sums: &mut [f32],
    order: u32,
    strips: u32,
    #[comptime] shape: IndexShape,
    #[comptime] spread: UnitLayout,
) {
    let IndexShape { inputs, words, ordered, .. } = comptime!(shape);
    let UnitLayout { hidden, units, columns } = comptime!(spread);
    let cube = CUBE_POS;
    let input = cube % inputs;
    let column = cube / inputs % columns * units + UNIT_POS_X as usize;
    let strip = cube / comptime!(inputs * columns);
    let here = strip < strips as usize;
    // All units take part in the search.
    let readable = min(strip, strips as usize - 1);
    let read = min(column, comptime!(hidden - 1));
    let mut round = BitRound::new();
    let mut sum = 0.0f32;
    for i in 0..comptime!(words * 32 / ROUND) {
        let word = (readable * inputs + input) * words + i * comptime!(ROUND / 32);
        let mut slot = readable * comptime!(words * 32) + i * ROUND;
        if ordered {
            slot += order as usize;
        }
        round.find(bits, batch, word, slot, ordered);
        let count = round.count();
        let mut index = 0u32;
        while index < count {
            let a = list_gradient(gradients, &round, index, count, read, hidden);
            let b = list_gradient(gradients, &round, index + 1u32, count, read, hidden);
            let c = list_gradient(gradients, &round, index + 2u32, count, read, hidden);
            let d = list_gradient(gradients, &round, index + 3u32, count, read, hidden);
            let e = list_gradient(gradients, &round, index + 4u32, count, read, hidden);
            let f = list_gradient(gradients, &round, index + 5u32, count, read, hidden);
            let g = list_gradient(gradients, &round, index + 6u32, count, read, hidden);
            let h = list_gradient(gradients, &round, index + 7u32, count, read, hidden);
            sum += ((a + b) + (c + d)) + ((e + f) + (g + h));
            index += ABREAST;
        }
    }
    if here && column < hidden {
        sums[(strip * inputs + input) * hidden + column] = sum;
    }
}

/// Returns a column of the gradient of the list at `index` of a round; 0 beyond the last.
#[cube]
fn list_gradient(
    gradients: &[f32],
    round: &BitRound,
    index: u32,
    count: u32,
    column: usize,
    #[comptime] width: usize,
) -> f32 {
    let list = round.list(min(index, count - 1u32));
    select(index < count, gradients[list * width + column], 0.0f32)
}

/// Sums the strips of each row into `gradients`, `[rows, hidden]`, one row a cube. If there are
/// several king buckets, `batch` has the first strip of each from `starts` on.
#[cube(launch_unchecked)]
pub(super) fn rows_of_strips(
    sums: &[f32],
    batch: &[u32],
    gradients: &mut [f32],
    starts: u32,
    strips: u32,
    #[comptime] shape: IndexShape,
    #[comptime] spread: UnitLayout,
    #[comptime] adding: bool,
) {
    let IndexShape { rows, inputs, .. } = comptime!(shape);
    let UnitLayout { hidden, units, columns, .. } = comptime!(spread);
    let row = CUBE_POS;
    if row < rows {
        let mut begin = 0usize;
        let mut end = strips as usize;
        if comptime!(rows > inputs) {
            begin = batch[starts as usize + row / inputs] as usize;
            end = batch[starts as usize + row / inputs + 1] as usize;
        }
        let unit = UNIT_POS_X as usize;
        for c in 0..columns {
            let column = unit + c * units;
            if column < hidden {
                let mut sum = 0.0f32;
                if adding {
                    sum = gradients[row * hidden + column];
                }
                let step = comptime!(inputs * hidden);
                let mut offset = begin * step + row % inputs * hidden + column;
                let mut rest = end - begin;
                while rest >= 4 {
                    let a = sums[offset];
                    let b = sums[offset + step];
                    let c = sums[offset + comptime!(2 * step)];
                    let d = sums[offset + comptime!(3 * step)];
                    sum += (a + b) + (c + d);
                    offset += comptime!(4 * step);
                    rest -= 4;
                }
                while rest > 0 {
                    sum += sums[offset];
                    offset += step;
                    rest -= 1;
                }
                gradients[row * hidden + column] = sum;
            }
        }
    }
}

const ROWS: usize = 32;
const UNITS: usize = 128;

/// Sums the tiles of each bucket, `[tiles, width]` to `[buckets, width]`, part by part.
pub(super) fn sum_buckets(
    gpu: &Gpu,
    from: &Buffer,
    tiles: &Tiles,
    buckets: usize,
    width: usize,
) -> Buffer {
    let parts = tiles.runs.len() / buckets;
    let by_part = sum_runs(gpu, from, &tiles.runs, width);
    let runs: Vec<_> = (0..buckets).map(|i| i * parts..(i + 1) * parts).collect();
    sum_runs(gpu, &by_part, &runs, width)
}

/// Sums of runs of rows, `[rows, width]` to `[runs, width]`, in an order fixed by the lengths.
fn sum_runs(gpu: &Gpu, from: &Buffer, runs: &[Range<usize>], width: usize) -> Buffer {
    let (mut from, mut runs) = (from.clone(), runs.to_vec());
    while runs.iter().enumerate().any(|(i, run)| *run != (i..i + 1)) {
        let (mut groups, mut next) = (Vec::new(), Vec::with_capacity(runs.len()));
        for run in &runs {
            let first = groups.len() / 2;
            // A run without rows has a sum as well.
            for begin in (run.start..run.end.max(run.start + 1)).step_by(ROWS) {
                groups.extend([begin as u32, run.end.min(begin + ROWS) as u32]);
            }
            next.push(first..groups.len() / 2);
        }
        let count = groups.len() / 2;
        let to = match &runs[..] {
            // These groups need no list.
            [run] if run.start == 0 => add_groups(gpu, &from, None, [run.end, count], width),
            _ => add_groups(gpu, &from, Some(groups), [0, count], width),
        };
        (from, runs) = (to, next);
    }
    from
}

/// Sums the first rows, `[rows, width]` to `[width]`.
pub(super) fn of_all(gpu: &Gpu, from: &Buffer, rows: usize, width: usize) -> Buffer {
    let all = 0..rows;
    sum_runs(gpu, from, &[all], width)
}

/// Sums `count` groups of rows, `[rows, width]` to `[groups, width]`. `groups` is `[groups, 2]`,
/// start and end of each; without it all rows form one run, with [`ROWS`] per group.
fn add_groups(
    gpu: &Gpu,
    from: &Buffer,
    groups: Option<Vec<u32>>,
    [rows, count]: [usize; 2],
    width: usize,
) -> Buffer {
    let (to, listed) = (gpu.empty_buffer(count * width), groups.is_some());
    let groups = groups.map_or_else(|| gpu.empty_buffer(1), |groups| gpu.upload_words(groups));
    // SAFETY: the kernel reads and writes within the shapes of its buffers.
    unsafe {
        sum_of_groups::launch_unchecked(
            &gpu.client,
            launch_grid(count * width.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            from.launch_arg(),
            groups.launch_arg(),
            to.launch_arg(),
            rows as u32,
            count as u32,
            width,
            listed,
        );
    }
    to
}

/// See [`add_groups`]. Each unit computes a column, each cube some columns of one group.
#[cube(launch_unchecked)]
fn sum_of_groups(
    from: &[f32],
    groups: &[u32],
    to: &mut [f32],
    rows: u32,
    count: u32,
    #[comptime] width: usize,
    #[comptime] listed: bool,
) {
    let cubes = comptime!(width.div_ceil(UNITS));
    let group = CUBE_POS / cubes;
    let column = CUBE_POS % cubes * UNITS + UNIT_POS_X as usize;
    if column < width && group < count as usize {
        let mut begin = group * ROWS;
        let mut end = min(begin + ROWS, rows as usize);
        if comptime!(listed) {
            begin = groups[2 * group] as usize;
            end = groups[2 * group + 1] as usize;
        }
        let mut sum = 0.0f32;
        for row in begin..end {
            sum += from[row * width + column];
        }
        to[group * width + column] = sum;
    }
}

/// Splits the sums of the tiles of each bucket, `[buckets, outputs + hidden + 2]`: the gradients of
/// the output weights, `[buckets, outputs]`, of the biases, `[hidden]`, and of the output's biases,
/// `[buckets]`, and the loss, `[1]`, times `share`.
pub(super) fn split_sums(
    gpu: &Gpu,
    from: &Buffer,
    share: f32,
    buckets: usize,
    outputs: usize,
    hidden: usize,
) -> [Buffer; 4] {
    let [output, bias, output_bias, loss] =
        [buckets * outputs, hidden, buckets, 1].map(|len| gpu.empty_buffer(len));
    // SAFETY: the kernel reads and writes within the shapes of its buffers.
    unsafe {
        split::launch_unchecked(
            &gpu.client,
            launch_grid((outputs + hidden + 2).div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            from.launch_arg(),
            output.launch_arg(),
            bias.launch_arg(),
            output_bias.launch_arg(),
            loss.launch_arg(),
            buckets as u32,
            share,
            outputs,
            hidden,
        );
    }
    [output, bias, output_bias, loss]
}

/// See [`split_sums`]. Each unit computes a column.
#[cube(launch_unchecked)]
fn split(
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
