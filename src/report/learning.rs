//! What more data were worth: the loss on the same test games, over the size of a run.

use serde::Serialize;

use super::estimate::{Estimate, FEW_GROUPS, Means};
use super::groups::Groups;
use super::power::{Power, power};
use super::text::{UNKNOWN, WIDTH, between, interval, loss, wrap};
use super::{Align, Table};

/// A run, measured on the test games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run<'a> {
    pub name: &'a str,
    /// Positions of training, a share of them, neurons; runs of equal size are averaged.
    pub size: f64,
    /// Squared errors, one a test position, in the same order for all runs.
    pub losses: &'a [f64],
}

/// What the sizes and the groups are, for sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nouns<'a> {
    /// "the data", "the neurons".
    pub size: &'a str,
    /// "test games".
    pub groups: &'a str,
    /// Whether they are games; else positions stand for them, and nothing is concluded.
    pub games_known: bool,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LearningError {
    #[error("there are no test positions to measure on")]
    NoPositions,
    #[error("a learning curve needs runs of at least two sizes")]
    Sizes,
    #[error("the size of {name} is {size}, expected a number above 0")]
    Size { name: String, size: f64 },
    #[error("{name} has {found} losses for {expected} test positions")]
    Length { name: String, found: usize, expected: usize },
    #[error("{name} has the loss {found} at test position {position}, expected a number")]
    Value { name: String, found: f64, position: usize },
}

/// A learning curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learning {
    /// What grows.
    pub size: String,
    /// What the groups are.
    pub noun: String,
    pub groups: usize,
    /// Else positions stand for games: every interval is a lower bound, and nothing is concluded.
    pub games_known: bool,
    /// The smallest size first.
    pub points: Vec<Point>,
    /// From each size to the next.
    pub steps: Vec<Step>,
    /// Where at least four sizes lie near such a curve.
    pub power: Option<Power>,
    /// Why there is none.
    pub no_power: Option<String>,
    /// What doubling the largest size would gain if the curve goes on.
    pub next: Option<Estimate>,
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub size: f64,
    pub runs: Vec<String>,
    pub loss: Estimate,
    /// The smallest and the largest loss of these runs.
    pub range: [f64; 2],
    /// What the fitted curve gives here.
    pub fitted: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    pub from: f64,
    pub to: f64,
    /// The loss of the smaller size less that of the larger: above zero where more was better.
    pub worth: Estimate,
    /// The same for each doubling within the step.
    pub doubling: Estimate,
}

/// Measures runs on the same test positions; `groups` holds equal keys for positions of one
/// game. Intervals are paired, and hold for these runs: another seed of training gives another
/// curve.
pub fn learning(runs: &[Run], groups: &[u64], nouns: Nouns) -> Result<Learning, LearningError> {
    check(runs, groups.len())?;
    let mut order: Vec<&Run> = runs.iter().collect();
    order.sort_by(|a, b| a.size.total_cmp(&b.size));
    let alike: Vec<&[&Run]> = order.chunk_by(|a, b| a.size == b.size).collect();
    if alike.len() < 2 {
        return Err(LearningError::Sizes);
    }
    let groups = Groups::new(groups.iter().copied()).known(nouns.games_known);
    let columns: Vec<Vec<f64>> = alike
        .iter()
        .map(|runs| {
            let mean = |i| runs.iter().map(|run| run.losses[i]).sum::<f64>() / runs.len() as f64;
            groups.sums((0..groups.records()).map(mean))
        })
        .collect();
    let means = Means::new(&groups, &columns);
    let sizes: Vec<f64> = alike.iter().map(|runs| runs[0].size).collect();
    let points = (0..sizes.len()).map(|i| Point::of(alike[i], means.mean(i))).collect();
    let steps = (1..sizes.len()).map(|i| Step::of(&sizes, i, &means)).collect();
    let mut learning = Learning {
        size: nouns.size.to_string(),
        noun: nouns.groups.to_string(),
        groups: groups.len(),
        games_known: nouns.games_known,
        points,
        steps,
        power: None,
        no_power: None,
        next: None,
        sentences: Vec::new(),
    };
    learning.fit(&sizes, &means);
    learning.sentences = learning.conclude();
    Ok(learning)
}

fn check(runs: &[Run], positions: usize) -> Result<(), LearningError> {
    if positions == 0 {
        return Err(LearningError::NoPositions);
    }
    for run in runs {
        let name = || run.name.to_string();
        if !(run.size > 0.0 && run.size.is_finite()) {
            return Err(LearningError::Size { name: name(), size: run.size });
        }
        if run.losses.len() != positions {
            let found = run.losses.len();
            return Err(LearningError::Length { name: name(), found, expected: positions });
        }
        if let Some(position) = run.losses.iter().position(|loss| !loss.is_finite()) {
            let found = run.losses[position];
            return Err(LearningError::Value { name: name(), found, position });
        }
    }
    Ok(())
}

