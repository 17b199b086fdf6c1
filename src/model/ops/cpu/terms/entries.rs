//! Forward and back over the entries of a block of positions.
//!
//! The loops are plain: a pair of floats is one vector to the compiler, and what counts is how
//! little is done for each entry. Rows are walked in the order of their lengths, so that the
//! processor foresees the end of nearly every row; that is worth more than the sorting costs.

use std::ops::Range;

use super::block::BLOCK;
use crate::batch::Rows;
use crate::prefetch::prefetch;

/// A middlegame and an endgame number.
pub(super) type Pair = [f32; 2];

/// A count of a term, for one side or for each of two.
pub(super) trait Count<const SIDES: usize>: Copy {
    fn widen(self) -> [f32; SIDES];
}

impl Count<1> for i8 {
    #[inline(always)]
    fn widen(self) -> [f32; 1] {
        [f32::from(self)]
    }
}

impl Count<2> for [i8; 2] {
    #[inline(always)]
    fn widen(self) -> [f32; 2] {
        self.map(f32::from)
    }
}

/// Memory that [`Entries`] work in, kept from block to block.
pub(super) struct Room<const SIDES: usize> {
    counts: Vec<[f32; SIDES]>,
    order: [u16; BLOCK],
}

impl<const SIDES: usize> Default for Room<SIDES> {
    fn default() -> Self {
        Room { counts: Vec::new(), order: [0; BLOCK] }
    }
}

/// The entries of a block of rows, none of a term beyond `terms`.
pub(super) struct Entries<'a, C, const SIDES: usize> {
    terms: usize,
    /// Ends of the rows, one more than there are rows; empty where there are no entries.
    offsets: &'a [u32],
    term: &'a [u16],
    count: &'a [C],
    /// The counts as floats.
    wide: &'a [[f32; SIDES]],
    /// The rows in the order of their lengths.
    order: &'a [u16],
}

impl<'a, C: Count<SIDES>, const SIDES: usize> Entries<'a, C, SIDES> {
    /// # Panics
    /// When an entry is of a term beyond `terms`, or the rows are not there.
    #[inline(always)]
    pub fn new(
        rows: &'a Rows<C>,
        range: Range<usize>,
        terms: usize,
        room: &'a mut Room<SIDES>,
    ) -> Self {
        if rows.offsets.is_empty() {
            return Entries { terms, offsets: &[], term: &[], count: &[], wide: &[], order: &[] };
        }
        let offsets = &rows.offsets[range.start..=range.end];
        let entries = offsets[0] as usize..offsets[offsets.len() - 1] as usize;
        let (term, count) = (&rows.term[entries.clone()], &rows.count[entries]);
        let beyond = term.iter().copied().max().map_or(0, |term| usize::from(term) + 1);
        assert!(beyond <= terms, "an entry is of term {}, but there are {terms}", beyond - 1);

        let Room { counts, order } = room;
        if counts.len() < count.len() {
            counts.resize(count.len(), [0.0; SIDES]);
        }
        let wide = &mut counts[..count.len()];
        for (wide, &count) in wide.iter_mut().zip(count) {
            *wide = count.widen();
        }
        let order = &mut order[..offsets.len() - 1];
        by_length(offsets, order);
        Entries { terms, offsets, term, count, wide, order }
    }

    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Weights times counts, added up for each row.
    #[inline(always)]
    pub fn forward<const FUSED: bool>(&self, weights: &[Pair], sums: &mut [[Pair; SIDES]; BLOCK]) {
        assert!(self.terms <= weights.len());
        for (i, &row) in self.order.iter().enumerate() {
            // The next block's part of what is streamed from memory; two lines of terms suffice
            // for all but the longest rows.
            let next = self.start(i) + self.term.len();
            prefetch(self.term, next);
            prefetch(self.term, next + 32);
            prefetch(self.count, next);

            // Two terms a vector, and two vectors that need not wait for each other.
            let mut several = [[[0f32; 4]; SIDES]; 2];
            let mut add = |i: usize, terms: [u16; 2], counts: [[f32; SIDES]; 2]| {
                // SAFETY: `new` has compared all terms with `self.terms`.
                let [one, other] =
                    terms.map(|term| unsafe { weights.get_unchecked(usize::from(term)) });
                let pairs = both(one, other);
                let sums: &mut [[f32; 4]; SIDES] = &mut several[i];
                for (side, sum) in sums.iter_mut().enumerate() {
                    let [one, other] = counts.map(|counts| counts[side]);
                    let counts = [one, one, other, other];
                    for k in 0..4 {
                        sum[k] = multiply_add::<FUSED>(pairs[k], counts[k], sum[k]);
                    }
                }
            };
            let (terms, counts) = self.row(row.into());
            let (four_terms, terms) = terms.as_chunks::<4>();
            let (four_counts, counts) = counts.as_chunks::<4>();
            for (&[a, b, c, d], &[e, f, g, h]) in four_terms.iter().zip(four_counts) {
                add(0, [a, b], [e, f]);
                add(1, [c, d], [g, h]);
            }
            for (&term, &count) in terms.iter().zip(counts) {
                add(0, [term; 2], [count, [0.0; SIDES]]);
            }
            let [a, b] = several;
            sums[usize::from(row)] = std::array::from_fn(|side| {
                let sum = |k: usize| (a[side][k] + a[side][k + 2]) + (b[side][k] + b[side][k + 2]);
                [sum(0), sum(1)]
            });
        }
    }

