//! What the moves of games teach: that the one which was played is the best.
//!
//! A position comes with the values behind its legal moves, as a quiescence search finds them, and
//! with its own. Values are centipawns as who moved sees them.
//!
//! - Least squares: differences to the value of the position are fitted to those that an oracle
//!   says, which is the evaluation as it was when the moves were searched, plus a [`Force`] on the
//!   move that was played and minus its share on each of the others. Source: A. Nowatzyk, "Eval
//!   Tuning in Deep Thought".
//! - Logistic: the mean over the other moves of `ln(1 + e^((other - played) / temperature))`.
//! - Softmax: `-ln p` where `p = e^(played / temperature) / sum of e^(move / temperature)`.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::force::Force;
use crate::batch::Choices;
use crate::loss::sigmoid;
use crate::weights::Weights;

/// How moves are learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moves {
    pub objective: Objective,
    /// Centipawns by which a move is better that is e times as likely; above 0.
    pub temperature: f64,
    /// Centipawns a logit.
    pub scale: f64,
    /// The weight of the position's own loss against that of its moves; 0 or more.
    pub value: f64,
    /// Of least squares.
    pub force: Force,
    /// Centipawns of the force at a miss of half a pawn.
    pub strength: f64,
}

/// What is to be small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The surprise at the move that was played, if moves were drawn by their values.
    #[default]
    Softmax,
    /// The same for each pair of it and another move.
    Logistic,
    /// The squares by which values differ from what forces want them to be: Deep Thought's.
    #[serde(rename = "least squares")]
    LeastSquares,
}

/// What the least squares are taken towards.
#[derive(Clone, Copy, Debug)]
pub struct Oracle<'a, T> {
    /// What the values were when the moves were searched, in the unit of those that are judged.
    pub before: &'a [T],
    /// What differences are multiplied by, so that values keep their variance.
    pub stretch: f64,
}

/// An evaluation as it was when it searched the moves that are learnt.
#[derive(Clone, Debug)]
pub struct Before {
    pub weights: Weights,
    /// See [`Oracle`].
    pub stretch: f64,
}

/// What a choice costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub loss: f64,
    /// What the loss is divided by, summed over choices, to be a mean: a choice, or pairs of a value
    /// and the position's.
    pub count: f64,
    /// The derivatives of the loss by the values. They add up to 0.
    pub slopes: Vec<f64>,
    /// Second derivatives by the difference to the value of `base`, never negative. Of softmax they
    /// lack what couples the values, which bends down.
    pub curvatures: Vec<f64>,
    /// The value that is subtracted from the others.
    pub base: usize,
}

/// How batches fare, in sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fared {
    /// The loss that is reported; of least squares the moves that were not put first.
    loss: f64,
    count: f64,
    /// Of the positions themselves.
    value: f64,
    positions: usize,
}

/// What a batch pulls at.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// As [`Moves::mean`] says.
    pub loss: f64,
    /// The derivative of what is minimised by each logit.
    pub forces: Vec<f32>,
}

/// The share of a choice in which a move is not put first, if chance decides between those of the
/// same value.
fn missed(moves: &[f64]) -> f64 {
    let played = moves[0];
    match moves.iter().any(|value| *value > played) {
        true => 1.0,
        false => 1.0 - 1.0 / moves.iter().filter(|value| **value == played).count() as f64,
    }
}

/// Centipawns for who chose, of rows in units of so many.
fn values<T: Copy + Into<f64>>(rows: &[T], signs: &[i8], unit: f64) -> Vec<f64> {
    let value = |(row, sign): (&T, &i8)| (*row).into() * f64::from(*sign) * unit;
    rows.iter().zip(signs).map(value).collect()
}

impl<'a, T> Oracle<'a, T> {
    /// What it says of some rows.
    pub fn at(self, rows: Range<usize>) -> Self {
        Self { before: &self.before[rows], ..self }
    }
}

impl Moves {
    /// What a choice costs whose values these are: of the move that was played, of the others, of
    /// the position. Least squares need the oracle.
    ///
    /// # Panics
    /// If there are no two moves, or no oracle where one is needed.
    pub fn judge(&self, values: &[f64], oracle: Option<Oracle<f64>>) -> Verdict {
        let (root, moves) = values.split_last().expect("a choice has values");
        assert!(moves.len() > 1, "a choice between moves");
        let (t, played, others) = (self.temperature, moves[0], moves.len() - 1);
        let mut slopes = vec![0.0; values.len()];
        let mut curvatures = vec![0.0; values.len()];
        let (mut loss, mut count, mut base) = (0.0, 1.0, 0);
        match self.objective {
            Objective::Softmax => {
                let most = moves.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = moves.iter().map(|value| ((value - most) / t).exp()).sum();
                loss = sum.ln() - (played - most) / t;
                for (i, value) in moves.iter().enumerate() {
                    let share = ((value - most) / t).exp() / sum;
                    slopes[i] = (share - f64::from(u8::from(i == 0))) / t;
                    curvatures[i] = share / (t * t);
                }
            }
            Objective::Logistic => {
                for (i, value) in moves.iter().enumerate().skip(1) {
                    let ahead = (value - played) / t;
                    // Both without the logarithm of a number that overflows.
                    loss += (ahead.max(0.0) + (-ahead.abs()).exp().ln_1p()) / others as f64;
                    let share = sigmoid(ahead);
                    slopes[i] = share / (t * others as f64);
                    curvatures[i] = share * (1.0 - share) / (t * t * others as f64);
                    slopes[0] -= slopes[i];
                }
            }
            Objective::LeastSquares => {
                let Oracle { before, stretch } = oracle.expect("least squares have an oracle");
                let force = self.force_on(&before[..moves.len()]);
                (base, count) = (moves.len(), moves.len() as f64);
                for (i, value) in moves.iter().enumerate() {
                    let force = if i == 0 { force } else { -force / others as f64 };
                    let wanted = stretch * (before[i] - before[base]) + force;
                    let error = (value - root - wanted) / t;
                    loss += error * error;
                    slopes[i] = 2.0 * error / t;
                    curvatures[i] = 2.0 / (t * t);
                    slopes[base] -= slopes[i];
                }
            }
        }
        Verdict { loss, count, slopes, curvatures, base }
    }

