//! Counts of terms.

use rayon::prelude::*;
use shakmaty::{Bitboard, Color};

use super::evaluate::{Parts, evaluate_terms};
use super::terms::TERMS;
use super::{EvaluationPart, Term};
use crate::sample::Sample;

const WORDS: usize = TERMS.div_ceil(64);

/// A count of each term for each colour. COMPLEXITY terms count as White's.
#[derive(Clone, Debug)]
pub struct Trace {
    /// White's and Black's count of each term.
    counts: [[i16; 2]; TERMS],
    /// One bit per term, set if it was counted, so that reading skips the others.
    touched: [u64; WORDS],
    pub(super) parts: Parts,
}

impl Default for Trace {
    fn default() -> Self {
        Self { counts: [[0; 2]; TERMS], touched: [0; WORDS], parts: [true; _] }
    }
}

impl Trace {
    pub fn clear(&mut self) {
        self.drain_counts(|_, _| ());
    }

    pub fn term_count(&self, term: usize, colour: Color) -> i32 {
        self.counts[term][colour.fold_wb(0, 1)].into()
    }

    /// Returns the counted terms in order with both sides' counts, and clears them.
    #[inline]
    pub(super) fn drain_counts(&mut self, mut each: impl FnMut(usize, [i16; 2])) {
        for (i, word) in self.touched.iter_mut().enumerate() {
            for bit in Bitboard(std::mem::take(word)) {
                let term = 64 * i + bit as usize;
                each(term, std::mem::take(&mut self.counts[term]));
            }
        }
    }
}

impl TermSink for Trace {
    #[inline]
    fn needs_part(&self, part: EvaluationPart) -> bool {
        self.parts[part as usize]
    }

    #[inline]
    fn add(&mut self, term: Term, colour: Color, count: i32) {
        let index = term.index();
        self.counts[index][colour.fold_wb(0, 1)] += count as i16;
        self.touched[index / 64] |= 1 << (index % 64);
    }
}

/// A receiver of the terms of a position from `evaluate`.
pub trait TermSink {
    /// Returns whether the terms of a part are counted.
    fn needs_part(&self, part: EvaluationPart) -> bool;
    /// Counts a term for a colour: SAFETY for the king in danger, COMPLEXITY always for White.
    fn add(&mut self, term: Term, colour: Color, count: i32);
}

#[derive(Clone, Debug, PartialEq)]
pub struct TermCounts {
    /// Sums of White's and Black's absolute counts, by term.
    pub times: Vec<u64>,
}

impl TermCounts {
    pub fn new(terms: usize) -> Self {
        Self { times: vec![0; terms] }
    }

    /// Counts the built-in terms in these positions.
    pub fn count_terms(samples: &[Sample]) -> Self {
        let count_chunk = |samples: &[Sample]| {
            let mut counts = Self::new(TERMS);
            for Sample { position, .. } in samples {
                evaluate_terms(position, &mut counts);
            }
            counts
        };
        let join = |mut counts: Self, chunk: Self| {
            counts.join_counts(&chunk);
            counts
        };
        samples.par_chunks(4096).map(count_chunk).reduce(|| Self::new(TERMS), join)
    }

    pub fn join_counts(&mut self, added: &Self) {
        self.times.iter_mut().zip(&added.times).for_each(|(sum, times)| *sum += times);
    }
}

impl TermSink for TermCounts {
    fn needs_part(&self, _: EvaluationPart) -> bool {
        true
    }

    fn add(&mut self, term: Term, _: Color, count: i32) {
        self.times[term.index()] += u64::from(count.unsigned_abs());
    }
}
