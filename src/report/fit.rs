//! The scale that converts centipawns to probabilities.

use rayon::prelude::*;
use serde::Serialize;

use super::compare::PositionFacts;
use super::estimate::{Estimate, Means};
use crate::loss::sigmoid;

/// The best single scale for some records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScaleFit {
    /// Centipawns per logit; None if the loss does not depend on it.
    pub scale: Option<f64>,
    /// Whether the best scale lies at a border of the search and means nothing.
    pub at_border: bool,
}

/// The smallest and the largest scale that is searched.
pub const SCALES: [f64; 2] = [1.0, 1e5];
/// Steps of the coarse search, a factor of 1.43 each.
const STEPS: usize = 32;
/// Width at which the search for `ln(scale)` ends. The loss is flat over far more than that.
const WIDTH: f64 = 1e-7;
/// Records per shard; enough work for a task.
const SHARD: usize = 8192;
/// Distance on the logarithm within which minima are the same.
const NEAR: f64 = 0.5;

/// Returns the mean of `(sigmoid(cp / scale) - target)^2`; NaN without records.
pub fn mean_loss(cp: &[f64], targets: &[f64], scale: f64) -> f64 {
    let records = cp.len().min(targets.len());
    let rate = 1.0 / scale;
    let [sum] = sum_in_order(records, |i| [(sigmoid(cp[i] * rate) - targets[i]).powi(2)]);
    sum / records as f64
}

/// Finds the scale with the smallest [`mean_loss`], by a coarse grid, then golden sections.
pub fn fit_scale(cp: &[f64], targets: &[f64]) -> ScaleFit {
    if cp.iter().all(|value| *value == 0.0) {
        return ScaleFit { scale: None, at_border: false };
    }
    let [low, high] = SCALES.map(f64::ln);
    let point = |step: usize| low + (high - low) * step as f64 / STEPS as f64;
    let loss_at = |x: f64| mean_loss(cp, targets, x.exp());

    let coarse: Vec<f64> = (0..=STEPS).map(|step| loss_at(point(step))).collect();
    let best = (0..=STEPS).min_by(|a, b| coarse[*a].total_cmp(&coarse[*b])).unwrap_or(0);
    let x = golden_section(loss_at, point(best.saturating_sub(1)), point((best + 1).min(STEPS)));
    // Golden sections never reach the ends of the grid.
    let x = if coarse[best] < loss_at(x) { point(best) } else { x };
    let at_border = x - low < 1e-3 || high - x < 1e-3;
    ScaleFit { scale: Some(x.exp()), at_border }
}

/// Finds the scale with the smallest loss on the records `on`, by Newton's steps from a scale fitted
/// to more of them. None if the steps do not converge nearby, so that [`fit_scale`] is needed.
pub fn fit_near(cp: &[f64], targets: &[f64], on: &[usize], scale: f64) -> Option<f64> {
    let start = scale.ln();
    let mut x = start;
    for _ in 0..30 {
        let rate = (-x).exp();
        let [first, second] =
            sum_in_order(on.len(), |i| error_derivatives(cp[on[i]] * rate, targets[on[i]]));
        let step = first / second;
        if !(second > 0.0 && (x - step - start).abs() < NEAR) {
            return None;
        }
        x -= step;
        if step.abs() < WIDTH {
            return Some(x.exp());
        }
    }
    None
}

/// Returns the first two derivatives of `(sigmoid(z) - target)^2` by `ln S`, where `z = cp / S`.
pub(super) fn error_derivatives(z: f64, target: f64) -> [f64; 2] {
    let p = sigmoid(z);
    let first = -z * p * (1.0 - p);
    let error = p - target;
    let second = -first * (1.0 + z * (1.0 - 2.0 * p));
    [2.0 * error * first, 2.0 * (first * first + error * second)]
}

fn golden_section(value: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    while high - low > WIDTH {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = value(right);
        }
    }
    (low + high) / 2.0
}

/// Sums over `0..records` in a fixed order: the same bits for any number of threads.
pub(super) fn sum_in_order<const N: usize>(
    records: usize,
    each: impl Fn(usize) -> [f64; N] + Sync,
) -> [f64; N] {
    let add = |mut sums: [f64; N], values: [f64; N]| {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        sums
    };
    let shards: Vec<[f64; N]> = (0..records.div_ceil(SHARD))
        .into_par_iter()
        .map(|shard| {
            (shard * SHARD..records.min((shard + 1) * SHARD)).map(&each).fold([0.0; N], add)
        })
        .collect();
    shards.into_iter().fold([0.0; N], add)
}

#[derive(Clone, Debug, PartialEq)]
pub struct MatchedScale {
    /// Factor of the new values, and so of their SCALE.
    pub factor: Estimate,
    pub scale_before: i32,
    /// SCALE after the factor, rounded, at least 1.
    pub scale_after: i32,
    /// Best scales of the old and the new values for the results.
    pub fitted: [f64; 2],
}

/// An evaluation of which no scale suits the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scale of the {0} evaluation fits the results: its values do not predict them; use other \
     positions"
)]
pub struct MatchError(&'static str);

/// Finds the factor between an old evaluation's centipawns and a new one's of SCALE `scale`.
pub fn match_scale(
    old: &[f64],
    new: &[f64],
    truth: &PositionFacts,
    scale: i32,
) -> Result<MatchedScale, MatchError> {
    let groups = truth.group_games();
    let mut fitted = [0.0; 2];
    let mut columns = Vec::with_capacity(4);
    for (i, (name, cp)) in [("old", old), ("new", new)].into_iter().enumerate() {
        let fit = fit_scale(cp, &truth.results);
        fitted[i] = fit.scale.filter(|_| !fit.at_border).ok_or(MatchError(name))?;
        for order in 0..2 {
            let records = cp.iter().zip(&truth.results);
            let derivatives =
                records.map(|(cp, result)| error_derivatives(cp / fitted[i], *result)[order]);
            columns.push(groups.sum_groups(derivatives));
        }
    }
    let factor = fitted[0] / fitted[1];
    // One Newton step of `ln S` gives the scales without a group.
    let estimated = Means::new(&groups, &columns).estimate_statistic(|mean| {
        let [old_step, new_step] = [mean(0) / mean(1), mean(2) / mean(3)];
        factor * (new_step - old_step).exp()
    });
    let scale_after = (f64::from(scale) * factor).round().max(1.0) as i32;
    let factor = Estimate { mean: factor, ..estimated };
    Ok(MatchedScale { factor, scale_before: scale, scale_after, fitted })
}
