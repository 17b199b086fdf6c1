//! Entries of handcrafted terms grouped by term, for many passes over the same positions. Rows list
//! the terms of a position; columns list the positions of a term, so that its weight and count are
//! read and multiplied once for many of them. An entry takes 2 bytes.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::TermBatch;

/// Positions per column: their sums stay in the first-level cache.
pub const POSITIONS_PER_COLUMN: usize = 2048;
/// Sums of a position: NORMAL terms, SAFETY terms of White and of Black, COMPLEXITY terms.
pub const SUMS_PER_POSITION: usize = 4;

/// Entries of [`POSITIONS_PER_COLUMN`] positions, grouped by term and count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermColumn {
    pub runs: Vec<TermRun>,
    /// Offsets of each run's entries in ascending order: [`POSITIONS_PER_COLUMN`] * sum + position.
    pub offsets: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermRun {
    pub size: u32,
    pub term: u16,
    pub count: i8,
}

impl TermColumn {
    pub fn from_terms(terms: &TermBatch) -> Vec<Self> {
        let starts: Vec<usize> = (0..terms.len()).step_by(POSITIONS_PER_COLUMN).collect();
        starts
            .into_par_iter()
            .map_init(ColumnSorter::default, |sorter, start| sorter.sort_column(terms, start))
            .collect()
    }
}

/// Sorts entries into lists by term and count. All lists are empty between columns.
#[derive(Default)]
struct ColumnSorter {
    lists: Vec<Vec<u16>>,
    used: Vec<usize>,
}

impl ColumnSorter {
    fn sort_column(&mut self, terms: &TermBatch, start: usize) -> TermColumn {
        for (position, row) in (start..terms.len().min(start + POSITIONS_PER_COLUMN)).enumerate() {
            let safety = terms.safety.entries_of_row(row);
            let safety =
                safety.flat_map(|(term, [white, black])| [(1, term, white), (2, term, black)]);
            let complexity =
                terms.complexity.entries_of_row(row).map(|(term, count)| (3, term, count));
            let normal = terms.normal.entries_of_row(row).map(|(term, count)| (0, term, count));
            for (sum, term, count) in normal.chain(safety).chain(complexity) {
                if count != 0 {
                    let offset = (sum * POSITIONS_PER_COLUMN + position) as u16;
                    self.add(term << 8 | usize::from(count as u8), offset);
                }
            }
        }
        let mut column = TermColumn::default();
        // Long lists first, so that the branch predictor foresees the ends of nearly all.
        self.used.sort_unstable_by_key(|key| (Reverse(self.lists[*key].len()), *key));
        for key in self.used.drain(..) {
            let (size, term) = (self.lists[key].len() as u32, (key >> 8) as u16);
            column.runs.push(TermRun { size, term, count: key as u8 as i8 });
            column.offsets.append(&mut self.lists[key]);
        }
        column
    }

    fn add(&mut self, key: usize, offset: u16) {
        if self.lists.len() <= key {
            self.lists.resize_with(key + 1, Vec::new);
        }
        if self.lists[key].is_empty() {
            self.used.push(key);
        }
        self.lists[key].push(offset);
    }
}
