//! Rounds of a run. The weights at the beginning of a round find its rows. A round ends like an
//! interrupted run, and the next one continues from its checkpoint. A file has the weights at its
//! beginning, for a run that is resumed within the round.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::config::{Config, Objective};
use crate::run::folder::ROUND;
use crate::train::checkpoint::{Checkpoint, RunState};
use crate::train::schedule::Span;
use crate::weights::Weights;

pub struct Round {
    /// Weights at its beginning.
    pub weights: Weights,
    start: u64,
    /// Step after which it ends.
    pub until: u64,
    /// Spread of values at the start of the run, in centipawns, if moves are learnt.
    pub spread: Option<f64>,
}

/// Key of [`Round::spread`] in a round's file.
const SPREAD: &str = "spread";

/// Returns the length of a round in steps: 1 for direct methods, else a tenth of the run in whole
/// epochs. None for fixed rows.
pub fn round_length(config: &Config, span: &Span) -> Option<u64> {
    let epochs = || (span.steps as f64 * span.batch as f64 / span.epoch as f64 / 10.0).round();
    let steps = match config.optimizer.name.is_direct() {
        true => 1.0,
        false => (epochs().max(1.0) * span.epoch as f64 / span.batch as f64).round().max(1.0),
    };
    (config.file.target.learn != Objective::Values).then_some(steps as u64)
}

impl Round {
    /// Returns the round of a checkpoint, or a new one. Fails if the file is of another checkpoint.
    pub fn enter_round(length: u64, checkpoint: &Checkpoint, folder: &Path) -> Result<Self> {
        let path = folder.join(ROUND);
        let step = checkpoint.state.step;
        let end = |start: u64| (start / length + 1) * length;
        let new = |spread| {
            let weights = checkpoint.weights.clone();
            Self { weights, start: step, until: end(step), spread }
        };
        if step == 0 {
            return Ok(new(None));
        }
        let Checkpoint { weights, state: RunState { step: start, .. }, facts, .. } =
            Checkpoint::read_file(&path)?;
        let spread = facts.get(SPREAD).map(|text| text.parse()).transpose();
        let spread = spread.with_context(|| format!("{}: `{SPREAD}`", path.display()))?;
        ensure!(
            start <= step,
            "{} holds the weights of step {start}, and the run goes on at step {step}; restore both \
             files, or begin a new run",
            path.display()
        );
        let is_new = step >= end(start) && !checkpoint.state.converged;
        Ok(if is_new { new(spread) } else { Self { weights, start, until: end(start), spread } })
    }

    /// Writes the file of the round; `spread` is recorded in the first one.
    pub fn write_round(&self, spread: Option<f64>, folder: &Path) -> Result<()> {
        // `Debug` has enough digits to read the same number again.
        let spread = self.spread.or(spread).map(|it| (SPREAD.to_string(), format!("{it:?}")));
        let state = RunState { step: self.start, ..RunState::default() };
        let (weights, facts) = (self.weights.clone(), spread.into_iter().collect());
        let checkpoint = Checkpoint { weights, state, facts, ..Checkpoint::default() };
        Ok(checkpoint.write_file(&folder.join(ROUND))?)
    }
}
