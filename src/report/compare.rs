//! Several evaluations of the same positions, measured against the results of the games.

use serde::Serialize;

use super::estimate::{Estimate, Means};
use super::fit::Conventions;
use super::fitted::Fitted;
use super::groups::Groups;
use super::verdict;

/// What an evaluation says of each position.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Centipawns for the side to move.
    Cp(Vec<f64>),
    /// Expected results of the side to move, 0 to 1; no scale is fitted.
    Probability(Vec<f64>),
    /// The mean result for every position: what knowing nothing costs.
    Constant,
}

/// An evaluation to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub name: String,
    pub values: Values,
    /// What else could explain a low loss, to stand behind "unless" in a verdict: "it was trained
    /// on these games, which cannot be told".
    pub doubt: Option<String>,
    /// A bound for the others, such as the search that labelled the positions: it is never said to
    /// win.
    pub bound: bool,
    /// A number that floats and integers of one net share: between them is rounding, and none of
    /// the two wins.
    pub net: Option<usize>,
}

impl Evaluation {
    /// Centipawns for the side to move.
    pub fn new(name: impl Into<String>, cp: Vec<f64>) -> Self {
        Self::saying(name, Values::Cp(cp))
    }

    /// Anything, without a doubt.
    pub fn saying(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, doubt: None, bound: false, net: None }
    }

    pub fn constant() -> Self {
        Self::saying("constant", Values::Constant)
    }
}

/// What is known of the positions, one entry a position.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    /// 0 to 1, seen by the side to move.
    pub results: &'a [f64],
    /// Probabilities, 0 to 1, to measure a second loss against.
    pub targets: Option<&'a [f64]>,
    /// Equal for positions of one game.
    pub groups: &'a [u64],
    /// What the groups are, for sentences: "games", "held-out games".
    pub noun: &'a str,
    /// Whether the groups are games; else positions stand for them, of which several may come from
    /// one game, intervals are too narrow, and no winner is named.
    pub games_known: bool,
    /// Why no winner may be named from these data, such as results that seem to be turned.
    pub doubt: Option<&'a str>,
}

impl<'a> Truth<'a> {
    /// Results of known games, and no more.
    pub fn of_games(results: &'a [f64], groups: &'a [u64], noun: &'a str) -> Self {
        Self { results, targets: None, groups, noun, games_known: true, doubt: None }
    }

    pub(super) fn grouped(&self) -> Groups {
        Groups::new(self.groups.iter().copied()).known(self.games_known)
    }
}

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Fit the scales on the positions that the loss is measured on, all of them; else each fifth
    /// of the groups is measured with the scale that fits the others.
    pub fit_on_same: bool,
    /// A scale in centipawns to measure every evaluation with, beside its own.
    pub fixed_scale: Option<f64>,
}

/// Why numbers cannot be compared. Positions count from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("nothing to compare: name at least one evaluation")]
    NoEvaluation,
    #[error("no positions to compare on")]
    NoPositions,
    #[error("{what} has {found} entries for {expected} positions")]
    Length { what: String, found: usize, expected: usize },
    #[error("{what} holds {found} at position {position}, expected {expected}")]
    Value { what: String, found: f64, position: usize, expected: &'static str },
    #[error("the fixed scale is {0}, expected centipawns above 0")]
    FixedScale(f64),
    #[error(
        "{groups} {noun} cannot be cut into parts, so that each is measured with the scale that \
         fits the others; give more, or fit the scales on the positions measured (--fit-on-same)"
    )]
    Parts { groups: usize, noun: String },
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub measured_on: Records,
    /// The scales were fitted on the same positions; else on the other groups.
    pub fit_on_same: bool,
    /// What the groups are.
    pub noun: String,
    /// Else positions stand for games: every interval is a lower bound, and nothing is decided.
    pub games_known: bool,
    pub fixed_scale: Option<f64>,
    /// The smallest loss first.
    pub evaluations: Vec<Measured>,
    /// All pairs, the one with the smaller loss first.
    pub pairs: Vec<Pair>,
    /// What follows, in words.
    pub sentences: Vec<String>,
    /// What was measured, and what could not be told.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Records {
    pub positions: usize,
    pub groups: usize,
}

/// One evaluation, measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// 1 for the smallest loss.
    pub rank: usize,
    pub name: String,
    /// What else could explain a low loss.
    pub doubt: Option<String>,
    /// A bound for the others.
    pub bound: bool,
    /// The best scale, in several conventions; none for probabilities. The geometric mean, where
    /// each part of the groups has its own.
    pub scale: Option<Conventions>,
    /// The best scale lies at a border of the search and means nothing.
    pub at_border: bool,
    /// What a constant evaluation predicts, on average.
    pub probability: Option<f64>,
    /// Mean squared error against the results.
    pub loss: Estimate,
    /// The same at the fixed scale.
    pub loss_fixed: Option<Estimate>,
    /// Mean squared error against the targets, with the scale fitted to the results.
    pub loss_target: Option<Estimate>,
}

/// Two evaluations on the same positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub better: String,
    pub worse: String,
    /// The loss of the worse minus that of the better.
    pub difference: Estimate,
    pub z: Option<f64>,
    /// Floats and integers of one net: what differs is rounding, and nothing is decided.
    pub rounding: bool,
    /// Whether the better may be called better: the difference stands after the correction for all
    /// that are looked at together, and nothing speaks against a verdict. Neighbours in the
    /// ranking are looked at together; for all other pairs, all pairs.
    pub decided: bool,
    /// Why it is not decided.
    pub why: Option<String>,
    /// The same difference at the fixed scale; negative where the order turns.
    pub difference_fixed: Option<Estimate>,
}

