//! The exponential in operations that vectors have.

/// `exp(-x)` for `x` of 0 or more, to about 1e-7 of it; beyond 87, where it would lose bits, it
/// stays as it is there. What is not a number stays so.
#[inline(always)]
pub(super) fn exp_of_negative(x: f32) -> f32 {
    let x = if x > 87.0 { -87.0 } else { -x };
    // Adding 1.5 * 2^23 leaves no room for a fraction, and the integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts, the first with so few bits that its multiples are exact.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    // Taylor's series: with a rest of at most ln 2 / 2 what is left out is below 1e-8.
    let mut series = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = series * rest + factor;
    }
    series * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}
