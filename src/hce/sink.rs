//! Where the terms of an evaluation go.

use shakmaty::Color;

use super::Term;
use super::terms::{Part, Parts};

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
