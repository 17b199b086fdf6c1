//! Rows of any feature sets on a GPU: lists of 16 or 32 bits, weights of all sets with their factors
//! in one array, and gradients of each row, summed over the lists that contain it.
//!
//! The host inverts the lists, row after row, while the GPU computes the step before. A row that is
//! in many lists is summed in segments, and these are added up: so the work is even, and the order
//! of the sums follows from the batch alone.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;
use rayon::prelude::*;

use super::form::{NONE, UNITS, UnitLayout, grid};
use super::gpu::{Buffer, Gpu};
use super::pairs;
use crate::batch::{Indices, with_vector};
use crate::model::grouped::Grouped;

/// Lists of a segment, at most.
const SEGMENT: usize = 128;

/// Tables of a part of a batch in its words: start and number of rows of each.
#[derive(Clone, Copy)]
pub(super) struct RowTables {
    /// The lists of each segment.
    segments: [usize; 2],
    /// The segments of each row.
    rows: [usize; 2],
}

impl RowTables {
    /// Inverts some lists of `width` entries, which are numbered from the first of them, and writes
    /// the tables behind the words of a batch.
    pub fn write(
        indices: &Indices,
        (lists, width): (Range<usize>, usize),
        rows: usize,
        words: &mut Vec<u32>,
    ) -> Self {
        let entries = lists.start * width..lists.end * width;
        let lists = with_vector!(indices, all => invert(&all[entries], width, rows));
        let (mut segments, mut of_rows) = (vec![0], vec![0]);
        for row in 0..rows {
            let (mut start, end) = (lists.starts[row], lists.starts[row + 1]);
            while start < end {
                start = end.min(start + SEGMENT);
                segments.push(start);
            }
            of_rows.push(segments.len() - 1);
        }
        let count = segments.len() - 1;
        let segments = write(words, &segments, lists.numbers.into_iter());
        let of_rows = write(words, &of_rows, 0..count as u32);
        Self { segments: [segments, count], rows: [of_rows, rows] }
    }

    /// The gradients of all rows, `[rows, N]`, from those of the lists, `[lists, N]`.
    pub fn add_up(&self, gpu: &Gpu, batch: &Buffer, slopes: &Buffer, spread: UnitLayout) -> Buffer {
        let segments = pairs::add_up(gpu, batch, slopes.arg(), self.segments, spread);
        pairs::add_up(gpu, batch, segments.arg(), self.rows, spread)
    }
}

/// Appends a table to the words: where each row's numbers begin and end, and the numbers.
pub(super) fn write(
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

/// The lists that contain each row, in their order; a row that is in a list twice has it twice.
fn invert<I: Copy + Send + Sync + Into<u32>>(entries: &[I], width: usize, rows: usize) -> Grouped {
    // Each thread looks for some rows.
    let each = rows.div_ceil(rayon::current_num_threads());
    let some: Vec<usize> = (0..rows).step_by(each.max(1)).collect();
    let parts = some.into_par_iter().map(|first| {
        let count = each.min(rows - first);
        let lists = entries.chunks_exact(width).zip(0_u32..);
        let here = lists.flat_map(|(list, number)| {
            let rows = list.iter().map(|row| (*row).into() as usize);
            rows.filter_map(move |row| row.checked_sub(first)).map(move |row| (row, number))
        });
        Grouped::new(count, here.filter(move |(row, _)| *row < count))
    });
    let parts: Vec<Grouped> = parts.collect();
    let mut all = Grouped { starts: vec![0], numbers: Vec::new() };
    for part in parts {
        let before = all.numbers.len();
        all.starts.extend(part.starts[1..].iter().map(|start| before + start));
        all.numbers.extend(part.numbers);
    }
    all
}

/// The rows of a set in an array of all sets, from row `first` on.
pub(super) struct SetOfRows {
    pub first: usize,
    pub rows: usize,
    /// The factor's weights, and the table of the factor's row that is added to each row.
    pub factor: Option<(BufferArg, usize)>,
}

/// Copies the rows of a set, with its factor.
pub(super) fn merge(
    gpu: &Gpu,
    batch: &Buffer,
    weight: BufferArg,
    to: &Buffer,
    set: SetOfRows,
    hidden: usize,
) {
    let SetOfRows { first, rows, factor } = set;
    let len = rows * hidden;
    let has_factor = factor.is_some();
    let (shared, table) = factor.unwrap_or_else(|| (gpu.empty(1).arg(), 0));
    // SAFETY: the table names no row of the factor that is not there.
    unsafe {
        merge_rows::launch_unchecked(
            &gpu.client,
            grid(len.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            weight,
            shared,
            batch.arg(),
            to.arg(),
            (first * hidden) as u32,
            table as u32,
            len as u32,
            hidden,
            has_factor,
        );
    }
}

/// One number a unit.
#[cube(launch_unchecked)]
fn merge_rows(
    weight: &[f32],
    shared: &[f32],
    batch: &[u32],
    to: &mut [f32],
    first: u32,
    table: u32,
    len: u32,
    #[comptime] hidden: usize,
    #[comptime] has_factor: bool,
) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let mut value = weight[i];
        if has_factor {
            let factor = batch[table as usize + i / hidden];
            let there = factor != NONE;
            let row = select(there, factor, 0u32) as usize;
            value += select(there, shared[row * hidden + i % hidden], 0.0f32);
        }
        to[first as usize + i] = value;
    }
}
