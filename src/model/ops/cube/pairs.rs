//! Pairs of inputs on a GPU: a step first computes their rows from the weights, and finally adds
//! their gradients to those of the inputs.

use std::sync::Arc;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{UnitLayout, launch_grid};
use super::gpu::{Buffer, Gpu};
use super::sets;
use crate::batch::InputPairs;
use crate::model::grouped::Grouped;

/// Tables in the words of a batch: start and number of rows of each.
pub(super) struct PairTables {
    /// Inputs and pairs: the inputs of each.
    pub made: [usize; 2],
    /// Inputs: the rows that contain each.
    pub inverse: [usize; 2],
}

/// The inputs of each pair's row, and the rows that contain each input: constant over steps.
pub(super) struct PairSums {
    pub pairs: Arc<InputPairs>,
    made: Grouped,
    inverse: Grouped,
}

impl PairSums {
    /// Pairs of pairs are sums of inputs, too.
    pub fn new(pairs: &Arc<InputPairs>) -> Self {
        let inputs = pairs.input_count();
        let (starts, numbers) = ((0..=inputs).collect(), (0..inputs as u32).collect());
        let mut made = Grouped { starts, numbers };
        for parents in pairs.parents() {
            for parent in parents.map(|parent| parent as usize) {
                made.numbers.extend_from_within(made.starts[parent]..made.starts[parent + 1]);
            }
            made.starts.push(made.numbers.len());
        }
        let input =
            |row| made.members_of(row).iter().map(move |input| (*input as usize, row as u32));
        let inverse = Grouped::new(inputs, (0..pairs.row_count()).flat_map(input));
        Self { pairs: pairs.clone(), made, inverse }
    }

    /// Appends the tables to the words of a batch.
    pub fn write_tables(&self, words: &mut Vec<u32>) -> PairTables {
        let [made, inverse] = [&self.made, &self.inverse]
            .map(|sums| sets::append_table(words, &sums.starts, sums.numbers.iter().copied()));
        PairTables {
            made: [made, self.pairs.row_count()],
            inverse: [inverse, self.pairs.input_count()],
        }
    }
}

/// Computes the rows of a table, `[rows, N]`, each as a sum of rows `from`.
pub(super) fn add_up(
    gpu: &Gpu,
    batch: &Buffer,
    from: BufferArg,
    [table, rows]: [usize; 2],
    layout: UnitLayout,
) -> Buffer {
    sum_rows(gpu, batch, from, [table, rows], layout, true)
}

/// Computes rows as [`add_up`], if `is_listed`; else each as a sum of consecutive rows `from`, and
/// the table has the first one of each, and the end of the last.
pub(super) fn sum_rows(
    gpu: &Gpu,
    batch: &Buffer,
    from: BufferArg,
    [table, rows]: [usize; 2],
    layout: UnitLayout,
    is_listed: bool,
) -> Buffer {
    let to = gpu.empty_buffer(rows * layout.hidden);
    // SAFETY: tables and runs have only rows of the buffer.
    unsafe {
        sums::launch_unchecked(
            &gpu.client,
            launch_grid(rows * layout.columns),
            layout.cube_size(),
            from,
            batch.launch_arg(),
            to.launch_arg(),
            table as u32,
            rows as u32,
            layout,
            is_listed,
        );
    }
    to
}

/// Sums the rows of a table. A cube computes a row, a unit one column.
#[cube(launch_unchecked)]
fn sums(
    from: &[f32],
    batch: &[u32],
    to: &mut [f32],
    table: u32,
    rows: u32,
    #[comptime] layout: UnitLayout,
    #[comptime] is_listed: bool,
) {
    let UnitLayout { hidden, units, columns, .. } = comptime!(layout);
    let row = CUBE_POS / columns;
    let column = CUBE_POS % columns * units + UNIT_POS_X as usize;
    if row < rows as usize && column < hidden {
        let begin = batch[table as usize + row] as usize;
        let end = batch[table as usize + row + 1] as usize;
        let mut sum = 0.0f32;
        // Four side by side, so that their latencies overlap.
        let mut i = begin;
        while i + 4 <= end {
            let a = from[row_at(batch, i, is_listed) * hidden + column];
            let b = from[row_at(batch, i + 1, is_listed) * hidden + column];
            let c = from[row_at(batch, i + 2, is_listed) * hidden + column];
            let d = from[row_at(batch, i + 3, is_listed) * hidden + column];
            sum += (a + b) + (c + d);
            i += 4;
        }
        while i < end {
            sum += from[row_at(batch, i, is_listed) * hidden + column];
            i += 1;
        }
        to[row * hidden + column] = sum;
    }
}

/// Returns the row at an index of a table; without a table the index itself.
#[cube]
fn row_at(batch: &[u32], index: usize, #[comptime] is_listed: bool) -> usize {
    let mut row = index;
    if is_listed {
        row = batch[index] as usize;
    }
    row
}
