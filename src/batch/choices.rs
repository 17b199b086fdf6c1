//! The loss of moves: which rows of a batch are the choices of a position, and how well their values
//! rank the move that was played.
//!
//! Values are centipawns for the side that moved.
//!
//! - Least squares: the difference between the value after a move and that of its position is
//!   fitted to the difference when the moves were searched, plus a force. The force pushes the
//!   played move up, and each of the others down by an equal share. Source: A. Nowatzyk, "Eval Tuning
//!   in Deep Thought" (1988, described in 2000), which names forces without their formulas.
//! - Softmax: `-ln p` where `p = e^(played / UNIT) / sum of e^(move / UNIT)`.

use std::ops::Range;

/// Rows of each position: quiescence leaves after the played move and after the other moves, then
/// that of the position itself, its root. Only the root is present if there are no alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveChoices {
    /// One past the last row of each position, `[positions]`.
    pub ends: Vec<u32>,
    /// Signs of rows, `[rows]`: 1, or -1 if the model's output is for the opponent of the side that
    /// moved.
    pub signs: Vec<i8>,
    /// Values when the moves were searched, `[rows]`.
    pub searched_values: Vec<f64>,
    /// Factor on searched differences, which preserves the variance of values.
    pub variance_factor: f64,
    /// Force in centipawns if the best other move is half a pawn ahead. None: softmax.
    pub force: Option<f64>,
    /// Centipawns per logit of the model.
    pub scale: f64,
}

/// The loss of a position, with its derivatives by the values of the position's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceLoss {
    pub loss: f64,
    /// First derivatives, which add up to 0.
    pub gradients: Vec<f64>,
    /// Second derivatives by differences to the position, without softmax's coupling of moves.
    pub curvatures: Vec<f64>,
}

/// Lead of the best other move, in centipawns, at which the force is [`MoveChoices::force`].
const HALF_PAWN: f64 = 50.0;

impl MoveChoices {
    /// Centipawns of an error of 1; for softmax, the lead that makes a move e times as likely.
    pub const UNIT: f64 = 60.0;

    /// Creates choices without positions.
    pub fn new(force: Option<f64>, scale: f64) -> Self {
        Self {
            ends: Vec::new(),
            signs: Vec::new(),
            searched_values: Vec::new(),
            variance_factor: 1.0,
            force,
            scale,
        }
    }

    /// Returns the rows of a position, its root last.
    pub fn move_rows(&self, position: usize) -> Range<usize> {
        let start = position.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        start as usize..self.ends[position] as usize
    }

    /// Iterates over the root of each position.
    pub fn root_rows(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().map(|end| *end as usize - 1)
    }

    /// Returns the divisor of losses: the number of differences for least squares, of positions for
    /// softmax.
    pub fn loss_divisor(&self) -> f64 {
        let positions = self.with_alternatives();
        match self.force {
            Some(_) => positions.map(|(_, rows)| (rows.len() - 1) as f64).sum(),
            None => positions.count() as f64,
        }
    }

    /// Iterates over the positions with alternative moves, and their rows.
    fn with_alternatives(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let positions = (0..self.ends.len()).map(|position| (position, self.move_rows(position)));
        positions.filter(|(_, rows)| rows.len() > 2)
    }

    /// Converts outputs of the model to values for the side that moved. An output counts `scale`
    /// centipawns.
    fn mover_values<T: Copy + Into<f64>>(
        &self,
        rows: Range<usize>,
        outputs: &[T],
        scale: f64,
    ) -> Vec<f64> {
        let value = |(output, sign): (&T, &i8)| (*output).into() * f64::from(*sign) * scale;
        outputs.iter().zip(&self.signs[rows]).map(value).collect()
    }

    /// Computes the loss of a position, with its derivatives by values for the side that moved, from
    /// the model's outputs of the position's rows. An output counts `scale` centipawns. The
    /// position must have alternative moves.
    pub fn position_loss<T: Copy + Into<f64>>(
        &self,
        position: usize,
        outputs: &[T],
        scale: f64,
    ) -> ChoiceLoss {
        let rows = self.move_rows(position);
        let values = self.mover_values(rows.clone(), outputs, scale);
        match self.force {
            Some(force) => self.least_squares_loss(&values, &self.searched_values[rows], force),
            None => softmax_loss(&values),
        }
    }

