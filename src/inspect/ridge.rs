//! Ridge least squares with many targets, fitted on some positions and measured on others.
//!
//! Positions go by in slabs. The matrix of the normal equations is kept as tiles, each summed by
//! one thread at a time over the slabs in their order: the same bits for any number of threads.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, MatRef, Par, Side};
use rayon::prelude::*;

/// Positions that go by together.
const SLAB: usize = 1024;
/// Rows and columns of a tile.
const TILE: usize = 256;
/// Positions whose predictions a thread makes at a time.
const PREDICTED: usize = 128;

/// What is added to the diagonal of the regressors' correlations, so that directions in which the
/// positions hardly differ do not count on noise.
pub(super) const RIDGE: f64 = 1e-4;

/// What is fitted: numbers of positions, written by position.
pub(super) struct Columns<'a> {
    /// Numbers a position.
    pub len: usize,
    /// Writes them, all places zero before.
    pub write: &'a (dyn Fn(usize, &mut [f64]) + Sync),
}

/// The share of each target's variance over the positions of `test` that the best linear function
/// of the regressors over those of `train` explains: 1 for all of it, 0 or less for nothing. NaN
/// for a target that does not vary. None where the regressors are not finite or a half is empty.
pub(super) fn explained(
    regressors: &Columns,
    targets: &Columns,
    [train, test]: [&[usize]; 2],
    seen: &(dyn Fn(u64) + Sync),
) -> Option<Vec<f64>> {
    let coefficients = fit(regressors, targets, train, seen)?;
    let count = targets.len;
    let mut sums = vec![[0.0; 3]; count];
    for slab in test.chunks(SLAB) {
        let parts: Vec<Vec<[f64; 3]>> = slab
            .par_chunks(PREDICTED)
            .map(|positions| errors(regressors, targets, &coefficients, positions))
            .collect();
        for part in parts {
            for (sum, part) in sums.iter_mut().zip(part) {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
        }
        seen(slab.len() as u64);
    }
    let positions = test.len() as f64;
    (positions > 0.0).then(|| {
        let share = |[error, sum, squares]: [f64; 3]| {
            let variance = squares - sum * sum / positions;
            if variance > 1e-9 * positions { 1.0 - error / variance } else { f64::NAN }
        };
        sums.into_iter().map(share).collect()
    })
}

/// Of each target over some positions: squared errors, values and squared values.
fn errors(
    regressors: &Columns,
    targets: &Columns,
    coefficients: &Mat<f64>,
    positions: &[usize],
) -> Vec<[f64; 3]> {
    let inputs = with_one(regressors, positions);
    let inputs = MatRef::from_column_major_slice(&inputs, regressors.len + 1, positions.len());
    let values = written(targets, targets.len, positions);
    let mut predicted = Mat::<f64>::zeros(targets.len, positions.len());
    matmul(&mut predicted, Accum::Replace, coefficients.transpose(), inputs, 1.0, Par::Seq);
    let mut sums = vec![[0.0; 3]; targets.len];
    for (position, values) in values.chunks_exact(targets.len).enumerate() {
        for (target, (sums, value)) in sums.iter_mut().zip(values).enumerate() {
            let error = value - predicted[(target, position)];
            sums[0] += error * error;
            sums[1] += value;
            sums[2] += value * value;
        }
    }
    sums
}

/// The numbers of positions, `len` places each.
fn written(columns: &Columns, len: usize, positions: &[usize]) -> Vec<f64> {
    let mut values = vec![0.0; len * positions.len()];
    values
        .par_chunks_mut(len)
        .zip(positions)
        .for_each(|(values, position)| (columns.write)(*position, &mut values[..columns.len]));
    values
}

/// The same with a one behind each position's.
fn with_one(columns: &Columns, positions: &[usize]) -> Vec<f64> {
    let mut values = written(columns, columns.len + 1, positions);
    values.iter_mut().skip(columns.len).step_by(columns.len + 1).for_each(|one| *one = 1.0);
    values
}

/// Sums over positions of products of regressors (the constant is the last), and of regressors
/// and targets.
struct Sums {
    /// Row, column and sums of the tiles on and below the diagonal.
    tiles: Vec<(usize, usize, Mat<f64>)>,
    /// By rows of tiles, all targets.
    right: Vec<Mat<f64>>,
}

fn tile(number: usize, all: usize) -> std::ops::Range<usize> {
    number * TILE..all.min((number + 1) * TILE)
}

fn sums(regressors: &Columns, targets: &Columns, train: &[usize], seen: &dyn Fn(u64)) -> Sums {
    let all = regressors.len + 1;
    let size = |number: usize| tile(number, all).len();
    let numbers = 0..all.div_ceil(TILE);
    let tiles = numbers.clone().flat_map(|row| (0..=row).map(move |column| (row, column)));
    let mut sums = Sums {
        tiles: tiles.map(|(row, col)| (row, col, Mat::zeros(size(row), size(col)))).collect(),
        right: numbers.map(|row| Mat::zeros(size(row), targets.len)).collect(),
    };
    for slab in train.chunks(SLAB) {
        let inputs = with_one(regressors, slab);
        let inputs = MatRef::from_column_major_slice(&inputs, all, slab.len());
        let values = written(targets, targets.len, slab);
        let values = MatRef::from_column_major_slice(&values, targets.len, slab.len());
        let rows = |number: usize| inputs.subrows(number * TILE, size(number));
        sums.tiles.par_iter_mut().for_each(|(row, column, sum)| {
            matmul(sum, Accum::Add, rows(*row), rows(*column).transpose(), 1.0, Par::Seq);
        });
        sums.right.par_iter_mut().enumerate().for_each(|(row, sum)| {
            matmul(sum, Accum::Add, rows(row), values.transpose(), 1.0, Par::Seq);
        });
        seen(slab.len() as u64);
    }
    sums
}

/// The coefficients `[regressors + 1][targets]`, the constant's last. Regressors are scaled to a
/// variance of 1 for the ridge, which does not touch the constant.
fn fit(
    regressors: &Columns,
    targets: &Columns,
    train: &[usize],
    seen: &dyn Fn(u64),
) -> Option<Mat<f64>> {
    let constant = regressors.len;
    let Sums { tiles, right } = sums(regressors, targets, train, seen);
    let mut products = Mat::<f64>::zeros(constant + 1, constant + 1);
    for (row, column, sum) in &tiles {
        products.submatrix_mut(row * TILE, column * TILE, sum.nrows(), sum.ncols()).copy_from(sum);
    }
    let right = |row: usize, target: usize| right[row / TILE][(row % TILE, target)];
    let count = train.len() as f64;
    let mean = |row: usize| products[(constant, row)] / count;
    let covariance = |row: usize, column: usize| {
        products[(row.max(column), row.min(column))] / count - mean(row) * mean(column)
    };
    let spread: Vec<f64> = (0..constant).map(|row| covariance(row, row).max(0.0).sqrt()).collect();
    let varying: Vec<usize> = (0..constant).filter(|row| spread[*row] > 1e-9).collect();
    let matrix = Mat::from_fn(varying.len(), varying.len(), |i, j| {
        let (row, column) = (varying[i], varying[j]);
        let ridge = if i == j { RIDGE } else { 0.0 };
        covariance(row, column) / (spread[row] * spread[column]) + ridge
    });
    let target_mean = |target: usize| right(constant, target) / count;
    let scaled = Mat::from_fn(varying.len(), targets.len, |i, target| {
        let row = varying[i];
        (right(row, target) / count - mean(row) * target_mean(target)) / spread[row]
    });
    if count == 0.0 || matrix.col_iter().any(|column| column.iter().any(|it| !it.is_finite())) {
        return None;
    }
    let solution = matrix.llt(Side::Lower).ok()?.solve(&scaled);
    let mut coefficients = Mat::<f64>::zeros(constant + 1, targets.len);
    for target in 0..targets.len {
        coefficients[(constant, target)] = target_mean(target);
        for (i, row) in varying.iter().enumerate() {
            let coefficient = solution[(i, target)] / spread[*row];
            coefficients[(*row, target)] = coefficient;
            coefficients[(constant, target)] -= coefficient * mean(*row);
        }
    }
    Some(coefficients)
}
