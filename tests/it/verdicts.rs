//! When a winner is named, and when not.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use nnuance::format::binpack;
use nnuance::report::{Comparison, Options, Predictions, Truth, compare};
use nnuance::sample::Sample;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

use crate::formats::write;
use crate::whole_games::games;

/// Games of eight positions, seen well or with much noise.
struct World {
    results: Vec<f64>,
    groups: Vec<u64>,
    evaluations: Vec<Predictions>,
}

fn world(games: u64, noises: &[f64]) -> World {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(21);
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let (mut results, mut groups) = (Vec::new(), Vec::new());
    let mut cp = vec![Vec::new(); noises.len()];
    for game in 0..games {
        let strength = uniform() - 0.5;
        let won = uniform() - 0.5 < 1.5 * strength;
        for _ in 0..8 {
            results.push(f64::from(u8::from(won)));
            groups.push(game);
            for (cp, noise) in cp.iter_mut().zip(noises) {
                cp.push(400.0 * (strength + noise * (uniform() - 0.5)));
            }
        }
    }
    let names = ["good", "fair", "poor", "worst"];
    let evaluations = names.iter().zip(cp).map(|(name, cp)| Predictions::new(*name, cp));
    World { results, groups, evaluations: evaluations.collect() }
}

impl World {
    fn truth(&self) -> Truth<'_> {
        Truth::of_games(&self.results, &self.groups, "games")
    }

    fn compare(&self, truth: &Truth) -> Comparison {
        compare(&self.evaluations, truth, &Options::default()).unwrap()
    }
}

/// The sentence on the first two, and whether they are decided.
fn first(comparison: &Comparison) -> (&str, bool) {
    (&comparison.sentences[0], comparison.pairs[0].decided)
}

#[test]
fn a_winner_needs_games_that_are_known_and_thirty_of_them() {
    let many = world(30, &[0.0, 6.0]);
    let comparison = many.compare(&many.truth());
    let (sentence, decided) = first(&comparison);
    assert!(decided && sentence.ends_with("good wins."), "{sentence}");

    let unknown = Truth { games_known: false, ..many.truth() };
    let comparison = many.compare(&unknown);
    let (sentence, decided) = first(&comparison);
    assert!(
        !decided && sentence.ends_with("; games unknown: these data cannot tell."),
        "{sentence}"
    );
    assert!(sentence.contains("(95 % interval at least "), "{sentence}");
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["games_known"], false);
    assert_eq!(json["evaluations"][0]["loss"]["interval_is_lower_bound"], true);
    assert_eq!(json["pairs"][0]["difference"]["interval_is_lower_bound"], true);
    assert_eq!(json["pairs"][0]["why"], "games unknown");

    for games in [3, 29] {
        let few = world(games, &[0.0, 6.0]);
        let comparison = few.compare(&few.truth());
        let (sentence, decided) = first(&comparison);
        let end = format!("; {games} games, fewer than 30: these data cannot tell.");
        assert!(!decided && sentence.ends_with(&end), "{sentence}");
    }
}

#[test]
fn no_winner_from_one_result_from_a_border_or_from_doubtful_results() {
    let mut one_result = world(100, &[0.0, 6.0]);
    one_result.results.fill(1.0);
    let comparison = one_result.compare(&one_result.truth());
    let (sentence, decided) = first(&comparison);
    assert!(
        !decided && sentence.contains("every result is 1: these data cannot tell"),
        "{sentence}"
    );

    let mut turned = world(100, &[0.0, 0.0]);
    let upside_down = turned.evaluations[0].clone();
    let nnuance::report::Values::Cp(cp) = &upside_down.values else { panic!("centipawns") };
    turned.evaluations[1] = Predictions::new("down", cp.iter().map(|cp| -cp).collect());
    let comparison = turned.compare(&turned.truth());
    let (sentence, decided) = first(&comparison);
    let end = "the best scale of down lies at the border of the search: these data cannot tell.";
    assert!(!decided && sentence.ends_with(end), "{sentence}");

    let good = world(100, &[0.0, 6.0]);
    let doubtful = Truth { doubt: Some("the results seem to be turned"), ..good.truth() };
    let comparison = good.compare(&doubtful);
    let (sentence, decided) = first(&comparison);
    let end = "; the results seem to be turned: these data cannot tell.";
    assert!(!decided && sentence.ends_with(end), "{sentence}");
}

#[test]
fn doubts_stand_in_the_sentence_that_names_a_winner_and_bounds_never_win() {
    let mut world = world(200, &[0.0, 6.0]);
    world.evaluations[1].doubt = Some("it was poor".into());
    let comparison = world.compare(&world.truth());
    let (sentence, _) = first(&comparison);
    assert!(sentence.ends_with("good wins."), "the loser's doubt changes nothing: {sentence}");
    world.evaluations[0].doubt = Some("good was trained on these, which cannot be told".into());
    let comparison = world.compare(&world.truth());
    let (sentence, decided) = first(&comparison);
    let end = ": good wins, unless good was trained on these, which cannot be told.";
    assert!(decided && sentence.ends_with(end), "{sentence}");
    assert!(comparison.evaluations[0].doubt.is_some());
    world.evaluations[0].bound = true;
    let comparison = world.compare(&world.truth());
    let (sentence, decided) = first(&comparison);
    assert!(decided && !sentence.contains("wins") && sentence.contains("a bound"), "{sentence}");
}