/// Measures evaluations on the same positions.
///
/// Each gets its own best scale. The intervals hold for the scales as they are fitted; fitting on
/// other groups, the default, keeps one number a scale from flattering anyone.
pub fn compare(
    evaluations: &[Evaluation],
    truth: &Truth,
    options: &Options,
) -> Result<Comparison, CompareError> {
    check(evaluations, truth, options)?;
    let groups = truth.grouped();
    let fitted = Fitted::all(evaluations, truth, &groups, options)?;
    Ok(measure(evaluations, truth, options, &groups, &fitted))
}

/// The comparison, once the scales are fitted and the groups are known.
pub(super) fn measure(
    evaluations: &[Evaluation],
    truth: &Truth,
    options: &Options,
    groups: &Groups,
    fitted: &[Fitted],
) -> Comparison {
    // Columns: losses at the fitted scale, then at the fixed one, then against the targets.
    let count = evaluations.len();
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(3 * count);
    let each = || evaluations.iter().zip(fitted);
    columns.extend(each().map(|(one, fitted)| fitted.errors(one, truth, groups, truth.results)));
    if let Some(scale) = options.fixed_scale {
        columns.extend(each().map(|(one, fitted)| {
            let square = |i: usize| {
                let fold = fitted.fold(truth.groups[i]);
                (fold.predict(one, i, Some(scale)) - truth.results[i]).powi(2)
            };
            groups.sums((0..truth.results.len()).map(square))
        }));
    }
    if let Some(targets) = truth.targets {
        columns.extend(each().map(|(one, fitted)| fitted.errors(one, truth, groups, targets)));
    }
    let means = Means::new(groups, &columns);
    let fixed = options.fixed_scale.map(|_| count);
    let target = truth.targets.map(|_| if fixed.is_some() { 2 * count } else { count });

    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| means.mean(*a).mean.total_cmp(&means.mean(*b).mean));
    let measured = |(rank, i): (usize, &usize)| Measured {
        rank: rank + 1,
        name: evaluations[*i].name.clone(),
        doubt: evaluations[*i].doubt.clone(),
        bound: evaluations[*i].bound,
        scale: fitted[*i].scale().map(Conventions::of),
        at_border: fitted[*i].at_border(),
        probability: fitted[*i].probability(),
        loss: means.mean(*i),
        loss_fixed: fixed.map(|first| means.mean(first + i)),
        loss_target: target.map(|first| means.mean(first + i)),
    };
    let mut comparison = Comparison {
        measured_on: Records { positions: groups.records(), groups: groups.len() },
        fit_on_same: options.fit_on_same,
        noun: truth.noun.to_string(),
        games_known: truth.games_known,
        fixed_scale: options.fixed_scale,
        evaluations: order.iter().enumerate().map(measured).collect(),
        pairs: pairs(evaluations, &order, &means, fixed),
        sentences: Vec::new(),
        notes: Vec::new(),
    };
    verdict::decide(&mut comparison, truth);
    comparison.sentences = comparison.conclude();
    comparison
}

fn pairs(
    evaluations: &[Evaluation],
    order: &[usize],
    means: &Means,
    fixed: Option<usize>,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (rank, better) in order.iter().enumerate() {
        for worse in &order[rank + 1..] {
            let difference = means.difference(*worse, *better);
            let nets = [*better, *worse].map(|place| evaluations[place].net);
            pairs.push(Pair {
                better: evaluations[*better].name.clone(),
                worse: evaluations[*worse].name.clone(),
                difference,
                z: difference.z(),
                rounding: nets[0].is_some() && nets[0] == nets[1],
                decided: false,
                why: None,
                difference_fixed: fixed
                    .map(|first| means.difference(first + worse, first + better)),
            });
        }
    }
    pairs
}

pub(super) fn check(
    evaluations: &[Evaluation],
    truth: &Truth,
    options: &Options,
) -> Result<(), CompareError> {
    let positions = truth.results.len();
    if evaluations.is_empty() {
        return Err(CompareError::NoEvaluation);
    }
    if positions == 0 {
        return Err(CompareError::NoPositions);
    }
    if let Some(scale) = options.fixed_scale.filter(|scale| !(*scale > 0.0 && scale.is_finite())) {
        return Err(CompareError::FixedScale(scale));
    }
    let length = |what: &str, found: usize| match found {
        found if found == positions => Ok(()),
        _ => Err(CompareError::Length { what: what.to_string(), found, expected: positions }),
    };
    let values = |what: &str, values: &[f64], valid: fn(f64) -> bool, expected: &'static str| {
        length(what, values.len())?;
        match values.iter().position(|value| !valid(*value)) {
            None => Ok(()),
            Some(position) => {
                let (what, found) = (what.to_string(), values[position]);
                Err(CompareError::Value { what, found, position, expected })
            }
        }
    };
    let share: fn(f64) -> bool = |value| (0.0..=1.0).contains(&value);
    length("the list of groups", truth.groups.len())?;
    values("the list of results", truth.results, share, "0 to 1")?;
    if let Some(targets) = truth.targets {
        values("the list of targets", targets, share, "0 to 1")?;
    }
    evaluations.iter().try_for_each(|Evaluation { name, values: given, .. }| match given {
        Values::Cp(cp) => values(name, cp, f64::is_finite, "finite centipawns"),
        Values::Probability(given) => values(name, given, share, "0 to 1"),
        Values::Constant => Ok(()),
    })
}
