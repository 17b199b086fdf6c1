//! Gauss-Newton against dense matrices, differences of losses and repeated fits.

use nnuance::{
    batch::TermBatch,
    train::direct::{
        newton::{Prior, standard_errors},
        normal::Equations,
        problem::{Goal, Point, Problem},
    },
};

use crate::support::kit::*;
use crate::support::term_positions::{
    ALL, LINEAR, SCALE, Shape, newton, pieces, point, targets, values,
};

fn results(targets: &[f32]) -> Goal<'_> {
    Goal::Results { targets, scale: SCALE, loss: Loss::SQUARED, shares: &[] }
}

fn problem<'a>(pieces: &'a [Arc<TermBatch>], shape: Shape, goal: Goal<'a>) -> Problem<'a> {
    Problem::new(pieces, shape.terms(), goal).unwrap()
}

fn all(shape: Shape) -> Vec<bool> {
    vec![true; 2 * shape.terms() + 1]
}

/// Derivatives of each position's value, dense, term by term.
fn dense_rows(pieces: &[Arc<TermBatch>], point: &Point) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    for piece in pieces {
        for row in 0..piece.len() {
            let mut derivatives = vec![0.0; point.0.len()];
            let (_, derivatives_of_sums) = point.value_and_slopes(piece, row);
            for (term, count) in piece.normal.entries_of_row(row) {
                for phase in 0..2 {
                    derivatives[2 * term + phase] +=
                        derivatives_of_sums.normal[phase] * f64::from(count);
                }
            }
            for (term, counts) in piece.safety.entries_of_row(row) {
                for phase in 0..2 {
                    for (side, count) in derivatives_of_sums.safety.iter().zip(counts) {
                        derivatives[2 * term + phase] += side[phase] * f64::from(count);
                    }
                }
            }
            for (term, count) in piece.complexity.entries_of_row(row) {
                derivatives[2 * term + 1] += derivatives_of_sums.complexity * f64::from(count);
            }
            derivatives[point.0.len() - 1] = f64::from(piece.turn[row]);
            rows.push(derivatives);
        }
    }
    rows
}

#[track_caller]
fn assert_close(got: f64, right: f64, tolerance: f64) {
    let size = got.abs().max(right.abs()).max(1e-300);
    assert!((got - right).abs() <= tolerance * size, "{got} against {right}");
}

#[test]
fn equations_equal_a_dense_jacobian() {
    let pieces = pieces(ALL, 1500, 1);
    let (truth, here) = (point(ALL, 40.0, 2), point(ALL, 30.0, 3));
    let targets = targets(&pieces, &truth, 0.2, 4);
    let problem = problem(&pieces, ALL, results(&targets));
    let equations = Equations::of(&problem, &here).unwrap();
    let rows = dense_rows(&pieces, &here);
    let costs: Vec<_> = values(&pieces, &here)
        .into_iter()
        .enumerate()
        .map(|(position, value)| problem.cost(position, value))
        .collect();
    let mean = |value: &dyn Fn(usize) -> f64| (0..1500).map(value).sum::<f64>() / 1500.0;
    assert_close(equations.loss, mean(&|i| costs[i].loss), 1e-12);
    assert_close(equations.loss, problem.loss(&here), 1e-12);
    // Elements near zero are compared with the largest.
    let size = largest(equations.gradient.iter().map(|element| element.abs()));
    let weights = 0..here.0.len();
    let diagonal: Vec<f64> = weights.map(|weight| equations.hessian.get(weight, weight)).collect();
    let largest_curvature = largest(diagonal.iter().map(|element| element.abs()));
    for row in 0..here.0.len() {
        let gradient = mean(&|i| costs[i].derivative * rows[i][row]);
        assert!((equations.gradient[row] - gradient).abs() < 1e-12 * size);
        for column in 0..here.0.len() {
            let element = mean(&|i| costs[i].curvature * rows[i][row] * rows[i][column]);
            let error = (equations.hessian.get(row, column) - element).abs();
            assert!(error < 1e-12 * largest_curvature);
        }
    }
    assert!(size > 1e-6 && diagonal.iter().filter(|element| **element > 0.0).count() > 25);
}

