//! Lion's step.

use super::super::lanes::Lanes;
use super::{Formula, Step, bounded};

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
            clip: super::bound(self.clip),
        })
    }
}

impl Formula<1> for Factors {
    #[inline(always)]
    fn apply<S: Lanes>(
        &self,
        simd: S,
        p: S::f32s,
        g: S::f32s,
        [m]: [S::f32s; 1],
    ) -> (S::f32s, [S::f32s; 1]) {
        let splat = |factor| simd.splat_f32s(factor);
        let way = simd.multiply_add(splat(self.rest1), g, simd.mul_f32s(splat(self.beta1), m));
        // A sign by bounds: whatever is not within 1e-38 of zero goes all the way.
        let steep = simd.mul_f32s(way, splat(1e38));
        let step = simd.max_f32s(splat(-self.rate), simd.min_f32s(splat(self.rate), steep));
        let m = simd.multiply_add(splat(self.rest2), g, simd.mul_f32s(splat(self.beta2), m));
        let p = simd.sub_f32s(simd.mul_f32s(p, splat(self.shrink)), step);
        // A sign says nothing of what is not a number; times zero it stays.
        let p = simd.mul_add_e_f32s(way, splat(0.0), p);
        (bounded(simd, p, self.clip), [m])
    }
}
