//! The entries of handcrafted terms by term, for passes over the same positions again and again.
//!
//! In rows a position finds its terms; here a term finds its positions. What is one and the same for
//! all of them, the weight and the count, need not be read and multiplied for each, and the slopes
//! of a term's positions add up without a store. An entry takes 2 bytes.

use super::{Rows, Terms};

/// Positions that entries are grouped in: their sums stay in the first cache.
pub const COLUMN: usize = 2048;

/// Entries of a piece by term, [`COLUMN`] positions after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub normal: Vec<Groups>,
    /// The place of White's count is that of two for each position that comes first.
    pub safety: Vec<Groups>,
    pub complexity: Vec<Groups>,
}

/// Entries that have term and count in common, long groups first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    pub heads: Vec<Head>,
    /// Of each group, in rising order, where its entries add up: a position from the first one on,
    /// times the number of sides.
    pub places: Vec<u16>,
}

/// What a group has in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// Entries.
    pub size: u16,
    pub term: u16,
    pub count: i8,
}

impl Columns {
    pub fn of(terms: &Terms) -> Self {
        let mut sorter = Sorter::default();
        let starts = || (0..terms.len()).step_by(COLUMN);
        let rows = terms.len();
        let one = |rows_of: &Rows<i8>, row: usize, each: &mut dyn FnMut(usize, i8, usize)| {
            rows_of.row(row).for_each(|(term, count)| each(term, count, 0));
        };
        let mut groups = |rows_of: &Rows<i8>| -> Vec<Groups> {
            let units = starts().map(|start| (start, rows.min(start + COLUMN)));
            let of_unit = |(start, end): (usize, usize)| {
                sorter.sort(1, start..end, |row, each| one(rows_of, row, each))
            };
            if rows_of.term.is_empty() { Vec::new() } else { units.map(of_unit).collect() }
        };
        let (normal, complexity) = (groups(&terms.normal), groups(&terms.complexity));
        let units = starts().map(|start| (start, rows.min(start + COLUMN)));
        let of_unit = |(start, end): (usize, usize)| {
            sorter.sort(2, start..end, |row, each| {
                for (term, counts) in terms.safety.row(row) {
                    for (side, count) in counts.into_iter().enumerate() {
                        if count != 0 {
                            each(term, count, side);
                        }
                    }
                }
            })
        };
        let none = terms.safety.term.is_empty();
        let safety = if none { Vec::new() } else { units.map(of_unit).collect() };
        Self { normal, safety, complexity }
    }

    /// Bytes that the arrays hold.
    pub fn bytes(&self) -> usize {
        let groups = [&self.normal, &self.safety, &self.complexity].into_iter().flatten();
        groups.map(|it| size_of_val(&it.heads[..]) + size_of_val(&it.places[..])).sum()
    }
}

/// Sorts entries by counting.
#[derive(Default)]
struct Sorter {
    /// By term and count: how many there are, and then where the next one goes.
    numbers: Vec<u32>,
    /// Those of them that are not zero.
    used: Vec<u32>,
}

impl Sorter {
    /// `of_row` hands out the term, the count and the side of each entry.
    fn sort(
        &mut self,
        sides: usize,
        rows: std::ops::Range<usize>,
        of_row: impl Fn(usize, &mut dyn FnMut(usize, i8, usize)),
    ) -> Groups {
        let Self { numbers, used } = self;
        let key = |term: usize, count: i8| term << 8 | usize::from(count as u8);
        let mut entries = 0;
        for row in rows.clone() {
            of_row(row, &mut |term, count, _| {
                let key = key(term, count);
                if numbers.len() <= key {
                    numbers.resize((term + 1) << 8, 0);
                }
                if numbers[key] == 0 {
                    used.push(key as u32);
                }
                numbers[key] += 1;
                entries += 1;
            });
        }
        // Long groups first, so that the processor foresees the ends of nearly all.
        used.sort_unstable_by_key(|&key| (u32::MAX - numbers[key as usize], key));
        let mut groups = Groups { heads: Vec::with_capacity(used.len()), places: vec![0; entries] };
        let mut next = 0;
        for &key in &*used {
            let mut left = std::mem::replace(&mut numbers[key as usize], next);
            next += left;
            // A term that positions repeat may have more entries than fit.
            while left > 0 {
                let size = left.min(u16::MAX.into()) as u16;
                groups.heads.push(Head { size, term: (key >> 8) as u16, count: key as u8 as i8 });
                left -= u32::from(size);
            }
        }
        for row in rows.clone() {
            of_row(row, &mut |term, count, side| {
                let number = &mut numbers[key(term, count)];
                groups.places[*number as usize] = (sides * (row - rows.start) + side) as u16;
                *number += 1;
            });
        }
        used.drain(..).for_each(|key| numbers[key as usize] = 0);
        groups
    }
}