/// Positions with weights 3, 1 or 0; equal weights are as strong against the prior.
#[test]
fn weights_equal_repeated_positions() {
    let (once, shape) = (pieces(ALL, 900, 31), ALL);
    let (truth, here) = (point(ALL, 40.0, 32), point(ALL, 30.0, 33));
    let once_targets = targets(&once, &truth, 0.2, 34);
    let rows = |piece: usize| (0..once[piece].len()).map(move |row| (piece, row));
    let rows_of_positions: Vec<(usize, usize)> = (0..once.len()).flat_map(rows).collect();
    for (pattern, centipawns) in [([3, 1, 0], None), ([0, 1, 0], Some(20.0))] {
        let often = |position: usize| pattern[position % 3];
        let mean = (0..900).map(often).sum::<usize>() as f32 / 900.0;
        let shares: Vec<f32> = (0..900).map(|position| often(position) as f32 / mean).collect();
        let repeated = |position: usize| std::iter::repeat_n(position, often(position));
        let rows = (0..900).flat_map(repeated).map(|position| rows_of_positions[position]);
        let copies =
            [Arc::new(TermBatch::gather_rows(rows.map(|(piece, row)| (&*once[piece], row))))];
        let many: Vec<f32> =
            (0..900).flat_map(repeated).map(|position| once_targets[position]).collect();
        let weighed = Goal::Results {
            targets: &once_targets,
            scale: SCALE,
            loss: Loss::SQUARED,
            shares: &shares,
        };
        let both = [problem(&once, shape, weighed), problem(&copies, shape, results(&many))];
        assert_close(both[0].loss(&here), both[1].loss(&here), 1e-6);
        let [weighted, repeated] = both.each_ref().map(|it| Equations::of(it, &here).unwrap());
        let size = largest(repeated.gradient.iter().map(|element| element.abs()));
        for (got, right) in weighted.gradient.iter().zip(&repeated.gradient) {
            assert!((got - right).abs() < 1e-6 * size, "{got} {right}");
        }
        let ends = both.map(|problem| {
            let mut newton = newton(all(shape));
            newton.prior = centipawns.map(|centipawns| Prior { start: here.clone(), centipawns });
            let mut point = here.clone();
            for _ in 0..3 {
                newton.step(&problem, &mut point).unwrap();
            }
            point
        });
        for (got, right) in ends[0].0.iter().zip(&ends[1].0) {
            assert!((got - right).abs() < 1e-2, "{got} {right}");
        }
    }
}

#[test]
fn no_step_raises_the_loss() {
    for seed in 0..4 {
        let pieces = pieces(ALL, 1200, 20 + seed);
        let targets = targets(&pieces, &point(ALL, 60.0, 30 + seed), 0.05, 40 + seed);
        let problem = problem(&pieces, ALL, results(&targets));
        let mut here = point(ALL, 60.0, 50 + seed);
        let mut newton = newton(all(ALL));
        let first = problem.loss(&here);
        for _ in 0..30 {
            let before = problem.loss(&here);
            let stepped = newton.step(&problem, &mut here).unwrap();
            assert_close(stepped.loss_before, before, 1e-12);
            assert!(problem.loss(&here) <= stepped.loss_before);
        }
        assert!(problem.loss(&here) < 0.5 * first, "{first} to {}", problem.loss(&here));
    }
}

#[test]
fn same_bits_for_any_threads() {
    let pieces = pieces(ALL, 9000, 110);
    let targets = targets(&pieces, &point(ALL, 60.0, 111), 0.1, 112);
    same_for_threads(&[2, 3, 8], "steps", || {
        let problem = problem(&pieces, ALL, results(&targets));
        let mut here = point(ALL, 60.0, 113);
        let mut newton = newton(all(ALL));
        let equations = Equations::of(&problem, &here).unwrap();
        let steps: Vec<_> = (0..3).map(|_| newton.step(&problem, &mut here).unwrap()).collect();
        (equations, steps, here, newton)
    });
}

#[test]
fn standard_errors_equal_the_spread() {
    let shape = Shape { normal: 4, ..LINEAR };
    let pieces = pieces(shape, 1000, 120);
    let truth = point(shape, 60.0, 121);
    let mut movable = all(shape);
    movable[3] = false;
    let draws = 600;
    let mut squares = vec![0.0; truth.0.len()];
    let mut expected = vec![0.0; truth.0.len()];
    for draw in 0..draws {
        let targets = targets(&pieces, &truth, 0.1, 1000 + draw);
        let problem = problem(&pieces, shape, results(&targets));
        let mut here = truth.clone();
        let mut newton = newton(movable.clone());
        assert!((0..200).any(|_| newton.step(&problem, &mut here).unwrap().converged));
        let equations = Equations::of(&problem, &here).unwrap();
        let errors = standard_errors(&problem, &equations, &movable, None);
        for (number, error) in errors.iter().enumerate() {
            assert_eq!(error.is_some(), movable[number]);
            expected[number] += error.unwrap_or(0.0) / draws as f64;
            squares[number] += (here.0[number] - truth.0[number]).powi(2);
        }
    }
    for (number, (square, expected)) in squares.iter().zip(expected).enumerate() {
        if movable[number] {
            assert_close((square / draws as f64).sqrt(), expected, 0.1);
        }
    }
}

#[test]
fn matrix_of_many_terms_is_refused() {
    let pieces = pieces(LINEAR, 50, 1);
    let problem = Problem::new(&pieces, 9000, results(&[0.5; 50])).unwrap();
    assert!(Equations::of(&problem, &Point(vec![0.0; 18_001])).is_err());
}
