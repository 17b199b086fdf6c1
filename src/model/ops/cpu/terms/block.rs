//! The formula for a block of positions: from sums to losses, and to slopes by the sums.
//!
//! It is that of [`crate::sums`], one position a lane.

use std::ops::Range;

use super::entries::Pair;
use super::exp::exp_of_negative;
use crate::batch::Held;
use crate::loss::{Loss, LossShape};
use crate::sums::{SAFETY_ENDGAME, SAFETY_MIDDLEGAME};

/// Positions a block: their entries should stay in the cache until the way back.
pub(super) const BLOCK: usize = 128;

type Column = [f32; BLOCK];

/// What is computed for each position.
pub(super) struct Block {
    /// The sums of the terms, until [`Block::differentiate`] makes slopes of them.
    pub normal: [[Pair; 1]; BLOCK],
    /// White's, then Black's.
    pub safety: [[Pair; 2]; BLOCK],
    /// By the endgame weight; the other number is nothing.
    pub complexity: [[Pair; 1]; BLOCK],
    pub middlegame: Column,
    pub endgame: Column,
    pub turn: Column,
    /// Targets, or forces.
    pub numbers: Column,
    /// What the losses count.
    pub weights: Column,
    pub logits: Column,
    pub losses: Column,
    /// Derivatives of the losses by the logits.
    pub slopes: Column,
}

impl Default for Block {
    fn default() -> Self {
        Block {
            normal: [[[0.0; 2]; 1]; BLOCK],
            safety: [[[0.0; 2]; 2]; BLOCK],
            complexity: [[[0.0; 2]; 1]; BLOCK],
            middlegame: [0.0; BLOCK],
            endgame: [0.0; BLOCK],
            turn: [0.0; BLOCK],
            numbers: [0.0; BLOCK],
            weights: [1.0; BLOCK],
            logits: [0.0; BLOCK],
            losses: [0.0; BLOCK],
            slopes: [0.0; BLOCK],
        }
    }
}

/// What the loss of a position is computed from.
struct Seen {
    logit: f32,
    /// `e^-|logit|`
    small: f32,
    target: f32,
    /// `p - target`
    error: f32,
    /// `p (1 - p)`
    steepness: f32,
}

const MIDDLEGAME: f32 = SAFETY_MIDDLEGAME as f32;
const ENDGAME: f32 = SAFETY_ENDGAME as f32;

impl Block {
    /// Adds what the terms held still add to a range of positions.
    #[inline(always)]
    pub fn hold(&mut self, held: &Held, range: Range<usize>) {
        let rows = held_in(&held.normal, &range);
        for (sums, held) in self.normal.iter_mut().zip(rows) {
            sums[0][0] += held[0];
            sums[0][1] += held[1];
        }
        let rows = held_in(&held.safety, &range);
        for ([white, black], held) in self.safety.iter_mut().zip(rows) {
            for k in 0..2 {
                white[k] += held[k];
                black[k] += held[2 + k];
            }
        }
        let rows = held_in(&held.complexity, &range);
        for (sums, held) in self.complexity.iter_mut().zip(rows) {
            sums[0][1] += held;
        }
    }

    /// The logits. A logit is `scale` centipawns.
    #[inline(always)]
    pub fn evaluate(&mut self, scale: f32, tempo: f32) {
        for i in 0..BLOCK {
            let [[white, _], [black, _]] = self.safety[i];
            let safety = (black * above(black) - white * above(white)) / MIDDLEGAME;
            let mg = self.normal[i][0][0] + safety;
            let (eg, crossed) = self.endgame(i);
            let moved = eg + sign(eg) * self.complexity[i][0][1];
            let eg = if crossed { 0.0 } else { moved };
            let value = self.middlegame[i] * mg + self.endgame[i] * eg + self.turn[i] * tempo;
            self.logits[i] = value / scale;
        }
    }

