//! AdaGrad's step.

use super::{Arithmetic, Formula, Step, bound};

/// A. Grant, "Evaluation & Tuning in Chess Engines". For each parameter `p` with gradient `g` and sum
/// of squares `s`:
///
/// ```text
/// g += decay * p
/// s += g^2
/// p  = clamp(p - lr * g / sqrt(s + epsilon), -clip, clip)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AdaGrad {
    pub epsilon: f32,
    pub decay: f32,
    pub rate: f32,
    pub clip: f32,
}

impl AdaGrad {
    /// The step with learning rate `lr`. The state is `s`.
    pub fn at(lr: f64, epsilon: f64, decay: f64, clip: f64) -> Step {
        let (epsilon, decay) = (epsilon as f32, decay as f32);
        Step::AdaGrad(Self { epsilon, decay, rate: lr as f32, clip: bound(clip) })
    }
}

impl Formula<1> for AdaGrad {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, a: A, p: A::V, g: A::V, [s]: [A::V; 1]) -> (A::V, [A::V; 1]) {
        let g = a.scale_add(self.decay, &p, g);
        let s = a.scale_add(1.0, &a.mul(g.clone(), g.clone()), s);
        let step = a.div(g, a.sqrt(a.shift(self.epsilon, s.clone())));
        (a.bounded(a.scale_add(-self.rate, &step, p), self.clip), [s])
    }
}
