//! Adam's step with decoupled weight decay, and RAdam's.

use super::{Arithmetic, Formula, Step, bound};

/// The rule. For each parameter `p` with gradient `g` and means `m` and `v`, at step `t` from 1:
///
/// ```text
/// g += coupled_decay * p
/// p *= 1 - lr * decay
/// m  = beta1 * m + (1 - beta1) * g
/// v  = beta2 * v + (1 - beta2) * g^2
/// p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// p  = clamp(p, -clip, clip)
/// ```
///
/// Rectified (L. Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020), the
/// division waits until the mean of squares is worth dividing by:
///
/// ```text
/// most = 2 / (1 - beta2) - 1
/// rho  = most - 2 t beta2^t / (1 - beta2^t)
/// p   -= lr * (m / (1 - beta1^t)) * r * sqrt(1 - beta2^t) / (sqrt(v) + epsilon)   if rho > 5
///        with r = sqrt((rho - 4) (rho - 2) most / ((most - 4) (most - 2) rho))
/// p   -= lr * (m / (1 - beta1^t))                                                 otherwise
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    /// AdamW's decay, which shrinks the parameters.
    pub decay: f64,
    /// Adam's decay, which adds to the gradients.
    pub coupled_decay: f64,
    /// Whether `m` and `v` are divided as above.
    pub bias_correction: bool,
    /// Whether it is RAdam, which always corrects.
    pub rectified: bool,
    /// Bound of the parameters' size; 0 = none.
    pub clip: f64,
}

/// All that is the same for each parameter.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    pub shrink: f32,
    pub coupled: f32,
    pub beta1: f32,
    pub rest1: f32,
    pub beta2: f32,
    pub rest2: f32,
    /// Turns `m` into the step before the division.
    pub rate: f32,
    /// Turns `v` into its unbiased form.
    pub unbias: f32,
    pub epsilon: f32,
    pub clip: f32,
}

impl Adam {
    /// The step at `step`, from 1, with learning rate `lr`. The states are `m` and `v`.
    pub fn at(&self, lr: f64, step: u64) -> Step {
        let t = step as f64;
        let unbias = |beta: f64| match self.bias_correction || self.rectified {
            true => 1.0 / (1.0 - beta.powf(t)),
            false => 1.0,
        };
        let rate = lr * unbias(self.beta1);
        let (rate, unbias, epsilon) = match self.rectified {
            false => (rate, unbias(self.beta2), self.epsilon),
            true => match self.rectification(t) {
                Some(r) => (rate * r / unbias(self.beta2).sqrt(), 1.0, self.epsilon),
                // Divided by 1.
                None => (rate, 0.0, 1.0),
            },
        };
        Step::Adam(Factors {
            shrink: (1.0 - lr * self.decay) as f32,
            coupled: self.coupled_decay as f32,
            beta1: self.beta1 as f32,
            // In 32 bits, as Burn and other trainers take it: 1 - 0.999 differs by 1e-5 of itself.
            rest1: 1.0 - self.beta1 as f32,
            beta2: self.beta2 as f32,
            rest2: 1.0 - self.beta2 as f32,
            rate: rate as f32,
            unbias: unbias as f32,
            epsilon: epsilon as f32,
            clip: bound(self.clip),
        })
    }

    /// RAdam's `r` at step `t`; none while the mean of squares is not worth dividing by.
    pub fn rectification(&self, t: f64) -> Option<f64> {
        let most = 2.0 / (1.0 - self.beta2) - 1.0;
        let power = self.beta2.powf(t);
        let rho = most - 2.0 * t * power / (1.0 - power);
        let of = |rho: f64| (rho - 4.0) * (rho - 2.0) / rho;
        (rho > 5.0).then(|| (of(rho) / of(most)).sqrt())
    }
}

impl Formula<2> for Factors {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, a: A, p: A::V, g: A::V, [m, v]: [A::V; 2]) -> (A::V, [A::V; 2]) {
        let g = a.scale_add(self.coupled, &p, g);
        let m = a.scale_add(self.rest1, &g, a.scale(self.beta1, m));
        let squared = a.mul(a.scale(self.rest2, g.clone()), g);
        let v = a.scale_add(self.beta2, &v, squared);
        let root = a.sqrt(a.scale(self.unbias, v.clone()));
        let step = a.div(a.scale(self.rate, m.clone()), a.shift(self.epsilon, root));
        let p = a.sub(a.scale(self.shrink, p), step);
        (a.bounded(p, self.clip), [m, v])
    }
}
