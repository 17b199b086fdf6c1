//! The activations on vectors.

use pulp::Simd;

/// An activation ρ and its derivative.
///
/// At the kinks the derivative is that of Burn's ops: 0 for ReLU at 0, and for a clamp the
/// derivative of its inside at both ends. Not-a-number stays so in the value, so that a training
/// that diverges shows it.
pub(super) trait Rho: Copy + Send + Sync {
    /// The largest ρ'.
    const STEEPEST: f32;

    /// Whether ρ(a) is the square of `a` clamped to 0 and 1.
    const IS_SQUARE: bool = false;

    /// ρ(a) and ρ'(a)
    fn both<S: Simd>(simd: S, a: S::f32s) -> (S::f32s, S::f32s);

    /// ρ(a)
    #[inline(always)]
    fn value<S: Simd>(simd: S, a: S::f32s) -> S::f32s {
        Self::both(simd, a).0
    }
}

#[derive(Clone, Copy)]
pub(super) struct ReLU;

#[derive(Clone, Copy)]
pub(super) struct CReLU;

#[derive(Clone, Copy)]
pub(super) struct SCReLU;

impl Rho for ReLU {
    const STEEPEST: f32 = 1.0;

    #[inline(always)]
    fn both<S: Simd>(simd: S, a: S::f32s) -> (S::f32s, S::f32s) {
        let (zero, one) = (simd.splat_f32s(0.0), simd.splat_f32s(1.0));
        let slope = simd.select_f32s(simd.greater_than_f32s(a, zero), one, zero);
        // x86's maximum gives its second operand when either is not a number.
        (simd.max_f32s(zero, a), slope)
    }
}

#[inline(always)]
fn clamp<S: Simd>(simd: S, a: S::f32s) -> S::f32s {
    simd.min_f32s(simd.splat_f32s(1.0), simd.max_f32s(simd.splat_f32s(0.0), a))
}

impl Rho for CReLU {
    const STEEPEST: f32 = 1.0;

    #[inline(always)]
    fn both<S: Simd>(simd: S, a: S::f32s) -> (S::f32s, S::f32s) {
        let (zero, one) = (simd.splat_f32s(0.0), simd.splat_f32s(1.0));
        let clamped = clamp(simd, a);
        (clamped, simd.select_f32s(simd.equal_f32s(a, clamped), one, zero))
    }
}

impl Rho for SCReLU {
    const STEEPEST: f32 = 2.0;
    const IS_SQUARE: bool = true;

    #[inline(always)]
    fn both<S: Simd>(simd: S, a: S::f32s) -> (S::f32s, S::f32s) {
        let clamped = clamp(simd, a);
        let twice = simd.add_f32s(clamped, clamped);
        let inside = simd.equal_f32s(a, clamped);
        (simd.mul_f32s(clamped, clamped), simd.select_f32s(inside, twice, simd.splat_f32s(0.0)))
    }
}
