//! Largest and smallest of numbers with NaN kept: `f64::max` and `f64::min` skip it, so that a test
//! with them would pass. And distances of numbers.

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
