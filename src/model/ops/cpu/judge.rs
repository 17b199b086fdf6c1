//! From logits to losses, and to the gradients of their mean.

use crate::loss::LossShape;
use crate::model::Judged;

impl Judged<'_> {
    /// The derivatives of the mean loss by the logits, one a position.
    pub fn forces(self, logits: &[f32]) -> Vec<f32> {
        let mut forces = Vec::with_capacity(logits.len());
        self.of_all(logits.iter().copied().enumerate(), &mut forces);
        forces
    }

    /// The sum of the losses of some positions by their logits, while the derivatives of the mean
    /// over the batch go to `gradients`.
    #[inline(always)]
    pub(super) fn of_all(
        self,
        logits: impl Iterator<Item = (usize, f32)>,
        gradients: &mut Vec<f32>,
    ) -> f64 {
        let (batch, power) = (self.targets.len() as f32, self.loss.power as f32);
        match self.loss.shape {
            LossShape::Squared => self.by(logits, gradients, 2.0 / batch, |it| {
                (f64::from(it.error).powi(2), it.scale * it.error * it.p * (1.0 - it.p))
            }),
            LossShape::Absolute => self.by(logits, gradients, 1.0 / batch, |it| {
                let sign = if it.error == 0.0 { 0.0 } else { 1f32.copysign(it.error) };
                (f64::from(it.error.abs()), it.scale * sign * it.p * (1.0 - it.p))
            }),
            LossShape::Power => self.by(logits, gradients, power / batch, |it| {
                let size = it.error.abs();
                let slope = size.powf(power - 1.0);
                let cost = f64::from(slope) * f64::from(size);
                (cost, it.scale * slope.copysign(it.error) * it.p * (1.0 - it.p))
            }),
            LossShape::CrossEntropy => self.by(logits, gradients, 1.0 / batch, |it| {
                let small = (-it.logit.abs()).exp().ln_1p();
                let cost = it.logit.max(0.0) - it.target * it.logit + small;
                (f64::from(cost), it.scale * it.error)
            }),
        }
    }

    #[inline(always)]
    fn by(
        self,
        logits: impl Iterator<Item = (usize, f32)>,
        gradients: &mut Vec<f32>,
        scale: f32,
        of: impl Fn(Seen) -> (f64, f32),
    ) -> f64 {
        let Judged { targets, base, weights, loss } = self;
        let over_rated = 1.0 + loss.asymmetry as f32;
        let mut sum = 0.0;
        for (position, logit) in logits {
            let added = if base.is_empty() { 0.0 } else { base[position] };
            let (logit, target) = (logit + added, targets[position]);
            let p = sigmoid(logit);
            let error = p - target;
            let mut weight = if weights.is_empty() { 1.0 } else { weights[position] };
            if error > 0.0 {
                weight *= over_rated;
            }
            let seen = Seen { logit, p, target, error, scale: scale * weight };
            let (cost, gradient) = of(seen);
            sum += cost * f64::from(weight);
            gradients.push(gradient);
        }
        sum
    }
}

/// What the loss of a position is computed from.
struct Seen {
    logit: f32,
    p: f32,
    target: f32,
    /// `p - target`
    error: f32,
    /// What the gradient is multiplied by.
    scale: f32,
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
