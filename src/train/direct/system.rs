//! Normal equations made ready to be solved.

use super::normal::Equations;
use crate::linear::{Cholesky, Matrix};

/// The matrix `hessian + penalty`, of the weights that move only, and scaled so that its diagonal
/// is 1. Weights that change no position and have no penalty are left out as well: nothing says
/// where they belong.
#[derive(Clone, Debug)]
pub struct System {
    /// The numbers of the weights.
    free: Vec<usize>,
    /// What the elements of a row and of a column were divided by.
    scales: Vec<f64>,
    matrix: Matrix,
}

/// An inverse diagonal beyond this is that of a direction nothing determines.
const UNDETERMINED: f64 = 1e9;

/// What is added to the diagonal of 1 before a matrix is inverted.
const RIDGE: f64 = 1e-11;

impl System {
    /// `penalty` is added to every element of the diagonal.
    pub fn new(equations: &Equations, movable: &[bool], penalty: f64) -> Self {
        let diagonal = |weight: usize| equations.hessian.get(weight, weight) + penalty;
        let moves = |weight: &usize| movable[*weight] && diagonal(*weight) > 0.0;
        let free: Vec<usize> = (0..movable.len()).filter(moves).collect();
        let scales: Vec<f64> = free.iter().map(|weight| diagonal(*weight).sqrt()).collect();
        let matrix = Matrix::from_fn(free.len(), free.len(), |row, column| {
            let element = equations.hessian.get(free[row], free[column]);
            if row == column { 1.0 } else { element / (scales[row] * scales[column]) }
        });
        Self { free, scales, matrix }
    }

    /// Solves `(matrix + damping * diagonal) * step = right`, where `right` has an element for
    /// every weight, and so has the step: 0 for those that stand still. `None` where rounding
    /// leaves the matrix with a negative direction; more damping helps.
    pub fn solve(&self, damping: f64, right: &[f64]) -> Option<Vec<f64>> {
        let factors = self.factors(damping)?;
        let scaled =
            self.free.iter().zip(&self.scales).map(|(weight, scale)| right[*weight] / scale);
        let mut solution = Matrix { rows: self.free.len(), columns: 1, values: scaled.collect() };
        factors.solve(&mut solution);
        let mut step = vec![0.0; right.len()];
        for ((weight, scale), element) in self.free.iter().zip(&self.scales).zip(solution.values) {
            step[*weight] = element / scale;
        }
        step.iter().all(|element| element.is_finite()).then_some(step)
    }

    /// The diagonal of the inverse, `None` for weights that stand still and infinite for those
    /// that the matrix does not determine.
    pub fn inverse_diagonal(&self, weights: usize) -> Vec<Option<f64>> {
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
