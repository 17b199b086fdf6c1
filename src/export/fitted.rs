//! What a net's centipawns mean, and what they were matched to.

use std::collections::HashSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::report::fit::fit;
use crate::sample::{Position, Sample};

/// Results on some positions are predicted best by `sigmoid(cp / centipawns)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedScale {
    pub centipawns: f64,
    pub positions: u64,
    /// Which positions, in words or as file names.
    pub on: String,
}

/// The net whose centipawns SCALE was matched to, so that the margins of a search keep their
/// meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchedTo {
    /// Of that net's file, hexadecimal.
    pub sha256: String,
    /// What SCALE was multiplied by.
    pub factor: f64,
}

/// What pieces are worth to a net, in its own centipawns: what it loses when one is taken off where
/// it stands, as its owner sees it, on average. Null where no position has such a piece.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PieceValues {
    pub pawn: Option<f64>,
    pub knight: Option<f64>,
    pub bishop: Option<f64>,
    pub rook: Option<f64>,
    pub queen: Option<f64>,
    pub positions: u64,
    /// Which positions, in words or as file names.
    pub on: String,
}

/// Fewer positions, or positions of fewer games, fit any scale by chance.
pub const LEAST_POSITIONS: usize = 1000;
pub const LEAST_GAMES: usize = 30;

/// The scale that predicts the results of samples best from what an evaluation says, in centipawns
/// for the side to move; None where no scale does: from too few samples, or where the values say
/// nothing about the results.
pub fn fitted_scale(
    value: impl Fn(&Position) -> i32 + Sync,
    samples: &[Sample],
    on: &str,
) -> Option<FittedScale> {
    let games: HashSet<u64> = samples.iter().map(Sample::group).collect();
    if samples.len() < LEAST_POSITIONS || games.len() < LEAST_GAMES {
        return None;
    }
    let (cp, results): (Vec<f64>, Vec<f64>) = samples
        .par_iter()
        .map(|sample| (f64::from(value(&sample.position)), f64::from(sample.result)))
        .unzip();
    let fit = fit(&cp, &results);
    let centipawns = fit.scale.filter(|_| !fit.at_border)?;
    Some(FittedScale { centipawns, positions: samples.len() as u64, on: on.to_string() })
}
