//! Damped Gauss-Newton steps (Levenberg-Marquardt).

use super::normal::Equations;
use super::problem::{Goal, Point, Problem, ProblemError};
use crate::linear::{Cholesky, DenseMatrix};

/// Prior distribution of the weights: normal around their start.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    pub start: Point,
    pub centipawns: f64,
}

/// Solver that steps towards the weights with the lowest loss.
///
/// With a prior the most probable weights are found. N errors `r` that are normal with variance
/// `s^2`, and weights that are normal around their start, have the logarithm of probability
///
/// ```text
/// -(sum r^2 / (2 s^2) + sum (w - start)^2 / (2 prior^2))
/// ```
///
/// up to a constant. Multiplied by `-2 s^2 / N` that is `loss + penalty / 2 * sum (w - start)^2`
/// with the penalty `2 s^2 / (N prior^2)`, where `s^2` is the mean squared error, that is the loss.
///
/// A step uses the previous `s^2`. Since `log` is concave, a step that lowers its objective also
/// lowers `N / 2 * log(loss) + sum (w - start)^2 / (2 prior^2)`, the objective with the best
/// `s^2`; so steps cannot cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Newton {
    /// Share of the diagonal that is added to it: tenfold after a failed step, a tenth after
    /// others.
    pub damping: f64,
    /// Trained weights by number. The others keep their bits.
    pub movable: Vec<bool>,
    pub prior: Option<Prior>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonStep {
    /// Mean loss of all positions, without the prior.
    pub loss_before: f64,
    /// Whether further steps are useless: the objective fell by less than 1e-7 of it.
    pub converged: bool,
}

pub const FIRST_DAMPING: f64 = 1e-3;
const LEAST_DAMPING: f64 = 1e-12;
const MAX_DAMPING: f64 = 1e9;
/// Share of the loss below which a fall counts as none.
const CONVERGED: f64 = 1e-7;
/// Damping above which a small fall proves nothing, unless less damping was tried.
const DAMPING_THAT_SHORTENS: f64 = 1e-1;

impl Newton {
    /// Takes a step, or none if no step lowers the objective. Fails if the loss at `point` is not
    /// finite.
    pub fn step(
        &mut self,
        problem: &Problem,
        point: &mut Point,
    ) -> Result<NewtonStep, ProblemError> {
        let equations = Equations::of(problem, point)?;
        let penalty = penalty(&equations, problem, self.prior.as_ref());
        let system = System::new(&equations, &self.movable, penalty);
        // The gradient of the objective.
        let mut gradient = equations.gradient.clone();
        if let Some(prior) = &self.prior {
            let moved = point.0.iter().zip(&prior.start.0).map(|(now, start)| now - start);
            gradient.iter_mut().zip(moved).for_each(|(sum, moved)| *sum += penalty * moved);
        }
        let downhill: Vec<f64> = gradient.iter().map(|element| -element).collect();
        let before = equations.loss + self.prior_penalty(penalty, point);
        // With a force there is a direction but no objective: each step is taken, as in the source.
        // Where the endgame's value is 0, and its sign flips COMPLEXITY, no step is downhill.
        let is_taken = matches!(problem.goal, Goal::Moves(it) if it.force.is_some())
            && gradient.iter().any(|element| *element != 0.0);
        let first_damping = self.damping.clamp(LEAST_DAMPING, MAX_DAMPING);
        self.damping = first_damping;
        while self.damping <= MAX_DAMPING {
            if let Some(step) = system.solve(self.damping, &downhill) {
                let mut candidate = point.clone();
                let moves = candidate.0.iter_mut().zip(&step).zip(&self.movable);
                for ((weight, step), _) in moves.filter(|(_, movable)| **movable) {
                    *weight += step;
                }
                let loss = problem.loss(&candidate);
                let fell = before - (loss + self.prior_penalty(penalty, &candidate));
                if fell > 0.0 || is_taken {
                    *point = candidate;
                    let shortened = self.damping > DAMPING_THAT_SHORTENS;
                    let needed = self.damping > first_damping;
                    let is_small = fell <= CONVERGED * before && (needed || !shortened);
                    self.damping = (self.damping / 10.0).max(LEAST_DAMPING);
                    return Ok(NewtonStep {
                        loss_before: equations.loss,
                        converged: !is_taken && is_small,
                    });
                }
                if step.iter().all(|element| *element == 0.0) {
                    break;
                }
            }
            self.damping *= 10.0;
        }
        self.damping = first_damping;
        Ok(NewtonStep { loss_before: equations.loss, converged: true })
    }

    /// Computes the penalty in the objective, for trained weights only.
    fn prior_penalty(&self, penalty: f64, point: &Point) -> f64 {
        let Some(prior) = &self.prior else { return 0.0 };
        let pairs = point.0.iter().zip(&prior.start.0).zip(&self.movable);
        let squares =
            pairs.filter(|(_, movable)| **movable).map(|((now, start), _)| (now - start).powi(2));
        0.5 * penalty * squares.sum::<f64>()
    }
}

