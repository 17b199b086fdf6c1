//! A point in the space of weights, and what a position is worth there.

use crate::batch::Terms;
use crate::sums::Slopes;

/// Absolute weights in centipawns, middlegame and endgame of each term, and the tempo.
///
/// Weights have numbers: `2 * term` is the middlegame weight of a term, `2 * term + 1` its endgame
/// weight, and `2 * terms` the tempo.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub weights: Vec<[f64; 2]>,
    pub tempo: f64,
}

impl Point {
    /// The number of weights, the tempo included.
    pub fn len(&self) -> usize {
        2 * self.weights.len() + 1
    }

    /// Never: there is always a tempo.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The weight of a number, `None` behind the tempo.
    pub fn get(&self, number: usize) -> Option<f64> {
        match self.weights.get(number / 2) {
            Some(pair) => Some(pair[number % 2]),
            None => (number == 2 * self.weights.len()).then_some(self.tempo),
        }
    }

    /// The same for writing.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut f64> {
        let tempo = 2 * self.weights.len();
        match self.weights.get_mut(number / 2) {
            Some(pair) => Some(&mut pair[number % 2]),
            None => (number == tempo).then_some(&mut self.tempo),
        }
    }

    /// All weights by number.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.weights.iter().flatten().copied().chain([self.tempo])
    }

    /// Centipawns for White, the tempo included.
    pub fn value(&self, terms: &Terms, row: usize) -> f64 {
        self.with_tempo(terms, row, terms.sums(row, &self.weights).white(shares(terms, row)))
    }

    /// The value and its derivatives by the sums.
    pub fn value_and_slopes(&self, terms: &Terms, row: usize) -> (f64, Slopes) {
        let (sums, shares) = (terms.sums(row, &self.weights), shares(terms, row));
        (self.with_tempo(terms, row, sums.white(shares)), sums.slopes(shares))
    }

    fn with_tempo(&self, terms: &Terms, row: usize, value: f64) -> f64 {
        value + self.tempo * f64::from(terms.turn[row])
    }
}

/// The shares of middlegame and endgame.
pub fn shares(terms: &Terms, row: usize) -> [f64; 2] {
    [terms.middlegame[row], terms.endgame[row]].map(f64::from)
}
