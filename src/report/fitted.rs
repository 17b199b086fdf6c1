//! Expected results of evaluations, each with its best scale.

use rayon::prelude::*;

use super::compare::{CompareError, PositionFacts, Predictions, check};
use super::estimate::Groups;
use super::fit::{Fit, fit, near, slopes, sums as summed};
use crate::loss::sigmoid;

/// Parts of the groups; each is measured with the scale that fits the others. With two parts the
/// noise of scales fitted to half of 30 games makes 95 % intervals miss in 7 to 10 % of cases.
const PARTS: usize = 5;

/// Squared errors of an evaluation by groups, in the order of [`Groups`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    pub results: Vec<f64>,
    pub targets: Option<Vec<f64>>,
}

/// Sums the losses of each group.
pub fn sums(evaluation: &Predictions, truth: &PositionFacts) -> Result<Sums, CompareError> {
    let groups = truth.grouped();
    let fitted = FittedEvaluation::all(std::slice::from_ref(evaluation), truth, &groups)?.remove(0);
    let against = |numbers: &Vec<f64>| fitted.errors(evaluation, truth, &groups, numbers);
    Ok(Sums { results: against(&truth.results), targets: truth.targets.as_ref().map(against) })
}

pub(super) struct FittedEvaluation {
    folds: [Fold; PARTS],
    /// Effect of each group's weight on the fit of each part.
    moves: Vec<[f64; PARTS]>,
}

/// Fit that measures one part of the groups.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    /// None for a constant, and if all centipawns are zero.
    scale: Option<f64>,
    at_border: bool,
    /// Expected result of a constant evaluation.
    constant: f64,
}

impl FittedEvaluation {
    pub fn all(
        evaluations: &[Predictions],
        truth: &PositionFacts,
        groups: &Groups,
    ) -> Result<Vec<Self>, CompareError> {
        check(evaluations, truth)?;
        let parts: Vec<usize> = truth.groups.iter().map(|group| part(*group)).collect();
        // With a single part there is nothing to fit to.
        if parts.iter().all(|part| *part == parts[0]) {
            return Err(CompareError::Parts { groups: groups.len(), noun: truth.noun });
        }
        Ok(evaluations.iter().map(|one| Self::new(one, truth, groups, &parts)).collect())
    }

    /// Fits a scale for each part to the others.
    fn new(
        evaluation: &Predictions,
        truth: &PositionFacts,
        groups: &Groups,
        parts: &[usize],
    ) -> Self {
        let whole = evaluation.centipawns().map(|cp| fit(cp, &truth.results));
        let fitted = |part: usize| {
            let on: Vec<usize> = (0..parts.len()).filter(|i| parts[*i] != part).collect();
            let fold = Fold::new(evaluation, truth, &on, whole);
            (fold, fold.moves(evaluation, truth, groups, &on))
        };
        let fitted: Vec<(Fold, Vec<f64>)> = (0..PARTS).into_par_iter().map(fitted).collect();
        let moves = |group: usize| std::array::from_fn(|part| fitted[part].1[group]);
        Self {
            folds: std::array::from_fn(|part| fitted[part].0),
            moves: (0..groups.counts().len()).map(moves).collect(),
        }
    }

    fn fold(&self, group: u64) -> &Fold {
        &self.folds[part(group)]
    }

    /// The expected result of every position.
    pub fn expected(&self, evaluation: &Predictions, truth: &PositionFacts) -> Vec<f64> {
        let groups = truth.groups.par_iter().enumerate();
        groups.map(|(i, group)| self.fold(*group).predict(evaluation, i)).collect()
    }

