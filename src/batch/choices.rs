//! Moves that could have been played: which rows of a batch belong together, and their loss.
//!
//! Values are centipawns for the side that moved.
//!
//! - Least squares: the difference between the value after a move and that of its position is
//!   fitted to what it was when the moves were searched, plus a force on the move that was played,
//!   or minus its share on each of the others. Source: A. Nowatzyk, "Eval Tuning in Deep Thought"
//!   (1988, described in 2000), which names forces without their formulas.
//! - Softmax: `-ln p` where `p = e^(played / UNIT) / sum of e^(move / UNIT)`.

use std::ops::Range;

/// Rows of each position: quiescence leaves after the played move and after the other moves, then
/// that of the position itself. Only the last row is present if there are no alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// One past the last row of each position.
    pub ends: Vec<u32>,
    /// Signs of rows: 1, or -1 if the model's output is for the opponent of the side that moved.
    pub signs: Vec<i8>,
    /// Values of rows when the moves were searched.
    pub before: Vec<f64>,
    /// Factor on earlier differences, which preserves the variance of values.
    pub variance_factor: f64,
    /// Force in centipawns if the best other move is half a pawn ahead. None: softmax.
    pub force: Option<f64>,
    pub scale: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceLoss {
    pub loss: f64,
    /// Derivatives of the loss by the values. They add up to 0.
    pub gradients: Vec<f64>,
    /// Second derivatives by differences to the position, without softmax's coupling of moves.
    pub curvatures: Vec<f64>,
}

const HALF_PAWN: f64 = 50.0;

impl Choices {
    /// Centipawns of an error of 1; for softmax, the lead that makes a move e times as likely.
    pub const UNIT: f64 = 60.0;

    pub fn new(force: Option<f64>, scale: f64) -> Self {
        let (ends, signs, before) = (Vec::new(), Vec::new(), Vec::new());
        Self { ends, signs, before, variance_factor: 1.0, force, scale }
    }

    pub fn move_rows(&self, position: usize) -> Range<usize> {
        let begin = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin as usize..self.ends[position] as usize
    }

    pub fn root_rows(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().map(|end| *end as usize - 1)
    }

    /// Returns the divisor of losses: the number of differences, or of positions.
    pub fn loss_divisor(&self) -> f64 {
        let count = |rows: Range<usize>| if self.force.is_some() { rows.len() - 1 } else { 1 };
        self.with_alternatives().map(|(_, rows)| count(rows) as f64).sum()
    }

    /// Iterates over the positions with alternative moves, and their rows.
    fn with_alternatives(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let positions = (0..self.ends.len()).map(|position| (position, self.move_rows(position)));
        positions.filter(|(_, rows)| rows.len() > 2)
    }

    /// Converts model outputs in units of `unit` centipawns to values for the side that moved.
    fn values_of_mover<T: Copy + Into<f64>>(
        &self,
        rows: Range<usize>,
        outputs: &[T],
        unit: f64,
    ) -> Vec<f64> {
        let value = |(output, sign): (&T, &i8)| (*output).into() * f64::from(*sign) * unit;
        outputs.iter().zip(&self.signs[rows]).map(value).collect()
    }

    /// Computes the loss of a position from the outputs of its rows, and its derivatives by values
    /// for the side that moved.
    pub fn position_loss<T: Copy + Into<f64>>(
        &self,
        position: usize,
        outputs: &[T],
        unit: f64,
    ) -> ChoiceLoss {
        let rows = self.move_rows(position);
        let values = self.values_of_mover(rows.clone(), outputs, unit);
        let (root, moves) = values.split_last().expect("a position has rows");
        let (base, mut loss) = (moves.len(), 0.0);
        let [mut gradients, mut curvatures] = [vec![0.0; values.len()], vec![0.0; values.len()]];
        let highest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if let Some(force) = self.force {
            let before = &self.before[rows];
            let force = force * ((highest(&before[..base]) - before[0]) / HALF_PAWN);
            for (i, value) in moves.iter().enumerate() {
                let force = if i == 0 { force } else { -force / (base - 1) as f64 };
                let target = self.variance_factor * (before[i] - before[base]) + force;
                let error = (value - root - target) / Self::UNIT;
                loss += error * error;
                gradients[i] = 2.0 * error / Self::UNIT;
                curvatures[i] = 2.0 / (Self::UNIT * Self::UNIT);
                gradients[base] -= gradients[i];
            }
        } else {
            let best = highest(moves);
            let weight = |value: &f64| ((value - best) / Self::UNIT).exp();
            let sum: f64 = moves.iter().map(weight).sum();
            loss = sum.ln() - (moves[0] - best) / Self::UNIT;
            for (i, value) in moves.iter().enumerate() {
                let share = weight(value) / sum;
                gradients[i] = (share - f64::from(u8::from(i == 0))) / Self::UNIT;
                curvatures[i] = share / (Self::UNIT * Self::UNIT);
            }
        }
        ChoiceLoss { loss, gradients, curvatures }
    }

    /// Computes the derivatives of the mean loss by the logits of all rows.
    pub fn logit_gradients(&self, logits: &[f32]) -> Vec<f32> {
        let count = self.loss_divisor();
        let mut logit_gradients = vec![0.0; logits.len()];
        for (position, rows) in self.with_alternatives() {
            let ChoiceLoss { gradients, .. } =
                self.position_loss(position, &logits[rows.clone()], self.scale);
            let signed = gradients.iter().zip(&self.signs[rows.clone()]);
            for (to, (by_value, sign)) in logit_gradients[rows].iter_mut().zip(signed) {
                *to = (by_value * self.scale * f64::from(*sign) / count) as f32;
            }
        }
        logit_gradients
    }

    /// Sums the loss to report over positions; returns it with their number. It is softmax's loss;
    /// for least squares, whose targets change, it is 1 where the played move is not ranked first.
    /// Among equal moves each is first with the same probability.
    pub fn sum_losses(&self, logits: &[f32]) -> [f64; 2] {
        let (mut sum, mut count) = (0.0, 0.0);
        for (position, rows) in self.with_alternatives() {
            let logits = &logits[rows.clone()];
            sum += match self.force {
                Some(_) => {
                    let values = self.values_of_mover(rows, logits, self.scale);
                    1.0 - probability_of_first(&values[..values.len() - 1])
                }
                None => self.position_loss(position, logits, self.scale).loss,
            };
            count += 1.0;
        }
        [sum, count]
    }

    /// Computes the standard deviation of move values around their positions, in whole centipawns.
    pub fn value_spread(&self) -> Option<f64> {
        let [mut count, mut sum, mut squares] = [0.0; 3];
        for (_, rows) in self.with_alternatives() {
            let before = &self.before[rows];
            let (root, moves) = before.split_last()?;
            for value in moves {
                let difference = value.round() - root.round();
                (count, sum, squares) =
                    (count + 1.0, sum + difference, squares + difference * difference);
            }
        }
        let variance = squares / count - (sum / count).powi(2);
        (variance > 0.0).then(|| variance.sqrt())
    }
}

/// Returns the probability that the first move is ranked first, equal moves in random order.
pub fn probability_of_first(values: &[f64]) -> f64 {
    let played = values[0];
    match values.iter().any(|value| *value > played) {
        true => 0.0,
        false => 1.0 / values.iter().filter(|value| **value == played).count() as f64,
    }
}
