//! Inputs that many positions share, two by two.
//!
//! Groups of pieces recur: a castled king with its pawns, rooks at home. A pair stands for two inputs
//! that are often one together, or for two smaller groups, and its row for the sum of theirs. Lists
//! that name pairs are shorter, and sums over them are the same: a step first adds up the rows of the
//! pairs, each from its two parents, and ends by handing the gradient of each to these.
//!
//! All rows of a list belong to one king bucket, so that each of these has pairs of its own.
//!
//! Pairs are found as byte-pair encoding finds its tokens (P. Gage, "A New Algorithm for Data
//! Compression", 1994): the two that stand together in most lists become one, again and again.

use rayon::prelude::*;

use super::plan::{LINE, STEP};
use crate::architecture::PIECES;

/// Pairs of a run whose chunks are planned once: the rows of more would not stay in the first cache.
pub const PAIRS: usize = 256;

/// Words of 64 lists each that are shortened at a time.
const WORDS: usize = 4;

/// Rows, at most, that 16 bits can name in units of [`STEP`] bytes, one more behind them.
const NEAR: usize = (1 << 16) / (LINE / STEP) - 1;

/// The lists of some that name a row.
pub type Bits = [u64; WORDS];

/// The pairs of a net's inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Rows without pairs.
    inputs: usize,
    /// The parents of each pair, inputs or earlier pairs; king bucket by king bucket.
    parents: Vec<[u16; 2]>,
    /// The end of each king bucket's pairs.
    ends: Vec<usize>,
}

impl Pairs {
    /// The pairs that shorten these lists `[lists, places]` most, so many at most for each king
    /// bucket. Places that hold the number of inputs are blank; no list names an input twice.
    pub fn learn(inputs: usize, lists: &[u16], places: usize, most: usize) -> Self {
        let kings = inputs / PIECES;
        let near = NEAR.saturating_sub(inputs) / kings;
        let far = (usize::from(u16::MAX) - inputs) / kings;
        // Names in small units are read faster: worth a few pairs, but not half of them.
        let most = if 2 * near > most { most.min(near) } else { most.min(far) };
        let of_kings: Vec<Vec<[u16; 2]>> = (0..kings)
            .into_par_iter()
            .map(|king| {
                let first = (PIECES * king) as u16;
                let here = |list: &&[u16]| usize::from(list[0]) / PIECES == king;
                let lists = lists.chunks_exact(places).filter(here);
                let rows = |list: &[u16]| {
                    let there = list.iter().filter(|row| usize::from(**row) < inputs);
                    there.map(|row| row - first).collect()
                };
                learnt(lists.map(rows).collect(), most)
            })
            .collect();
        let mut pairs = Self::none(inputs);
        for (king, parents) in of_kings.into_iter().enumerate() {
            let of = [PIECES * king, inputs + pairs.parents.len()];
            let row = |it: u16| global(of, it.into()) as u16;
            pairs.parents.extend(parents.into_iter().map(|parents| parents.map(row)));
            pairs.ends[king] = pairs.parents.len();
        }
        pairs
    }

    /// No pairs.
    pub fn none(inputs: usize) -> Self {
        Self { inputs, parents: Vec::new(), ends: vec![0; inputs / PIECES] }
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        !self.parents.is_empty()
    }

    /// The parents of each pair, inputs or earlier pairs. The first pair has the row behind the
    /// inputs.
    pub fn parents(&self) -> &[[u16; 2]] {
        &self.parents
    }

    /// Rows of inputs and pairs.
    pub fn rows(&self) -> usize {
        self.inputs + self.parents.len()
    }

    /// The king bucket that a row belongs to; the last one for what is none.
    #[inline(always)]
    pub(super) fn king(&self, row: usize) -> usize {
        let king = match row.checked_sub(self.inputs) {
            None => row / PIECES,
            Some(pair) => self.ends.partition_point(|end| *end <= pair),
        };
        king.min(self.ends.len() - 1)
    }

    /// Names pairs in lists `[lists, places]` wherever it can, in the order of their rows. Blank
    /// places, which come last, then hold the number of all rows. Up to 255 places; no list names an
    /// input twice.
    pub fn shorten(&self, lists: &mut [u16], places: usize, bits: &mut Vec<Bits>) {
        if self.parents.is_empty() {
            return;
        }
        for lists in lists.chunks_mut(64 * WORDS * places) {
            let mut kings = 0_u64;
            for list in lists.chunks_exact_mut(places) {
                match usize::from(list[0]) / PIECES {
                    king if king < self.ends.len() => kings |= 1 << king,
                    _ => list.fill(self.rows() as u16),
                }
            }
            for king in (0..self.ends.len()).filter(|king| kings >> king & 1 == 1) {
                self.shorten_those(king, lists, places, bits);
            }
        }
    }

