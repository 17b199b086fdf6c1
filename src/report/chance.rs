//! What chance alone would give, and what stands among many looks.

/// The probability that a standard normal number lies further from zero than `z`.
///
/// For small arguments the Taylor series of the error function, else the continued fraction of
/// its complement. Source: Abramowitz and Stegun, 7.1.6 and 7.1.14.
pub fn two_sided(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let density = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 2.5 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > 1e-17 * sum {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        return (1.0 - 2.0 * density * sum).clamp(0.0, 1.0);
    }
    // erfc(x) = density / (x + (1/2) / (x + (2/2) / (x + ...))), from the far end.
    density / (1..=60).rev().fold(x, |below, n| x + f64::from(n) / 2.0 / below)
}

/// The largest of the probabilities that is still rejected when the chance of any false rejection
/// among all is to stay at `level`; None if none is.
pub fn holm(probabilities: &[f64], level: f64) -> Option<f64> {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let standing = sorted.iter().enumerate();
    standing.take_while(|(i, p)| **p <= level / (count - i) as f64).map(|(_, p)| *p).last()
}
