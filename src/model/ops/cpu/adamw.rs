//! Adam's step with decoupled weight decay, as one pass over the parameters.

use rayon::prelude::*;

use super::lanes::Lanes;
use super::level::{Level, Task};

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
#[derive(Clone, Copy, Debug)]
pub struct AdamW {
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    /// AdamW's decay, which shrinks the parameters.
    pub decay: f64,
    /// Adam's decay, which adds to the gradients.
    pub coupled_decay: f64,
    /// Whether `m` and `v` are divided as above.
    pub bias_correction: bool,
    /// Bound of the parameters' size; 0 = none.
    pub clip: f64,
    pub level: Level,
}

impl AdamW {
    /// One step with learning rate `lr` in place; `step` counts from 1. The result has the same
    /// bits for any number of rayon's threads.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn step(
        &self,
        lr: f64,
        step: u64,
        parameters: &mut [f32],
        gradients: &[f32],
        first: &mut [f32],
        second: &mut [f32],
    ) {
        let len = parameters.len();
        assert_eq!((gradients.len(), first.len(), second.len()), (len, len, len), "lengths");
        let factors = self.factors(lr, step);
        // A piece and its means fit the second cache; a small tensor is not worth a second thread.
        const PIECE: usize = 1 << 14;
        let piece = |(((parameters, gradients), first), second)| {
            self.level.run(Piece { factors: &factors, parameters, gradients, first, second });
        };
        if len <= PIECE {
            return piece((((parameters, gradients), first), second));
        }
        parameters
            .par_chunks_mut(PIECE)
            .zip(gradients.par_chunks(PIECE))
            .zip(first.par_chunks_mut(PIECE))
            .zip(second.par_chunks_mut(PIECE))
            .for_each(piece);
    }
}

/// All that is the same for each parameter.
pub(in crate::model::ops) struct Factors {
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

impl AdamW {
    /// What a step at `step`, from 1, multiplies by.
    pub(in crate::model::ops) fn factors(&self, lr: f64, step: u64) -> Factors {
        let unbias = |beta: f64| match self.bias_correction {
            true => 1.0 / (1.0 - beta.powf(step as f64)),
            false => 1.0,
        };
        Factors {
            shrink: (1.0 - lr * self.decay) as f32,
            coupled: self.coupled_decay as f32,
            beta1: self.beta1 as f32,
            // In 32 bits, as Burn and other trainers take it: 1 - 0.999 differs by 1e-5 of itself.
            rest1: 1.0 - self.beta1 as f32,
            beta2: self.beta2 as f32,
            rest2: 1.0 - self.beta2 as f32,
            rate: (lr * unbias(self.beta1)) as f32,
            unbias: unbias(self.beta2) as f32,
            epsilon: self.epsilon as f32,
            clip: if self.clip == 0.0 { f32::INFINITY } else { self.clip as f32 },
        }
    }
}

struct Piece<'a> {
    factors: &'a Factors,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
}

impl Task for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Piece { factors, parameters, gradients, first, second } = self;
        let (parameters, last_parameters) = S::as_mut_simd_f32s(parameters);
        let (gradients, last_gradients) = S::as_simd_f32s(gradients);
        let (first, last_first) = S::as_mut_simd_f32s(first);
        let (second, last_second) = S::as_mut_simd_f32s(second);
        for (((p, &g), m), v) in parameters.iter_mut().zip(gradients).zip(first).zip(second) {
            (*p, *m, *v) = factors.apply(simd, *p, g, *m, *v);
        }
        if !last_parameters.is_empty() {
            let (p, m, v) = factors.apply(
                simd,
                simd.partial_load_f32s(last_parameters),
                simd.partial_load_f32s(last_gradients),
                simd.partial_load_f32s(last_first),
                simd.partial_load_f32s(last_second),
            );
            simd.partial_store_f32s(last_parameters, p);
            simd.partial_store_f32s(last_first, m);
            simd.partial_store_f32s(last_second, v);
        }
    }
}

impl Factors {
    /// The new parameters and means.
    #[inline(always)]
    fn apply<S: Lanes>(
        &self,
        simd: S,
        p: S::f32s,
        g: S::f32s,
        m: S::f32s,
        v: S::f32s,
    ) -> (S::f32s, S::f32s, S::f32s) {
        let splat = |factor| simd.splat_f32s(factor);
        let g = simd.multiply_add(splat(self.coupled), p, g);
        let m = simd.multiply_add(splat(self.rest1), g, simd.mul_f32s(splat(self.beta1), m));
        let squared = simd.mul_f32s(simd.mul_f32s(splat(self.rest2), g), g);
        let v = simd.multiply_add(splat(self.beta2), v, squared);
        let root = simd.sqrt_f32s(simd.mul_f32s(v, splat(self.unbias)));
        let step = simd
            .div_f32s(simd.mul_f32s(m, splat(self.rate)), simd.add_f32s(root, splat(self.epsilon)));
        let p = simd.sub_f32s(simd.mul_f32s(p, splat(self.shrink)), step);
        let clipped = simd.min_f32s(splat(self.clip), simd.max_f32s(splat(-self.clip), p));
        // Not every processor's min and max keep what is not a number; clipped away, it would hide
        // that training diverged. Times zero it stays, and all else adds nothing.
        let p = simd.mul_add_e_f32s(p, splat(0.0), clipped);
        (p, m, v)
    }
}
