//! The step of gradient descent with momentum.

use super::{Arithmetic, Formula, Step, bound};

/// For each parameter `p` with gradient `g` and momentum `m`:
///
/// ```text
/// g += decay * p
/// m  = beta * m + g
/// p  = clamp(p - lr * m, -clip, clip)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sgd {
    pub beta: f32,
    pub decay: f32,
    pub rate: f32,
    pub clip: f32,
}

impl Sgd {
    /// The step with learning rate `lr`. The state is `m`.
    pub fn at(lr: f64, beta: f64, decay: f64, clip: f64) -> Step {
        let (beta, decay) = (beta as f32, decay as f32);
        Step::Sgd(Self { beta, decay, rate: lr as f32, clip: bound(clip) })
    }
}

impl Formula<1> for Sgd {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, a: A, p: A::V, g: A::V, [m]: [A::V; 1]) -> (A::V, [A::V; 1]) {
        let g = a.scale_add(self.decay, &p, g);
        let m = a.scale_add(self.beta, &m, g);
        (a.bounded(a.scale_add(-self.rate, &m, p), self.clip), [m])
    }
}
