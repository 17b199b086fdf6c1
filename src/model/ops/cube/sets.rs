//! Weights of any feature sets, with their factors, as one array of rows on a GPU.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{NONE, UNITS, launch_grid};
use super::gpu::{Buffer, Gpu};

/// Appends a table to the words: start and end of each row's numbers, then the numbers.
pub(super) fn append_table(
    words: &mut Vec<u32>,
    starts: &[usize],
    numbers: impl Iterator<Item = u32>,
) -> usize {
    let table = words.len();
    let first = table + starts.len();
    words.extend(starts.iter().map(|start| (first + start) as u32));
    words.extend(numbers);
    table
}

/// Range of rows and columns in an array of `columns` columns.
#[derive(Clone)]
pub(super) struct ColumnRange {
    pub rows: Range<usize>,
    pub first: usize,
    pub width: usize,
    pub columns: usize,
}

/// Copies `[rows, width]` into an array, and adds the factor's weights, if any. A table in the
/// batch has the row of the factor for each row.
pub(super) fn copy_set_rows(
    gpu: &Gpu,
    batch: &Buffer,
    weight: BufferArg,
    factor: Option<(BufferArg, usize)>,
    to: &Buffer,
    range: ColumnRange,
) {
    let ColumnRange { rows, first, width, columns } = range;
    let (len, has_factor) = (rows.len() * width, factor.is_some());
    let (shared, table) = factor.unwrap_or_else(|| (gpu.empty_buffer(1).launch_arg(), 0));
    // SAFETY: the table has only rows of the factor, and the array has the columns.
    unsafe {
        copy_rows::launch_unchecked(
            &gpu.client,
            launch_grid(len.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            weight,
            shared,
            batch.launch_arg(),
            to.launch_arg(),
            (rows.start * columns + first) as u32,
            table as u32,
            len as u32,
            width,
            columns,
            has_factor,
        );
    }
}

/// Copies one number per unit.
#[cube(launch_unchecked)]
fn copy_rows(
    weight: &[f32],
    shared: &[f32],
    batch: &[u32],
    to: &mut [f32],
    first: u32,
    table: u32,
    len: u32,
    #[comptime] width: usize,
    #[comptime] columns: usize,
    #[comptime] has_factor: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let mut value = weight[i];
        if has_factor {
            let factor = batch[table as usize + i / width];
            let there = factor != NONE;
            let row = select(there, factor, 0u32) as usize;
            value += select(there, shared[row * width + i % width], 0.0f32);
        }
        to[first as usize + i / width * columns + i % width] = value;
    }
}
