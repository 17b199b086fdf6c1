//! Dense matrices against the definitions.

use nnuance::linear::{Cholesky, Matrix, add_products};

use crate::problems::{Dice, with_threads};

fn random(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut dice = Dice::new(seed);
    let values = (0..rows * columns).map(|_| dice.about(1.0)).collect();
    Matrix { rows, columns, values }
}

/// A positive definite matrix.
fn definite(size: usize) -> Matrix {
    let x = random(size + 9, size, 1);
    let element = |i: usize, j: usize| (0..x.rows).map(|k| x[(k, i)] * x[(k, j)]).sum::<f64>();
    Matrix::from_fn(size, size, |i, j| element(i, j) + if i == j { 0.1 } else { 0.0 })
}

const SIZES: [usize; 8] = [0, 1, 3, 8, 63, 64, 130, 201];

#[test]
fn products_are_those_of_the_definition() {
    for (rows, columns, positions) in [(1, 1, 0), (3, 9, 5), (4, 8, 300), (17, 33, 130)] {
        let (x, y) = (random(positions, rows, 2), random(positions, columns, 3));
        let start = random(rows, columns, 4);
        let mut sum = start.clone();
        add_products(&mut sum, &x, &y, false);
        for i in 0..rows {
            for j in 0..columns {
                let right = (0..positions).map(|k| x[(k, i)] * y[(k, j)]).sum::<f64>();
                assert!((sum[(i, j)] - start[(i, j)] - right).abs() < 1e-12 * (1.0 + right.abs()));
            }
        }
        let [mut all, mut lower] = [(); 2].map(|()| Matrix::zeros(rows, rows));
        add_products(&mut all, &x, &x, false);
        add_products(&mut lower, &x, &x, true);
        for i in 0..rows {
            (0..=i).for_each(|j| assert_eq!(all[(i, j)], lower[(i, j)]));
        }
    }
}

#[test]
fn solutions_leave_no_residual_and_the_inverse_is_theirs() {
    for size in SIZES {
        let matrix = definite(size);
        let right = random(size, 3, 5);
        let mut found = right.clone();
        let factors = Cholesky::new(matrix.clone()).unwrap();
        factors.solve(&mut found);
        for i in 0..size {
            for column in 0..3 {
                let left: f64 = (0..size).map(|j| matrix[(i, j)] * found[(j, column)]).sum();
                assert!((left - right[(i, column)]).abs() < 1e-9, "{size}: {left}");
            }
        }
        let mut inverse = Matrix::from_fn(size, size, |i, j| f64::from(u8::from(i == j)));
        factors.solve(&mut inverse);
        let diagonal = factors.inverse_diagonal();
        assert_eq!(diagonal.len(), size);
        for (i, element) in diagonal.into_iter().enumerate() {
            assert!((element / inverse[(i, i)] - 1.0).abs() < 1e-10, "{size}: {element}");
        }
    }
}

#[test]
fn a_direction_that_is_not_positive_has_no_factors() {
    for (at, value) in [(0, 0.0), (70, -1.0), (99, f64::NAN), (99, f64::INFINITY)] {
        let mut matrix = definite(100);
        matrix[(at, at)] = value;
        assert!(Cholesky::new(matrix).is_none(), "{at} {value}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let of = |threads| {
        with_threads(threads, || {
            let x = random(400, 201, 6);
            let mut matrix = Matrix::zeros(201, 201);
            add_products(&mut matrix, &x, &x, true);
            let factors = Cholesky::new(matrix).unwrap();
            let mut found = random(201, 2, 7);
            factors.solve(&mut found);
            (found, factors.inverse_diagonal())
        })
    };
    let one = of(1);
    [2, 3, 8].into_iter().for_each(|threads| assert!(of(threads) == one, "{threads} threads"));
}
