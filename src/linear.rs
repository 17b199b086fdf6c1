//! Dense matrices in f64 and Cholesky factors, with the same bits for any number of threads.

use std::ops::{Index, IndexMut};

use rayon::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub struct DenseMatrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

impl DenseMatrix {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows * columns] }
    }

    pub fn from_fn(rows: usize, columns: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        let element = &element;
        let values = (0..rows).flat_map(|row| (0..columns).map(move |column| element(row, column)));
        Self { rows, columns, values: values.collect() }
    }
}

impl Index<(usize, usize)> for DenseMatrix {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.values[row * self.columns..][..self.columns][column]
    }
}

impl IndexMut<(usize, usize)> for DenseMatrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.values[row * self.columns..][..self.columns][column]
    }
}

/// The lower triangle `L` of `L L^T`, a positive definite matrix.
#[derive(Clone, Debug)]
pub struct Cholesky(DenseMatrix);

/// The number of columns that are finished before the rows below.
const BLOCK: usize = 64;
/// The number of columns of the inverse that are computed together.
const STRIP: usize = 16;

impl Cholesky {
    /// Factorises the lower half of a matrix; None unless it is positive definite.
    pub fn new(mut matrix: DenseMatrix) -> Option<Self> {
        let size = matrix.rows;
        for start in (0..size).step_by(BLOCK) {
            let end = size.min(start + BLOCK);
            let (above, below) = matrix.values.split_at_mut(end * size);
            for row in start..end {
                let (above, values) = above.split_at_mut(row * size);
                let values = &mut values[..size];
                finish_columns(values, above, start..row);
                let square = values[row] - values[..row].iter().map(|it| it * it).sum::<f64>();
                if !(square > 0.0 && square.is_finite()) {
                    return None;
                }
                values[row] = square.sqrt();
            }
            let above = &*above;
            below.par_chunks_mut(size).for_each(|row| finish_columns(row, above, start..end));
        }
        Some(Self(matrix))
    }

    /// An element of `L`, at or below the diagonal.
    pub fn lower_element(&self, row: usize, column: usize) -> f64 {
        self.0[(row, column)]
    }

    pub fn solve_in_place(&self, right: &mut DenseMatrix) {
        let (size, columns) = (self.0.rows, right.columns);
        self.solve_forward(right, 0);
        for row in (0..size).rev() {
            let factors = &self.0.values[row * size..][..=row];
            let (above, values) = right.values.split_at_mut(row * columns);
            let values = &mut values[..columns];
            values.iter_mut().for_each(|element| *element /= factors[row]);
            for (above, factor) in above.chunks_exact_mut(columns.max(1)).zip(factors) {
                above.iter_mut().zip(&*values).for_each(|(sum, value)| *sum -= factor * value);
            }
        }
    }

    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let size = self.0.rows;
        let strips = (0..size).into_par_iter().step_by(STRIP).flat_map_iter(|first| {
            let width = STRIP.min(size - first);
            let mut strip = DenseMatrix::zeros(size, STRIP);
            (0..width).for_each(|column| strip[(first + column, column)] = 1.0);
            self.solve_forward(&mut strip, first);
            let mut squares = [0.0; STRIP];
            for row in strip.values.chunks_exact(STRIP) {
                squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
            }
            squares.into_iter().take(width)
        });
        strips.collect()
    }

    /// Solves `L x = right`, where the rows before `first` are 0.
    fn solve_forward(&self, right: &mut DenseMatrix, first: usize) {
        let (size, columns) = (self.0.rows, right.columns);
        for row in first..size {
            let factors = &self.0.values[row * size..][first..=row];
            let (above, values) = right.values.split_at_mut(row * columns);
            let values = &mut values[..columns];
            let above = above[first * columns..].chunks_exact(columns.max(1));
            for (above, factor) in above.zip(factors) {
                values.iter_mut().zip(above).for_each(|(sum, value)| *sum -= factor * value);
            }
            values.iter_mut().for_each(|element| *element /= factors[row - first]);
        }
    }
}

