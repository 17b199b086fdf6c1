//! The runs of a curve on the same test games.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::member::Member;
use crate::export::Given;
use crate::loader::Scan;
use crate::report::groups::Groups;
use crate::report::learning::{Nouns, Run};
use crate::report::{Learning, Options, Truth, errors, learning};
use crate::run::evaluator::Evaluator;
use crate::run::folder;
use crate::run::listener::Listener;
use crate::run::place::Place;
use crate::run::recipe::{self, POSITIONS, Recipe};
use crate::sample::{Sample, games_known};

/// A learning curve, or several, with their runs.
#[derive(Serialize)]
pub struct Curve {
    pub measured_on: Basis,
    pub runs: Vec<MeasuredRun>,
    /// Over the data, one for each size of net; none with a single share.
    pub data: Vec<OverData>,
    /// Over the neurons, on all of the data; none with a single size.
    pub neurons: Option<Learning>,
}

/// What the losses are means over.
#[derive(Serialize)]
pub struct Basis {
    pub positions: usize,
    pub groups: usize,
    /// What the groups are.
    pub noun: &'static str,
}

#[derive(Serialize)]
pub struct OverData {
    pub hidden: Option<usize>,
    pub learning: Learning,
}

/// A run with its losses.
#[derive(Serialize)]
pub struct MeasuredRun {
    pub name: String,
    /// Trained on one in so many of the games.
    pub part: u32,
    /// Positions to train on.
    pub positions: u64,
    pub hidden: Option<usize>,
    pub seed: u64,
    /// Steps of the run.
    pub steps: u64,
    /// The step with the lowest validation loss, whose weights are measured.
    pub best_step: u64,
    /// How often that many steps pass over the positions.
    pub best_passes: f64,
    /// Centipawns a logit that fit the results best.
    pub scale: Option<f64>,
    /// Mean squared error against the results.
    pub loss: f64,
    /// The squared error of each position.
    #[serde(skip)]
    losses: Vec<f64>,
}

/// The positions of the test.
struct Tested<'a> {
    samples: &'a [Sample],
    results: Vec<f64>,
    groups: Vec<u64>,
    /// What the groups are.
    noun: &'static str,
    games_known: bool,
}

impl Curve {
    /// Measures the best weights of all runs.
    pub fn measure(
        members: &[Member],
        out: &Path,
        scan: &Scan,
        place: &Place,
        listener: &dyn Listener,
    ) -> Result<Self> {
        let samples = &scan.test.samples[..];
        let games = games_known(samples);
        let tested = Tested {
            samples,
            results: samples.iter().map(|sample| sample.result.into()).collect(),
            groups: samples.iter().map(Sample::group).collect(),
            noun: if games { "test games" } else { "test positions" },
            games_known: games,
        };
        let runs = members
            .iter()
            .map(|member| {
                MeasuredRun::new(member, &out.join(&member.name), &tested, place, listener)
            })
            .collect::<Result<Vec<_>>>()?;
        let nouns = |size| Nouns { size, groups: tested.noun, games_known: games };
        let over = |runs: &[Run], size| learning(runs, &tested.groups, nouns(size));

        let mut sizes: Vec<Option<usize>> = members.iter().map(|member| member.hidden).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut data = Vec::new();
        if members.iter().any(|member| member.part > 1) {
            for hidden in &sizes {
                let of_size = runs.iter().filter(|run| run.hidden == *hidden);
                let of_size: Vec<Run> = of_size.map(|run| run.of(run.positions as f64)).collect();
                data.push(OverData { hidden: *hidden, learning: over(&of_size, "the data")? });
            }
        }
        let neurons = match sizes.len() {
            1 => None,
            _ => {
                let whole = runs.iter().filter(|run| run.part == 1);
                let whole: Vec<Run> =
                    whole.map(|run| run.of(run.hidden.unwrap_or(0) as f64)).collect();
                Some(over(&whole, "the neurons")?)
            }
        };
        let groups = Groups::new(tested.groups.iter().copied()).len();
        let measured_on = Basis { positions: samples.len(), groups, noun: tested.noun };
        Ok(Self { measured_on, runs, data, neurons })
    }
}

impl MeasuredRun {
    fn new(
        member: &Member,
        path: &Path,
        tested: &Tested,
        place: &Place,
        listener: &dyn Listener,
    ) -> Result<Self> {
        let (last, _) = recipe::open(&path.join(folder::LAST))?;
        let (best, Recipe { config, .. }) = recipe::open(&path.join(folder::BEST))?;
        let positions = last.facts.get(POSITIONS).and_then(|text| text.parse().ok());
        let positions: u64 = positions.with_context(|| {
            format!("{} does not tell its number of positions; begin anew", path.display())
        })?;
        let name = path.to_string_lossy();
        let place = place.open_for(&config)?;
        let evaluator = Evaluator::open(&name, &Given::default(), &place, listener)?;
        let evaluation = evaluator.evaluate(tested.samples, &config.data.all_files())?;
        let (losses, scale) = errors(&evaluation, &tested.truth(), &Options::default())?;
        Ok(Self {
            name: member.name.clone(),
            part: member.part,
            positions,
            hidden: member.hidden,
            seed: config.seed,
            steps: last.state.step,
            best_step: best.state.step,
            best_passes: best.state.positions as f64 / positions as f64,
            scale,
            loss: losses.iter().sum::<f64>() / losses.len() as f64,
            losses,
        })
    }

    fn of(&self, size: f64) -> Run<'_> {
        Run { name: &self.name, size, losses: &self.losses }
    }
}

impl Tested<'_> {
    fn truth(&self) -> Truth<'_> {
        Truth {
            results: &self.results,
            targets: None,
            groups: &self.groups,
            noun: self.noun,
            games_known: self.games_known,
            doubt: None,
        }
    }
}
