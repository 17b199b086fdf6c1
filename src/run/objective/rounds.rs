//! Rounds of a run, each with the rows that the weights at its beginning find. A round ends as an
//! interrupted run does, and the next one continues from its checkpoint. The weights at its
//! beginning are stored in a file for a run that is resumed within it.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::config::{Config, Objective};
use crate::run::folder::ROUND;
use crate::train::checkpoint::{Checkpoint, RunState};
use crate::train::schedule::Span;
use crate::weights::Weights;

/// The length of a round in steps, at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Rounds(u64);

pub struct Round {
    /// The weights at its beginning.
    pub weights: Weights,
    began: u64,
    /// The step after which it ends.
    pub until: u64,
    /// Spread of values when the run began, in centipawns, if moves are learnt.
    pub spread: Option<f64>,
}

/// Key of [`Round::spread`] in a round's file.
const SPREAD: &str = "spread";

impl Rounds {
    /// A round a step for direct methods, else ten of whole epochs; None if positions stay.
    pub fn from_config(config: &Config, span: &Span) -> Option<Self> {
        let epochs = || (span.steps as f64 * span.batch as f64 / span.epoch as f64 / 10.0).round();
        let steps = match config.optimizer.name.is_direct() {
            true => 1.0,
            false => (epochs().max(1.0) * span.epoch as f64 / span.batch as f64).round().max(1.0),
        };
        (config.file.target.learn != Objective::Values).then_some(Self(steps as u64))
    }

    /// The round of a checkpoint, or a new one. Fails if the round's file is of another checkpoint.
    pub fn enter_round(self, at: &Checkpoint, folder: &Path) -> Result<Round> {
        let (path, step) = (folder.join(ROUND), at.state.step);
        let end = |began: u64| (began / self.0 + 1) * self.0;
        let new =
            |spread| Round { weights: at.weights.clone(), began: step, until: end(step), spread };
        if step == 0 {
            return Ok(new(None));
        }
        let Checkpoint { weights, state: RunState { step: began, .. }, facts, .. } =
            Checkpoint::read_file(&path)?;
        let spread = facts.get(SPREAD).map(|text| text.parse()).transpose();
        let spread = spread.with_context(|| format!("{}: `{SPREAD}`", path.display()))?;
        ensure!(
            began <= step,
            "{} holds the weights of step {began}, and the run goes on at step {step}; restore both \
             files, or begin a new run",
            path.display()
        );
        let is_new = step >= end(began) && !at.state.converged;
        Ok(if is_new { new(spread) } else { Round { weights, began, until: end(began), spread } })
    }
}

impl Round {
    /// Writes the file of the round; `spread` is recorded in the first one.
    pub fn write_round(&self, spread: Option<f64>, folder: &Path) -> Result<()> {
        // With enough digits to read the same number again.
        let spread = self.spread.or(spread).map(|it| (SPREAD.to_string(), format!("{it:?}")));
        let state = RunState { step: self.began, ..RunState::default() };
        let (weights, facts) = (self.weights.clone(), spread.into_iter().collect());
        let kept = Checkpoint { weights, state, facts, ..Checkpoint::default() };
        Ok(kept.write_file(&folder.join(ROUND))?)
    }
}
