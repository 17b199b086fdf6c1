//! Lion's step.

use super::{Arithmetic, Formula, Step, bound};

/// X. Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023. For each parameter `p`
/// with gradient `g` and momentum `m`:
///
/// ```text
/// p *= 1 - lr * decay
/// p -= lr * sign(beta1 * m + (1 - beta1) * g)
/// m  = beta2 * m + (1 - beta2) * g
/// p  = clamp(p, -clip, clip)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lion {
    pub beta1: f64,
    pub beta2: f64,
    pub decay: f64,
    /// Bound of the parameters' size; 0 = none.
    pub clip: f64,
}

/// All that is the same for each parameter.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    pub shrink: f32,
    pub beta1: f32,
    pub rest1: f32,
    pub beta2: f32,
    pub rest2: f32,
    pub rate: f32,
    pub clip: f32,
}

impl Lion {
    /// The step with learning rate `lr`. The state is `m`.
    pub fn at(&self, lr: f64) -> Step {
        Step::Lion(Factors {
            shrink: (1.0 - lr * self.decay) as f32,
            beta1: self.beta1 as f32,
            rest1: 1.0 - self.beta1 as f32,
            beta2: self.beta2 as f32,
            rest2: 1.0 - self.beta2 as f32,
            rate: lr as f32,
            clip: bound(self.clip),
        })
    }
}

impl Formula<1> for Factors {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, a: A, p: A::V, g: A::V, [m]: [A::V; 1]) -> (A::V, [A::V; 1]) {
        let direction = a.scale_add(self.rest1, &g, a.scale(self.beta1, m.clone()));
        // A sign by bounds: magnitudes above 1e-38 reach the rate.
        let step = a.clamp(a.scale(1e38, direction.clone()), self.rate);
        let m = a.scale_add(self.rest2, &g, a.scale(self.beta2, m));
        let p = a.sub(a.scale(self.shrink, p), step);
        // The sign of NaN is lost above.
        let p = a.scale_add(0.0, &direction, p);
        (a.bounded(p, self.clip), [m])
    }
}
