//! Where the terms of an evaluation go.

use shakmaty::Color;

use super::terms::TERMS;
use super::{Phase, Term};

/// Receives the terms of a position from [`evaluate`](super::evaluate).
pub trait Sink {
    /// The term applies `count` more times for a colour.
    fn add(&mut self, term: Term, colour: Color, count: i32);
}

/// Sums integer weights, as an engine does.
#[derive(Clone, Debug)]
pub struct Score<'a> {
    weights: &'a [[i32; 2]],
    sums: [i32; 2],
}

impl<'a> Score<'a> {
    /// Middlegame and endgame weight of each term, in centipawns; terms beyond the end of the
    /// slice weigh nothing.
    pub fn new(weights: &'a [[i32; 2]]) -> Self {
        Self { weights, sums: [0; 2] }
    }

    /// White's middlegame and endgame sums minus Black's, in centipawns.
    pub fn sums(&self) -> [i32; 2] {
        self.sums
    }

    /// Centipawns for White, tempo left out, rounded towards zero.
    pub fn white(&self, phase: Phase) -> i32 {
        let [mg, eg] = self.sums.map(i64::from);
        let [one, rho] = [Phase::ONE, phase.rho()].map(i64::from);
        ((mg * (one - rho) + eg * rho) / one) as i32
    }
}

impl Sink for Score<'_> {
    fn add(&mut self, term: Term, colour: Color, count: i32) {
        if let Some([mg, eg]) = self.weights.get(term.index()) {
            let count = colour.fold_wb(count, -count);
            // Weights may come from a file with any number in it.
            for (sum, weight) in self.sums.iter_mut().zip([mg, eg]) {
                *sum = sum.saturating_add(weight.saturating_mul(count));
            }
        }
    }
}

/// Counts how often each term applies for each colour.
#[derive(Clone, Debug)]
pub struct Trace {
    /// By term: White's count, Black's count.
    counts: [[i16; 2]; TERMS],
    /// One bit a term that was counted at all, so that reading out need not visit all of them.
    touched: [u64; TERMS.div_ceil(64)],
}

impl Default for Trace {
    fn default() -> Self {
        Self { counts: [[0; 2]; TERMS], touched: [0; TERMS.div_ceil(64)] }
    }
}

impl Trace {
    /// How often a term applies for a colour.
    pub fn count(&self, term: Term, colour: Color) -> i32 {
        self.counts[term.index()][colour.fold_wb(0, 1)].into()
    }

    /// The terms whose counts differ, in order, with White's count minus Black's.
    pub fn differences(&self) -> impl Iterator<Item = (Term, i32)> + '_ {
        self.touched.iter().enumerate().flat_map(move |(i, word)| {
            shakmaty::Bitboard(*word).into_iter().filter_map(move |bit| {
                let term = Term::new(64 * i + bit as usize)?;
                let [white, black] = self.counts[term.index()];
                let difference = i32::from(white) - i32::from(black);
                (difference != 0).then_some((term, difference))
            })
        })
    }
}

impl Sink for Trace {
    fn add(&mut self, term: Term, colour: Color, count: i32) {
        let index = term.index();
        self.counts[index][colour.fold_wb(0, 1)] += count as i16;
        self.touched[index / 64] |= 1 << (index % 64);
    }
}
