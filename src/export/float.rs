//! Differences between the integers and the floats of a net.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::floats::Float;
use crate::net::Net;
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloatError {
    pub positions: u64,
    pub mean_cp: f64,
    pub max_cp: f64,
    pub worst_fen: String,
}

/// Measures the absolute difference in centipawns; None without positions.
pub fn measure(
    weights: &Weights,
    architecture: &Architecture,
    net: &Net,
    positions: &[Position],
) -> Result<Option<FloatError>, WeightsError> {
    let float = Float::new(weights, architecture)?;
    let scale = f64::from(net.scales().scale);
    let error = |it: &Position| (f64::from(net.evaluate(it)) - scale * float.logit(it)).abs();
    let errors: Vec<f64> = positions.par_iter().map(error).collect();
    let max_cp = errors.iter().copied().fold(0.0, f64::max);
    let worst = errors.iter().position(|error| *error == max_cp);
    Ok(worst.map(|worst| FloatError {
        positions: errors.len() as u64,
        mean_cp: errors.iter().sum::<f64>() / errors.len() as f64,
        max_cp,
        worst_fen: positions[worst].fen(),
    }))
}