    /// The same of rows of a model: what it says of them, each in units of so many centipawns, and
    /// the [signs](Choices::signs) with which that is for who chose.
    pub fn judge_rows<T: Copy + Into<f64>>(
        &self,
        rows: &[T],
        signs: &[i8],
        oracle: Option<Oracle<T>>,
        unit: f64,
    ) -> Verdict {
        let before = oracle.map(|it| (values(it.before, signs, unit), it.stretch));
        let oracle = before.as_ref().map(|(before, stretch)| Oracle { before, stretch: *stretch });
        self.judge(&values(rows, signs, unit), oracle)
    }

    /// The force on the move that was played, in centipawns, from the values of all moves.
    pub fn force_on(&self, moves: &[f64]) -> f64 {
        let best = moves.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ahead = moves.iter().filter(|value| **value > moves[0]).count();
        self.strength * self.force.at(best - moves[0], ahead)
    }

    /// The forces of a batch. `targets` are those of its positions, 0 to 1, where these count.
    ///
    /// # Panics
    /// As [`Moves::judge`] does.
    pub fn pull(
        &self,
        choices: &Choices,
        logits: &[f32],
        targets: &[f32],
        oracle: Option<Oracle<f32>>,
    ) -> Pulled {
        let fared = self.fare(choices, logits, targets);
        let count: f64 = choices.iter().map(|rows| self.count(rows.len())).sum();
        let mut forces = vec![0.0; logits.len()];
        for (rows, target) in choices.iter().zip(targets) {
            let root = rows.end - 1;
            if self.value > 0.0 {
                let expected = sigmoid(logits[root].into());
                let error = expected - f64::from(*target);
                let slope = 2.0 * error * expected * (1.0 - expected);
                forces[root] = (self.value * slope / targets.len() as f64) as f32;
            }
            if rows.len() > 2 {
                let signs = &choices.signs[rows.clone()];
                let oracle = oracle.map(|it| it.at(rows.clone()));
                let said = &logits[rows.clone()];
                let Verdict { slopes, .. } = self.judge_rows(said, signs, oracle, self.scale);
                for ((force, slope), sign) in forces[rows].iter_mut().zip(slopes).zip(signs) {
                    *force += (slope * self.scale * f64::from(*sign) / count) as f32;
                }
            }
        }
        Pulled { loss: self.mean(fared).unwrap_or_default(), forces }
    }

    /// How a batch fares.
    pub fn fare(&self, choices: &Choices, logits: &[f32], targets: &[f32]) -> Fared {
        let mut fared = Fared { positions: targets.len(), ..Fared::default() };
        for (rows, target) in choices.iter().zip(targets) {
            if self.value > 0.0 {
                let expected = sigmoid(logits[rows.end - 1].into());
                fared.value += (expected - f64::from(*target)).powi(2);
            }
            if rows.len() > 2 {
                let values = values(&logits[rows.clone()], &choices.signs[rows], self.scale);
                fared.count += 1.0;
                fared.loss += match self.objective {
                    Objective::LeastSquares => missed(&values[..values.len() - 1]),
                    _ => self.judge(&values, None).loss,
                };
            }
        }
        fared
    }

    /// The loss that is reported: the mean over choices of that of the moves, where least squares
    /// count those that are not put first; and the weight of positions times the mean of their
    /// squared errors. None where there is neither.
    pub fn mean(&self, Fared { loss, count, value, positions }: Fared) -> Option<f64> {
        let of_moves = (count > 0.0).then(|| loss / count);
        let of_values =
            (self.value > 0.0 && positions > 0).then(|| self.value * value / positions as f64);
        match (of_moves, of_values) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or_default() + other.unwrap_or_default()),
        }
    }

    /// What a choice of so many rows counts, see [`Verdict`].
    pub fn count(&self, rows: usize) -> f64 {
        match self.objective {
            _ if rows < 3 => 0.0,
            Objective::LeastSquares => (rows - 1) as f64,
            Objective::Softmax | Objective::Logistic => 1.0,
        }
    }
}

impl Fared {
    /// With another batch.
    pub fn with(self, other: Self) -> Self {
        Self {
            loss: self.loss + other.loss,
            count: self.count + other.count,
            value: self.value + other.value,
            positions: self.positions + other.positions,
        }
    }
}
