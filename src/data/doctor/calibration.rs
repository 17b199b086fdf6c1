//! What a score promises and what the games gave.

use serde::Serialize;

use super::draws::{self, Draws};
use crate::loss::sigmoid;

const BINS: usize = 10;

/// The scale that fits scores to results, found elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// Centipawns a unit of logit.
    pub scale: f64,
    /// It lies at the border of the search: the scores say nothing of the results.
    pub at_border: bool,
    /// Mean squared error of `sigmoid(score / scale)` against the results.
    pub loss: f64,
    /// Mean squared error of the mean result.
    pub constant: f64,
}

impl Fitted {
    /// A scale with its loss, for these results.
    pub fn new(scale: f64, loss: f64, at_border: bool, results: &[f64]) -> Self {
        let count = results.len().max(1) as f64;
        let mean = results.iter().sum::<f64>() / count;
        let constant = results.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
        Self { scale, at_border, loss, constant }
    }
}

/// Positions whose expected result lies in one tenth of the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    pub positions: u64,
    /// The mean of `sigmoid(score / scale)`.
    pub expected: f64,
    /// The mean result.
    pub observed: f64,
}

/// Expected against observed results, seen by the side to move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    #[serde(flatten)]
    pub fitted: Fitted,
    /// Of positions that were drawn and have a score that is no mate.
    pub positions: u64,
    /// What fits with room for draws; none where nothing does.
    pub draws: Option<Draws>,
    /// By expected result: 0 to 0.1, ..., 0.9 to 1.
    pub bins: Vec<Bin>,
}

impl Calibration {
    pub(super) fn of(scores: &[f64], results: &[f64], fitted: Fitted) -> Self {
        let mut bins = vec![Bin::default(); BINS];
        for (score, result) in scores.iter().zip(results) {
            let expected = sigmoid(score / fitted.scale);
            let bin = &mut bins[((expected * BINS as f64) as usize).min(BINS - 1)];
            bin.positions += 1;
            bin.expected += expected;
            bin.observed += result;
        }
        for bin in &mut bins {
            let count = bin.positions.max(1) as f64;
            bin.expected /= count;
            bin.observed /= count;
        }
        let positions = scores.len().min(results.len()) as u64;
        Self { fitted, positions, draws: draws::fit(scores, results), bins }
    }

    /// The largest difference between expected and observed in bins of at least `least`
    /// positions.
    pub fn worst(&self, least: u64) -> Option<Bin> {
        let off = |bin: &Bin| (bin.expected - bin.observed).abs();
        let many = self.bins.iter().filter(|bin| bin.positions >= least);
        many.copied().max_by(|a, b| off(a).total_cmp(&off(b)))
    }
}