    /// Computes the loss of least squares for the values of a position's rows.
    fn least_squares_loss(&self, values: &[f64], searched: &[f64], force: f64) -> ChoiceLoss {
        let (root, moves) = values.split_last().expect("a position has rows");
        let (searched_root, searched_moves) = searched.split_last().expect("a position has rows");
        let root_row = moves.len();
        let lead = highest_value(searched_moves) - searched_moves[0];
        let force = force * (lead / HALF_PAWN);
        let mut loss = 0.0;
        let mut gradients = vec![0.0; values.len()];
        let mut curvatures = vec![0.0; values.len()];
        for (row, value) in moves.iter().enumerate() {
            let force = if row == 0 { force } else { -force / (moves.len() - 1) as f64 };
            let target = self.variance_factor * (searched_moves[row] - searched_root) + force;
            let error = (value - root - target) / Self::UNIT;
            loss += error * error;
            gradients[row] = 2.0 * error / Self::UNIT;
            curvatures[row] = 2.0 / (Self::UNIT * Self::UNIT);
            gradients[root_row] -= gradients[row];
        }
        ChoiceLoss { loss, gradients, curvatures }
    }

    /// Computes the derivatives of the mean loss by the logits of all rows, `[rows]`.
    pub fn logit_gradients(&self, logits: &[f32]) -> Vec<f32> {
        let divisor = self.loss_divisor();
        let mut logit_gradients = vec![0.0; logits.len()];
        for (position, rows) in self.with_alternatives() {
            let ChoiceLoss { gradients, .. } =
                self.position_loss(position, &logits[rows.clone()], self.scale);
            for (row, gradient) in rows.zip(gradients) {
                let sign = f64::from(self.signs[row]);
                logit_gradients[row] = (gradient * self.scale * sign / divisor) as f32;
            }
        }
        logit_gradients
    }

    /// Sums the loss to report over positions; returns it with their number. It is softmax's loss;
    /// for least squares, whose targets change, it is 1 where the played move is not ranked first.
    /// Among equal moves each is first with the same probability.
    pub fn sum_losses(&self, logits: &[f32]) -> [f64; 2] {
        let mut sum = 0.0;
        let mut count = 0.0;
        for (position, rows) in self.with_alternatives() {
            let logits = &logits[rows.clone()];
            sum += match self.force {
                Some(_) => {
                    let values = self.mover_values(rows, logits, self.scale);
                    1.0 - probability_of_first(&values[..values.len() - 1])
                }
                None => self.position_loss(position, logits, self.scale).loss,
            };
            count += 1.0;
        }
        [sum, count]
    }

    /// Computes the standard deviation of the differences between the searched values of moves and
    /// of their positions, in centipawns; values are rounded to whole ones. None if there is no
    /// spread.
    pub fn value_spread(&self) -> Option<f64> {
        let mut count = 0.0;
        let mut sum = 0.0;
        let mut squares = 0.0;
        for (_, rows) in self.with_alternatives() {
            let (root, moves) = self.searched_values[rows].split_last()?;
            for value in moves {
                let difference = value.round() - root.round();
                count += 1.0;
                sum += difference;
                squares += difference * difference;
            }
        }
        let variance = squares / count - (sum / count).powi(2);
        (variance > 0.0).then(|| variance.sqrt())
    }
}

/// Computes softmax's loss for the values of a position's rows.
fn softmax_loss(values: &[f64]) -> ChoiceLoss {
    const UNIT: f64 = MoveChoices::UNIT;
    let (_, moves) = values.split_last().expect("a position has rows");
    let best = highest_value(moves);
    // Relative to the best move, to avoid large exponentials.
    let weight = |value: &f64| ((value - best) / UNIT).exp();
    let sum: f64 = moves.iter().map(weight).sum();
    let mut gradients = vec![0.0; values.len()];
    let mut curvatures = vec![0.0; values.len()];
    for (row, value) in moves.iter().enumerate() {
        let probability = weight(value) / sum;
        let played = if row == 0 { 1.0 } else { 0.0 };
        gradients[row] = (probability - played) / UNIT;
        curvatures[row] = probability / (UNIT * UNIT);
    }
    ChoiceLoss { loss: sum.ln() - (moves[0] - best) / UNIT, gradients, curvatures }
}

fn highest_value(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the probability that the first move is ranked first, equal moves in random order.
pub fn probability_of_first(values: &[f64]) -> f64 {
    let first = values[0];
    if values.iter().any(|value| *value > first) {
        return 0.0;
    }
    1.0 / values.iter().filter(|value| **value == first).count() as f64
}
