//! A comparison with everything below it: where, how well calibrated, and over which positions
//! evaluations part.

use rayon::prelude::*;
use serde::Serialize;

use super::calibration::Calibration;
use super::compare::{self, Comparison};
use super::disagree::{self, Disagreement};
use super::fitted::Fitted;
use super::gap::{self, Gap};
use super::predictions::{self, CompareError, Options, Predictions, Truth, Values};
use super::reach::{self, Reach};
use super::slices::{Attributes, Input, Slices};
use super::text::wrap;

/// What to look at beside the comparison. Evaluations are named by their place among those given.
#[derive(Clone, Copy)]
pub struct Depth<'a> {
    /// One entry a position.
    pub facts: &'a [Attributes],
    /// The names of the files.
    pub sources: &'a [String],
    /// The FEN of a position.
    pub fen: &'a dyn Fn(usize) -> String,
    /// What slices compare with; else the best one, and for the best the second.
    pub reference: Option<usize>,
    /// Whose disagreements to show; else the best with each other one that is not constant, but
    /// for the two of a gap.
    pub disagreements: Option<&'a [[usize; 2]]>,
    /// How many positions of each disagreement.
    pub most: usize,
    /// Floats and integers of one thing.
    pub gaps: &'a [[usize; 2]],
    /// Material and the data's own score, between which the others are placed.
    pub ends: Option<[usize; 2]>,
    /// Bins of a calibration.
    pub bins: usize,
}

impl Depth<'_> {
    pub const MOST: usize = 10;
    pub const BINS: usize = 15;
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeepError {
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error("there are facts for {found} positions of {expected}")]
    Facts { found: usize, expected: usize },
    #[error("position {position} comes from file {found}, but {sources} files are named")]
    Source { position: usize, found: u16, sources: usize },
    #[error("there is no evaluation {found}, they count from 0 to {}", .count - 1)]
    Evaluation { found: usize, count: usize },
    #[error("{name} gives no centipawns: its integers cannot be compared with its floats")]
    NoCentipawns { name: String },
    #[error("{0} bins, expected 1 to 1000")]
    Bins(usize),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deep {
    pub comparison: Comparison,
    pub slices: Slices,
    /// In the order of the evaluations given, without constant ones.
    pub calibrations: Vec<Calibration>,
    pub disagreements: Vec<Disagreement>,
    pub gaps: Vec<Gap>,
    /// How much of the way from material to the score each goes; empty where one of the two is
    /// missing, or where they cannot be told apart.
    pub reaches: Vec<Reach>,
    /// What follows from all this, and what does not.
    pub caveat: String,
}

/// [Compares](compare::compare()) and looks deeper; scales are fitted once, and serve everywhere.
pub fn deep(
    evaluations: &[Predictions],
    truth: &Truth,
    options: &Options,
    depth: &Depth,
) -> Result<Deep, DeepError> {
    predictions::check(evaluations, truth, options)?;
    check(evaluations, truth, depth)?;
    let groups = truth.grouped();
    let fitted = Fitted::all(evaluations, truth, &groups, options)?;
    let comparison = compare::measure(evaluations, truth, options, &groups, &fitted);
    let results = truth.results;
    let expected: Vec<Vec<f64>> =
        evaluations.iter().zip(&fitted).map(|(one, fitted)| fitted.expected(one, truth)).collect();
    let square = |(expected, result): (&f64, &f64)| (expected - result).powi(2);
    let losses: Vec<Vec<f64>> =
        expected.par_iter().map(|list| list.iter().zip(results).map(square).collect()).collect();
    let names: Vec<String> = evaluations.iter().map(|one| one.name.clone()).collect();
    let order = order(&losses);

    let slices = Slices::of(&Input {
        names: &names,
        losses: &losses,
        results,
        facts: depth.facts,
        sources: depth.sources,
        groups: &groups,
        noun: truth.noun,
        others: &others(&order, depth.reference),
    });
    let bins = depth.bins;
    // A constant promises the mean of the other games, and can only differ from their own.
    let promising: Vec<usize> =
        (0..evaluations.len()).filter(|i| evaluations[*i].values != Values::Constant).collect();
    let calibrations = (promising.par_iter().map(|i| (&names[*i], &expected[*i])))
        .map(|(name, it)| Calibration::of(name, it, results, &groups, bins))
        .collect();
    let says = |i: &usize| evaluations[*i].values != Values::Constant;
    let one_thing = |a: usize, b: usize| depth.gaps.iter().any(|it| *it == [a, b] || *it == [b, a]);
    let best_and_others = || -> Vec<[usize; 2]> {
        let mut saying = order.iter().copied().filter(says);
        let Some(best) = saying.next() else { return Vec::new() };
        saying.filter(|other| !one_thing(best, *other)).map(|other| [best, other]).collect()
    };
    let pairs = depth.disagreements.map_or_else(best_and_others, <[_]>::to_vec);
    let rank = |i: &usize| order.iter().position(|it| it == i);
    let disagreements = pairs
        .into_iter()
        .map(|mut pair| {
            pair.sort_by_key(rank);
            let sides = pair.map(|i| disagree::Side {
                name: &names[i],
                cp: centipawns(&evaluations[i]),
                expected: &expected[i],
            });
            Disagreement::of(sides, results, &groups, depth.most, depth.fen)
        })
        .collect();
    let side = |i: usize| -> Result<gap::Side, DeepError> {
        let (name, losses) = (&names[i][..], &losses[i][..]);
        let missing = || DeepError::NoCentipawns { name: name.to_string() };
        Ok(gap::Side { name, cp: centipawns(&evaluations[i]).ok_or_else(missing)?, losses })
    };
    let gaps = depth
        .gaps
        .iter()
        .map(|[a, b]| Ok(Gap::of([side(*a)?, side(*b)?], &groups, truth.noun)))
        .collect::<Result<_, DeepError>>()?;
    let mut reaches =
        depth.ends.map_or_else(Vec::new, |ends| reach::reaches(&names, &losses, ends, &groups));
    reaches.retain(|reach| {
        evaluations.iter().any(|it| it.name == reach.name && it.values != Values::Constant)
    });
    let caveat = caveat(truth.noun);
    Ok(Deep { comparison, slices, calibrations, disagreements, gaps, reaches, caveat })
}

