//! The rows that a batch touches, in nets of many rows.

use std::ops::Range;

use super::{InputPairs, OneHot};

/// Set of rows in ascending order: inputs, then pairs. It has the parents of its pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct RowSet {
    rows: Vec<u32>,
    /// Number of rows without pairs.
    inputs: usize,
    /// One bit per row, 64 a word.
    bits: Vec<u64>,
    /// Number of set bits before each word.
    before: Vec<u32>,
}

impl RowSet {
    /// Collects the rows of positions whose lists may contain `pairs`; plans must be of a large
    /// net.
    pub fn of_positions(positions: OneHot, pairs: &InputPairs) -> Self {
        let mut bits = vec![0_u64; pairs.row_count().div_ceil(64)];
        let mut touch = |row: usize| bits[row / 64] |= 1 << (row % 64);
        match positions {
            OneHot::Lists(lists) => {
                lists.indices.iter().filter(|row| *row < pairs.row_count()).for_each(&mut touch);
            }
            OneHot::First(_) => panic!("nets of few rows touch all"),
            OneHot::Plans(plans) => {
                for row in plans.iter().flat_map(|plan| &plan.occurring) {
                    touch(*row as usize);
                }
            }
        }
        for (number, parents) in pairs.parents().iter().enumerate().rev() {
            let pair = pairs.input_count() + number;
            if bits[pair / 64] >> (pair % 64) & 1 == 1 {
                parents.iter().for_each(|row| bits[*row as usize / 64] |= 1 << (row % 64));
            }
        }
        let (mut rows, mut before) = (Vec::new(), Vec::with_capacity(bits.len()));
        for (word, &bits) in bits.iter().enumerate() {
            before.push(rows.len() as u32);
            let mut rest = bits;
            while rest != 0 {
                rows.push(64 * word as u32 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        Self { rows, inputs: pairs.input_count(), bits, before }
    }

    pub fn all_rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the index of a row among the touched ones; of the next touched row if it is none.
    #[inline(always)]
    pub fn index_of(&self, row: usize) -> usize {
        match self.bits.get(row / 64) {
            None => self.rows.len(),
            Some(bits) => {
                let lower = bits & ((1 << (row % 64)) - 1);
                self.before[row / 64] as usize + lower.count_ones() as usize
            }
        }
    }

    pub fn rows_within(&self, range: Range<usize>) -> &[u32] {
        &self.rows[self.index_of(range.start)..self.index_of(range.end)]
    }

    pub fn touched_pairs(&self) -> &[u32] {
        self.rows_within(self.inputs..usize::MAX)
    }
}