    /// The same for those of one king bucket.
    fn shorten_those(&self, king: usize, lists: &mut [u16], places: usize, bits: &mut Vec<Bits>) {
        let blank = self.rows() as u16;
        let begin = king.checked_sub(1).map_or(0, |before| self.ends[before]);
        let parents = &self.parents[begin..self.ends[king]];
        let of = [PIECES * king, self.inputs + begin];
        let local = |row: u16| match usize::from(row).checked_sub(self.inputs) {
            None => usize::from(row) - of[0],
            Some(pair) => PIECES + pair - begin,
        };
        bits.clear();
        bits.resize(PIECES + parents.len(), [0; WORDS]);
        for (number, list) in lists.chunks_exact_mut(places).enumerate() {
            if usize::from(list[0]) / PIECES != king {
                continue;
            }
            for row in list {
                if usize::from(*row) < self.inputs {
                    bits[usize::from(*row) - of[0]][number / 64] |= 1 << (number % 64);
                }
                *row = blank;
            }
        }
        for (number, parents) in parents.iter().enumerate() {
            let [one, other] = parents.map(local);
            let mut both = [0; WORDS];
            for (word, both) in both.iter_mut().enumerate() {
                *both = bits[one][word] & bits[other][word];
                bits[one][word] &= !*both;
                bits[other][word] &= !*both;
            }
            bits[PIECES + number] = both;
        }
        let mut lengths = [0u8; 64 * WORDS];
        for (row, words) in bits.iter().enumerate() {
            let row = global(of, row) as u16;
            for (word, &bits) in words.iter().enumerate() {
                let mut left = bits;
                while left != 0 {
                    let list = 64 * word + left.trailing_zeros() as usize;
                    left &= left - 1;
                    lists[list * places + usize::from(lengths[list])] = row;
                    lengths[list] += 1;
                }
            }
        }
    }
}

/// The row of what has this number in its king bucket, whose inputs and pairs begin at `of`.
fn global([inputs, pairs]: [usize; 2], row: usize) -> usize {
    match row.checked_sub(PIECES) {
        None => inputs + row,
        Some(pair) => pairs + pair,
    }
}

/// The pairs that shorten lists of one king bucket most.
fn learnt(lists: Vec<Vec<u16>>, most: usize) -> Vec<[u16; 2]> {
    let mut learner = Learner::new(most, lists);
    let mut parents = Vec::new();
    while parents.len() < most {
        let next = PIECES + parents.len();
        let Some([one, other]) = learner.best(next) else { break };
        learner.join(one, other, next);
        parents.push([one as u16, other as u16]);
    }
    parents
}

/// Counts how often two inputs stand together.
struct Learner {
    /// Rows there may be.
    rows: usize,
    lists: Vec<Vec<u16>>,
    /// The lists that hold each row, some of them no longer.
    holders: Vec<Vec<u32>>,
    /// `[rows, rows]`
    counts: Vec<u32>,
}

impl Learner {
    fn new(most: usize, lists: Vec<Vec<u16>>) -> Self {
        let rows = PIECES + most;
        let (mut holders, mut counts) = (vec![Vec::new(); rows], vec![0; rows * rows]);
        for (number, list) in lists.iter().enumerate() {
            for &one in list {
                holders[usize::from(one)].push(number as u32);
                for &other in list.iter().filter(|other| **other != one) {
                    counts[usize::from(one) * rows + usize::from(other)] += 1;
                }
            }
        }
        Self { rows, lists, holders, counts }
    }

    /// The two of the first `next` rows that stand together most often, the first of several; none
    /// where no two stand together more than once.
    fn best(&self, next: usize) -> Option<[usize; 2]> {
        let counts = &self.counts[..next * self.rows];
        let most = counts.iter().copied().max().filter(|most| *most > 1)?;
        let place = counts.iter().position(|count| *count == most)?;
        Some([place / self.rows, place % self.rows])
    }

    /// Replaces two rows by their pair.
    fn join(&mut self, one: usize, other: usize, pair: usize) {
        let Self { rows, lists, holders, counts } = self;
        let mut holding = std::mem::take(&mut holders[one]);
        let mut left = Vec::new();
        let mut change = |row: usize, column: usize, by: i32| {
            for (row, column) in [(row, column), (column, row)] {
                let count = &mut counts[row * *rows + column];
                *count = count.wrapping_add_signed(by);
            }
        };
        holding.retain(|&number| {
            let list = &mut lists[number as usize];
            let place = |row: usize| list.iter().position(|it| usize::from(*it) == row);
            let (Some(first), Some(second)) = (place(one), place(other)) else {
                left.push(number);
                return false;
            };
            list.swap_remove(first.max(second));
            list.swap_remove(first.min(second));
            change(one, other, -1);
            for &third in &*list {
                let third = usize::from(third);
                change(one, third, -1);
                change(other, third, -1);
                change(pair, third, 1);
            }
            list.push(pair as u16);
            true
        });
        holders[one] = left;
        holders[pair] = holding;
    }
}
