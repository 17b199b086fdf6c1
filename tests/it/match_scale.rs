//! Factors between evaluations, on values whose factor is known.

use nnuance::report::fit::fit;
use nnuance::report::{MatchedScale, PositionFacts, match_scale};

use crate::kit::*;

struct Data {
    old: Vec<f64>,
    new: Vec<f64>,
    results: Vec<f64>,
    games: Vec<u64>,
}

/// Games of ten positions around a value that decides the result; the new evaluation is 1.7 times
/// the old one, with noise.
fn data(games: u64, noise: f64, seed: u64) -> Data {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut bell = |width: f64| -> f64 {
        width * (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>()
    };
    let mut data = Data { old: vec![], new: vec![], results: vec![], games: vec![] };
    for game in 0..games {
        let strength = bell(200.0);
        let won = bell(1.0).abs().fract() < sigmoid(strength / 150.0);
        for _ in 0..10 {
            let value = strength + bell(60.0);
            data.old.push(value + bell(noise));
            data.new.push(1.7 * (value + bell(noise)));
            data.results.push(if won { 1.0 } else { 0.0 });
            data.games.push(game);
        }
    }
    data
}

fn matched(data: &Data) -> MatchedScale {
    let truth = PositionFacts::of_games(&data.results, &data.games, "games");
    match_scale(&data.old, &data.new, &truth, 400).unwrap()
}

#[test]
fn a_multiple_is_divided_out() {
    let found = matched(&data(300, 0.0, 1));
    assert!((found.factor.mean * 1.7 - 1.0).abs() < 1e-6, "{found:?}");
    assert_eq!((found.scale_before, found.scale_after), (400, 235));
    let [low, high] = found.factor.interval.unwrap();
    assert!((low * 1.7 - 1.0).abs() < 1e-6 && (high * 1.7 - 1.0).abs() < 1e-6);
}

/// The interval from Newton steps per omitted game, against resampled fits.
#[test]
fn interval_equals_the_bootstrap() {
    let games = 200;
    let data = data(games, 60.0, 5);
    let found = matched(&data);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    let mut factors: Vec<f64> = (0..300)
        .map(|_| {
            let drawn: Vec<usize> = (0..games)
                .flat_map(|_| {
                    let game = random.random_range(0..games as usize);
                    10 * game..10 * game + 10
                })
                .collect();
            let of = |list: &[f64]| drawn.iter().map(|i| list[*i]).collect::<Vec<f64>>();
            let results = of(&data.results);
            let scale = |cp: &[f64]| fit(&of(cp), &results).scale.unwrap();
            scale(&data.old) / scale(&data.new)
        })
        .collect();
    factors.sort_by(f64::total_cmp);
    let [low, high] = found.factor.interval.unwrap();
    let width = factors[292] - factors[7];
    assert!(((high - low) / width - 1.0).abs() < 0.25, "{low} to {high}, {factors:?}");
    assert!((low - factors[7]).abs() < 0.25 * width && (high - factors[292]).abs() < 0.25 * width);
}

#[test]
fn nothing_to_match_is_refused() {
    let with = |old: &[f64], new: &[f64], results: &[f64]| {
        let groups: Vec<u64> = (0..old.len() as u64).collect();
        match_scale(old, new, &PositionFacts::of_games(results, &groups, "games"), 400).is_err()
    };
    assert!(with(&[], &[], &[]));
    assert!(with(&[10.0, -20.0], &[0.0, 0.0], &[1.0, 0.0]));
    // Inverse results fit no scale.
    assert!(with(&[10.0, -20.0, 30.0], &[10.0, -20.0, 30.0], &[0.0, 1.0, 0.5]));
}
