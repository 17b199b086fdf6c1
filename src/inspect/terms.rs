//! Handcrafted terms in the hidden layer: the share of their variance that activations explain, by
//! ridge regression fitted on half of the games and measured on the other; beside it the share
//! explained by the inputs.

use rayon::prelude::*;
use serde::Serialize;

use super::neurons::NeuronLayer;
use crate::architecture::{Inputs, Kings, Views};
use crate::floats::Float;
use crate::hce::{HceEvaluator, HceWeights, Term};
use crate::linear::{Cholesky, Matrix};
use crate::point_of_view::PointOfView;
use crate::sample::{Sample, mix};

/// Most hidden neurons used as regressors: those with the most use.
const MOST_NEURONS: usize = 256;
const RIDGE: f64 = 1e-4;

/// Explained variance of handcrafted evaluations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedTerms {
    pub fitted_on: usize,
    pub measured_on: usize,
    /// Neurons of each perspective whose activations are regressors.
    pub neurons: usize,
    /// Plain material, the whole HCE, then its groups of terms.
    pub groups: Vec<Group>,
}

/// R² of a group of terms on positions that were not fitted on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    pub name: String,
    pub hidden: f64,
    pub inputs: f64,
}

/// `None` if the positions belong to one game, or are too few to fit.
pub(super) fn terms(
    float: &Float,
    hidden: &NeuronLayer,
    samples: &[&Sample],
    hce: &HceWeights,
) -> Option<ExplainedTerms> {
    let net = &float.net;
    let (train, test): (Vec<&Sample>, Vec<&Sample>) =
        samples.iter().partition(|sample| mix(1, sample.group()) & 1 == 0);
    let mut groups = vec![("plain material".to_string(), HceWeights::material())];
    groups.push(("whole HCE".to_string(), hce.clone()));
    groups.extend(by_group(hce));
    let evaluators: Vec<HceEvaluator> =
        groups.iter().map(|(_, weights)| HceEvaluator::new(weights)).collect();
    let targets = |sample: &Sample| -> Vec<f64> {
        let sign = f64::from(net.inputs.sign(&sample.position));
        evaluators.iter().map(|it| sign * it.evaluate(&sample.position)).collect()
    };

    let each = net.outputs_of_view();
    let used = hidden.by_use().into_iter().map(|it| it.neuron).filter(|neuron| *neuron < each);
    let mut used: Vec<usize> = used.take(MOST_NEURONS).collect();
    used.sort_unstable();
    let activations = |sample: &Sample| -> Vec<f64> {
        let all = float.activations(&float.accumulators(&sample.position));
        let views = all.chunks_exact(each);
        views.flat_map(|view| used.iter().map(|neuron| view[*neuron])).collect()
    };
    let views = match net.inputs.views.point_of_view() {
        PointOfView::White => Views::Plain,
        PointOfView::SideToMove => Views::SideToMove,
    };
    let plain = Inputs::of_pieces(views, Kings::NONE, false);
    let inputs = |sample: &Sample| -> Vec<f64> {
        let mut values = vec![0.0; plain.rows()];
        plain.lists(&sample.position)[0].repeated().for_each(|row| values[row as usize] = 1.0);
        values
    };
    let hidden = explained(&activations, &targets, [&train, &test])?;
    let by_inputs = explained(&inputs, &targets, [&train, &test])?;
    let shares = hidden.into_iter().zip(by_inputs);
    let groups = groups.into_iter().zip(shares);
    let groups = groups.map(|((name, _), (hidden, inputs))| Group { name, hidden, inputs });
    Some(ExplainedTerms {
        fitted_on: train.len(),
        measured_on: test.len(),
        neurons: used.len(),
        groups: groups.filter(|group| group.hidden.is_finite()).collect(),
    })
}

/// Weights of each group of terms alone: first words, tables separated by role.
fn by_group(weights: &HceWeights) -> Vec<(String, HceWeights)> {
    let mut groups: Vec<(String, HceWeights)> = Vec::new();
    for term in Term::all() {
        let name = term.name();
        let two = name.starts_with("psqt.") || name.starts_with("king.safety.");
        let name: Vec<&str> = name.split('.').take(if two { 2 } else { 1 }).collect();
        let name = name.join(".");
        let place = groups.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            let mut alone = HceWeights::zero(weights.scale);
            alone.scale_factor = weights.scale_factor;
            groups.push((name, alone));
            groups.len() - 1
        });
        groups[place].1.values[term.index()] = weights.values[term.index()];
    }
    groups
}