impl Deep {
    /// Everything as it is printed.
    pub fn text(&self) -> String {
        let mut parts = vec![self.comparison.text()];
        if !self.reaches.is_empty() {
            let mut way = String::new();
            for reach in &self.reaches {
                let Reach { name, .. } = reach;
                wrap(&format!("From material to score {name} goes {}.", reach.percent()), &mut way);
            }
            parts.push(way);
        }
        parts.push(self.slices.text());
        parts.extend(self.calibrations.iter().map(Calibration::text));
        parts.extend(self.disagreements.iter().map(Disagreement::text));
        parts.extend(self.gaps.iter().map(Gap::text));
        let mut last = String::new();
        wrap(&self.caveat, &mut last);
        parts.push(last);
        parts.join("\n")
    }
}

/// What no table here can say.
fn caveat(noun: &str) -> String {
    format!(
        "What does not follow: a difference in loss is not Elo, which also depends on speed and on \
         how a search uses the numbers; only games between engines tell. The {noun} are of the \
         same kind as these data, and say nothing of positions that do not occur in them. A \
         checkpoint that was chosen as the best on these {noun} looks better here than it is."
    )
}

fn centipawns(evaluation: &Predictions) -> Option<&[f64]> {
    match &evaluation.values {
        Values::Cp(cp) => Some(cp),
        Values::Probability(_) | Values::Constant => None,
    }
}

/// The smallest mean loss first.
fn order(losses: &[Vec<f64>]) -> Vec<usize> {
    let sums: Vec<f64> = losses.iter().map(|list| list.iter().sum()).collect();
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_by(|a, b| sums[*a].total_cmp(&sums[*b]));
    order
}

/// What slices compare each evaluation with. The best is the best of all positions: the best of
/// each slice would be chosen by the numbers that are to judge it.
fn others(order: &[usize], reference: Option<usize>) -> Vec<Option<usize>> {
    let mut others = vec![None; order.len()];
    let first = reference.unwrap_or(order[0]);
    for i in order.iter().filter(|i| **i != first) {
        others[*i] = Some(first);
    }
    if reference.is_none() {
        others[first] = order.get(1).copied();
    }
    others
}

fn check(evaluations: &[Predictions], truth: &Truth, depth: &Depth) -> Result<(), DeepError> {
    let (expected, found) = (truth.results.len(), depth.facts.len());
    if found != expected {
        return Err(DeepError::Facts { found, expected });
    }
    let sources = depth.sources.len();
    let unknown = depth.facts.iter().position(|facts| usize::from(facts.source) >= sources);
    if let Some(position) = unknown {
        let found = depth.facts[position].source;
        return Err(DeepError::Source { position, found, sources });
    }
    if !(1..=1000).contains(&depth.bins) {
        return Err(DeepError::Bins(depth.bins));
    }
    let count = evaluations.len();
    let pairs = depth.disagreements.unwrap_or_default().iter().chain(depth.gaps);
    let pairs = pairs.chain(&depth.ends).flatten();
    match pairs.chain(&depth.reference).find(|i| **i >= count) {
        Some(found) => Err(DeepError::Evaluation { found: *found, count }),
        None => Ok(()),
    }
}
