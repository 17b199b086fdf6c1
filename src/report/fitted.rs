//! Expected results of evaluations, each with its best scale.

use rayon::prelude::*;

use super::compare::{CompareError, PositionFacts, Predictions, check_lengths};
use super::estimate::Groups;
use super::fit::{ScaleFit, error_derivatives, fit_near, fit_scale, sum_in_order};
use crate::loss::sigmoid;

/// Number of parts of the groups. Each is measured with the scale that fits the others. With two
/// parts, scales are fitted to 15 of 30 games, and 95 % intervals miss in 7 to 10 % of cases.
const PARTS: usize = 5;

/// Sums the squared errors of an evaluation by group, in the order of [`Groups`]: against the
/// targets if there are any, else against the results.
pub fn squared_errors(
    evaluation: &Predictions,
    truth: &PositionFacts,
) -> Result<Vec<f64>, CompareError> {
    let groups = truth.group_games();
    let fitted = FittedEvaluation::fit_all(std::slice::from_ref(evaluation), truth, &groups)?;
    Ok(fitted[0].group_errors(truth.targets.as_ref().unwrap_or(&truth.results)))
}

pub(super) struct FittedEvaluation<'a> {
    pub evaluation: &'a Predictions,
    truth: &'a PositionFacts,
    groups: &'a Groups,
    folds: Vec<Fold>,
}

/// A fit to all parts of the groups but one, which it measures.
struct Fold {
    /// Scale; None for a constant, and if all centipawns are zero.
    scale: Option<f64>,
    at_border: bool,
    /// Expected result of a constant evaluation.
    constant: f64,
    /// Effect of each group's weight on the fit.
    effects: Vec<f64>,
}

impl<'a> FittedEvaluation<'a> {
    /// Fits a scale for each part to the others.
    pub fn fit_all(
        evaluations: &'a [Predictions],
        truth: &'a PositionFacts,
        groups: &'a Groups,
    ) -> Result<Vec<Self>, CompareError> {
        check_lengths(evaluations, truth)?;
        let parts: Vec<usize> = truth.groups.iter().map(|group| part_of_group(*group)).collect();
        // A single part leaves nothing to fit to.
        if parts.iter().all(|it| *it == parts[0]) {
            return Err(CompareError::Parts { groups: groups.len(), noun: truth.noun });
        }
        let outside = |fold: usize| (0..parts.len()).filter(|i| parts[*i] != fold).collect();
        let fitted_on: Vec<Vec<usize>> = (0..PARTS).map(outside).collect();
        let fit = |evaluation: &'a Predictions| {
            let whole = evaluation.cp.as_ref().map(|cp| fit_scale(cp, &truth.results));
            let folds =
                fitted_on.par_iter().map(|on| Fold::new(evaluation, truth, groups, on, whole));
            Self { evaluation, truth, groups, folds: folds.collect() }
        };
        Ok(evaluations.iter().map(fit).collect())
    }

    /// Returns the expected result of a position, by the fit that measures it.
    fn predict(&self, i: usize) -> f64 {
        let fold = &self.folds[part_of_group(self.truth.groups[i])];
        // There is no scale if all values it is fitted to are zero. Then the result is a half.
        let scale = fold.scale.unwrap_or(f64::INFINITY);
        self.evaluation.centipawns(i).map_or(fold.constant, |cp| sigmoid(cp / scale))
    }

    /// Returns the expected result of every position.
    pub fn expected_results(&self) -> Vec<f64> {
        (0..self.truth.groups.len()).into_par_iter().map(|i| self.predict(i)).collect()
    }

    /// Returns the contribution of each group to the sum of squared errors: its errors, and its
    /// effect on the errors of other groups through the scales that it helped to fit. So leaving a
    /// group out removes both. The effects add up to zero.
    pub fn group_errors(&self, against: &[f64]) -> Vec<f64> {
        let square = |i: usize| (self.predict(i) - against[i]).powi(2);
        let mut sums = self.groups.sum_groups((0..against.len()).map(square));
        let derivatives = sum_in_order(against.len(), |i| {
            let mut derivatives = [0.0; PARTS];
            let fold = part_of_group(self.truth.groups[i]);
            [derivatives[fold], _] =
                self.folds[fold].error_derivatives(self.evaluation.centipawns(i), against[i]);
            derivatives
        });
        for (group, sum) in sums.iter_mut().enumerate() {
            let effects = self.folds.iter().map(|fold| fold.effects[group]);
            *sum += effects
                .zip(derivatives)
                .map(|(effects, derivative)| effects * derivative)
                .sum::<f64>();
        }
        sums
    }

    pub fn is_at_border(&self) -> bool {
        self.folds.iter().any(|fold| fold.at_border)
    }

    pub fn mean_scale(&self) -> Option<f64> {
        let logarithms = self.folds.iter().map(|fold| fold.scale.map(f64::ln));
        Some((logarithms.sum::<Option<f64>>()? / PARTS as f64).exp())
    }
}

impl Fold {
    /// Fits to the positions `on`; `whole` is the fit to all.
    fn new(
        evaluation: &Predictions,
        truth: &PositionFacts,
        groups: &Groups,
        on: &[usize],
        whole: Option<ScaleFit>,
    ) -> Self {
        let take = |values: &[f64]| -> Vec<f64> { on.iter().map(|i| values[*i]).collect() };
        let (mut scale, mut at_border, mut constant) = (None, false, 0.5);
        if let (Some(cp), Some(whole)) = (&evaluation.cp, whole) {
            let start = whole.scale.filter(|_| !whole.at_border);
            scale = start.and_then(|it| fit_near(cp, &truth.results, on, it));
            if scale.is_none() {
                ScaleFit { scale, at_border, .. } = fit_scale(&take(cp), &take(&truth.results));
            }
        } else {
            constant = take(&truth.results).iter().sum::<f64>() / on.len() as f64;
        }
        let mut fold = Self { scale, at_border, constant, effects: Vec::new() };
        // At the minimum of a sum of losses a group moves the fit by minus its derivative, divided
        // by the second derivative of the sum.
        let derivatives =
            |i: usize| fold.error_derivatives(evaluation.centipawns(i), truth.results[i]);
        let [_, curvature] = sum_in_order(on.len(), |i| derivatives(on[i]));
        let mut effects = vec![0.0; groups.counts.len()];
        if curvature > 0.0 {
            for i in on {
                effects[groups.of[*i] as usize] -= derivatives(*i)[0] / curvature;
            }
        }
        fold.effects = effects;
        fold
    }

    /// Returns the derivatives of the squared error by the fitted number: log scale, or constant.
    fn error_derivatives(&self, cp: Option<f64>, against: f64) -> [f64; 2] {
        match (cp, self.scale) {
            (Some(cp), Some(scale)) if !self.at_border => error_derivatives(cp / scale, against),
            (Some(_), _) => [0.0; 2],
            (None, _) => [2.0 * (self.constant - against), 2.0],
        }
    }
}

/// Returns the part of a group. It is unrelated to the hashes by which training data were chosen.
pub fn part_of_group(group: u64) -> usize {
    let mut z = group ^ 0x7265_706f_7274_2121;
    z = (z ^ z >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ z >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((u128::from(z ^ z >> 33) * PARTS as u128) >> 64) as usize
}
