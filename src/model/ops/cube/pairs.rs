//! Pairs of inputs on a GPU: a step begins with their rows, computed from the weights, and ends
//! with their gradients, added to those of the inputs.

use std::sync::Arc;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{UnitLayout, grid};
use super::gpu::{Buffer, Gpu};
use super::sets;
use crate::batch::Pairs;
use crate::model::grouped::Grouped;

/// Tables in the words of a batch: start and number of rows of each.
pub(super) struct Tables {
    /// Inputs and pairs: the inputs of each.
    pub made: [usize; 2],
    /// Inputs: the rows that contain each.
    pub inverse: [usize; 2],
}

/// The inputs of each pair's row, and the rows that contain each input: constant over steps.
pub(super) struct PairSums {
    pub pairs: Arc<Pairs>,
    made: Grouped,
    inverse: Grouped,
}

impl PairSums {
    /// Pairs of pairs are sums of inputs, too.
    pub fn new(pairs: &Arc<Pairs>) -> Self {
        let inputs = pairs.inputs();
        let (starts, numbers) = ((0..=inputs).collect(), (0..inputs as u32).collect());
        let mut made = Grouped { starts, numbers };
        for parents in pairs.parents() {
            for parent in parents.map(|parent| parent as usize) {
                made.numbers.extend_from_within(made.starts[parent]..made.starts[parent + 1]);
            }
            made.starts.push(made.numbers.len());
        }
        let input = |row| made.of(row).iter().map(move |input| (*input as usize, row as u32));
        let inverse = Grouped::new(inputs, (0..pairs.rows()).flat_map(input));
        Self { pairs: pairs.clone(), made, inverse }
    }

    /// Writes the tables behind the words of a batch.
    pub fn write(&self, words: &mut Vec<u32>) -> Tables {
        let [made, inverse] = [&self.made, &self.inverse]
            .map(|sums| sets::write(words, &sums.starts, sums.numbers.iter().copied()));
        Tables { made: [made, self.pairs.rows()], inverse: [inverse, self.pairs.inputs()] }
    }
}

/// Computes the rows of a table, `[rows, N]`, each as a sum of rows `from`.
pub(super) fn add_up(
    gpu: &Gpu,
    batch: &Buffer,
    from: BufferArg,
    [table, rows]: [usize; 2],
    spread: UnitLayout,
) -> Buffer {
    let to = gpu.empty(rows * spread.hidden);
    // SAFETY: the tables name no row that is not there.
    unsafe {
        sums::launch_unchecked(
            &gpu.client,
            grid(rows * spread.columns),
            spread.cube(),
            from,
            batch.arg(),
            to.arg(),
            table as u32,
            rows as u32,
            spread,
        );
    }
    to
}

/// A cube computes a row, one column a unit.
#[cube(launch_unchecked)]
fn sums(
    from: &[f32],
    batch: &[u32],
    to: &mut [f32],
    table: u32,
    rows: u32,
    #[comptime] spread: UnitLayout,
) {
    let UnitLayout { hidden, units, columns, .. } = comptime!(spread);
    let row = CUBE_POS / columns;
    let column = CUBE_POS % columns * units + UNIT_POS_X as usize;
    if row < rows as usize && column < hidden {
        let begin = batch[table as usize + row] as usize;
        let end = batch[table as usize + row + 1] as usize;
        let mut sum = 0.0f32;
        // Four side by side, so that their latencies overlap.
        let mut i = begin;
        while i + 4 <= end {
            let a = from[batch[i] as usize * hidden + column];
            let b = from[batch[i + 1] as usize * hidden + column];
            let c = from[batch[i + 2] as usize * hidden + column];
            let d = from[batch[i + 3] as usize * hidden + column];
            sum += (a + b) + (c + d);
            i += 4;
        }
        while i < end {
            sum += from[batch[i] as usize * hidden + column];
            i += 1;
        }
        to[row * hidden + column] = sum;
    }
}
