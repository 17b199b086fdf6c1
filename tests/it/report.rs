//! Comparisons: published figures, scales, intervals and honest sentences.

use nnuance::report::estimate::{Groups, Means};
use nnuance::report::fit::{fit, loss, near};

use nnuance::report::{PositionFacts, Predictions, compare, part};

use crate::kit::*;
use crate::problems::Dice;

#[test]
fn the_scale_is_recovered() {
    let mut dice = Dice::new(3);
    for scale in [3.0, 120.0, 400.0, 20_000.0] {
        let cp: Vec<f64> = (0..50_000).map(|_| (dice.share() - 0.5) * 6.0 * scale).collect();
        let targets: Vec<f64> = cp.iter().map(|cp| sigmoid(cp / scale)).collect();
        let exact = fit(&cp, &targets);
        assert!((exact.scale.unwrap() / scale - 1.0).abs() < 1e-5, "{exact:?}");
        let result = |target: &f64| f64::from(u8::from(dice.share() < *target));
        let results: Vec<f64> = targets.iter().map(result).collect();
        let noisy = fit(&cp, &results);
        assert!((noisy.scale.unwrap() / scale - 1.0).abs() < 0.05, "{noisy:?}");
        assert!(!noisy.at_border);
        assert!(noisy.loss <= loss(&cp, &results, scale));
    }
}

#[test]
fn nearby_scale_equals_the_search() {
    let mut dice = Dice::new(6);
    for (count, scale) in [(40_000, 150.0), (300, 30.0), (60, 400.0)] {
        let cp: Vec<f64> = (0..count).map(|_| (dice.share() - 0.5) * 5.0 * scale).collect();
        let result = |cp: &f64| f64::from(u8::from(dice.share() < sigmoid(cp / scale)));
        let results: Vec<f64> = cp.iter().map(result).collect();
        let whole = fit(&cp, &results).scale.unwrap();
        for part in 0..5 {
            let on: Vec<usize> = (0..count).filter(|i| i % 5 != part).collect();
            let take = |list: &[f64]| on.iter().map(|i| list[*i]).collect::<Vec<f64>>();
            let searched = fit(&take(&cp), &take(&results)).scale.unwrap();
            let found = near(&cp, &results, &on, whole).unwrap();
            assert!((found / searched - 1.0).abs() < 1e-5, "{count}: {found} {searched}");
        }
    }
    // If the minimum is elsewhere or does not exist, none is found.
    assert_eq!(near(&[100.0, -100.0], &[0.0, 1.0], &[0, 1], 100.0), None);
    assert_eq!(near(&[0.0, 0.0], &[0.0, 1.0], &[0, 1], 100.0), None);
}

/// The jackknife over groups and Student's t with one degree of freedom less than groups.
#[test]
fn intervals_follow_the_definition() {
    let keys = [0, 0, 1, 2, 2, 2, 3, 4, 4];
    let values = [0.3, 0.1, 0.9, 0.2, 0.5, 0.4, 0.8, 0.1, 0.7];
    let mean = |without: Option<u64>| -> f64 {
        let left = keys.iter().zip(values).filter(|(key, _)| Some(**key) != without);
        let left: Vec<f64> = left.map(|(_, value)| value).collect();
        left.iter().sum::<f64>() / left.len() as f64
    };
    let whole = mean(None);
    let squares: f64 = (0..5).map(|key| (mean(Some(key)) - whole).powi(2)).sum();
    let error = (4.0 / 5.0 * squares).sqrt();
    let groups = Groups::new(keys);
    let found = Means::new(&groups, &[groups.sums(values)]).mean(0);
    assert!((found.mean - whole).abs() < 1e-12);
    assert!((found.standard_error.unwrap() - error).abs() < 1e-12);
    // t for 5 % and 4 degrees of freedom, from a table.
    let [low, high] = found.interval.unwrap();
    assert!(((high - low) / (2.0 * error) - 2.776_445).abs() < 1e-5, "{low} {high}");
    assert!(found.p.unwrap() > 0.0);
}

#[test]
fn same_bits_for_any_threads() {
    let values: Vec<f64> = (0..20_000).map(|i| f64::from(i % 97)).collect();
    let groups = Groups::new((0..20_000).map(|i| i / 7));
    same_for_threads(&[4], "means", || {
        let targets: Vec<f64> = values.iter().map(|v| v / 97.0).collect();
        let means = Means::new(&groups, &[groups.sums(values.clone())]);
        (means.mean(0), means.statistic(|mean| mean(0).ln()), fit(&values, &targets))
    });
    let flat = Means::new(&groups, &[groups.sums(vec![3.0; 20_000])]).mean(0);
    assert_eq!((flat.interval, flat.standard_error), (Some([3.0, 3.0]), Some(0.0)));
    let single = Means::new(&Groups::new([1, 1]), &[vec![1.0]]).mean(0);
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
    let truth = PositionFacts::of_games(&results, &groups, "held-out games");
    let loss =
        |evaluation: Predictions| compare(&[evaluation], &truth).unwrap().evaluations[0].loss.mean;
    let mut sum = 0.0;
    for fold in 0..5 {
        let is_own = |i: &usize| part(groups[*i]) == fold;
        let (own, others): (Vec<usize>, Vec<usize>) = (0..cp.len()).partition(is_own);
        assert!(!own.is_empty());
        let take = |list: &[f64]| others.iter().map(|i| list[*i]).collect::<Vec<f64>>();
        let scale = fit(&take(&cp), &take(&results)).scale.unwrap();
        let square = |i: usize| (sigmoid(cp[i] / scale) - results[i]).powi(2);
        sum += own.into_iter().map(square).sum::<f64>();
    }
    let found = loss(Predictions::new("net", cp.clone()));
    assert!((found - sum / cp.len() as f64).abs() < 1e-7, "{found}");
    assert!(found - fit(&cp, &results).loss > 1e-5);
    // The constant of a fifth is the mean of the others.
    let constant = loss(Predictions::constant());
    let mean = |i: usize| {
        let fold = part(groups[i]);
        let others = (0..cp.len()).filter(|j| part(groups[*j]) != fold);
        let others: Vec<f64> = others.map(|j| results[j]).collect();
        others.iter().sum::<f64>() / others.len() as f64
    };
    let right = (0..cp.len()).map(|i| (mean(i) - results[i]).powi(2)).sum::<f64>();
    assert!((constant - right / cp.len() as f64).abs() < 1e-12);
}
