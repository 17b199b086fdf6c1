//! When a winner is named, and when not.

use nnuance::format::{binpack, viriformat};
use nnuance::report::{Comparison, PositionFacts, Predictions, compare};
use nnuance::sketch::Sketch;

use crate::formats::registry::{read, scratch, write};
use crate::formats::whole_games::games;
use crate::support::kit::*;

/// Games of eight positions, evaluated well or with much noise.
struct World {
    results: Vec<f64>,
    groups: Vec<u64>,
    evaluations: Vec<Predictions>,
}

fn world(games: u64, noises: &[f64]) -> World {
    let mut dice = Dice::new(21);
    let mut uniform = || dice.share();
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
    fn truth(&self) -> PositionFacts {
        facts_of_games(&self.results, &self.groups, "games")
    }

    fn compare(&self, truth: &PositionFacts) -> Comparison {
        compare(&self.evaluations, truth).unwrap()
    }
}

/// A winner needs thirty games, all known, results that differ and a scale within the search.
#[test]
fn doubts_leave_pairs_undecided() {
    let good = world(100, &[0.0, 6.0]);
    let decided = |world: &World, truth: &PositionFacts| world.compare(truth).pairs[0].decided;
    assert!(decided(&good, &good.truth()));
    let unknown = PositionFacts { games_known: false, ..good.truth() };
    assert!(!decided(&good, &unknown));
    let json = serde_json::to_value(good.compare(&unknown)).unwrap();
    assert_eq!(json["evaluations"][0]["loss"]["interval_is_lower_bound"], true);
    let doubtful = PositionFacts { cautions: vec!["of the results".into()], ..good.truth() };
    assert!(!decided(&good, &doubtful));
    for (games, are_enough) in [(3, false), (29, false), (30, true)] {
        let some = world(games, &[0.0, 6.0]);
        assert_eq!(decided(&some, &some.truth()), are_enough, "{games}");
    }
    let mut one_result = world(100, &[0.0, 6.0]);
    one_result.results.fill(1.0);
    assert!(!decided(&one_result, &one_result.truth()));
    let mut turned = world(100, &[0.0, 0.0]);
    let cp = turned.evaluations[0].cp.as_ref().unwrap();
    turned.evaluations[1] = Predictions::new("down", cp.iter().map(|cp| -cp).collect());
    assert!(!decided(&turned, &turned.truth()));
    // No winner is named where another explanation is at hand, or for a bound.
    let mut doubted = world(200, &[0.0, 6.0]);
    let names_winner = |world: &World| {
        let table = world.compare(&world.truth()).to_table(false).to_string();
        table.lines().nth(1).expect("a row").contains("better")
    };
    assert!(names_winner(&doubted));
    doubted.evaluations[0].cautions = vec!["it was trained on these".into()];
    assert!(!names_winner(&doubted));
    doubted.evaluations[0].cautions.clear();
    doubted.evaluations[0].bound = true;
    assert!(!names_winner(&doubted));
}

#[test]
fn verdicts_are_corrected_together() {
    // One pair of neighbours whose interval barely excludes zero, among others that contain it.
    let (mut changed, mut kept) = (0, 0);
    for games in 40..160 {
        let step = [0.05, 0.1, 0.2][games as usize % 3];
        let world = world(games, &[0.8, 0.8 + step, 0.8 + 2.0 * step, 0.8 + 3.0 * step]);
        let comparison = world.compare(&world.truth());
        // Pairs of four, by rank: 0-1, 0-2, 0-3, 1-2, 1-3, 2-3.
        let neighbours = [0, 3, 5].map(|place| &comparison.pairs[place]);
        let p = neighbours.map(|pair| pair.difference.p);
        let standing = nnuance::report::chance::are_significant(&p);
        for ((pair, p), stands) in neighbours.iter().zip(p).zip(standing) {
            assert_eq!(pair.decided, stands, "{pair:?}");
            assert_eq!(pair.decided, pair.why.is_none());
            if p.unwrap() <= 0.05 && !pair.decided {
                changed += 1;
                assert!(!pair.difference.contains_zero());
            }
            kept += usize::from(pair.decided);
        }
    }
    assert!(changed > 0 && kept > 0, "{changed} {kept}");
}