    /// Adds the slopes of each row, times the counts, to the gradients of the terms.
    #[inline(always)]
    pub fn backward<const FUSED: bool>(
        &self,
        slopes: &[[Pair; SIDES]; BLOCK],
        gradients: &mut [Pair],
    ) {
        assert!(self.terms <= gradients.len());
        for &row in self.order {
            let slopes = slopes[usize::from(row)];
            let mut add = |term: u16, count: [f32; SIDES]| {
                // SAFETY: `new` has compared all terms with `self.terms`.
                let place = unsafe { gradients.get_unchecked_mut(usize::from(term)) };
                // As a copy, or the compiler stores its halves one by one.
                let mut gradient = *place;
                for (slope, count) in slopes.iter().zip(count) {
                    for k in 0..2 {
                        gradient[k] = multiply_add::<FUSED>(slope[k], count, gradient[k]);
                    }
                }
                *place = gradient;
            };
            let (terms, counts) = self.row(row.into());
            let (four_terms, terms) = terms.as_chunks::<4>();
            let (four_counts, counts) = counts.as_chunks::<4>();
            for (terms, counts) in four_terms.iter().zip(four_counts) {
                for i in 0..4 {
                    add(terms[i], counts[i]);
                }
            }
            for (&term, &count) in terms.iter().zip(counts) {
                add(term, count);
            }
        }
    }

    /// Where a row starts.
    #[inline(always)]
    fn start(&self, row: usize) -> usize {
        self.offsets[row].wrapping_sub(self.offsets[0]) as usize
    }

    #[inline(always)]
    fn row(&self, row: usize) -> (&'a [u16], &'a [[f32; SIDES]]) {
        let range = self.start(row)..self.start(row + 1);
        (&self.term[range.clone()], &self.wide[range])
    }
}

/// Sorts rows by counting how many there are of each length. `order` is `[rows]`.
#[inline(always)]
fn by_length(offsets: &[u32], order: &mut [u16]) {
    const LENGTHS: usize = 128;
    let length = |ends: &[u32]| (ends[1].wrapping_sub(ends[0]) as usize).min(LENGTHS - 1);
    let mut places = [0u16; LENGTHS];
    for ends in offsets.windows(2) {
        places[length(ends)] += 1;
    }
    let mut before = 0;
    for place in &mut places {
        (*place, before) = (before, before + *place);
    }
    for (row, ends) in offsets.windows(2).enumerate() {
        let place = &mut places[length(ends)];
        order[usize::from(*place)] = row as u16;
        *place += 1;
    }
}

/// Two pairs as one vector.
#[inline(always)]
pub(super) fn both(one: &Pair, other: &Pair) -> [f32; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_load_sd, _mm_loadh_pd};
        // SAFETY: both loads read the eight bytes of a pair, of whatever alignment, and every
        // x86-64 has them. Left to itself the compiler loads number by number.
        unsafe {
            let low = _mm_load_sd(std::ptr::from_ref(one).cast());
            std::mem::transmute(_mm_loadh_pd(low, std::ptr::from_ref(other).cast()))
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    [one[0], one[1], other[0], other[1]]
}

/// `a * b + c`, rounded once where the machine does so in one instruction.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
