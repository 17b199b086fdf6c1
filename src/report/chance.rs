//! Probabilities of Student's t, and Holm's correction.

use statrs::distribution::{Continuous as _, ContinuousCDF as _, StudentsT};

/// Probability that an interval misses, or that any verdict of a family is false.
pub const LEVEL: f64 = 0.05;

/// Returns the probability that Student's t lies further from zero than `t`.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    match t.abs() {
        f64::INFINITY => 0.0,
        t if t.is_nan() => t,
        t => 2.0 * students_t(freedom).cdf(-t),
    }
}

/// Number that the absolute value of Student's t exceeds with a probability of 0 to a half.
pub fn critical_t(probability: f64, freedom: f64) -> f64 {
    // The quantiles of statrs 0.19 lose digits with many degrees of freedom, its tails do not. The
    // tail falls ever more slowly, so that Newton's steps from the left never overshoot.
    let mut t = 0.5;
    for _ in 0..200 {
        let density = students_t(freedom).pdf(t);
        let step = (two_sided(t, freedom) - probability) / (2.0 * density);
        t += step;
        if step.abs() <= 1e-12 * t {
            break;
        }
    }
    t
}

fn students_t(freedom: f64) -> StudentsT {
    assert!(freedom >= 1.0, "Student's t with {freedom} degrees of freedom");
    StudentsT::new(0.0, 1.0, freedom).expect("the scale is positive")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        // Abramowitz and Stegun, tables 26.10 and, for many degrees of freedom, 26.1.
        for (freedom, probability, t) in [
            (1.0, 0.05, 12.706),
            (5.0, 0.01, 4.032),
            (10.0, 0.2, 1.372),
            (30.0, 0.002, 3.385),
            (1e9, 0.05, 1.960),
        ] {
            let found = critical_t(probability, freedom);
            assert!((found - t).abs() < 6e-4, "{freedom}, {probability}: {found} {t}");
            assert!((two_sided(-found, freedom) / probability - 1.0).abs() < 1e-5);
        }
        assert_eq!(two_sided(f64::NEG_INFINITY, 3.0), 0.0);
        assert!(two_sided(f64::NAN, 3.0).is_nan());
    }

    #[test]
    fn smallest_probability_is_compared_with_the_smallest_share() {
        // The smallest with 0.05 / 4, the next with 0.05 / 3, ...
        let decide =
            |all: &[f64]| are_significant(&all.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(decide(&[0.04, 0.012, 0.5, 0.016]), [false, true, false, true]);
        assert_eq!(decide(&[0.04, 0.013, 0.5, 0.001]), [false, true, false, true]);
        assert_eq!(decide(&[0.04, 0.013, 0.5, 0.02]), [false; 4]);
        assert_eq!(are_significant(&[None, Some(0.04)]), [false, true]);
    }
}