#[test]
fn filtered_games_stay_games() {
    let given = ["compare", "material", "tests/it/fixtures/pesto.json", "--json", "--data"];
    let keys = ["--min-ply", "16", "--skip-captures", "--min-pieces", "6", "--max-score", "2000"];
    let [plain, filtered] =
        [&[][..], &keys[..]].map(|keys| json(nnuance().args(given).arg(GAMES).args(keys)));
    let count = |json: &Value, of: &str| json["measured_on"][of].as_u64().expect("a number");
    assert!(count(&filtered, "positions") < count(&plain, "positions"));
    // Hardly any game lies completely below these borders, and none becomes two.
    let [all, left] = [&plain, &filtered].map(|json| count(json, "groups"));
    assert!(left <= all && left > all * 9 / 10, "{left} of {all}");
    assert!(filtered["games_known"] == true && filtered["pairs"][0]["decided"] == true);
}

/// Games of a net's training among many others are left out alone; if they are many, its test games
/// are measured.
#[test]
fn few_games_of_training_are_left_out() {
    let manifest = fs::read_to_string("nets/quickstart-32.json").expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let sketch = manifest["sketch"].as_str().expect("a sketch").to_string();
    let sketch = Sketch::try_from(sketch).expect("hashes");
    let samples = read(GAMES).expect("games");
    let games: Vec<&[Sample]> = samples.chunk_by(|a, b| a.game == b.game).collect();
    let (known, others): (Vec<&[Sample]>, Vec<&[Sample]>) =
        games.into_iter().partition(|game| sketch.contains_hash(game[0].split_group()));
    // Without their last moves they are other games.
    let others = others.iter().filter(|game| game.len() > 40);
    let fresh: Vec<Sample> =
        others.take(3000).flat_map(|game| &game[..game.len() - 8]).copied().collect();
    for (count, is_few) in [(3, true), (500, false)] {
        let games = known[..count].concat();
        let bytes = write(&viriformat::FORMAT, &[&fresh[..], &games].concat()).expect("games");
        let file = scratch("games.vf", &bytes);
        let json = json(
            nnuance().args(["compare", "material", QUICKSTART, "--json", "--data"]).arg(&file.path),
        );
        let measured = json["measured_on"]["positions"].as_u64().expect("a number") as usize;
        assert_eq!(measured == fresh.len(), is_few, "{measured} of {}", fresh.len());
        assert!(is_few || measured < fresh.len() / 5, "{measured}");
        assert_eq!(json["noun"] == "test games", !is_few);
        assert!(json["pairs"][0]["decided"] == true);
    }
}

/// Compares material on a binpack of samples, with each of `alone` as a separate chain after.
fn with_chains_of_one(samples: &[Sample], alone: &[Sample]) -> Value {
    let mut bytes = write(&binpack::FORMAT, samples).expect("games");
    for sample in alone {
        bytes.extend(write(&binpack::FORMAT, &[*sample]).expect("a position"));
    }
    let file = scratch("games.binpack", &bytes);
    let arguments = ["compare", "material", "constant", "--json", "--data"];
    json(nnuance().args(arguments).arg(&file.path))
}

#[test]
fn few_chains_of_one_position() {
    let games = games();
    let few = games.len() / 1000;
    assert!(few > 1);
    for (alone, known) in [(0, true), (few, true), (few + 2, false)] {
        let json = with_chains_of_one(&games, &games[..alone]);
        assert_eq!(json["games_known"], known, "{alone}");
        assert_eq!(json["measured_on"]["positions"], games.len() + alone);
        assert_eq!(json["pairs"][0]["difference"]["interval_is_lower_bound"], !known);
    }
    assert_eq!(with_chains_of_one(&games[..1], &games[..40])["games_known"], false);
}

#[test]
fn formats_of_one_net_undecided() {
    let mut world = world(200, &[0.0, 1.0, 6.0]);
    let apart = world.compare(&world.truth());
    assert!(apart.pairs.iter().all(|pair| pair.decided && !pair.rounding));
    for net in &mut world.evaluations[..2] {
        net.net = Some(0);
    }
    let pairs = world.compare(&world.truth()).pairs;
    assert!(!pairs[0].decided && pairs[0].rounding);
    assert!(pairs[1..].iter().all(|pair| pair.decided && !pair.rounding));
}
