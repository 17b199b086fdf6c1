//! Several evaluations of the same positions, measured against the results of the games.

use serde::Serialize;

use super::elo::Elo;
use super::estimate::{Estimate, Means};
use super::fit::Conventions;
use super::fitted::Fitted;
use super::games::Games;
use super::groups::Groups;
use super::predictions::{CompareError, Options, Predictions, Truth, check};
use super::verdict;

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
    /// What games of some of them say; None where nobody looked.
    pub games: Option<Games>,
    /// What follows from the losses, in words.
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
    /// Logistic Elo by games; None where it did not play, or nobody looked.
    pub elo: Option<Elo>,
    /// Its place among the players of these games.
    #[serde(skip)]
    pub player: Option<usize>,
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
    evaluations: &[Predictions],
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
    evaluations: &[Predictions],
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
        elo: None,
        player: evaluations[*i].player,
    };
    let mut comparison = Comparison {
        measured_on: Records { positions: groups.records(), groups: groups.len() },
        fit_on_same: options.fit_on_same,
        noun: truth.noun.to_string(),
        games_known: truth.games_known,
        fixed_scale: options.fixed_scale,
        evaluations: order.iter().enumerate().map(measured).collect(),
        pairs: pairs(evaluations, &order, &means, fixed),
        games: None,
        sentences: Vec::new(),
        notes: Vec::new(),
    };
    verdict::decide(&mut comparison, truth);
    comparison.sentences = comparison.conclude();
    comparison
}

fn pairs(
    evaluations: &[Predictions],
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
