//! Tuned terms of another engine, measured on the traces that it printed.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::batch::Terms;
use crate::format::Source;
use crate::format::trace::{FORMAT, TraceSource, Traced};
use crate::hce::HceWeights;
use crate::loader::push;
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
        let values = self.values(files)?;
        let value = |sample: &Sample| {
            values
                .get(&sample.position)
                .copied()
                .with_context(|| format!("no trace tells the terms of {}", sample.position.fen()))
        };
        samples.iter().map(value).collect()
    }

    fn values(&self, files: &[PathBuf]) -> Result<HashMap<Position, f64>> {
        let mut values = HashMap::new();
        let mut traced = Traced::default();
        for path in files {
            if Source::open(path, None, u64::MAX)?.format().name != FORMAT.name {
                continue;
            }
            let mut source = TraceSource::open(path, &self.own, u64::MAX)?;
            while source.next(&mut traced)? {
                if let Ok(sample) = traced.sample() {
                    values.insert(sample.position, self.value(&traced));
                }
            }
        }
        ensure!(
            !values.is_empty(),
            "only the engine knows its terms; compare on traces that it printed with a FEN behind \
             the counts"
        );
        Ok(values)
    }

    fn value(&self, traced: &Traced) -> f64 {
        let mut row = Terms::default();
        push(traced, &self.own, &mut row);
        let shares = self.own.shares(traced.phase, traced.scale);
        let white = row.sums(0, &self.weights.values).white(shares);
        traced.turn.fold_wb(white, -white) + self.weights.tempo
    }
}
