//! Which weights the data cannot tell apart.
//!
//! A Cholesky factorisation with pivots takes the column with the most that is its own first. A
//! column of which nothing is left is a sum of columns taken before: weights so connected can move
//! together without any position noticing.

use rayon::prelude::*;

use super::normal::Equations;

/// Weights of which only some sums show in the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collinear {
    /// By their numbers, in rising order.
    pub weights: Vec<usize>,
    /// Directions that nothing in the data determines.
    pub undetermined: usize,
}

/// A column of which less than this share of its square is left is a sum of others. Rounding
/// leaves some 1e-13 of an exact sum.
const NOTHING: f64 = 1e-10;

/// A smaller part in a sum is rounding.
const NO_PART: f64 = 1e-4;

/// Groups of `movable` weights whose effects are linearly dependent in these positions, around the
/// point of the equations. Weights that change no position take no part.
///
/// O(weights^2 * rank) multiplications; with 1,829 weights about a second on two cores.
pub fn collinear(equations: &Equations, movable: &[bool]) -> Vec<Collinear> {
    let diagonal = |weight: usize| equations.hessian.get(weight, weight);
    let free: Vec<usize> =
        (0..movable.len()).filter(|weight| movable[*weight] && diagonal(*weight) > 0.0).collect();
    let scales: Vec<f64> = free.iter().map(|weight| diagonal(*weight).sqrt()).collect();
    let element = |row: usize, column: usize| {
        equations.hessian.get(free[row], free[column]) / (scales[row] * scales[column])
    };
    let Factors { rows, taken, left } = factors(free.len(), &element);
    // Each column that is left is a sum of those taken.
    let mut groups: Vec<usize> = (0..free.len()).collect();
    let sums: Vec<Vec<usize>> = left
        .par_iter()
        .map(|column| {
            let parts = parts(&rows, &taken, &rows[*column]);
            // In units in which the weights' effects are equally large.
            let large = |(_, part): &(&usize, f64)| part.abs() > NO_PART;
            let shares = taken.iter().zip(parts).filter(large);
            shares.map(|(weight, _)| *weight).chain([*column]).collect()
        })
        .collect();
    for sum in &sums {
        let root = find(&groups, sum[0]);
        for weight in sum {
            let other = find(&groups, *weight);
            groups[other] = root;
        }
    }
    let mut found: Vec<Collinear> = Vec::new();
    let mut place = vec![None; free.len()];
    for (column, weight) in free.iter().enumerate() {
        let root = find(&groups, column);
        let missing = usize::from(left.contains(&column));
        match place[root] {
            Some(group) => {
                let group: &mut Collinear = &mut found[group];
                group.weights.push(*weight);
                group.undetermined += missing;
            }
            None => {
                place[root] = Some(found.len());
                found.push(Collinear { weights: vec![*weight], undetermined: missing });
            }
        }
    }
    found.retain(|group| group.undetermined > 0);
    found
}

/// `matrix = rows * rows^T`, as far as it goes.
struct Factors {
    /// By column of the matrix: what it has in common with each of those taken, in their order.
    rows: Vec<Vec<f64>>,
    taken: Vec<usize>,
    left: Vec<usize>,
}

fn factors(len: usize, element: &(impl Fn(usize, usize) -> f64 + Sync)) -> Factors {
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); len];
    let mut own = vec![1.0; len];
    let mut left: Vec<usize> = (0..len).collect();
    let mut taken = Vec::new();
    loop {
        // Of equals the first.
        let most = left.iter().copied().reduce(|a, b| if own[b] > own[a] { b } else { a });
        let Some(pivot) = most.filter(|pivot| own[*pivot] > NOTHING) else { break };
        left.retain(|column| *column != pivot);
        let root = own[pivot].sqrt();
        let pivot_row = std::mem::take(&mut rows[pivot]);
        let common: Vec<f64> = left
            .par_iter()
            .map(|column| {
                let known: f64 = rows[*column].iter().zip(&pivot_row).map(|(a, b)| a * b).sum();
                (element(*column, pivot) - known) / root
            })
            .collect();
        for (column, common) in left.iter().zip(common) {
            rows[*column].push(common);
            own[*column] -= common * common;
        }
        rows[pivot] = pivot_row;
        rows[pivot].push(root);
        taken.push(pivot);
    }
    Factors { rows, taken, left }
}

/// How often each taken column stands in a sum whose row of the factors is given.
fn parts(rows: &[Vec<f64>], taken: &[usize], row: &[f64]) -> Vec<f64> {
    let mut parts = row.to_vec();
    for last in (0..taken.len()).rev() {
        let factor = &rows[taken[last]];
        parts[last] /= factor[last];
        let part = parts[last];
        for (value, element) in parts[..last].iter_mut().zip(factor) {
            *value -= part * element;
        }
    }
    parts
}

fn find(groups: &[usize], mut weight: usize) -> usize {
    while groups[weight] != weight {
        weight = groups[weight];
    }
    weight
}
