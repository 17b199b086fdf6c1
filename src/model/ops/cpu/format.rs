//! Number formats of the inner loops, and activations on vectors.

use pulp::Simd;

use super::simd::Lanes;

/// Number format whose vectors have `H` times as many numbers as vectors of floats.
pub(super) trait WeightFormat<const H: usize>: WeightNumber {
    type Vector<S: Lanes>: Copy;
    fn as_vectors<S: Lanes>(numbers: &[Self]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Lanes>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];

    fn add_saturating<S: Lanes>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>)
    -> Self::Vector<S>;

    /// Adds gradients, at most [`WeightNumber::ADDENDS`].
    fn add<S: Lanes>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Converts to floats, without the scale.
    fn widen<S: Lanes>(simd: S, a: Self::Vector<S>) -> [S::f32s; H];
    /// Converts from floats, rounded. For gradients only, which fit.
    fn narrow<S: Lanes>(simd: S, a: [S::f32s; H]) -> Self::Vector<S>;

    /// Computes ρ and ρ' of accumulators, in [`Rho::units_of_rho`] of [`WeightNumber::ONE`].
    #[inline(always)]
    fn both<S: Lanes, P: Rho>(simd: S, a: Self::Vector<S>) -> ([S::f32s; H], [S::f32s; H]) {
        let one = simd.splat_f32s(Self::ONE);
        let (mut values, mut derivatives) = (Self::widen(simd, a), [simd.splat_f32s(0.0); H]);
        for h in 0..H {
            (values[h], derivatives[h]) = P::both(simd, values[h], one);
        }
        (values, derivatives)
    }
}

/// Number format without its vector instructions.
pub(super) trait WeightNumber: Copy + Default + Send + Sync + 'static {
    /// Number that represents 1 in weights and accumulators.
    const ONE: f32;
    /// Largest gradient of an accumulator, after scaling; 0: gradients are not scaled.
    const LARGEST_GRADIENT: f32;
    /// Gradients that can be added without overflow.
    const ADDENDS: usize;
    /// Converts a weight, clamped to the range.
    fn from_weight(weight: f32) -> Self;
    /// Adds weights, clamped to the range.
    fn add_clamped(a: Self, b: Self) -> Self;
}

impl WeightNumber for f32 {
    const ONE: f32 = 1.0;
    const LARGEST_GRADIENT: f32 = 0.0;
    const ADDENDS: usize = 1 << 30;

    #[inline(always)]
    fn from_weight(weight: f32) -> f32 {
        weight
    }

    #[inline(always)]
    fn add_clamped(a: f32, b: f32) -> f32 {
        a + b
    }
}

/// Fixed point: weights and sums are clamped to ±8, with a rounding of 2^-13 a weight.
impl WeightNumber for i16 {
    const ONE: f32 = 4096.0;
    const LARGEST_GRADIENT: f32 = 4095.0;
    const ADDENDS: usize = 8;

    #[inline(always)]
    fn from_weight(weight: f32) -> i16 {
        // Adding 1.5 * 2^23 leaves an integer in the lowest bits; a conversion would be a call for
        // each number on machines without an instruction for rounding.
        ((weight * Self::ONE).clamp(-32_767.0, 32_767.0) + 12_582_912.0).to_bits() as i16
    }

    #[inline(always)]
    fn add_clamped(a: i16, b: i16) -> i16 {
        a.saturating_add(b)
    }
}

impl WeightFormat<1> for f32 {
    type Vector<S: Lanes> = S::f32s;

    #[inline(always)]
    fn as_vectors<S: Lanes>(numbers: &[f32]) -> &[S::f32s] {
        S::as_simd_f32s(numbers).0
    }

    #[inline(always)]
    fn vectors_mut<S: Lanes>(numbers: &mut [f32]) -> &mut [S::f32s] {
        S::as_mut_simd_f32s(numbers).0
    }

    #[inline(always)]
    fn add_saturating<S: Lanes>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn add<S: Lanes>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn widen<S: Lanes>(_: S, a: S::f32s) -> [S::f32s; 1] {
        [a]
    }

