//! Tuned terms of another engine, measured on the traces that it printed.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::format::Source;
use crate::format::trace::{self, FORMAT};
use crate::hce::HceWeights;
use crate::sample::{Position, Sample};
use crate::terms::OwnTerms;

/// An engine's terms with their weights.
pub struct OwnEngine {
    pub own: OwnTerms,
    pub weights: HceWeights,
}

impl OwnEngine {
    /// Centipawns for the side to move, from the traces with the same boards in these files.
    pub fn evaluate(&self, samples: &[Sample], files: &[PathBuf]) -> Result<Vec<f64>> {
        let Self { own, weights } = self;
        let mut values: HashMap<Position, f64> = HashMap::new();
        for path in files {
            if Source::open(path, None, u64::MAX)?.format().name == FORMAT.name {
                trace::read(path, own, u64::MAX, |traced| {
                    let white = traced.value(own, &weights.values, weights.tempo);
                    let position = traced.sample.position;
                    values.insert(position, position.turn().fold_wb(white, -white));
                })?;
            }
        }
        ensure!(!values.is_empty(), "only the engine knows its terms; compare on its traces");
        let value = |sample: &Sample| {
            let value = values.get(&sample.position).copied();
            value.with_context(|| format!("no trace has the terms of {}", sample.position.fen()))
        };
        samples.iter().map(value).collect()
    }
}
