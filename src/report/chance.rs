//! Probabilities of Student's t, and Holm's correction.

/// Probability that an interval misses, or that any verdict of a family is false.
pub const LEVEL: f64 = 0.05;

/// Returns the probability that Student's t lies further from zero than `t`.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    assert!(freedom >= 1.0, "Student's t with {freedom} degrees of freedom");
    if t.is_nan() {
        return f64::NAN;
    }
    // The incomplete beta function, from the side on which its fraction converges.
    let square = t * t / freedom;
    if !square.is_finite() {
        return 0.0;
    }
    let (a, b) = (freedom / 2.0, 0.5);
    let [inside, outside] = [square / (1.0 + square), 1.0 / (1.0 + square)];
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) - (a + b) * square.ln_1p();
    let front = (front + b * square.ln()).exp();
    if outside < (a + 1.0) / (a + b + 2.0) {
        (front * beta_fraction(a, b, outside) / a).clamp(0.0, 1.0)
    } else {
        (1.0 - front * beta_fraction(b, a, inside) / b).clamp(0.0, 1.0)
    }
}

/// Returns the number that |t| of Student's t exceeds with a probability of 0 to a half.
pub fn critical_t(probability: f64, freedom: f64) -> f64 {
    let constant = (ln_gamma((freedom + 1.0) / 2.0) - ln_gamma(freedom / 2.0)).exp()
        / (freedom * std::f64::consts::PI).sqrt();
    // The tail falls ever more slowly, so that Newton's steps from the left never overshoot.
    let mut t = 0.5;
    for _ in 0..200 {
        let density = constant * (-(freedom + 1.0) / 2.0 * (t * t / freedom).ln_1p()).exp();
        let step = (two_sided(t, freedom) - probability) / (2.0 * density);
        t += step;
        if step.abs() <= 1e-12 * t {
            break;
        }
    }
    t
}

/// Computes the incomplete beta function's continued fraction (Abramowitz, Stegun, 26.5.8; Lentz).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut numerator, mut denominator) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut product = denominator;
    for n in 1..10_000 {
        let m = f64::from(n);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = product;
        for term in [even, odd] {
            denominator = 1.0 / nonzero(1.0 + term * denominator);
            numerator = nonzero(1.0 + term / numerator);
            product *= numerator * denominator;
        }
        if (product / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// Returns the logarithm of the gamma function above zero. Source: Abramowitz and Stegun, 6.1.41.
fn ln_gamma(x: f64) -> f64 {
    // The series is accurate from ten on.
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    let series = series.iter().rev().fold(0.0, |sum, term| sum * square + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - product.ln()
}

/// Returns which probabilities are significant by S. Holm's test (1979). Unknown ones never are.
pub fn are_significant(all: &[Option<f64>]) -> Vec<bool> {
    let mut sorted: Vec<f64> = all.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let rejected = |(i, p): &(usize, &f64)| **p <= LEVEL / (count - i) as f64;
    let limit = sorted.iter().enumerate().take_while(rejected).map(|(_, p)| *p).last();
    all.iter().map(|p| p.is_some_and(|p| limit.is_some_and(|limit| p <= limit))).collect()
}

/// Returns the indices of neighbours among all pairs of a ranking, those of the first member first.
pub fn neighbour_indices(count: usize) -> Vec<usize> {
    let runs = (1..count).rev();
    runs.scan(0, |first, run| Some(std::mem::replace(first, *first + run))).collect()
}

/// Reasons why a difference is undecided by its numbers alone.
pub const OPEN: [&str; 2] = ["the interval contains zero", "one of many, so maybe random (Holm)"];

/// A difference of two members of a ranking, whose verdict is not yet known.
pub struct OpenVerdict<'a> {
    /// Probability of such a difference by chance; None if unknown.
    pub p: Option<f64>,
    pub contains_zero: bool,
    pub decided: &'a mut bool,
    /// Reason why the difference is undecided whatever its numbers are, if any.
    pub why: &'a mut Option<String>,
}

/// Decides the verdicts on all pairs of a ranking, or fills in why they are open. Neighbours are
/// tested among themselves, other pairs among all.
pub fn decide_verdicts<'a>(verdicts: impl Iterator<Item = OpenVerdict<'a>>, count: usize) {
    let verdicts: Vec<OpenVerdict> = verdicts.collect();
    let all: Vec<Option<f64>> =
        verdicts.iter().map(|verdict| verdict.p.filter(|_| verdict.why.is_none())).collect();
    let neighbours = neighbour_indices(count);
    let near: Vec<Option<f64>> = neighbours.iter().map(|pair| all[*pair]).collect();
    let mut significant = are_significant(&all);
    for (pair, is_significant) in neighbours.into_iter().zip(are_significant(&near)) {
        significant[pair] = is_significant;
    }
    for (verdict, is_significant) in verdicts.into_iter().zip(significant) {
        if verdict.contains_zero || !is_significant {
            let open = OPEN[usize::from(!verdict.contains_zero)];
            verdict.why.get_or_insert_with(|| open.to_string());
        }
        *verdict.decided = verdict.why.is_none();
    }
}
