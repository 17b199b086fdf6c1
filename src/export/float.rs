//! The evaluation in floats, straight from the definition: what the integers are measured by.

use serde::{Deserialize, Serialize};

use crate::architecture::{Architecture, Part};
use crate::floats::Floats;
use crate::net::Net;
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// A net's definition in f64, from f32 weights.
pub struct Float<'a> {
    floats: Floats<'a>,
    net: Architecture,
}

impl<'a> Float<'a> {
    pub fn new(weights: &'a Weights, net: &Architecture) -> Result<Self, WeightsError> {
        Ok(Self { floats: Floats::of(weights, net)?, net: net.merged() })
    }

    /// The logit for the side to move; times SCALE it is centipawns.
    pub fn logit(&self, position: &Position) -> f64 {
        let net = &self.net;
        let rows = self.floats.get(Part::Accumulator);
        let mut x = Vec::with_capacity(net.features());
        for view in 0..net.views() {
            let mut accumulator: Vec<f64> =
                self.floats.get(Part::AccumulatorBias).iter().map(|&bias| bias.into()).collect();
            net.inputs.active(position, view, &mut |row| {
                for (a, &w) in accumulator.iter_mut().zip(&rows[row * net.hidden..]) {
                    *a += f64::from(w);
                }
            });
            let h: Vec<f64> = accumulator.into_iter().map(|a| net.activation.apply(a)).collect();
            let (first, second) = h.split_at(net.outputs_of_view());
            match net.pairwise {
                false => x.extend(first),
                true => x.extend(first.iter().zip(second).map(|(one, other)| one * other)),
            }
        }
        let bucket = net.bucket_of(position);
        let mut skipped = 0.0;
        for (i, layer) in net.head.iter().enumerate() {
            let mut z = self.map([Part::Layer(i), Part::LayerBias(i)], bucket, &x);
            if net.skip && i == 0 {
                skipped = z.pop().unwrap_or_default();
            }
            let curves = layer.activation.curves().iter();
            x = curves.flat_map(|curve| z.iter().map(|&z| curve.value(z))).collect();
        }
        let y = self.map([Part::Output, Part::OutputBias], bucket, &x)[0] + skipped;
        y * f64::from(net.inputs.sign(position))
    }

    fn map(&self, [weights, biases]: [Part; 2], bucket: usize, x: &[f64]) -> Vec<f64> {
        let biases = self.floats.get(biases);
        let outputs = biases.len() / self.net.buckets;
        let rows = self.floats.get(weights).chunks_exact(x.len()).skip(bucket * outputs);
        let of = |(row, bias): (&[f32], &f32)| {
            let terms = row.iter().zip(x).map(|(&w, x)| f64::from(w) * x);
            f64::from(*bias) + terms.sum::<f64>()
        };
        rows.zip(&biases[bucket * outputs..][..outputs]).map(of).collect()
    }
}

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
