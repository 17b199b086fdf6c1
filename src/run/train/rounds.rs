//! Training on quiet ends: round after round, each with those that the weights at its beginning
//! find.
//!
//! A round ends as a run that is interrupted does, and the next one goes on from its checkpoint. The
//! weights at its beginning are kept in a file, since whoever resumes in the midst of it needs them.

use anyhow::{Context, Result, ensure};

use crate::config::Config;
use crate::digits::grouped;
use crate::log::Row;
use crate::run::folder::{ROUND, RunFolder};
use crate::train::checkpoint::{Checkpoint, State};
use crate::train::length::Span;
use crate::train::{Progress, Watch};
use crate::weights::Weights;

/// How long a round is.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Steps, at least 1.
    steps: u64,
    /// Whether moves are learnt.
    moves: bool,
}

impl Rounds {
    /// None where positions are judged as they are given.
    pub fn of(config: &Config, span: &Span) -> Option<Self> {
        let epochs = config.resolve_every(span.epoch)?;
        let steps = (epochs * span.epoch as f64 / span.batch as f64).round().max(1.0);
        Some(Self { steps: steps as u64, moves: config.moves().is_some() })
    }

    /// In words.
    pub fn sentence(&self) -> String {
        let every = match self.steps {
            1 => "at each step".to_string(),
            steps => format!("every {} steps", grouped(steps)),
        };
        let what = match self.moves {
            true => "moves are searched to their quiet ends",
            false => "judged are quiet ends, looked for",
        };
        format!("{what} with the weights as they are, again {every}")
    }

    /// The step in which a round ends.
    fn end(&self, began: u64) -> u64 {
        (began / self.steps + 1) * self.steps
    }

    /// The round that a checkpoint is in. A new one is written down where the last one has ended.
    ///
    /// # Errors
    /// If the file of the round is not that of the checkpoint's.
    pub fn enter(&self, at: &mut Checkpoint, folder: &RunFolder) -> Result<Round> {
        let (path, step) = (folder.file(ROUND), at.state.step);
        let kept = match step {
            0 => None,
            _ => Some(Checkpoint::read(&path)?),
        };
        let spread = kept.as_ref().and_then(|kept| kept.facts.get(SPREAD));
        let spread = spread.map(|text| text.parse()).transpose();
        let spread = spread.with_context(|| format!("{}: `{SPREAD}`", path.display()))?;
        // A method that converged in the first step of a round has nothing to do in the next.
        let is_over =
            |began: u64| self.end(began) == step && !(at.state.converged && step == began + 1);
        let Some(kept) = kept.filter(|kept| !is_over(kept.state.step)) else {
            return self.begin(at, spread, folder);
        };
        let began = kept.state.step;
        ensure!(
            (began..=self.end(began)).contains(&step),
            "{} holds the weights of step {began}, and the run goes on at step {step}: these files \
             are not of one moment; restore them, or begin anew",
            path.display()
        );
        if began == step {
            // It began because another had converged before its end.
            at.state.converged = false;
        }
        Ok(Round { weights: kept.weights, began, until: self.end(began), spread })
    }

    /// Begins a round, also before the last one is at its end.
    ///
    /// # Errors
    /// If its weights cannot be written down.
    pub fn begin(
        &self,
        at: &mut Checkpoint,
        spread: Option<f64>,
        folder: &RunFolder,
    ) -> Result<Round> {
        let began = at.state.step;
        let round = Round { weights: at.weights.clone(), began, until: self.end(began), spread };
        round.write(folder)?;
        at.state.converged = false;
        Ok(round)
    }
}

/// A round under way.
pub struct Round {
    /// Those at its beginning.
    pub weights: Weights,
    /// Its first step.
    pub began: u64,
    /// The one behind its last.
    pub until: u64,
    /// Where moves are learnt, how far values were spread when the run began, in centipawns; none
    /// before they were searched for the first time.
    pub spread: Option<f64>,
}

/// The entry of a round's file with what [`Round::spread`] is.
const SPREAD: &str = "spread";

impl Round {
    /// What the values were spread by when the run began is known from here on.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn keep_spread(&mut self, spread: Option<f64>, folder: &RunFolder) -> Result<()> {
        if self.spread.is_none() && spread.is_some() {
            self.spread = spread;
            self.write(folder)?;
        }
        Ok(())
    }

    fn write(&self, folder: &RunFolder) -> Result<()> {
        // As many digits as it takes to read the same number again.
        let spread = self.spread.map(|spread| (SPREAD.to_string(), format!("{spread:?}")));
        let state = State { step: self.began, ..State::default() };
        let (weights, facts) = (self.weights.clone(), spread.into_iter().collect());
        let kept = Checkpoint { weights, state, facts, ..Checkpoint::default() };
        Ok(kept.write(&folder.file(ROUND))?)
    }
}

/// A watch that ends a round.
pub struct UntilEnd<'a> {
    watch: &'a mut dyn Watch,
    step: u64,
    until: u64,
}

impl<'a> UntilEnd<'a> {
    /// From a step on until another.
    pub fn new(watch: &'a mut dyn Watch, step: u64, until: u64) -> Self {
        Self { watch, step, until }
    }

    /// Whether it is over, and nobody wished to stop.
    pub fn is_over(&self) -> bool {
        self.step >= self.until && !self.watch.stop()
    }
}

impl Watch for UntilEnd<'_> {
    fn seconds(&self) -> f64 {
        self.watch.seconds()
    }

    fn stop(&self) -> bool {
        self.step >= self.until || self.watch.stop()
    }

    fn step(&mut self, progress: &Progress) {
        self.step = progress.step;
        self.watch.step(progress);
    }

    fn row(&mut self, row: &Row) {
        self.watch.row(row);
    }
}