    #[inline(always)]
    fn narrow<S: Lanes>(_: S, [a]: [S::f32s; 1]) -> S::f32s {
        a
    }
}

impl WeightFormat<2> for i16 {
    type Vector<S: Lanes> = S::i16s;

    #[inline(always)]
    fn as_vectors<S: Lanes>(numbers: &[i16]) -> &[S::i16s] {
        S::as_simd_i16s(numbers).0
    }

    #[inline(always)]
    fn vectors_mut<S: Lanes>(numbers: &mut [i16]) -> &mut [S::i16s] {
        S::as_mut_simd_i16s(numbers).0
    }

    #[inline(always)]
    fn add_saturating<S: Lanes>(simd: S, a: S::i16s, b: S::i16s) -> S::i16s {
        simd.add_saturating(a, b)
    }

    #[inline(always)]
    fn add<S: Lanes>(simd: S, a: S::i16s, b: S::i16s) -> S::i16s {
        simd.add_i16s(a, b)
    }

    #[inline(always)]
    fn widen<S: Lanes>(simd: S, a: S::i16s) -> [S::f32s; 2] {
        simd.widen(a)
    }

    #[inline(always)]
    fn narrow<S: Lanes>(simd: S, a: [S::f32s; 2]) -> S::i16s {
        simd.narrow(a)
    }
}

/// An activation ρ and its derivative. At the kinks the derivative is that of Burn's operations: 0
/// for ReLU at 0, and for a clamp the inner derivative at both ends. NaN stays NaN in the value, so
/// that a divergence is visible.
pub(super) trait Rho: Copy + Send + Sync {
    /// Largest ρ'.
    const LARGEST_DERIVATIVE: f32;
    /// Returns the units of ρ and ρ' if 1 is `one`: powers of two if `one` is.
    fn units_of_rho(one: f32) -> [f32; 2];
    /// Computes ρ(a) and ρ'(a) if 1 is `one`, in their units.
    fn both<S: Simd>(simd: S, a: S::f32s, one: S::f32s) -> (S::f32s, S::f32s);
}

/// `a` itself.
#[derive(Clone, Copy)]
pub(super) struct Linear;

impl Rho for Linear {
    const LARGEST_DERIVATIVE: f32 = 1.0;

    fn units_of_rho(one: f32) -> [f32; 2] {
        [1.0 / one, 1.0]
    }

    #[inline(always)]
    fn both<S: Simd>(simd: S, a: S::f32s, _: S::f32s) -> (S::f32s, S::f32s) {
        (a, simd.splat_f32s(1.0))
    }
}

/// `clamp(a, 0, bound)^power` with bound 1 or none, and power 1 or 2.
#[derive(Clone, Copy)]
pub(super) struct Clamped<const BOUNDED: bool, const SQUARED: bool>;

impl<const BOUNDED: bool, const SQUARED: bool> Rho for Clamped<BOUNDED, SQUARED> {
    const LARGEST_DERIVATIVE: f32 = if SQUARED { 2.0 } else { 1.0 };

    fn units_of_rho(one: f32) -> [f32; 2] {
        if SQUARED { [1.0 / (one * one), 2.0 / one] } else { [1.0 / one, 1.0] }
    }

    #[inline(always)]
    fn both<S: Simd>(simd: S, a: S::f32s, one: S::f32s) -> (S::f32s, S::f32s) {
        let zero = simd.splat_f32s(0.0);
        // x86's maximum returns its second operand if either is NaN.
        let positive = simd.max_f32s(zero, a);
        let clamped = if BOUNDED { simd.min_f32s(one, positive) } else { positive };
        let inside = match BOUNDED {
            true => simd.equal_f32s(a, clamped),
            false => simd.greater_than_f32s(a, zero),
        };
        let derivative = if SQUARED { clamped } else { simd.splat_f32s(1.0) };
        let value = if SQUARED { simd.mul_f32s(clamped, clamped) } else { clamped };
        (value, simd.select_f32s(inside, derivative, zero))
    }
}
