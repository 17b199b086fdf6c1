//! Integers of a net against its floats.

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
    positions: impl IntoIterator<Item = Position>,
) -> Result<Option<FloatError>, WeightsError> {
    let float = Float::new(weights, architecture)?;
    let scale = f64::from(net.scales().scale);
    let (mut count, mut sum) = (0_u64, 0.0);
    let mut worst: Option<(f64, Position)> = None;
    for position in positions {
        let error = (f64::from(net.evaluate(&position)) - scale * float.logit(&position)).abs();
        count += 1;
        sum += error;
        if worst.is_none_or(|(most, _)| error > most) {
            worst = Some((error, position));
        }
    }
    Ok(worst.map(|(max_cp, position)| FloatError {
        positions: count,
        mean_cp: sum / count as f64,
        max_cp,
        worst_fen: position.fen(),
    }))
}
