//! The runs of a curve on the same test games.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::member::Member;
use crate::cli::evaluator::Evaluator;
use crate::cli::folder;
use crate::cli::place::Place;
use crate::cli::progress::{grouped, short};
use crate::cli::recipe::{self, Recipe};
use crate::cli::{eval, train};
use crate::loader::Scan;
use crate::report::groups::Groups;
use crate::report::learning::{Nouns, Run};
use crate::report::{Align, Learning, Options, Table, Truth, errors, learning};
use crate::sample::{Sample, games_known};

/// A learning curve, or several, with their runs.
#[derive(Serialize)]
pub struct Curve {
    pub measured_on: Basis,
    pub runs: Vec<Measured>,
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
pub struct Measured {
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
    pub fn measure(members: &[Member], out: &Path, scan: &Scan, place: &Place) -> Result<Self> {
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
            .map(|member| Measured::new(member, &out.join(&member.name), &tested, place))
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

    /// The runs, then what follows.
    pub fn text(&self) -> String {
        let Basis { positions, groups, noun } = &self.measured_on;
        let mut text = format!(
            "{}\nBest step: that of the lowest validation loss, whose weights are measured, on {} \
             positions of\n{} {noun}. Passes: over the run's positions till then. Loss: mean \
             squared error of\nsigmoid(cp / scale) against the results; each fifth of the {noun} is \
             measured with\nthe scale that fits the others.\n",
            self.table(),
            grouped(*positions as u64),
            grouped(*groups as u64),
        );
        for OverData { hidden, learning } in &self.data {
            let net = match (hidden, self.data.len()) {
                (Some(hidden), 2..) => format!(", with {hidden} neurons"),
                _ => String::new(),
            };
            text += &format!("\nOver the data{net}, sizes in positions:\n\n{}", learning.text());
        }
        if let Some(learning) = &self.neurons {
            text += &format!("\nOver the neurons, on all of the data:\n\n{}", learning.text());
        }
        text
    }

    fn table(&self) -> Table {
        let nets = self.runs.iter().any(|run| run.hidden.is_some());
        let mut columns = vec![("run", Align::Left), ("positions", Align::Right)];
        columns.extend(nets.then_some(("neurons", Align::Right)));
        columns.extend(
            ["seed", "steps", "best step", "passes", "scale, cp", "loss"]
                .map(|title| (title, Align::Right)),
        );
        // The names are those of folders, which must be found: none is cut.
        let mut table = Table::new(&columns).width(usize::MAX);
        for run in &self.runs {
            let mut cells = vec![run.name.clone(), short(run.positions as f64)];
            cells.extend(run.hidden.map(|hidden| hidden.to_string()));
            cells.extend([
                run.seed.to_string(),
                run.steps.to_string(),
                run.best_step.to_string(),
                format!("{:.1}", run.best_passes),
                run.scale.map_or("-".to_string(), |scale| format!("{scale:.0}")),
                format!("{:.6}", run.loss),
            ]);
            table.row(cells);
        }
        table
    }
}

impl Measured {
    fn new(member: &Member, path: &Path, tested: &Tested, place: &Place) -> Result<Self> {
        let (last, _) = recipe::open(&path.join(folder::LAST))?;
        let (best, Recipe { config, .. }) = recipe::open(&path.join(folder::BEST))?;
        let positions = last.facts.get(train::POSITIONS).and_then(|text| text.parse().ok());
        let positions: u64 = positions.with_context(|| {
            format!("{} does not tell its number of positions; begin anew", path.display())
        })?;
        let name = path.to_string_lossy();
        let evaluator =
            Evaluator::open(&name, &eval::Shape::default(), &place.open(config.model.precision)?)?;
        let evaluation = evaluator.evaluate(tested.samples, &config.data.files)?;
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