impl Point {
    fn of(runs: &[&Run], loss: Estimate) -> Self {
        let losses =
            runs.iter().map(|run| run.losses.iter().sum::<f64>() / run.losses.len() as f64);
        Self {
            size: runs[0].size,
            runs: runs.iter().map(|run| run.name.to_string()).collect(),
            loss,
            range: [losses.clone().fold(f64::MAX, f64::min), losses.fold(f64::MIN, f64::max)],
            fitted: None,
        }
    }
}

impl Step {
    fn of(sizes: &[f64], i: usize, means: &Means) -> Self {
        let (from, to) = (sizes[i - 1], sizes[i]);
        let doublings = (to / from).log2();
        let worth = means.difference(i - 1, i);
        let doubling = means.statistic(|losses| (losses[i - 1] - losses[i]) / doublings);
        Self { from, to, worth, doubling }
    }
}

impl Learning {
    fn fit(&mut self, sizes: &[f64], means: &Means) {
        let losses: Vec<f64> = self.points.iter().map(|point| point.loss.mean).collect();
        let whole = means.difference(0, sizes.len() - 1);
        let found = match whole.contains_zero() {
            true if sizes.len() >= Power::LEAST => {
                Err("from the smallest size to the largest these games see no gain".to_string())
            }
            _ => Power::sensible(sizes, &losses),
        };
        match found {
            Ok(found) => {
                let last = sizes[sizes.len() - 1];
                for point in &mut self.points {
                    point.fitted = Some(found.at(point.size));
                }
                self.next = Some(means.statistic(|losses| {
                    let curve = power(sizes, losses);
                    curve.at(last) - curve.at(2.0 * last)
                }));
                self.power = Some(found);
            }
            Err(why) => self.no_power = Some(why),
        }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.table());
        self.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        text
    }

    /// One line a size.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("size", Align::Right),
            ("runs", Align::Right),
            ("loss", Align::Right),
            ("95 % interval", Align::Right),
            ("fitted", Align::Right),
            ("a doubling was worth", Align::Right),
            ("95 % interval", Align::Right),
        ])
        .width(WIDTH);
        for (i, point) in self.points.iter().enumerate() {
            let mut cells = vec![
                size(point.size),
                point.runs.len().to_string(),
                loss(point.loss.mean),
                interval(&point.loss),
                point.fitted.map_or("-".to_string(), loss),
            ];
            if let Some(step) = i.checked_sub(1).map(|i| &self.steps[i]) {
                cells.extend([loss(step.doubling.mean), interval(&step.doubling)]);
            }
            table.row(cells);
        }
        table
    }

    fn conclude(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.steps.iter().map(|it| self.step(it)).collect();
        if self.points.iter().all(|point| point.runs.len() == 1) {
            sentences.push(
                "One run a size: the intervals know of other games, not of other seeds of \
                 training."
                    .to_string(),
            );
        }
        if let Some(power) = self.power {
            sentences.push(format!(
                "loss = {:.5} + {:.3} * (size / {})^-{:.2} runs through the points to within {}.",
                power.floor,
                power.height,
                size(power.unit),
                power.exponent,
                loss(power.residual)
            ));
        }
        if let Some(next) = self.next {
            let between = between(&next);
            let open = match next.tells() {
                true => "",
                false => ": the games leave open whether it would help at all",
            };
            sentences.push(format!(
                "Another doubling would be worth about {}{between} if the curve goes on{open}. \
                 That is a guess beyond the data: a net that is full, or data of one kind, ends \
                 the curve earlier.",
                loss(next.mean)
            ));
        }
        if let Some(why) = &self.no_power {
            sentences.push(format!("No curve is fitted: {why}."));
        }
        if !self.games_known {
            sentences.push(UNKNOWN.replace('\n', " "));
        } else if self.groups < FEW_GROUPS {
            sentences.push(format!(
                "Only {} {}: nothing is concluded from fewer than {FEW_GROUPS}.",
                self.groups, self.noun
            ));
        }
        sentences
    }

    fn step(&self, step: &Step) -> String {
        let (from, to) = (size(step.from), size(step.to));
        let times = step.to / step.from;
        let grew = match (times - 2.0).abs() < 0.01 {
            true => format!("Doubling {} from {from} to {to}", self.size),
            false => format!("{} from {from} to {to} ({times:.2} times)", capital(&self.size)),
        };
        let open = match (step.worth.tells(), step.worth.mean < 0.0) {
            (false, _) => format!(": these {} cannot tell whether it helped", self.noun),
            (true, true) => ": it made things worse".to_string(),
            _ => String::new(),
        };
        format!("{grew} was worth {}{}{open}.", loss(step.worth.mean), between(&step.worth))
    }
}

/// Sizes as people write them: 0.25, 512, 1.5 M.
fn size(size: f64) -> String {
    let short = |value: f64| {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    match size {
        size if size >= 1e6 => short(size / 1e6) + " M",
        size if size >= 1e4 => short(size / 1e3) + " k",
        size if size >= 1e-3 => short(size),
        size => format!("{size:e}"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
