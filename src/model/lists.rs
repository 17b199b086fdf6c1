//! Accumulators from lists of active rows, and their backward pass, on the host: for nets that the
//! fused kernels do not support, with Burn's operations in between. One thread computes a sum, in
//! the order of the lists, so that the result has the same bits for any number of threads.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::grouped::Grouped;
use crate::architecture::Architecture;
use crate::batch::ActiveRows;

pub struct RowLists<'a> {
    net: &'a Architecture,
    width: usize,
    /// `[batch * views, width]`
    rows: Vec<u32>,
}

impl<'a> RowLists<'a> {
    pub fn new(net: &'a Architecture, active: &ActiveRows) -> Self {
        let ActiveRows { width, .. } = *active;
        assert_eq!(
            (active.rows, active.views),
            (net.rows(), net.views()),
            "a batch for another net"
        );
        Self { net, width, rows: active.indices.iter().map(|row| row as u32).collect() }
    }

    /// The number of lists, `batch * views`.
    pub fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// The sums of each list, `[lists, columns]`; the piece-square values are the last columns.
    pub fn accumulate(&self, weights: &[[Cow<[f32]>; 3]]) -> Vec<f32> {
        let (net, hidden) = (self.net, self.net.hidden);
        let columns = hidden + net.psqt_columns();
        let mut sums = vec![0.0; self.len() * columns];
        let lists = self.rows.par_chunks_exact(self.width);
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
        let lists = self.rows.chunks_exact(self.width).enumerate();
        let places =
            lists.flat_map(|(list, rows)| rows.iter().map(move |row| (*row as usize, list as u32)));
        // The blank row is the last.
        let lists = Grouped::new(self.net.rows() + 1, places);
        let of_set = |set: usize| {
            let (first, count) = (inputs.first_row(set), inputs.sets()[set].rows());
            let sums = |part: Range<usize>| {
                let mut sums = vec![0.0; count * part.len()];
                let rows = sums.par_chunks_exact_mut(part.len().max(1)).enumerate();
                rows.for_each(|(row, sums)| {
                    for list in lists.of(first + row) {
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
