//! Pairs of inputs on a GPU: their rows are made of the weights when a step begins, and their
//! gradients handed to the inputs when it ends.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{Spread, grid};
use super::gpu::{Buffer, Gpu};
use super::half;
use crate::batch::Pairs;

/// Tables in the words of a batch: of each row of some, which rows of others it is the sum of.
pub(super) struct Tables {
    inputs: usize,
    rows: usize,
    /// Where that of the rows of inputs and pairs begins: the inputs of each.
    made: usize,
    /// Where that of the inputs begins: the rows that have each.
    handed: usize,
}

impl Tables {
    /// Writes them behind the words of a batch.
    pub fn new(pairs: &Pairs, words: &mut Vec<u32>) -> Self {
        let rows = pairs.rows();
        let inputs = rows - pairs.parents().len();
        // Pairs of pairs go by their inputs, so that no row waits for another.
        let mut inputs_of: Vec<Vec<u32>> = (0..inputs as u32).map(|input| vec![input]).collect();
        for parents in pairs.parents() {
            let both = parents.map(|parent| &inputs_of[usize::from(parent)][..]).concat();
            inputs_of.push(both);
        }
        let mut rows_of = vec![Vec::new(); inputs];
        for (row, inputs) in inputs_of.iter().enumerate() {
            inputs.iter().for_each(|input| rows_of[*input as usize].push(row as u32));
        }
        let [made, handed] = [&inputs_of, &rows_of].map(|lists| {
            let (first, mut next) = (words.len(), words.len() + lists.len() + 1);
            for list in lists {
                words.push(next as u32);
                next += list.len();
            }
            words.push(next as u32);
            words.extend(lists.iter().flatten());
            first
        });
        Self { inputs, rows, made, handed }
    }

    /// The rows of inputs and pairs, `[rows, N]`, of weights `[inputs, N]`, which are `rounded` to 16
    /// bits before they are added up or not.
    pub fn made(
        &self,
        gpu: &Gpu,
        batch: &Buffer,
        weights: BufferArg,
        spread: Spread,
        rounded: bool,
    ) -> Buffer {
        launch(gpu, batch, weights, [self.made, self.rows], spread, rounded)
    }

    /// The gradients of the inputs' weights, `[inputs, N]`, of those of all rows, `[rows, N]`.
    pub fn handed_down(&self, gpu: &Gpu, batch: &Buffer, rows: &Buffer, spread: Spread) -> Buffer {
        launch(gpu, batch, rows.arg(), [self.handed, self.inputs], spread, false)
    }
}

fn launch(
    gpu: &Gpu,
    batch: &Buffer,
    from: BufferArg,
    [table, rows]: [usize; 2],
    spread: Spread,
    rounded: bool,
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
            rounded,
        );
    }
    to
}

/// A cube takes a row, and as many columns as it has units.
#[cube(launch_unchecked)]
fn sums(
    from: &[f32],
    batch: &[u32],
    to: &mut [f32],
    table: u32,
    rows: u32,
    #[comptime] spread: Spread,
    #[comptime] rounded: bool,
) {
    let Spread { hidden, units, columns, .. } = comptime!(spread);
    let row = CUBE_POS / columns;
    let column = CUBE_POS % columns * units + UNIT_POS_X as usize;
    if row < rows as usize && column < hidden {
        let begin = batch[table as usize + row] as usize;
        let end = batch[table as usize + row + 1] as usize;
        let mut sum = 0.0f32;
        for i in begin..end {
            let mut value = from[batch[i] as usize * hidden + column];
            if rounded {
                value = half::rounded(value);
            }
            sum += value;
        }
        to[row * hidden + column] = sum;
    }
}