/// Computes standard errors of `movable` weights in centipawns: `None` for the others, infinite for
/// weights that neither data nor prior determine. They are the roots of the diagonal of
/// `(J J / s^2 + 1 / prior^2)^-1`, where `J` holds the derivatives of the errors and `s^2` is the
/// mean squared error. Errors of positions are assumed to be independent and equally spread; within
/// a game they are not, so true standard errors are larger.
pub fn standard_errors(
    problem: &Problem,
    equations: &Equations,
    movable: &[bool],
    prior: Option<&Prior>,
) -> Vec<Option<f64>> {
    let system = System::new(equations, movable, penalty(equations, problem, prior));
    let variance = noise(equations, problem.goal) / problem.count;
    let inverse = system.inverse_diagonal(movable.len());
    inverse.into_iter().map(|it| it.map(|element| (variance * element).sqrt())).collect()
}

/// Returns the divisor from the summed loss's curvature to that of the negative log probability.
fn noise(equations: &Equations, goal: Goal) -> f64 {
    match goal {
        // Softmax is a log probability itself.
        Goal::Moves(choices) if choices.force.is_none() => 1.0,
        Goal::Results { .. } | Goal::Moves(_) => 2.0 * equations.loss,
    }
}

fn penalty(equations: &Equations, problem: &Problem, prior: Option<&Prior>) -> f64 {
    prior.map_or(0.0, |prior| {
        let effective_count = problem.count * problem.evenness();
        noise(equations, problem.goal) / (effective_count * prior.centipawns.powi(2))
    })
}

/// The matrix `hessian + penalty` of the trained weights, scaled so that its diagonal is 1. Weights
/// that change no position and have no penalty are left out, too: they are undetermined.
struct System {
    free: Vec<usize>,
    /// Divisors of the elements of a row and of a column.
    scales: Vec<f64>,
    matrix: DenseMatrix,
}

/// Inverse diagonal of a direction that is undetermined.
const UNDETERMINED: f64 = 1e9;
/// Added to the diagonal of 1 before a matrix is inverted.
const RIDGE: f64 = 1e-11;

impl System {
    /// `penalty` is added to every element of the diagonal.
    fn new(equations: &Equations, movable: &[bool], penalty: f64) -> Self {
        let diagonal = |weight: usize| equations.hessian.get(weight, weight) + penalty;
        let moves = |weight: &usize| movable[*weight] && diagonal(*weight) > 0.0;
        let free: Vec<usize> = (0..movable.len()).filter(moves).collect();
        let scales: Vec<f64> = free.iter().map(|weight| diagonal(*weight).sqrt()).collect();
        let matrix = DenseMatrix::from_fn(free.len(), free.len(), |row, column| {
            let element = equations.hessian.get(free[row], free[column]);
            if row == column { 1.0 } else { element / (scales[row] * scales[column]) }
        });
        Self { free, scales, matrix }
    }

    /// Solves `(matrix + damping * diagonal) * step = right`, with 0 for fixed weights. `None` if
    /// rounding leaves the matrix indefinite; more damping helps.
    fn solve(&self, damping: f64, right: &[f64]) -> Option<Vec<f64>> {
        let factors = self.factors(damping)?;
        let scaled =
            self.free.iter().zip(&self.scales).map(|(weight, scale)| right[*weight] / scale);
        let mut solution =
            DenseMatrix { rows: self.free.len(), columns: 1, values: scaled.collect() };
        factors.solve_in_place(&mut solution);
        let mut step = vec![0.0; right.len()];
        for ((weight, scale), element) in self.free.iter().zip(&self.scales).zip(solution.values) {
            step[*weight] = element / scale;
        }
        step.iter().all(|element| element.is_finite()).then_some(step)
    }

    /// Returns the diagonal of the inverse: `None` for fixed weights, infinite for undetermined
    /// ones.
    fn inverse_diagonal(&self, weights: usize) -> Vec<Option<f64>> {
        let mut diagonal = vec![None; weights];
        let inverse = self.factors(RIDGE).map(|factors| factors.inverse_diagonal());
        for (row, (weight, scale)) in self.free.iter().zip(&self.scales).enumerate() {
            let scaled = inverse.as_ref().map_or(f64::INFINITY, |inverse| inverse[row]);
            diagonal[*weight] = Some(match scaled < UNDETERMINED {
                true => scaled / (scale * scale),
                false => f64::INFINITY,
            });
        }
        diagonal
    }

    fn factors(&self, damping: f64) -> Option<Cholesky> {
        let mut matrix = self.matrix.clone();
        for row in 0..matrix.rows {
            matrix[(row, row)] += damping;
        }
        Cholesky::new(matrix)
    }
}
