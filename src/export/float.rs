//! The evaluation in floats, straight from the definition: what the integers are measured by.

use serde::{Deserialize, Serialize};

use super::quantise::Floats;
use crate::architecture::Architecture;
use crate::net::Net;
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// `y = O act(H x + b) [+ O' act(H x' + b)] + c` in f64, from f32 weights.
pub struct Float<'a> {
    floats: Floats<'a>,
    architecture: Architecture,
}

impl<'a> Float<'a> {
    /// # Errors
    /// If an array is missing or has another shape than the architecture's.
    pub fn new(weights: &'a Weights, architecture: &Architecture) -> Result<Self, WeightsError> {
        Ok(Self { floats: Floats::of(weights, architecture)?, architecture: *architecture })
    }

    /// The logit for the side to move; times SCALE it is centipawns.
    pub fn logit(&self, position: &Position) -> f64 {
        let Architecture { features, hidden, activation } = self.architecture;
        let mut logit = f64::from(self.floats.output_bias);
        let mut accumulator = vec![0.0; hidden];
        for (view, weights) in self.floats.output_weights.chunks_exact(hidden).enumerate() {
            for (a, &bias) in accumulator.iter_mut().zip(self.floats.accumulator_bias) {
                *a = f64::from(bias);
            }
            features.active(position, view, &mut |input| {
                let row = &self.floats.accumulator_weights[input * hidden..][..hidden];
                for (a, &w) in accumulator.iter_mut().zip(row) {
                    *a += f64::from(w);
                }
            });
            logit += accumulator
                .iter()
                .zip(weights)
                .map(|(&a, &o)| activation.apply(a) * f64::from(o))
                .sum::<f64>();
        }
        logit * f64::from(features.sign(position))
    }
}

/// How far the integers are from the floats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloatError {
    pub positions: u64,
    /// Mean of the absolute difference.
    pub mean_cp: f64,
    pub max_cp: f64,
    /// Where the difference is largest.
    pub worst_fen: String,
}

/// Measures the absolute difference in centipawns over positions; None if there are none.
///
/// # Errors
/// If the weights are not those of the net's architecture.
pub fn measure(
    weights: &Weights,
    net: &Net,
    positions: impl IntoIterator<Item = Position>,
) -> Result<Option<FloatError>, WeightsError> {
    let float = Float::new(weights, net.architecture())?;
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
