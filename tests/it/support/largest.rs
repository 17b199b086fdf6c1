//! Largest and smallest of numbers with NaN kept: `f64::max` and `f64::min` skip it, so that a test
//! with them would pass. And distances of numbers.

use nnuance::weights::Weights;

/// The largest, at least 0; NaN if one of them is.
pub fn largest(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |most: f64, one: f64| if one.is_nan() || one > most { one } else { most };
    numbers.into_iter().fold(0.0, larger)
}

/// The smallest, infinite if there are none; NaN if one of them is.
pub fn smallest(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let smaller = |least: f64, one: f64| if one.is_nan() || one < least { one } else { least };
    numbers.into_iter().fold(f64::INFINITY, smaller)
}

/// `|a - b| / |b|` over all values together.
pub fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let apart: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    let size: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    if apart == 0.0 { 0.0 } else { (apart / size).sqrt() }
}

/// The largest difference of two lists, and the largest number of the second.
pub fn error_and_size(got: &[f32], right: &[f32]) -> [f64; 2] {
    assert_eq!(got.len(), right.len());
    let size = largest(right.iter().map(|it| f64::from(it.abs())));
    [largest(got.iter().zip(right).map(|(a, b)| f64::from((a - b).abs()))), size]
}

/// Asserts that the distance of each array is below a bound.
pub fn assert_close(what: &str, got: &Weights, right: &Weights, bound: f64) {
    for (name, array) in &right.0 {
        let apart = distance(&got.0[name].values, &array.values);
        assert!(apart < bound, "{what}: {name} is {apart:.1e} off");
    }
}

/// Asserts that losses, and numbers as a share of their array's largest, differ by less than bounds.
pub fn assert_near(
    what: &str,
    got: &(f32, Weights),
    right: &(f32, Weights),
    [of_loss, of_numbers]: [f64; 2],
) {
    let apart = f64::from((got.0 - right.0).abs());
    assert!(apart < of_loss, "{what}: loss {} for {}", got.0, right.0);
    for (name, array) in &right.1.0 {
        let [error, size] = error_and_size(&got.1.0[name].values, &array.values);
        assert!(error < of_numbers * size, "{what}: {name}: {error:.1e} of {size:.1e}");
    }
}

#[test]
fn nan_stays() {
    assert_eq!((largest([1.0, 3.0, 2.0]), smallest([2.0, 1.0, 3.0])), (3.0, 1.0));
    assert_eq!((largest([]), smallest([])), (0.0, f64::INFINITY));
    for at in 0..3 {
        let mut numbers = [1.0, 3.0, 2.0];
        numbers[at] = f64::NAN;
        assert!(largest(numbers).is_nan() && smallest(numbers).is_nan(), "{at}");
    }
}
