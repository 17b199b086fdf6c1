//! Normal tails, corrections for many looks, and statistics of resamples.

use nnuance::report::bootstrap::{Bootstrap, Groups};
use nnuance::report::chance;

#[test]
fn normal_tails_and_holm() {
    // Abramowitz and Stegun, table 26.1, and published tails beyond.
    for (z, p) in [
        (0.0, 1.0),
        (1.0, 0.317_310_507_862_914),
        (1.959_963_984_540_054, 0.05),
        (-3.0, 0.002_699_796_063_260_2),
        (3.5, 0.000_465_258_158_069_3),
        (3.6, 0.000_318_217_180_250_5),
        (6.0, 1.973_175_290_075e-9),
    ] {
        let found = chance::two_sided(z);
        assert!((found / p - 1.0).abs() < 1e-7, "{z}: {found} {p}");
    }
    // The smallest against 0.05 / 4, the next against 0.05 / 3, ...
    assert_eq!(chance::holm(&[0.04, 0.012, 0.5, 0.016], 0.05), Some(0.016));
    assert_eq!(chance::holm(&[0.04, 0.013, 0.5, 0.001], 0.05), Some(0.013));
    assert_eq!(chance::holm(&[0.04, 0.013, 0.5, 0.02], 0.05), None);
    assert_eq!(chance::holm(&[], 0.05), None);
}

#[test]
fn statistics_of_resampled_means() {
    let groups = Groups::new((0..200).map(|i| i / 4));
    let column = |of: fn(f64) -> f64| groups.sums((0..200).map(|i| of(f64::from(i))));
    let resampled = Bootstrap::default().resample(&groups, &[column(f64::sin), column(f64::cos)]);
    assert_eq!(resampled.statistic(|means| means[0]), resampled.mean(0));
    assert_eq!(resampled.statistic(|means| means[0] - means[1]), resampled.difference(0, 1));
    // Some of the records: the same as if there had been no others.
    let records: Vec<u32> = (0..200).filter(|i| i % 3 == 0 && *i >= 8).collect();
    let some = groups.of_records(&records);
    let fresh = Groups::new(records.iter().map(|i| u64::from(i / 4)));
    assert_eq!((some.numbers(), some.len()), (fresh.numbers(), fresh.len()));
}