#[test]
fn verdicts_of_one_comparison_are_corrected_together() {
    // One pair of neighbours whose interval leaves zero out by little, among others that do not.
    let (mut changed, mut kept) = (0, 0);
    for games in 40..160 {
        let step = [0.05, 0.1, 0.2][games as usize % 3];
        let world = world(games, &[0.8, 0.8 + step, 0.8 + 2.0 * step, 0.8 + 3.0 * step]);
        let comparison = world.compare(&world.truth());
        // Pairs of four, by rank: 0-1, 0-2, 0-3, 1-2, 1-3, 2-3.
        let neighbours = [0, 3, 5].map(|place| &comparison.pairs[place]);
        let p = neighbours.map(|pair| pair.difference.p.unwrap());
        let limit = nnuance::report::chance::holm(&p, 0.05);
        for (pair, p) in neighbours.iter().zip(p) {
            assert_eq!(pair.decided, limit.is_some_and(|limit| p <= limit), "{pair:?}");
            assert_eq!(pair.decided, pair.why.is_none());
            if p <= 0.05 && !pair.decided {
                changed += 1;
                assert!(!pair.difference.contains_zero());
                let text = comparison.sentences.join(" ");
                assert!(text.contains("leaves zero out, but one of 3 may by chance"));
            }
            kept += usize::from(pair.decided);
        }
    }
    assert!(changed > 0 && kept > 0, "{changed} {kept}");
}

fn nnuance(args: &[&str], more: &[&Path]) -> (Value, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let output = command.args(args).args(more).assert().success().get_output().clone();
    let text = String::from_utf8(output.stdout).expect("text");
    let said = String::from_utf8(output.stderr).expect("text");
    (serde_json::from_str(&text).unwrap_or(Value::String(text)), said)
}

#[test]
fn compare_takes_the_keys_of_a_filter_and_games_stay_games() {
    let given = ["compare", "material", "tests/it/fixtures/pesto.json", "--json", "--data"];
    let games: PathBuf = "data/selfplay-sf15.vf".into();
    let keys = ["--min-ply", "16", "--skip-captures", "--min-pieces", "6", "--max-score", "2000"];
    let plain = nnuance(&given, &[&games]).0;
    let keys: Vec<&Path> = keys.iter().map(Path::new).collect();
    let (filtered, said) = nnuance(&given, &[&[games.as_path()], &keys[..]].concat());
    let count = |json: &Value, of: &str| json["measured_on"][of].as_u64().expect("a number");
    assert!(count(&filtered, "positions") < count(&plain, "positions"), "{said}");
    // Hardly a game lies below these borders as a whole, and none becomes two.
    let [all, left] = [&plain, &filtered].map(|json| count(json, "groups"));
    assert!(left <= all && left > all * 9 / 10, "{left} of {all}");
    assert_eq!(filtered["games_known"], true);
    assert_eq!(filtered["pairs"][0]["decided"], true);
}

/// What `compare` says of material on samples as a binpack, and of each sample of `alone` as a
/// chain of its own behind them.
fn with_chains_of_one(samples: &[Sample], alone: &[Sample]) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("games.binpack");
    let mut bytes = write(&binpack::FORMAT, samples).expect("games");
    for sample in alone {
        bytes.extend(write(&binpack::FORMAT, &[*sample]).expect("a position"));
    }
    std::fs::write(&path, bytes).expect("a file");
    nnuance(&["compare", "material", "constant", "--json", "--data"], &[&path])
}

#[test]
fn a_few_chains_of_one_position_leave_games_known() {
    let games = games();
    let few = games.len() / 1000;
    assert!(few > 1);
    for (alone, known) in [(0, true), (few, true), (few + 2, false)] {
        let (json, said) = with_chains_of_one(&games, &games[..alone]);
        assert_eq!(json["games_known"], known, "{alone}: {said}");
        assert_eq!(json["measured_on"]["positions"], games.len() + alone);
        let told = format!("the games of {alone} of ");
        assert_eq!(said.contains(&told), !known, "{alone}: {said}");
        assert_eq!(json["pairs"][0]["difference"]["interval_is_lower_bound"], !known);
    }
    let (json, said) = with_chains_of_one(&games[..1], &games[..40]);
    assert!(json["games_known"] == false && said.contains("are unknown"), "{said}");
}

#[test]
fn floats_and_integers_of_one_net_are_no_rivals() {
    let mut world = world(200, &[0.0, 1.0, 6.0]);
    let apart = world.compare(&world.truth());
    assert!(apart.pairs.iter().all(|pair| pair.decided && !pair.rounding));
    for net in &mut world.evaluations[..2] {
        net.net = Some(0);
    }
    let comparison = world.compare(&world.truth());
    let (sentence, decided) = first(&comparison);
    assert!(!decided && comparison.pairs[0].rounding, "{sentence}");
    assert!(sentence.contains("rounding: no contest.") && !sentence.contains("wins"), "{sentence}");
    assert!(comparison.pairs[1..].iter().all(|pair| pair.decided && !pair.rounding));
    assert_eq!(comparison.sentences[1], apart.sentences[1]);
}
