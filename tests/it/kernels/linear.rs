//! Cholesky's factors: residuals, the inverse, threads.

use nnuance::linear::{Cholesky, DenseMatrix};

use crate::support::kit::*;

fn random(rows: usize, columns: usize, seed: u64) -> DenseMatrix {
    let mut dice = Dice::new(seed);
    let values = (0..rows * columns).map(|_| dice.about(1.0)).collect();
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
    same_for_threads(&[2, 3, 8], "Cholesky", || {
        let factors = Cholesky::new(definite(201)).unwrap();
        let mut solution = random(201, 2, 7);
        factors.solve_in_place(&mut solution);
        (solution, factors.inverse_diagonal())
    });
}