/// Finishes the given columns of a row. The rows `above` and the earlier columns must be finished.
fn finish_columns(row: &mut [f64], above: &[f64], columns: std::ops::Range<usize>) {
    let size = row.len();
    for first in columns.clone().step_by(4) {
        let last = columns.end - 1;
        let upper = [0, 1, 2, 3].map(|k| &above[(first + k).min(last) * size..][..size]);
        let sums = four_dots(&row[..first], upper.map(|values| &values[..first]));
        for (k, column) in (first..columns.end.min(first + 4)).enumerate() {
            let finished: f64 = (first..column).map(|it| row[it] * upper[k][it]).sum();
            row[column] = (row[column] - sums[k] - finished) / upper[k][column];
        }
    }
}

fn four_dots(left: &[f64], right: [&[f64]; 4]) -> [f64; 4] {
    const LANES: usize = 8;
    let mut sums = [[0.0; LANES]; 4];
    let (left_chunks, left_tail) = left.as_chunks::<LANES>();
    let right_chunks = right.map(|values| values.as_chunks::<LANES>().0);
    for (i, chunk) in left_chunks.iter().enumerate() {
        for (sum, right) in sums.iter_mut().zip(right_chunks) {
            for lane in 0..LANES {
                sum[lane] += chunk[lane] * right[i][lane];
            }
        }
    }
    let right_tails = right.map(|values| &values[left.len() - left_tail.len()..]);
    std::array::from_fn(|k| {
        let tail: f64 = left_tail.iter().zip(right_tails[k]).map(|(l, r)| l * r).sum();
        sums[k].iter().sum::<f64>() + tail
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn random(rows: usize, columns: usize, seed: u64) -> DenseMatrix {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let values = (0..rows * columns).map(|_| random.random_range(-1.0..1.0)).collect();
        DenseMatrix { rows, columns, values }
    }

    fn definite(size: usize) -> DenseMatrix {
        let x = random(size + 9, size, 1);
        let element = |i: usize, j: usize| (0..x.rows).map(|k| x[(k, i)] * x[(k, j)]).sum::<f64>();
        DenseMatrix::from_fn(size, size, |i, j| element(i, j) + if i == j { 0.1 } else { 0.0 })
    }

    const SIZES: [usize; 8] = [0, 1, 3, 8, 63, 64, 130, 201];

    #[test]
    fn solutions_and_inverse() {
        for size in SIZES {
            let matrix = definite(size);
            let right = random(size, 3, 5);
            let mut solution = right.clone();
            let factors = Cholesky::new(matrix.clone()).unwrap();
            factors.solve_in_place(&mut solution);
            for i in 0..size {
                for column in 0..3 {
                    let left: f64 = (0..size).map(|j| matrix[(i, j)] * solution[(j, column)]).sum();
                    assert!((left - right[(i, column)]).abs() < 1e-9, "{size}: {left}");
                }
            }
            let mut inverse = DenseMatrix::from_fn(size, size, |i, j| f64::from(u8::from(i == j)));
            factors.solve_in_place(&mut inverse);
            let diagonal = factors.inverse_diagonal();
            assert_eq!(diagonal.len(), size);
            for (i, element) in diagonal.into_iter().enumerate() {
                assert!((element / inverse[(i, i)] - 1.0).abs() < 1e-10, "{size}: {element}");
            }
        }
    }

    #[test]
    fn indefinite_matrices_have_no_factors() {
        for (i, value) in [(0, 0.0), (70, -1.0), (99, f64::NAN), (99, f64::INFINITY)] {
            let mut matrix = definite(100);
            matrix[(i, i)] = value;
            assert!(Cholesky::new(matrix).is_none(), "{i} {value}");
        }
    }

    #[test]
    fn same_bits_for_any_threads() {
        let solve = || {
            let factors = Cholesky::new(definite(201)).unwrap();
            let mut found = random(201, 2, 7);
            factors.solve_in_place(&mut found);
            (found, factors.inverse_diagonal())
        };
        let on = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(solve)
        };
        let expected = on(1);
        assert!([2, 3, 8].into_iter().all(|threads| on(threads) == expected));
    }
}
