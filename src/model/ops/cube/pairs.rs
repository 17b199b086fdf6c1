//! Pairs of inputs on a GPU: a step begins with their rows, computed from the weights, and ends
//! with their gradients, added to those of the inputs.

use std::ops::Range;
use std::sync::Arc;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{UnitLayout, grid};
use super::gpu::{Buffer, Gpu};
use crate::batch::Pairs;

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
    made: Sums,
    inverse: Sums,
}

impl PairSums {
    pub fn new(pairs: &Arc<Pairs>) -> Self {
        let made = Sums::of_pairs(pairs, pairs.inputs());
        let inverse = made.inverted(pairs.inputs());
        Self { pairs: pairs.clone(), made, inverse }
    }

    /// Writes the tables behind the words of a batch.
    pub fn write(&self, words: &mut Vec<u32>) -> Tables {
        let [made, inverse] = [&self.made, &self.inverse].map(|sums| sums.write(words));
        Tables { made: [made, self.pairs.rows()], inverse: [inverse, self.pairs.inputs()] }
    }
}

struct Sums {
    /// First summand of each row in `of`, and behind the last one their number.
    starts: Vec<u32>,
    of: Vec<u32>,
}

impl Sums {
    /// The inputs of each row of inputs and pairs. Pairs of pairs are sums of inputs, too.
    fn of_pairs(pairs: &Pairs, inputs: usize) -> Self {
        let mut sums =
            Self { starts: (0..=inputs as u32).collect(), of: (0..inputs as u32).collect() };
        for parents in pairs.parents() {
            for parent in parents.map(|parent| parent as usize) {
                sums.of.extend_from_within(sums.range(parent));
            }
            sums.starts.push(sums.of.len() as u32);
        }
        sums
    }

    fn range(&self, row: usize) -> Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// The inverse: for each of `others` others, the rows that contain it, in their order.
    fn inverted(&self, others: usize) -> Self {
        let mut starts = vec![0; others + 1];
        self.of.iter().for_each(|other| starts[*other as usize + 1] += 1);
        for other in 0..others {
            starts[other + 1] += starts[other];
        }
        let (mut next, mut of) = (starts.clone(), vec![0; self.of.len()]);
        for row in 0..self.starts.len() - 1 {
            for other in &self.of[self.range(row)] {
                let next = &mut next[*other as usize];
                of[*next as usize] = row as u32;
                *next += 1;
            }
        }
        Self { starts, of }
    }

    /// Writes the sums behind the words of a batch; returns their start.
    fn write(&self, words: &mut Vec<u32>) -> usize {
        let first = words.len();
        let begin = (first + self.starts.len()) as u32;
        words.extend(self.starts.iter().map(|start| begin + start));
        words.extend_from_slice(&self.of);
        first
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
        for i in begin..end {
            sum += from[batch[i] as usize * hidden + column];
        }
        to[row * hidden + column] = sum;
    }
}