    /// The contribution of each group to the sum of squared errors: its own, and its effect on
    /// those of others through the scales that it helped to fit, so that leaving it out removes
    /// both. The latter add up to zero.
    pub fn errors(
        &self,
        evaluation: &Predictions,
        truth: &PositionFacts,
        groups: &Groups,
        against: &[f64],
    ) -> Vec<f64> {
        let fold = |i: usize| self.fold(truth.groups[i]);
        let square = |i: usize| (fold(i).predict(evaluation, i) - against[i]).powi(2);
        let mut sums = groups.sums((0..against.len()).map(square));
        let slopes = summed(against.len(), |i| {
            let mut slopes = [0.0; PARTS];
            slopes[part(truth.groups[i])] = fold(i).slope(evaluation, i, against[i]);
            slopes
        });
        for (sum, moves) in sums.iter_mut().zip(&self.moves) {
            *sum += moves.iter().zip(slopes).map(|(moves, slope)| moves * slope).sum::<f64>();
        }
        sums
    }

    pub fn is_at_border(&self) -> bool {
        self.folds.iter().any(|fold| fold.at_border)
    }

    pub fn scale(&self) -> Option<f64> {
        let logarithms = self.folds.iter().map(|fold| fold.scale.map(f64::ln));
        Some((logarithms.sum::<Option<f64>>()? / PARTS as f64).exp())
    }
}

impl Fold {
    /// Fits to some positions; `whole` is the fit to all.
    fn new(
        evaluation: &Predictions,
        truth: &PositionFacts,
        on: &[usize],
        whole: Option<Fit>,
    ) -> Self {
        let (Some(cp), Some(whole)) = (evaluation.centipawns(), whole) else {
            let sum: f64 = on.iter().map(|i| truth.results[*i]).sum();
            return Self { scale: None, at_border: false, constant: sum / on.len() as f64 };
        };
        let of = |scale, at_border| Self { scale, at_border, constant: 0.5 };
        let start = whole.scale.filter(|_| !whole.at_border);
        if let Some(scale) = start.and_then(|it| near(cp, &truth.results, on, it)) {
            return of(Some(scale), false);
        }
        let take = |values: &[f64]| -> Vec<f64> { on.iter().map(|i| values[*i]).collect() };
        let fit = fit(&take(cp), &take(&truth.results));
        of(fit.scale, fit.at_border)
    }

    /// The expected result of a position.
    fn predict(&self, evaluation: &Predictions, i: usize) -> f64 {
        match evaluation.centipawns() {
            // Without a scale, as all values are zero where it is fitted, the result is a half.
            Some(cp) => sigmoid(cp[i] / self.scale.unwrap_or(f64::INFINITY)),
            None => self.constant,
        }
    }

    /// Derivative of the squared error by the fit: log scale, or constant.
    fn slope(&self, evaluation: &Predictions, i: usize, against: f64) -> f64 {
        match (evaluation.centipawns(), self.scale) {
            (Some(cp), Some(scale)) if !self.at_border => slopes(cp[i] / scale, against)[0],
            (Some(_), _) => 0.0,
            (None, _) => 2.0 * (self.constant - against),
        }
    }

    /// Effect of each group on the fit to these positions: at the minimum of a sum of losses, minus
    /// the group's derivative divided by the curvature of the sum.
    fn moves(
        &self,
        evaluation: &Predictions,
        truth: &PositionFacts,
        groups: &Groups,
        on: &[usize],
    ) -> Vec<f64> {
        let slope = |i: usize| self.slope(evaluation, i, truth.results[i]);
        let [curvature] = match (evaluation.centipawns(), self.scale) {
            (Some(cp), Some(scale)) => {
                summed(on.len(), |i| [slopes(cp[on[i]] / scale, truth.results[on[i]])[1]])
            }
            _ => [2.0 * on.len() as f64],
        };
        let mut moves = vec![0.0; groups.counts().len()];
        if curvature > 0.0 {
            for i in on {
                moves[groups.numbers()[*i] as usize] -= slope(*i) / curvature;
            }
        }
        moves
    }
}

/// The part of a group; unrelated to the hashes by which training data were chosen.
pub fn part(group: u64) -> usize {
    let mut z = group ^ 0x7265_706f_7274_2121;
    z = (z ^ z >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ z >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((u128::from(z ^ z >> 33) * PARTS as u128) >> 64) as usize
}
