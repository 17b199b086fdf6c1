//! Accumulators from lists of active rows, and their backward pass, on the host: for nets that the
//! fused kernels do not support, with Burn's operations in between. One thread computes a sum, in
//! the order of the lists, so that the result has the same bits for any number of threads.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::architecture::Architecture;
use crate::batch::ActiveRows;

/// The active rows of a batch, by list and by row.
pub struct RowLists<'a> {
    net: &'a Architecture,
    places: usize,
    /// `[batch * views, places]`
    rows: Vec<u32>,
}

impl<'a> RowLists<'a> {
    /// # Panics
    /// If the batch is for another net.
    pub fn new(net: &'a Architecture, active: &ActiveRows) -> Self {
        let ActiveRows { places, .. } = *active;
        assert_eq!(
            (active.rows, active.views),
            (net.rows(), net.views()),
            "a batch for another net"
        );
        Self { net, places, rows: active.indices.iter().map(|row| row as u32).collect() }
    }

    /// The number of lists, `batch * views`.
    pub fn len(&self) -> usize {
        self.rows.len() / self.places
    }

    /// The sums of each list, `[lists, columns]`, of each set's weights, factor and piece-square
    /// values, which are the last columns.
    pub fn accumulate(&self, weights: &[[Cow<[f32]>; 3]]) -> Vec<f32> {
        let (net, hidden) = (self.net, self.net.hidden);
        let columns = hidden + net.psqt_columns();
        let mut sums = vec![0.0; self.len() * columns];
        let lists = self.rows.par_chunks_exact(self.places);
        sums.par_chunks_exact_mut(columns).zip(lists).for_each(|(sums, list)| {
            let (neurons, values) = sums.split_at_mut(hidden);
            for row in list.iter().map(|row| *row as usize).filter(|row| *row < net.rows()) {
                let (set, row) = net.inputs.set_of(row);
                let [rows, factors, psqt] = &weights[set];
                add(neurons, rows, row);
                if let Some(factor) = factor(net, set, row) {
                    add(neurons, factors, factor);
                }
                add(values, psqt, row);
            }
        });
        sums
    }

    /// Gradients of each set's three arrays, from those of accumulators, `[lists, columns]`.
    pub fn scatter(&self, slopes: &[f32]) -> Vec<[Vec<f32>; 3]> {
        let (inputs, hidden) = (&self.net.inputs, self.net.hidden);
        let columns = hidden + self.net.psqt_columns();
        let (starts, lists) = self.by_row();
        let of_set = |set: usize| {
            let (first, count) = (inputs.first_row(set), inputs.sets()[set].rows());
            let sums = |part: Range<usize>| {
                let mut sums = vec![0.0; count * part.len()];
                let rows = sums.par_chunks_exact_mut(part.len().max(1)).enumerate();
                rows.for_each(|(row, sums)| {
                    let Range { start, end } = starts[first + row]..starts[first + row + 1];
                    for list in &lists[start..end] {
                        let slopes = &slopes[*list as usize * columns..][..columns];
                        add(sums, &slopes[part.clone()], 0);
                    }
                });
                sums
            };
            let (rows, psqt) = (sums(0..hidden), sums(hidden..columns));
            let mut factors = vec![0.0; inputs.factor_rows(set) * hidden];
            for (row, slopes) in rows.chunks_exact(hidden).enumerate() {
                if let Some(factor) = factor(self.net, set, row) {
                    add(&mut factors[factor * hidden..][..hidden], slopes, 0);
                }
            }
            [rows, factors, psqt]
        };
        (0..inputs.sets().len()).map(of_set).collect()
    }

    /// The lists that contain each row, row after row, and where those of each begin.
    fn by_row(&self) -> (Vec<usize>, Vec<u32>) {
        let mut starts = vec![0; self.net.rows() + 2];
        // The blank row is the last.
        self.rows.iter().for_each(|row| starts[*row as usize + 1] += 1);
        (1..starts.len()).for_each(|row| starts[row] += starts[row - 1]);
        let (mut next, mut lists) = (starts.clone(), vec![0; self.rows.len()]);
        for (list, rows) in self.rows.chunks_exact(self.places).enumerate() {
            for &row in rows {
                let place = &mut next[row as usize];
                lists[*place] = list as u32;
                *place += 1;
            }
        }
        (starts, lists)
    }
}

/// The row of a set's factor that a row shares, if it is trained with one.
fn factor(net: &Architecture, set: usize, row: usize) -> Option<usize> {
    let set = net.inputs.factorised.then(|| &net.inputs.sets()[set])?;
    set.factor(row as u32).map(|row| row as usize)
}

fn add(sums: &mut [f32], matrix: &[f32], row: usize) {
    let row = &matrix[row * sums.len()..][..sums.len()];
    sums.iter_mut().zip(row).for_each(|(sum, term)| *sum += term);
}
