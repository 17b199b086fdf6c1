//! Tails of distributions, corrections for multiple tests, and statistics of means.

use nnuance::report::chance;
use nnuance::report::estimate::{Groups, Means};

#[test]
fn tails_and_holm() {
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
        // With this many degrees of freedom t is normal.
        let found = chance::two_sided(z, 1e9);
        assert!((found / p - 1.0).abs() < 1e-5, "{z}: {found} {p}");
    }
    // Abramowitz and Stegun, table 26.10: quantiles of Student's t.
    for (freedom, probability, t) in [
        (1.0, 0.05, 12.706),
        (2.0, 0.05, 4.303),
        (5.0, 0.01, 4.032),
        (10.0, 0.2, 1.372),
        (29.0, 0.05, 2.045),
        (30.0, 0.002, 3.385),
        (120.0, 0.05, 1.980),
    ] {
        let found = chance::critical(probability, freedom);
        assert!((found - t).abs() < 6e-4, "{freedom}, {probability}: {found} {t}");
        assert!((chance::two_sided(-found, freedom) - probability).abs() < 1e-12);
    }
    // With one degree of freedom an arc tangent, with two a root.
    for t in [0.01, 0.7, 1.0, 3.0, 500.0_f64] {
        let one = 1.0 - t.atan() * std::f64::consts::FRAC_2_PI;
        let two = 1.0 - t / (2.0 + t * t).sqrt();
        assert!((chance::two_sided(t, 1.0) - one).abs() < 1e-12, "{t}");
        assert!((chance::two_sided(t, 2.0) - two).abs() < 1e-12, "{t}");
    }
    // The smallest against 0.05 / 4, the next against 0.05 / 3, ...
    let standing =
        |all: &[f64]| chance::are_significant(&all.iter().copied().map(Some).collect::<Vec<_>>());
    assert_eq!(standing(&[0.04, 0.012, 0.5, 0.016]), [false, true, false, true]);
    assert_eq!(standing(&[0.04, 0.013, 0.5, 0.001]), [false, true, false, true]);
    assert_eq!(standing(&[0.04, 0.013, 0.5, 0.02]), [false; 4]);
    assert_eq!(chance::are_significant(&[None, Some(0.04)]), [false, true]);
}

#[test]
fn leaving_out_groups_equals_plain_loops() {
    // Groups of different sizes, some of them large.
    let of = |i: u32| u64::from(i * i / 97 % 23);
    let groups = Groups::new((0..200).map(of));
    let values: Vec<[f64; 2]> =
        (0..200).map(|i| [f64::from(i).sin(), f64::from(i * i % 17) / 7.0]).collect();
    let column = |c: usize| groups.sums(values.iter().map(|row| row[c]));
    let means = Means::new(&groups, &[column(0), column(1)]);
    let mean = |c: usize, keep: &dyn Fn(usize) -> bool| {
        let kept: Vec<f64> = (0..200).filter(|i| keep(*i)).map(|i| values[i][c]).collect();
        kept.iter().sum::<f64>() / kept.len() as f64
    };
    for (found, of_means) in [
        (means.mean(0), (|m| m[0]) as fn([f64; 2]) -> f64),
        (means.difference(0, 1), |m| m[0] - m[1]),
        (means.statistic(|mean| mean(0) / mean(1)), |m| m[0] / m[1]),
    ] {
        let whole = of_means([0, 1].map(|c| mean(c, &|_| true)));
        let keys: std::collections::BTreeSet<u64> = (0..200).map(of).collect();
        let count = keys.len() as f64;
        let squares: f64 = keys
            .iter()
            .map(|key| of_means([0, 1].map(|c| mean(c, &|i| of(i as u32) != *key))) - whole)
            .map(|change| change * change)
            .sum();
        let error = ((count - 1.0) / count * squares).sqrt();
        assert!((found.mean - whole).abs() < 1e-12);
        assert!((found.standard_error.unwrap() - error).abs() < 1e-12, "{found:?}");
        let width = error * chance::critical(0.05, count - 1.0);
        assert!((found.interval.unwrap()[1] - whole - width).abs() < 1e-12);
        let p = chance::two_sided(whole / error, count - 1.0);
        assert!((found.p.unwrap() - p).abs() < 1e-9);
        assert_eq!(found.groups, keys.len());
    }
    assert_eq!(means.statistic(|mean| mean(0) - mean(1)), means.difference(0, 1));
    // Some of the records: the same as if there had been no others.
    let records: Vec<u32> = (0..200).filter(|i| i % 3 == 0 && *i >= 8).collect();
    let some = groups.of_records(&records);
    let fresh = Groups::new(records.iter().map(|i| of(*i)));
    assert_eq!((some.records(), some.len()), (fresh.records(), fresh.len()));
    let of_some = |groups: &Groups| {
        let values = records.iter().map(|i| values[*i as usize][0]);
        Means::new(groups, &[groups.sums(values)]).mean(0)
    };
    let [some, fresh] = [of_some(&some), of_some(&fresh)];
    assert!((some.mean - fresh.mean).abs() < 1e-12 && some.groups == fresh.groups);
    assert!((some.interval.unwrap()[0] - fresh.interval.unwrap()[0]).abs() < 1e-12);
}
