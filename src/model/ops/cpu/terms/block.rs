//! Formula of [`crate::sums`] for a block of positions, one per lane: from sums to losses, and to
//! derivatives with respect to the sums.

use super::Pair;
use crate::batch::SUMS_PER_POSITION;
use crate::loss::{Loss, LossShape};
use crate::sums::{SAFETY_ENDGAME, SAFETY_MIDDLEGAME};

pub(super) const BLOCK: usize = 128;
type BlockNumbers = [f32; BLOCK];
pub(super) type PerSum<T> = [T; SUMS_PER_POSITION];

/// Numbers of positions; numbers after the last position are stale.
pub(super) struct TermBlock {
    pub middlegame: BlockNumbers,
    pub endgame: BlockNumbers,
    pub turn: BlockNumbers,
    /// Targets, or upstream gradients.
    pub numbers: BlockNumbers,
    pub weights: BlockNumbers,
    pub logits: BlockNumbers,
    pub losses: BlockNumbers,
    /// Derivatives of the losses by the logits.
    pub gradients: BlockNumbers,
}

struct BlockLoss {
    logit: f32,
    /// `e^-|logit|`
    small: f32,
    target: f32,
    /// `p - target`
    error: f32,
    /// `p (1 - p)`
    sigmoid_derivative: f32,
}

const MIDDLEGAME: f32 = SAFETY_MIDDLEGAME as f32;
const ENDGAME: f32 = SAFETY_ENDGAME as f32;

impl TermBlock {
    pub fn new() -> Self {
        let [middlegame, endgame, turn, numbers, logits, losses, gradients] = [[0.0; BLOCK]; 7];
        let weights = [1.0; BLOCK];
        TermBlock { middlegame, endgame, turn, numbers, weights, logits, losses, gradients }
    }

    /// Computes the logits, in units of `scale` centipawns.
    #[inline(always)]
    pub fn evaluate_block(&mut self, sums: PerSum<&[Pair; BLOCK]>, scale: f32, tempo: f32) {
        for i in 0..BLOCK {
            let [normal, [white, _], [black, _], complexity] = sums.map(|sums| sums[i]);
            let safety = (black * positive_part(black) - white * positive_part(white)) / MIDDLEGAME;
            let mg = normal[0] + safety;
            let (eg, crossed) = endgame_value(sums.map(|sums| sums[i][1]));
            let moved = eg + sign_of(eg) * complexity[1];
            let eg = if crossed { 0.0 } else { moved };
            let value = self.middlegame[i] * mg + self.endgame[i] * eg + self.turn[i] * tempo;
            self.logits[i] = value / scale;
        }
    }

    /// Computes losses and their derivatives; without a loss the derivatives are the upstream
    /// gradients.
    #[inline(always)]
    pub fn compare_targets(&mut self, loss: Option<Loss>) {
        let Some(loss) = loss else {
            self.losses = [0.0; BLOCK];
            self.gradients = self.numbers;
            return;
        };
        let power = loss.power as f32;
        // The loss and its derivative with respect to the logit, with that of the sigmoid.
        match loss.shape {
            LossShape::Squared => self.compare_by(loss, |it| {
                (it.error * it.error, 2.0 * it.error * it.sigmoid_derivative)
            }),
            LossShape::Power => self.compare_by(loss, |it| {
                let lower = it.error.abs().powf(power - 1.0);
                let by_error = power * lower.copysign(it.error);
                (lower * it.error.abs(), by_error * it.sigmoid_derivative)
            }),
            LossShape::CrossEntropy => self.compare_by(loss, |it| {
                let larger = if it.logit < 0.0 { 0.0 } else { it.logit };
                (larger - it.target * it.logit + it.small.ln_1p(), it.error)
            }),
        }
    }

    #[inline(always)]
    fn compare_by(&mut self, loss: Loss, cost: impl Fn(BlockLoss) -> (f32, f32)) {
        let over_rated = 1.0 + loss.asymmetry as f32;
        for i in 0..BLOCK {
            let logit = self.logits[i];
            // Both without differences of numbers near 1.
            let small = exp_of_negative(logit.abs());
            let more = 1.0 / (1.0 + small);
            let less = small * more;
            let p = if logit < 0.0 { less } else { more };
            let (target, sigmoid_derivative) = (self.numbers[i], less * more);
            let error = p - target;
            let (cost, by_logit) =
                cost(BlockLoss { logit, small, target, error, sigmoid_derivative });
            let weight = self.weights[i] * if error > 0.0 { over_rated } else { 1.0 };
            self.losses[i] = cost * weight;
            self.gradients[i] = by_logit * weight;
        }
    }

    /// Converts the sums to the derivatives of the losses by them, times centipawns per logit.
    #[inline(always)]
    pub fn differentiate_sums(&self, sums: PerSum<&mut [Pair; BLOCK]>) {
        let [normal, white, black, complexity] = sums;
        for i in 0..BLOCK {
            let (value, crossed) =
                endgame_value([normal[i][1], white[i][1], black[i][1], complexity[i][1]]);
            let by_mg = self.gradients[i] * self.middlegame[i];
            let by_eg = if crossed { 0.0 } else { self.gradients[i] * self.endgame[i] };
            let danger = |[mg, eg]: Pair| {
                let positive = if eg > 0.0 { 1.0 / ENDGAME } else { 0.0 };
                [2.0 / MIDDLEGAME * positive_part(mg) * by_mg, positive * by_eg]
            };
            normal[i] = [by_mg, by_eg];
            let [mg, eg] = danger(white[i]);
            white[i] = [-mg, -eg];
            black[i] = danger(black[i]);
            complexity[i] = [0.0, sign_of(value) * by_eg];
        }
    }
}

/// Returns the endgame value before COMPLEXITY, and whether COMPLEXITY would move it across zero.
#[inline(always)]
fn endgame_value([normal, white, black, complexity]: PerSum<f32>) -> (f32, bool) {
    let value = normal + (positive_part(black) - positive_part(white)) / ENDGAME;
    // Not `&&`, which would be a branch.
    (value, (value != 0.0) & (value.abs() + complexity < 0.0))
}

/// Returns the larger of a number and 0; NaN stays NaN, so that a divergence is visible.
#[inline(always)]
fn positive_part(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

#[inline(always)]
fn sign_of(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { 1f32.copysign(x) }
}

/// Computes `exp(-x)` for `x` of 0 or more, to about 1e-7; constant beyond 87. NaN stays NaN.
#[inline(always)]
fn exp_of_negative(x: f32) -> f32 {
    let x = if x > 87.0 { -87.0 } else { -x };
    // Adding 1.5 * 2^23 leaves no bits for a fraction, and the integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts, the first with so few bits that its multiples are exact.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    // Taylor series: with a rest of at most ln 2 / 2 the error is below 1e-8.
    let mut series = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = series * rest + factor;
    }
    series * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}