    /// The losses and the slopes; without a loss the slopes are the forces.
    #[inline(always)]
    pub fn compare(&mut self, loss: Option<Loss>) {
        let Some(loss) = loss else {
            self.losses = [0.0; BLOCK];
            self.slopes = self.numbers;
            return;
        };
        let power = loss.power as f32;
        // The loss, and its slope by the output: by the error, times the steepness of the output.
        match loss.shape {
            LossShape::Squared => {
                self.compare_by(loss, |it| (it.error * it.error, 2.0 * it.error * it.steepness))
            }
            LossShape::Absolute => {
                self.compare_by(loss, |it| (it.error.abs(), sign(it.error) * it.steepness));
            }
            LossShape::Power => self.compare_by(loss, |it| {
                let slope = it.error.abs().powf(power - 1.0);
                let by_error = power * slope.copysign(it.error);
                (slope * it.error.abs(), by_error * it.steepness)
            }),
            LossShape::CrossEntropy => self.compare_by(loss, |it| {
                let larger = if it.logit < 0.0 { 0.0 } else { it.logit };
                (larger - it.target * it.logit + it.small.ln_1p(), it.error)
            }),
        }
    }

    #[inline(always)]
    fn compare_by(&mut self, loss: Loss, of: impl Fn(Seen) -> (f32, f32)) {
        let over_rated = 1.0 + loss.asymmetry as f32;
        for i in 0..BLOCK {
            let logit = self.logits[i];
            // Both without the difference of numbers near 1.
            let small = exp_of_negative(logit.abs());
            let more = 1.0 / (1.0 + small);
            let less = small * more;
            let p = if logit < 0.0 { less } else { more };
            let target = self.numbers[i];
            let error = p - target;
            let (cost, slope) = of(Seen { logit, small, target, error, steepness: less * more });
            let weight = self.weights[i] * if error > 0.0 { over_rated } else { 1.0 };
            self.losses[i] = cost * weight;
            self.slopes[i] = slope * weight;
        }
    }

    /// Turns the sums into the derivatives of the losses by them, times centipawns a logit.
    #[inline(always)]
    pub fn differentiate(&mut self) {
        let (mut by_mgs, mut by_egs, mut egs) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        for i in 0..BLOCK {
            let (eg, crossed) = self.endgame(i);
            by_mgs[i] = self.slopes[i] * self.middlegame[i];
            by_egs[i] = if crossed { 0.0 } else { self.slopes[i] * self.endgame[i] };
            egs[i] = eg;
        }
        for i in 0..BLOCK {
            let (by_mg, by_eg, eg) = (by_mgs[i], by_egs[i], egs[i]);
            let danger = |[mg, eg]: Pair| {
                let positive = if eg > 0.0 { 1.0 / ENDGAME } else { 0.0 };
                [2.0 / MIDDLEGAME * above(mg) * by_mg, positive * by_eg]
            };
            let [white, black] = self.safety[i].map(danger);
            self.normal[i] = [[by_mg, by_eg]];
            self.safety[i] = [[-white[0], -white[1]], black];
            self.complexity[i] = [[0.0, sign(eg) * by_eg]];
        }
    }

    /// The endgame value before COMPLEXITY, and whether this would carry it beyond zero.
    #[inline(always)]
    fn endgame(&self, i: usize) -> (f32, bool) {
        let [[_, white], [_, black]] = self.safety[i];
        let value = self.normal[i][0][1] + (above(black) - above(white)) / ENDGAME;
        // Not `&&`, which would be a branch.
        (value, (value != 0.0) & (value.abs() + self.complexity[i][0][1] < 0.0))
    }
}

/// The numbers of a range; none where nothing is held.
#[inline(always)]
fn held_in<'a, T>(held: &'a [T], range: &Range<usize>) -> &'a [T] {
    if held.is_empty() { held } else { &held[range.clone()] }
}

/// The larger of a number and 0; what is not a number stays so, and shows in the loss.
#[inline(always)]
fn above(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// -1, 0 or 1.
#[inline(always)]
fn sign(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { 1f32.copysign(x) }
}
