//! Where the terms of an evaluation go.

use shakmaty::Color;

use super::terms::{Part, Parts};
use super::{Phase, Term};
use crate::sums::Sums;
use crate::terms::Kind;

/// Receives the terms of a position from [`evaluate`](super::evaluate).
pub trait Sink {
    /// Whether the terms of a part are to be counted.
    fn wants(&self, part: Part) -> bool;

    /// A NORMAL or SAFETY term applies `count` more times for a colour; for SAFETY that is the
    /// colour whose king is in danger.
    fn add(&mut self, term: Term, colour: Color, count: i32);

    /// A COMPLEXITY term applies `count` more times.
    fn complexity(&mut self, term: Term, count: i32);
}

/// Hands on the terms of some parts alone.
#[derive(Debug)]
pub struct Only<'a, S> {
    pub sink: &'a mut S,
    pub parts: Parts,
}

impl<S: Sink> Sink for Only<'_, S> {
    #[inline]
    fn wants(&self, part: Part) -> bool {
        self.parts.has(part) && self.sink.wants(part)
    }

    #[inline]
    fn add(&mut self, term: Term, colour: Color, count: i32) {
        self.sink.add(term, colour, count);
    }

    #[inline]
    fn complexity(&mut self, term: Term, count: i32) {
        self.sink.complexity(term, count);
    }
}

/// Sums integer weights, as an engine does.
#[derive(Clone, Debug)]
pub struct Score<'a> {
    weights: &'a [[i32; 2]],
    normal: [i32; 2],
    safety: [[i32; 2]; 2],
    complexity: i32,
}

impl<'a> Score<'a> {
    /// Middlegame and endgame weight of each term, in centipawns; terms beyond the end of the
    /// slice weigh nothing.
    pub fn new(weights: &'a [[i32; 2]]) -> Self {
        Self { weights, normal: [0; 2], safety: [[0; 2]; 2], complexity: 0 }
    }

    /// The sums, all whole numbers.
    pub fn sums(&self) -> Sums {
        Sums {
            normal: self.normal.map(f64::from),
            safety: self.safety.map(|side| side.map(f64::from)),
            complexity: self.complexity.into(),
        }
    }

    /// Centipawns for White, tempo left out, rounded towards zero.
    pub fn white(&self, phase: Phase) -> i32 {
        self.sums().white(phase.shares()) as i32
    }
}

/// Weights may come from a file with any number in it.
fn grow(sum: &mut i32, weight: i32, count: i32) {
    *sum = sum.saturating_add(weight.saturating_mul(count));
}

impl Sink for Score<'_> {
    fn wants(&self, _: Part) -> bool {
        true
    }

    fn add(&mut self, term: Term, colour: Color, count: i32) {
        if let Some([mg, eg]) = self.weights.get(term.index()) {
            let (sums, count) = match term.kind() {
                Kind::Safety => (&mut self.safety[colour.fold_wb(0, 1)], count),
                _ => (&mut self.normal, colour.fold_wb(count, -count)),
            };
            grow(&mut sums[0], *mg, count);
            grow(&mut sums[1], *eg, count);
        }
    }

    fn complexity(&mut self, term: Term, count: i32) {
        if let Some([_, eg]) = self.weights.get(term.index()) {
            grow(&mut self.complexity, *eg, count);
        }
    }
}
