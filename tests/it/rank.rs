//! Weights that the data cannot tell apart.

use faer::{Mat, Side};
use nnuance::hce::{Coding, HceWeights, Trace};
use nnuance::loss::Loss;
use nnuance::model::HceShape;
use nnuance::train::direct::{
    Certainty, certainty, movable,
    normal::Equations,
    points,
    problem::{Goal, Problem},
    rank::{Collinear, collinear},
};
use std::sync::Arc;

use nnuance::batch::Terms;

use crate::problems::{ALL, LINEAR, Shape, collinear as squares_and_piece, pieces, point, targets};

const SCALE: f64 = 120.0;

/// Eigenvalues of the matrix with a diagonal of 1 that are no rounding: the slow way.
fn rank(equations: &Equations, movable: &[bool]) -> (usize, usize) {
    let at = |row: usize, column: usize| equations.hessian.get(row, column);
    let free: Vec<usize> = (0..movable.len()).filter(|i| movable[*i] && at(*i, *i) > 0.0).collect();
    let matrix = Mat::from_fn(free.len(), free.len(), |row, column| {
        let (row, column) = (free[row], free[column]);
        at(row, column) / (at(row, row) * at(column, column)).sqrt()
    });
    let values = matrix.self_adjoint_eigenvalues(Side::Lower).unwrap();
    (values.iter().filter(|value| **value > 1e-9).count(), free.len())
}

fn missing(groups: &[Collinear]) -> usize {
    groups.iter().map(|group| group.undetermined).sum()
}

#[test]
fn a_piece_and_its_squares_are_one_group_a_phase() {
    let shape = Shape { normal: 4, ..LINEAR };
    let (pieces, truth) = (squares_and_piece(), point(shape, 100.0, 130));
    let wanted = targets(&pieces, &truth, SCALE, 0.1, 131);
    let goal = Goal::Results { targets: &wanted, scale: SCALE, loss: Loss::SQUARED, shares: &[] };
    let problem = Problem::new(&pieces, shape.terms(), goal).unwrap();
    let equations = Equations::of(&problem, &truth).unwrap();
    let all = vec![true; 9];
    let group = |weights: [usize; 4]| Collinear { weights: weights.into(), undetermined: 1 };
    assert_eq!(collinear(&equations, &all), [group([0, 2, 4, 6]), group([1, 3, 5, 7])]);
    assert_eq!(rank(&equations, &all), (7, 9));
    // What stands still takes no part, and then the others are determined.
    let mut some = all.clone();
    (some[6], some[7]) = (false, false);
    assert_eq!(collinear(&equations, &some), []);
}

#[test]
fn terms_of_all_kinds_have_the_rank_of_their_eigenvalues() {
    for (shape, seed) in [(LINEAR, 1), (ALL, 2)] {
        for positions in [7, 15, 400] {
            let pieces = pieces(shape, positions, seed);
            let truth = point(shape, 60.0, seed + 10);
            let wanted = targets(&pieces, &truth, SCALE, 0.1, seed + 20);
            let goal =
                Goal::Results { targets: &wanted, scale: SCALE, loss: Loss::SQUARED, shares: &[] };
            let problem = Problem::new(&pieces, shape.terms(), goal).unwrap();
            let equations = Equations::of(&problem, &truth).unwrap();
            let all = vec![true; problem.weights()];
            let (rank, free) = rank(&equations, &all);
            assert_eq!(missing(&collinear(&equations, &all)), free - rank, "{positions}");
        }
    }
}

#[test]
fn a_weak_prior_leaves_what_the_data_determine() {
    let samples = crate::games::samples(3000, 8);
    let mut terms = Terms::default();
    let mut wanted = vec![false; nnuance::hce::terms::TERMS];
    wanted[..5 + 64].fill(true); // Material, and the squares of pawns.
    let coding = Coding::new(&wanted, true);
    for sample in &samples {
        coding.encode(&sample.position, &mut Trace::default(), &mut terms);
    }
    let results: Vec<f32> = samples
        .iter()
        .map(|it| if it.position.turn().is_white() { it.result } else { 1.0 - it.result })
        .collect();
    let pieces = [Arc::new(terms)];
    let shape = HceShape { terms: wanted.len(), scale: 200.0, tempo: false };
    let weights = HceWeights::default().to_weights();
    let of =
        |prior| certainty(shape, &weights, &pieces, &results, Loss::SQUARED, Some(prior)).unwrap();
    let Certainty { weights: moved, determined, collinear, .. } = of(1e4);
    assert_eq!(moved, movable(&pieces, shape).iter().filter(|it| **it).count());
    let missing = missing(&collinear);
    assert!(missing >= 2, "material is the sum of its squares: {collinear:?}");
    // A prior of 10,000 cp knows next to nothing: it holds what nothing else does.
    let rank = (moved - missing) as f64;
    let [weak, strong] = [determined.unwrap(), of(1.0).determined.unwrap()];
    assert!(weak <= rank + 1e-3 && weak > 0.9 * rank, "{weak} of {rank}");
    assert!(strong < 0.5 * weak && strong > 0.0, "{strong} against {weak}");
    assert_eq!(
        certainty(shape, &weights, &pieces, &results, Loss::SQUARED, None).unwrap().determined,
        None
    );
    let [start, now] = points(&weights, shape).unwrap();
    assert_eq!(start, now);
}
