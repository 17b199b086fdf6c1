//! Österlund's local search: step each weight, keep what lowers the loss.

use super::{
    column::Index,
    evaluated::{Evaluated, LIMIT},
    point::Point,
    problem::{Problem, ProblemError},
};

/// Local search over whole centipawns, after P. Österlund's tuning of Texel.
///
/// A trial looks only at the positions that the weight's term occurs in. Nothing but the weights
/// is remembered from sweep to sweep: a search made anew from them goes on with the same bits.
#[derive(Debug)]
pub struct Search {
    point: Point,
    movable: Vec<bool>,
    index: Index,
    evaluated: Evaluated,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swept {
    /// Weights that were tried.
    pub tried: usize,
    /// Weights that were moved.
    pub moved: usize,
    /// Mean loss of all positions behind the sweep.
    pub loss: f64,
}

/// A trial must lower the summed loss by this share of it: less may be rounding, and a search that
/// chased that might never end.
const LEAST: f64 = 1e-13;

impl Search {
    /// Starts from a point, its `movable` weights rounded to whole centipawns (halves away from
    /// zero), the others as they are.
    ///
    /// # Errors
    /// Lists of another size than the problem's; movable weights that are not finite or too
    /// large; others that make the loss no finite number; counts too large; a goal of values.
    pub fn new(problem: &Problem, point: &Point, movable: &[bool]) -> Result<Self, ProblemError> {
        problem.check_length("weights", point.len())?;
        problem.check_length("marks of movable weights", movable.len())?;
        let mut point = point.clone();
        for (number, _) in movable.iter().enumerate().filter(|(_, movable)| **movable) {
            let weight = point.get_mut(number).expect("as many weights as marks");
            if weight.is_nan() || weight.abs() > f64::from(LIMIT) {
                return Err(ProblemError::Weight { number, weight: *weight, limit: LIMIT });
            }
            *weight = weight.round();
        }
        let wanted = |term: usize| movable[2 * term] || movable[2 * term + 1];
        let index = Index::new(problem, wanted)?;
        let evaluated = Evaluated::new(problem, &point, movable)?;
        match evaluated.loss().is_finite() {
            true => Ok(Self { point, movable: movable.to_vec(), index, evaluated }),
            false => Err(ProblemError::NotFinite),
        }
    }

    /// Where the search stands.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// The mean loss of all positions.
    pub fn loss(&self) -> f64 {
        self.evaluated.loss() / self.evaluated.len() as f64
    }

    /// Tries every movable weight once, in the order of their numbers: one `step` up, and if that
    /// does not lower the loss, one step down. As with Österlund a weight goes no further in one
    /// sweep, since the others should answer first. Where a sweep with a step of 1 moves nothing,
    /// no weight can lower the loss alone.
    pub fn sweep(&mut self, step: u16) -> Swept {
        let step = i32::from(step);
        let least = -LEAST * self.evaluated.loss();
        let (mut tried, mut moved) = (0, 0);
        for number in 0..self.movable.len() {
            if !self.movable[number] {
                continue;
            }
            tried += 1;
            let Some(column) = self.index.weight(number) else {
                continue;
            };
            let weight = self.point.get(number).expect("as many weights as marks");
            let changes = self.evaluated.trial(column, step);
            let lowers = |(by, change): &(i32, f64)| {
                *change < least && (weight + f64::from(*by)).abs() <= f64::from(LIMIT)
            };
            if let Some((by, _)) = [step, -step].into_iter().zip(changes).find(lowers) {
                self.evaluated.commit(column, by);
                *self.point.get_mut(number).expect("as many weights as marks") += f64::from(by);
                moved += 1;
            }
        }
        Swept { tried, moved, loss: self.loss() }
    }
}
