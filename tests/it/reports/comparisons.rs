//! Comparisons: published figures, scales, intervals, tails of distributions.

use nnuance::report::chance;
use nnuance::report::estimate::{Groups, Means};
use nnuance::report::fit::{fit_near, fit_scale, mean_loss};
use nnuance::report::{Predictions, compare, part_of_group};

use crate::support::kit::*;

#[test]
fn the_scale_is_recovered() {
    let mut dice = Dice::new(3);
    for scale in [3.0, 120.0, 400.0, 20_000.0] {
        let cp: Vec<f64> = (0..50_000).map(|_| (dice.share() - 0.5) * 6.0 * scale).collect();
        let targets: Vec<f64> = cp.iter().map(|cp| sigmoid(cp / scale)).collect();
        let exact = fit_scale(&cp, &targets);
        assert!((exact.scale.unwrap() / scale - 1.0).abs() < 1e-5, "{exact:?}");
        let result = |target: &f64| f64::from(u8::from(dice.share() < *target));
        let results: Vec<f64> = targets.iter().map(result).collect();
        let noisy = fit_scale(&cp, &results);
        let fitted = noisy.scale.unwrap();
        assert!((fitted / scale - 1.0).abs() < 0.05, "{noisy:?}");
        assert!(!noisy.at_border);
        assert!(mean_loss(&cp, &results, fitted) <= mean_loss(&cp, &results, scale));
    }
}

#[test]
fn nearby_scale_equals_the_search() {
    let mut dice = Dice::new(6);
    for (count, scale) in [(40_000, 150.0), (300, 30.0), (60, 400.0)] {
        let cp: Vec<f64> = (0..count).map(|_| (dice.share() - 0.5) * 5.0 * scale).collect();
        let result = |cp: &f64| f64::from(u8::from(dice.share() < sigmoid(cp / scale)));
        let results: Vec<f64> = cp.iter().map(result).collect();
        let whole = fit_scale(&cp, &results).scale.unwrap();
        for part in 0..5 {
            let on: Vec<usize> = (0..count).filter(|i| i % 5 != part).collect();
            let take = |list: &[f64]| on.iter().map(|i| list[*i]).collect::<Vec<f64>>();
            let searched = fit_scale(&take(&cp), &take(&results)).scale.unwrap();
            let found = fit_near(&cp, &results, &on, whole).unwrap();
            assert!((found / searched - 1.0).abs() < 1e-5, "{count}: {found} {searched}");
        }
    }
    // If the minimum is elsewhere or does not exist, none is found.
    assert_eq!(fit_near(&[100.0, -100.0], &[0.0, 1.0], &[0, 1], 100.0), None);
    assert_eq!(fit_near(&[0.0, 0.0], &[0.0, 1.0], &[0, 1], 100.0), None);
}

#[test]
fn same_bits_for_any_threads() {
    let values: Vec<f64> = (0..20_000).map(|i| f64::from(i % 97)).collect();
    let groups = Groups::new((0..20_000).map(|i| i / 7), true);
    same_for_threads(&[4], "means", || {
        let targets: Vec<f64> = values.iter().map(|v| v / 97.0).collect();
        let means = Means::new(&groups, &[groups.sum_groups(values.clone())]);
        (
            means.mean_of_column(0),
            means.estimate_statistic(|mean| mean(0).ln()),
            fit_scale(&values, &targets),
        )
    });
    let flat = Means::new(&groups, &[groups.sum_groups(vec![3.0; 20_000])]).mean_of_column(0);
    assert_eq!((flat.interval, flat.standard_error), (Some([3.0, 3.0]), Some(0.0)));
    let single = Means::new(&Groups::new([1, 1], true), &[vec![1.0]]).mean_of_column(0);
    assert_eq!((single.mean, single.interval, single.contains_zero()), (0.5, None, true));
}

