//! The rows that a batch names, where a net has many.

use std::ops::Range;

use super::{OneHot, Pairs};

/// Rows in order: inputs, then pairs. The parents of pairs are among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Touched {
    rows: Vec<u32>,
    /// Rows without pairs.
    inputs: usize,
}

impl Touched {
    /// The rows that positions name, whose lists may name these pairs.
    pub fn of(positions: OneHot, pairs: &Pairs) -> Self {
        let mut bits = vec![0_u64; pairs.rows().div_ceil(64)];
        let mut touch = |row: usize| bits[row / 64] |= 1 << (row % 64);
        match positions {
            OneHot::Lists(lists) => {
                lists.indices.iter().filter(|row| *row < pairs.rows()).for_each(&mut touch);
            }
            OneHot::Plans(plans) => {
                for run in plans.iter().flat_map(|plan| &plan.runs) {
                    touch(run.input as usize);
                }
            }
        }
        for (number, parents) in pairs.parents().iter().enumerate().rev() {
            let pair = pairs.inputs() + number;
            if bits[pair / 64] >> (pair % 64) & 1 == 1 {
                parents.iter().for_each(|row| bits[*row as usize / 64] |= 1 << (row % 64));
            }
        }
        let mut rows = Vec::with_capacity(bits.iter().map(|word| word.count_ones() as usize).sum());
        for (word, &bits) in bits.iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                rows.push(64 * word as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        Self { rows, inputs: pairs.inputs() }
    }

    /// All of them.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The place of a row among them.
    pub fn place(&self, row: usize) -> Option<usize> {
        self.rows.binary_search(&(row as u32)).ok()
    }

    /// Those of a range.
    pub fn within(&self, range: Range<usize>) -> &[u32] {
        let [start, end] = [range.start, range.end]
            .map(|end| self.rows.partition_point(|row| (*row as usize) < end));
        &self.rows[start..end]
    }

    /// The rows of pairs.
    pub fn pairs(&self) -> &[u32] {
        self.within(self.inputs..usize::MAX)
    }
}