type Columns<'a> = &'a (dyn Fn(&Sample) -> Vec<f64> + Sync);

/// R² of each target on `test`, predicted from the regressors by coefficients fitted on `train`;
/// NaN for a constant target. `None` if a half is empty or nothing can be fitted.
fn explained(
    regressors: Columns,
    targets: Columns,
    [train, test]: [&[&Sample]; 2],
) -> Option<Vec<f64>> {
    let (first, _) = (train.first()?, test.first()?);
    let (width, outs) = (regressors(first).len(), targets(first).len());
    let coefficients = fit(regressors, targets, [width, outs], train)?;
    let sums = super::sums(test, |samples| {
        let mut sums = vec![[0.0; 3]; outs];
        for sample in samples {
            let inputs = regressors(sample);
            for ((sums, value), row) in
                sums.iter_mut().zip(targets(sample)).zip(coefficients.chunks_exact(width + 1))
            {
                let predicted: f64 = inputs.iter().zip(row).map(|(a, b)| a * b).sum();
                let error = value - predicted - row[width];
                let new = [error * error, value, value * value];
                sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
            }
        }
        sums
    });
    let positions = test.len() as f64;
    let share = |[error, sum, squares]: [f64; 3]| {
        let variance = squares - sum * sum / positions;
        if variance > 1e-9 * positions { 1.0 - error / variance } else { f64::NAN }
    };
    Some(sums.into_iter().map(share).collect())
}

/// Ridge coefficients `[targets][regressors + 1]`, the constant last.
fn fit(
    regressors: Columns,
    targets: Columns,
    [width, outs]: [usize; 2],
    train: &[&Sample],
) -> Option<Vec<f64>> {
    // Sums of products: row i has those of regressor i with regressors 0..=i, then with targets.
    let mut products: Vec<Vec<f64>> = (0..=width).map(|i| vec![0.0; i + 1 + outs]).collect();
    for samples in train.chunks(super::CHUNK) {
        let rows: Vec<[Vec<f64>; 2]> = samples
            .par_iter()
            .map(|sample| {
                let mut inputs = regressors(sample);
                inputs.push(1.0);
                [inputs, targets(sample)]
            })
            .collect();
        products.par_iter_mut().enumerate().for_each(|(i, sums)| {
            let (inner, outer) = sums.split_at_mut(i + 1);
            for [inputs, targets] in rows.iter().filter(|[inputs, _]| inputs[i] != 0.0) {
                let factor = inputs[i];
                inner.iter_mut().zip(inputs).for_each(|(sum, it)| *sum += factor * it);
                outer.iter_mut().zip(targets).for_each(|(sum, it)| *sum += factor * it);
            }
        });
    }
    let count = train.len() as f64;
    let mean: Vec<f64> = products[width][..width].iter().map(|sum| sum / count).collect();
    let target_mean: Vec<f64> = products[width][width + 1..].iter().map(|it| it / count).collect();
    let covariance = |i: usize, j: usize| products[i][j] / count - mean[i] * mean[j];
    let spread: Vec<f64> = (0..width).map(|i| covariance(i, i).max(0.0).sqrt()).collect();
    let varying: Vec<usize> = (0..width).filter(|i| spread[*i] > 1e-9).collect();
    let matrix = Matrix::from_fn(varying.len(), varying.len(), |row, column| {
        let (i, j) = (varying[row.max(column)], varying[row.min(column)]);
        covariance(i, j) / (spread[i] * spread[j]) + if i == j { RIDGE } else { 0.0 }
    });
    let mut solution = Matrix::from_fn(varying.len(), outs, |place, target| {
        let i = varying[place];
        (products[i][i + 1 + target] / count - mean[i] * target_mean[target]) / spread[i]
    });
    Cholesky::new(matrix)?.solve(&mut solution);
    let mut coefficients = vec![0.0; outs * (width + 1)];
    for (target, row) in coefficients.chunks_exact_mut(width + 1).enumerate() {
        row[width] = target_mean[target];
        for (place, &i) in varying.iter().enumerate() {
            row[i] = solution[(place, target)] / spread[i];
            row[width] -= row[i] * mean[i];
        }
    }
    Some(coefficients)
}