/// No game is measured with a scale that it helped to fit.
#[test]
fn scales_are_cross_fitted() {
    let mut dice = Dice::new(4);
    let (mut results, mut groups, mut cp) = (Vec::new(), Vec::new(), Vec::new());
    for game in 0..60 {
        let strength = 4.0 * (dice.share() - 0.5);
        let won = dice.share() < sigmoid(strength);
        for _ in 0..10 {
            results.push(if won { 1.0 } else { 0.0 });
            groups.push(game);
            cp.push(300.0 * (strength + 4.0 * (dice.share() - 0.5)));
        }
    }
    let truth = facts_of_games(&results, &groups, "held-out games");
    let loss =
        |evaluation: Predictions| compare(&[evaluation], &truth).unwrap().evaluations[0].loss.mean;
    let mut sum = 0.0;
    for fold in 0..5 {
        let is_own = |i: &usize| part_of_group(groups[*i]) == fold;
        let (own, others): (Vec<usize>, Vec<usize>) = (0..cp.len()).partition(is_own);
        assert!(!own.is_empty());
        let take = |list: &[f64]| others.iter().map(|i| list[*i]).collect::<Vec<f64>>();
        let scale = fit_scale(&take(&cp), &take(&results)).scale.unwrap();
        let square = |i: usize| (sigmoid(cp[i] / scale) - results[i]).powi(2);
        sum += own.into_iter().map(square).sum::<f64>();
    }
    let found = loss(Predictions::new("net", cp.clone()));
    assert!((found - sum / cp.len() as f64).abs() < 1e-7, "{found}");
    let scale = fit_scale(&cp, &results).scale.unwrap();
    assert!(found - mean_loss(&cp, &results, scale) > 1e-5);
    // The constant of a fifth is the mean of the others.
    let constant = loss(Predictions::of_constant());
    let mean = |i: usize| {
        let fold = part_of_group(groups[i]);
        let others = (0..cp.len()).filter(|j| part_of_group(groups[*j]) != fold);
        let others: Vec<f64> = others.map(|j| results[j]).collect();
        others.iter().sum::<f64>() / others.len() as f64
    };
    let right = (0..cp.len()).map(|i| (mean(i) - results[i]).powi(2)).sum::<f64>();
    assert!((constant - right / cp.len() as f64).abs() < 1e-12);
}

#[test]
fn leaving_out_groups_equals_plain_loops() {
    // Groups of different sizes, some of them large.
    let of = |i: u32| u64::from(i * i / 97 % 23);
    let groups = Groups::new((0..200).map(of), true);
    let values: Vec<[f64; 2]> =
        (0..200).map(|i| [f64::from(i).sin(), f64::from(i * i % 17) / 7.0]).collect();
    let column = |c: usize| groups.sum_groups(values.iter().map(|row| row[c]));
    let means = Means::new(&groups, &[column(0), column(1)]);
    let mean = |c: usize, keep: &dyn Fn(usize) -> bool| {
        let kept: Vec<f64> = (0..200).filter(|i| keep(*i)).map(|i| values[i][c]).collect();
        kept.iter().sum::<f64>() / kept.len() as f64
    };
    for (found, of_means) in [
        (means.mean_of_column(0), (|m| m[0]) as fn([f64; 2]) -> f64),
        (means.difference_of_columns(0, 1), |m| m[0] - m[1]),
        (means.estimate_statistic(|mean| mean(0) / mean(1)), |m| m[0] / m[1]),
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
        let width = error * chance::critical_t(0.05, count - 1.0);
        assert!((found.interval.unwrap()[1] - whole - width).abs() < 1e-12);
        let p = chance::two_sided(whole / error, count - 1.0);
        assert!((found.p.unwrap() - p).abs() < 1e-9);
        assert_eq!(found.groups, keys.len());
    }
    assert_eq!(
        means.estimate_statistic(|mean| mean(0) - mean(1)),
        means.difference_of_columns(0, 1)
    );
    // Some of the records: the same as if there had been no others.
    let records: Vec<u32> = (0..200).filter(|i| i % 3 == 0 && *i >= 8).collect();
    let some = groups.of_records(&records);
    let fresh = Groups::new(records.iter().map(|i| of(*i)), true);
    assert_eq!((some.record_count(), some.len()), (fresh.record_count(), fresh.len()));
    let of_some = |groups: &Groups| {
        let values = records.iter().map(|i| values[*i as usize][0]);
        Means::new(groups, &[groups.sum_groups(values)]).mean_of_column(0)
    };
    let [some, fresh] = [of_some(&some), of_some(&fresh)];
    assert!((some.mean - fresh.mean).abs() < 1e-12 && some.groups == fresh.groups);
    assert!((some.interval.unwrap()[0] - fresh.interval.unwrap()[0]).abs() < 1e-12);
}
