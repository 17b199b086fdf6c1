//! How often terms are counted in all, for both sides together.

use rayon::prelude::*;

use super::terms::{Part, TERMS};
use super::{Phase, Sink, Term, evaluate};
use crate::sample::Sample;
use shakmaty::Color;

/// Counts of many positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// By term: White's counts and Black's, without signs, added up.
    pub times: Vec<u64>,
    /// Sum of the middlegame's shares.
    pub middlegame: f64,
    pub positions: u64,
}

impl Tally {
    /// Nothing of so many terms.
    pub fn new(terms: usize) -> Self {
        Self { times: vec![0; terms], middlegame: 0.0, positions: 0 }
    }

    /// Of our own terms in some positions.
    pub fn of(samples: &[Sample]) -> Self {
        let piece = |samples: &[Sample]| {
            let mut tally = Self::new(TERMS);
            for Sample { position, .. } in samples {
                evaluate(position, &mut tally);
                tally.middlegame += Phase::of(position).middlegame();
                tally.positions += 1;
            }
            tally
        };
        let pieces: Vec<Self> = samples.par_chunks(4096).map(piece).collect();
        let mut all = Self::new(TERMS);
        pieces.iter().for_each(|piece| all.join(piece));
        all
    }

    /// Adds another; both have the same terms.
    pub fn join(&mut self, other: &Self) {
        self.times.iter_mut().zip(&other.times).for_each(|(sum, times)| *sum += times);
        self.middlegame += other.middlegame;
        self.positions += other.positions;
    }

    /// The mean share of the middlegame; a half of nothing.
    pub fn phase(&self) -> f64 {
        if self.positions == 0 { 0.5 } else { self.middlegame / self.positions as f64 }
    }
}

impl Sink for Tally {
    fn wants(&self, _: Part) -> bool {
        true
    }

    fn add(&mut self, term: Term, _: Color, count: i32) {
        self.times[term.index()] += u64::from(count.unsigned_abs());
    }

    fn complexity(&mut self, term: Term, count: i32) {
        self.times[term.index()] += u64::from(count.unsigned_abs());
    }
}
