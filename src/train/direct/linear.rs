//! Linear least squares: weights from the values of an oracle.

use std::sync::Arc;

use super::{
    newton::Newton,
    point::Point,
    problem::{Goal, Problem, ProblemError},
};
use crate::batch::Terms;

/// How well weights give back values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// Root of the mean squared difference, in centipawns.
    pub difference: f64,
    pub steps: usize,
}

/// Only keeps a matrix without full rank from being singular.
const DAMPING: f64 = 1e-10;

/// Steps shorter than this, in centipawns, are rounding.
const SHORTEST: f64 = 1e-9;

const MOST_STEPS: usize = 40;

/// Moves weights to where the values of positions differ least from `values` (centipawns for
/// White), after the identity check of Deep Thought's tuner: fitted to an evaluation's own output
/// it must find that evaluation.
///
/// Where the data determines the weights they come out whatever the start. Where it does not (a
/// piece's material and the squares of its table, all raised against each other, change nothing)
/// the least change from the start is taken, each weight measured by the root mean square of its
/// derivative; the values are met all the same, and so are the weights if the start differs from
/// the oracle only in ways that the data sees. Each step solves again for what the last has left
/// over, so rounding and the small damping vanish.
///
/// # Errors
/// See [`Problem::new`] and [`Newton::step`].
pub fn fit_linear(
    pieces: &[Arc<Terms>],
    values: &[f64],
    movable: &[bool],
    point: &mut Point,
) -> Result<Fitted, ProblemError> {
    let problem = Problem::new(pieces, point.weights.len(), Goal::Values(values))?;
    let mut newton = Newton::new(movable.to_vec());
    let mut steps = 0;
    loop {
        newton.damping = DAMPING;
        let stepped = newton.step(&problem, point)?;
        steps += 1;
        if stepped.furthest < SHORTEST || steps == MOST_STEPS {
            return Ok(Fitted { difference: stepped.loss_after.sqrt(), steps });
        }
    }
}
