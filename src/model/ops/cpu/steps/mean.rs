//! A step of a mean towards what is added to it.

use super::super::lanes::Lanes;
use super::Formula;

/// `p += share * (g - p)`: the "gradient" is what joins the mean.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub share: f32,
}

impl Formula<0> for Mean {
    #[inline(always)]
    fn apply<S: Lanes>(
        &self,
        simd: S,
        p: S::f32s,
        g: S::f32s,
        _: [S::f32s; 0],
    ) -> (S::f32s, [S::f32s; 0]) {
        let share = simd.splat_f32s(self.share);
        (simd.multiply_add(share, simd.sub_f32s(g, p), p), [])
    }
}
