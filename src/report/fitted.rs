//! The expected results that evaluations stand for, each with the scale that suits it best.

use rayon::prelude::*;

use super::bootstrap::Groups;
use super::compare::{CompareError, Evaluation, Options, Truth, Values, check};
use super::fit::{fit, sigmoid};

/// The squared error of each position against its result, as [`compare`](super::compare::compare)
/// measures it, and the fitted scale.
///
/// # Errors
/// As those of `compare`.
pub fn errors(
    evaluation: &Evaluation,
    truth: &Truth,
    options: &Options,
) -> Result<(Vec<f64>, Option<f64>), CompareError> {
    let one = std::slice::from_ref(evaluation);
    check(one, truth, options)?;
    let halves = halves(truth, options)?;
    let fitted = Fitted::new(evaluation, truth, halves.as_ref());
    let expected = fitted.expected(evaluation, truth);
    let square = |(expected, result): (f64, &f64)| (expected - result).powi(2);
    Ok((expected.into_iter().zip(truth.results).map(square).collect(), fitted.scale()))
}

/// What was fitted to an evaluation: for the groups of the first half, and for the others.
pub(super) struct Fitted([Fold; 2]);

#[derive(Clone, Copy)]
pub(super) struct Fold {
    scale: Option<f64>,
    at_border: bool,
    probability: Option<f64>,
}

impl Fitted {
    /// Fits to each of checked evaluations.
    pub fn all(
        evaluations: &[Evaluation],
        truth: &Truth,
        options: &Options,
    ) -> Result<Vec<Self>, CompareError> {
        let halves = halves(truth, options)?;
        Ok(evaluations.iter().map(|one| Self::new(one, truth, halves.as_ref())).collect())
    }

    /// Fits to each half what serves the other, or to everything what serves all.
    fn new(evaluation: &Evaluation, truth: &Truth, halves: Option<&[Vec<usize>; 2]>) -> Self {
        match halves {
            Some([first, second]) => {
                Self([second, first].map(|on| Fold::new(evaluation, truth, on)))
            }
            None => {
                let all: Vec<usize> = (0..truth.results.len()).collect();
                Self([Fold::new(evaluation, truth, &all); 2])
            }
        }
    }

    pub fn fold(&self, group: u64) -> &Fold {
        &self.0[usize::from(!first_half(group))]
    }

    /// The expected result of every position.
    pub fn expected(&self, evaluation: &Evaluation, truth: &Truth) -> Vec<f64> {
        let groups = truth.groups.par_iter().enumerate();
        groups.map(|(i, group)| self.fold(*group).predict(evaluation, i, None)).collect()
    }

    pub fn at_border(&self) -> bool {
        self.0.iter().any(|fold| fold.at_border)
    }

    pub fn scale(&self) -> Option<f64> {
        let [first, second] = self.0;
        Some((first.scale? * second.scale?).sqrt())
    }

    pub fn probability(&self) -> Option<f64> {
        let [first, second] = self.0;
        Some((first.probability? + second.probability?) / 2.0)
    }
}

impl Fold {
    fn new(evaluation: &Evaluation, truth: &Truth, on: &[usize]) -> Self {
        let take = |values: &[f64]| -> Vec<f64> { on.iter().map(|i| values[*i]).collect() };
        let none = Self { scale: None, at_border: false, probability: None };
        match &evaluation.values {
            Values::Cp(cp) => {
                let fit = fit(&take(cp), &take(truth.results));
                Self { scale: fit.scale, at_border: fit.at_border, ..none }
            }
            Values::Probability(_) => none,
            Values::Constant => {
                let sum: f64 = on.iter().map(|i| truth.results[*i]).sum();
                Self { probability: Some(sum / on.len() as f64), ..none }
            }
        }
    }

    /// The expected result of a position, with the fitted or another scale.
    pub fn predict(&self, evaluation: &Evaluation, i: usize, scale: Option<f64>) -> f64 {
        match &evaluation.values {
            // Values that are all zero where the scale is fitted have none, and say nothing.
            Values::Cp(cp) => sigmoid(cp[i] / scale.or(self.scale).unwrap_or(f64::INFINITY)),
            Values::Probability(values) => values[i],
            Values::Constant => self.probability.unwrap_or(0.5),
        }
    }
}

/// The positions of both halves of the groups; none where the scales serve all positions.
fn halves(truth: &Truth, options: &Options) -> Result<Option<[Vec<usize>; 2]>, CompareError> {
    if options.fit_on_same {
        return Ok(None);
    }
    let (first, second): (Vec<usize>, Vec<usize>) =
        (0..truth.results.len()).partition(|i| first_half(truth.groups[*i]));
    if first.is_empty() || second.is_empty() {
        let groups = Groups::new(truth.groups.iter().copied()).len();
        return Err(CompareError::Halves { groups, noun: truth.noun.to_string() });
    }
    Ok(Some([first, second]))
}

/// A coin that falls the same way for a group on every machine (the finaliser of MurmurHash3).
/// It must not be one that training data were chosen with, lest one half be empty.
fn first_half(group: u64) -> bool {
    let mut z = group ^ 0x7265_706f_7274_2121;
    z = (z ^ z >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ z >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (z ^ z >> 33) & 1 == 0
}
