//! Local search over weights in whole steps.

use nnuance::train::direct::{
    problem::{Goal, Point, Problem},
    search::Search,
};

use crate::support::kit::*;
use crate::support::term_positions::{ALL, SCALE, Shape, pieces, point, targets};

/// Sweeps over the weights, evaluating all positions for every trial.
fn sweep_slowly(problem: &Problem, point: &mut Point, movable: &[bool], step: f64) -> usize {
    let mut moved = 0;
    let mut lowest = problem.loss(point);
    for number in (0..movable.len()).filter(|number| movable[*number]) {
        for by in [step, -step] {
            let mut candidate = point.clone();
            candidate.0[number] += by;
            let loss = problem.loss(&candidate);
            if loss < lowest * (1.0 - 1e-13) {
                (*point, lowest, moved) = (candidate, loss, moved + 1);
                break;
            }
        }
    }
    moved
}

fn rounded(mut point: Point, movable: &[bool]) -> Point {
    for number in (0..movable.len()).filter(|number| movable[*number]) {
        point.0[number] = point.0[number].round();
    }
    point
}

/// Compares each sweep of a search with the slow one.
fn check_search(shape: Shape, loss: Loss, seed: u64) {
    let pieces = pieces(shape, 600, seed);
    let targets = targets(&pieces, &point(shape, 40.0, seed + 1), 0.1, seed + 2);
    // Some searches have rising weights of positions.
    let shares: Vec<f32> = match seed.is_multiple_of(20) {
        true => (0..600).map(|position| (2 * position + 1) as f32 / 600.0).collect(),
        false => Vec::new(),
    };
    let goal = Goal::Results { targets: &targets, scale: SCALE, loss, shares: &shares };
    let problem = Problem::new(&pieces, shape.terms(), goal).unwrap();
    let start = point(shape, 40.0, seed + 3);
    let mut movable = vec![true; start.0.len()];
    movable[2] = false;
    movable[shape.terms()] = false;
    let mut slow = rounded(start.clone(), &movable);
    let mut search = Search::new(&problem, &start, &movable).unwrap();
    assert_eq!(search.point, slow);
    for step in [8, 4, 2, 1] {
        for sweep in 0.. {
            assert!(sweep < 200);
            let before = search.loss();
            let moved = search.sweep(step);
            let expected = sweep_slowly(&problem, &mut slow, &movable, f64::from(step));
            assert_eq!(search.point, slow, "step {step}, sweep {sweep}");
            assert_eq!(moved, expected);
            assert!((search.loss() - problem.loss(&slow)).abs() < 1e-14);
            assert!(search.loss() <= before);
            if moved == 0 {
                break;
            }
        }
    }
    for number in (0..movable.len()).filter(|number| movable[*number]) {
        for by in [1.0, -1.0] {
            let mut candidate = search.point.clone();
            candidate.0[number] += by;
            assert!(problem.loss(&candidate) >= search.loss() * (1.0 - 1e-12), "weight {number}");
        }
    }
}

#[test]
fn incremental_search_equals_full_evaluation() {
    let shapes = [
        Shape { normal: 5, safety: 0, complexity: 0, frozen: false },
        Shape { normal: 5, safety: 3, complexity: 2, frozen: false },
        Shape { normal: 3, safety: 2, complexity: 3, frozen: true },
    ];
    for (seed, shape) in (200..).step_by(10).zip(shapes) {
        check_search(shape, Loss::SQUARED, seed);
    }
}

#[test]
fn search_resumes_from_weights() {
    let pieces = pieces(ALL, 3000, 300);
    let targets = targets(&pieces, &point(ALL, 40.0, 301), 0.1, 302);
    let goal = Goal::Results { targets: &targets, scale: SCALE, loss: Loss::SQUARED, shares: &[] };
    let problem = Problem::new(&pieces, ALL.terms(), goal).unwrap();
    let movable: Vec<bool> = (0..2 * ALL.terms() + 1).map(|number| number % 5 != 3).collect();
    let mut whole = Search::new(&problem, &point(ALL, 40.0, 303), &movable).unwrap();
    for step in [4, 4, 1, 1, 1] {
        let mut again = Search::new(&problem, &whole.point, &movable).unwrap();
        assert_eq!(whole.loss().to_bits(), again.loss().to_bits());
        assert_eq!(whole.sweep(step), again.sweep(step));
        assert_eq!(whole.point, again.point);
    }
}

#[test]
fn same_search_for_any_threads() {
    let pieces = pieces(ALL, 20_000, 310);
    let targets = targets(&pieces, &point(ALL, 40.0, 311), 0.1, 312);
    let goal = Goal::Results { targets: &targets, scale: SCALE, loss: Loss::SQUARED, shares: &[] };
    let (swept, _) = same_for_threads(&[2, 3, 8], "search", || {
        let problem = Problem::new(&pieces, ALL.terms(), goal).unwrap();
        let movable = vec![true; problem.weights()];
        let mut search = Search::new(&problem, &point(ALL, 40.0, 313), &movable).unwrap();
        let swept: Vec<_> = [8, 4, 1].into_iter().map(|step| search.sweep(step)).collect();
        (swept, search.point.clone())
    });
    assert!(swept.iter().all(|moved| *moved > 0));
}
