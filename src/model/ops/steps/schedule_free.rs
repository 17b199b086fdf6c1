//! The step of schedule-free AdamW.

use super::{Arithmetic, Formula, Step, bound};

/// A. Defazio et al., "The Road Less Scheduled", 2024. Gradients `g` are taken at the parameters
/// `y`, between `z`, which takes the steps, and `x`, the mean of all `z` weighted by the squares of
/// the learning rates. `x` is what is learnt. With the mean of squares `v`, at step `t` from 1:
///
/// ```text
/// v = beta2 * v + (1 - beta2) * g^2
/// z = clamp(z - lr * (g / (sqrt(v / (1 - beta2^t)) + epsilon) + decay * y), -clip, clip)
/// x = x + share * (z - x),   share = largest^2 / sum of all largest^2
/// y = beta1 * x + (1 - beta1) * z
/// ```
///
/// where `largest` is the largest learning rate so far. `x` is not kept: it follows from `y` and `z`.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleFree {
    /// Above 0.
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub decay: f64,
    /// Bound of the parameters' size; 0 = none.
    pub clip: f64,
}

/// All that is the same for each parameter.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    pub beta2: f32,
    pub rest2: f32,
    /// Turns `v` into its unbiased form.
    pub unbias: f32,
    pub epsilon: f32,
    pub decay: f32,
    pub rate: f32,
    pub share: f32,
    pub beta1: f32,
    pub rest1: f32,
    /// `x = y * of_y - z * of_z`
    pub of_y: f32,
    pub of_z: f32,
    pub clip: f32,
}

impl ScheduleFree {
    /// The step at `step`, from 1, with learning rate `lr`, of which `x` gets its `share`. The
    /// states are `z` and `v`.
    pub fn at(&self, lr: f64, step: u64, share: f64) -> Step {
        let [of_y, of_z] = self.mean();
        Step::ScheduleFree(Factors {
            beta2: self.beta2 as f32,
            rest2: 1.0 - self.beta2 as f32,
            unbias: (1.0 / (1.0 - self.beta2.powf(step as f64))) as f32,
            epsilon: self.epsilon as f32,
            decay: self.decay as f32,
            rate: lr as f32,
            share: share as f32,
            beta1: self.beta1 as f32,
            rest1: (1.0 - self.beta1) as f32,
            of_y: of_y as f32,
            of_z: of_z as f32,
            clip: bound(self.clip),
        })
    }

    /// What `y` and `-z` are multiplied by to make `x`.
    pub fn mean(&self) -> [f64; 2] {
        [1.0 / self.beta1, (1.0 - self.beta1) / self.beta1]
    }
}

impl Formula<2> for Factors {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, a: A, y: A::V, g: A::V, [z, v]: [A::V; 2]) -> (A::V, [A::V; 2]) {
        let x = a.scale_add(self.of_y, &y, a.scale(-self.of_z, z.clone()));
        let squared = a.mul(a.scale(self.rest2, g.clone()), g.clone());
        let v = a.scale_add(self.beta2, &v, squared);
        let root = a.sqrt(a.scale(self.unbias, v.clone()));
        let step = a.scale_add(self.decay, &y, a.div(g, a.shift(self.epsilon, root)));
        let z = a.bounded(a.scale_add(-self.rate, &step, z), self.clip);
        let x = a.scale_add(self.share, &a.sub(z.clone(), x.clone()), x);
        let y = a.scale_add(self.beta1, &x, a.scale(self.rest1, z.clone()));
        // Rounding may exceed the bounds of both.
        (a.bounded(y, self.clip), [z, v])
    }
}
