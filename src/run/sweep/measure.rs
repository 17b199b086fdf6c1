//! What runs are judged by: validation games, and in the end those of the test.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::member::Member;
use crate::config::{Config, Target};
use crate::export::Given;
use crate::loader::Scan;
use crate::report::{Options, Predictions, Sums, Truth, sums};
use crate::run::evaluator::Evaluator;
use crate::run::folder::{BEST, LAST};
use crate::run::recipe;
use crate::run::train::Means;
use crate::sample::{Sample, games_known};

/// What the members of a sweep are compared by on the validation games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Yardstick {
    /// The lowest validation loss, as training logs it: all learn the same target.
    Target,
    /// Mean squared error against the results, each with the scale that fits it: what is learnt
    /// differs, and only the results are the same for all.
    Results,
}

impl Yardstick {
    pub fn of(members: &[Member]) -> Self {
        // A scale is a unit, and changes no probability.
        let target = |member: &Member| Target { scale: None, ..member.config.target.clone() };
        let first = target(&members[0]);
        match members.iter().all(|member| target(member) == first) {
            true => Self::Target,
            false => Self::Results,
        }
    }

    /// In words, for sentences.
    pub fn words(self) -> &'static str {
        match self {
            Self::Target => "the lowest validation loss, against the target that all of them learn",
            Self::Results => {
                "the mean squared error against the results of the validation games, each with the \
                 scale that fits it, since not all of them learn the same target"
            }
        }
    }
}

/// Positions to measure on.
pub struct Games<'a> {
    samples: &'a [Sample],
    results: Vec<f64>,
    targets: Option<Vec<f64>>,
    groups: Vec<u64>,
    noun: &'static str,
    games_known: bool,
    /// Why nothing may be concluded from them.
    doubt: Option<String>,
}

impl<'a> Games<'a> {
    /// Those that validate.
    pub fn validation(scan: &'a Scan) -> Self {
        Self::of(&scan.validation.samples, ["validation games", "validation positions"])
    }

    /// Those of the test; with the target that all members learn, if they do.
    pub fn test(scan: &'a Scan, config: Option<&Config>) -> Self {
        let mut games = Self::of(&scan.test.samples, ["test games", "test positions"]);
        games.targets = config.and_then(|config| targets(games.samples, config));
        let chosen = &scan.validating.sketch;
        if games.samples.iter().any(|sample| chosen.contains(sample)) {
            games.doubt = Some("the files of `data.validation` hold games of the test".to_string());
        }
        games
    }

    fn of(samples: &'a [Sample], [games, positions]: [&'static str; 2]) -> Self {
        let known = games_known(samples);
        Self {
            samples,
            results: samples.iter().map(|sample| sample.result.into()).collect(),
            targets: None,
            groups: samples.iter().map(Sample::group).collect(),
            noun: if known { games } else { positions },
            games_known: known,
            doubt: None,
        }
    }

    pub fn truth(&self) -> Truth<'_> {
        Truth {
            results: &self.results,
            targets: self.targets.as_deref(),
            groups: &self.groups,
            noun: self.noun,
            games_known: self.games_known,
            doubt: self.doubt.as_deref(),
        }
    }

    /// An error where nothing can be measured on them, before anything is trained.
    pub fn check(&self) -> Result<()> {
        sums(&Predictions::constant(), &self.truth(), &Options::default())?;
        Ok(())
    }

    /// Adds the doubt that a run may know these games from what it began with.
    pub fn doubt(&mut self, run: &Path) -> Result<()> {
        let (_, recipe) = recipe::open(&run.join(BEST))?;
        let start = recipe.start.and_then(|start| start.doubt);
        let doubt = start.or_else(|| recipe.base.and_then(|base| base.doubt));
        self.doubt = self.doubt.take().or(doubt);
        Ok(())
    }

    /// The squared errors of a run's best weights, game by game.
    pub fn measure(&self, run: &Path, config: &Config, means: &Means) -> Result<Sums> {
        let place = means.place.open_for(config)?;
        let name = run.to_string_lossy();
        let evaluator = Evaluator::open(&name, &Given::default(), &place, means.listener)?;
        let evaluation = evaluator.evaluate(self.samples, &config.data.all_files())?;
        Ok(sums(&evaluation, &self.truth(), &Options::default())?)
    }

    /// Their mean against the results.
    pub fn loss(&self, run: &Path, config: &Config, means: &Means) -> Result<f64> {
        let sums = self.measure(run, config, means)?;
        Ok(sums.results.iter().sum::<f64>() / self.samples.len() as f64)
    }
}

/// The lowest validation loss of a run, as far as it has come.
pub fn validation_loss(run: &Path) -> Result<f64> {
    let (last, _) = recipe::open(&run.join(LAST))?;
    let best = last.state.best.map(|best| best.loss);
    best.with_context(|| format!("no position validated {}", run.display()))
}

/// The target of each position, if scores tell it.
fn targets(samples: &[Sample], config: &Config) -> Option<Vec<f64>> {
    let (wdl, promise) = (config.final_wdl(), config.promise());
    // Moves have no target, and the results are no other one.
    if config.learns_moves() || !config.needs_scores() {
        return None;
    }
    let target = |sample: &Sample| {
        let expected = promise.of(sample.score?.into());
        Some(wdl * f64::from(sample.result) + (1.0 - wdl) * expected)
    };
    samples.iter().map(target).collect()
}
