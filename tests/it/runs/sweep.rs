//! `nnuance sweep`: choosing, measuring, and resuming after a kill.

use nnuance::report::seeds::{SeedSpread, compare_members};
use nnuance::report::{PositionFacts, Predictions, squared_errors};
use nnuance::run::sweep::SweepAxis;

use crate::support::kit::*;

const CONFIG: &str = r#"
version = 3
seed = 5
data = { files = ["data/selfplay-sf15.vf"], limit = 20000, held_out = 0.4 }
net = { inputs = "perspective", hidden = 4 }
target.score_scale = 132.0
[schedule]
epochs = 2
batch = 512
validations = 4
learning_rate = { shape = "cosine", from = 0.005, to = 0.0001 }
"#;

fn sweep(config: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = nnuance();
    command.args(["sweep", config, "--out"]).arg(out).args(more);
    command
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn values_with_commas() {
    let of = |text: &str| SweepAxis::parse_axis(text).map(|it| (it.key, it.values.join(" | ")));
    for (text, key, values) in [
        ("net.hidden = 16, 32", "net.hidden", "16 | 32"),
        ("data.share=0.5,1", "data.share", "0.5 | 1"),
        ("net.head=[],[16],[16, 32]", "net.head", "[] | [16] | [16, 32]"),
        (
            "a.b={shape=\"step\",from=1},\"a,b\",'c,]'",
            "a.b",
            "{shape=\"step\",from=1} | \"a,b\" | 'c,]'",
        ),
    ] {
        assert_eq!(of(text).expect(text), (key.to_string(), values.to_string()));
    }
    for wrong in ["net.hidden", "net.hidden=8,", "seed=1,2", "data.held_out=0.1,0.2"] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}

/// Positions of games whose results evaluations predict to different degrees.
struct World {
    results: Vec<f64>,
    groups: Vec<u64>,
}

impl World {
    const GAMES: u64 = 200;
    const PLIES: u64 = 20;

    fn new() -> Self {
        let places = || 0..Self::GAMES * Self::PLIES;
        let game = |place: u64| place / Self::PLIES;
        let result = |game: u64| f64::from((draw(game, 1) > 0.5) as u8);
        Self {
            results: places().map(|it| result(game(it))).collect(),
            groups: places().map(|it| draw_bits(game(it), 2)).collect(),
        }
    }

    fn truth(&self) -> PositionFacts {
        facts_of_games(&self.results, &self.groups, "test games")
    }

    fn evaluation(&self, name: &str, noise: f64, seed: u64) -> Predictions {
        let say = |(place, result): (usize, &f64)| {
            let chance = (0..4).map(|it| draw(place as u64, 100 * seed + it) - 0.5).sum::<f64>();
            100.0 * (2.0 * result - 1.0) + noise * chance
        };
        Predictions::new(name, self.results.iter().enumerate().map(say).collect())
    }

    fn sums(&self, evaluation: &Predictions) -> Vec<f64> {
        squared_errors(evaluation, &self.truth()).expect("sums")
    }
}

fn draw_bits(place: u64, stream: u64) -> u64 {
    let mut z =
        place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        z = (z ^ z >> 30).wrapping_mul(factor);
    }
    z ^ z >> 31
}

fn draw(place: u64, stream: u64) -> f64 {
    draw_bits(place, stream) as f64 / u64::MAX as f64
}

#[test]
fn differences_stand_against_games_and_seeds() {
    let world = World::new();
    let of = |noises: [&[f64]; 2], truth: &PositionFacts| {
        let sums = noises.map(|noises| {
            let seeds = noises.iter().zip(noises[0] as u64..);
            let sums = seeds.map(|(noise, seed)| world.sums(&world.evaluation("it", *noise, seed)));
            sums.collect::<Vec<_>>()
        });
        compare_members(&sums, truth)[1].above_first.expect("a difference")
    };
    let (good, bad) = ([300.0, 310.0, 320.0], [900.0, 910.0, 920.0]);
    for (two, sign) in [([&good[..], &bad], 1.0), ([&bad, &good], -1.0)] {
        let found = of(two, &world.truth());
        assert!(found.decided && sign * found.games.mean > 0.0);
    }
    // Different over games, not over seeds.
    let found = of([&[300.0, 310.0, 900.0], &[320.0, 890.0, 1200.0]], &world.truth());
    assert!(!found.games.contains_zero() && found.seeds.expect("seeds").p > 0.05);
    assert!(!found.decided);
    let unknown = PositionFacts { games_known: false, ..world.truth() };
    let doubted = PositionFacts { cautions: vec!["they were seen".into()], ..world.truth() };
    for truth in [unknown, doubted] {
        assert!(!of([&good, &bad], &truth).decided);
    }
}

/// Against the formula, its integral done by Simpson's rule.
#[test]
fn interval_over_seeds_is_welch() {
    let [one, two] = [&[1.0, 2.0, 4.0][..], &[3.0, 5.0, 8.0, 9.0]]
        .map(|it| SeedSpread::from_values(it).unwrap());
    let found = one.subtract(&two).expect("an interval");
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a}, {b}");
    // A difference of -3.917 with an error of 1.635 and 4.764 degrees of freedom.
    near(found.interval[0], -8.183_340_9);
    near(found.interval[1], 0.350_007_5);
    near(found.p, 0.064_487_8);
    assert!(
        SeedSpread::from_values(&[]).is_none()
            && SeedSpread::from_values(&[1.0]).unwrap().subtract(&two).is_none()
    );
    let same = SeedSpread::from_values(&[1.0, 1.0]).unwrap();
    assert_eq!(same.subtract(&same).expect("an interval").p, 1.0);
}

const SMALL: [&str; 4] = [
    "--over=net.hidden=4,8",
    "--over=schedule.learning_rate.from=0.01,0.0005",
    "--seeds=2",
    "--json",
];

#[test]
fn killed_and_resumed() {
    let folder = Workdir::empty();
    let config = folder.write("run.toml", CONFIG);
    let [untouched, killed] = ["untouched", "killed"].map(|name| folder.path(name));
    let found = json(&mut sweep(&config, &untouched, &SMALL));
    let members = found["members"].as_array().expect("a list");
    let losses: Vec<f64> = members.iter().map(|it| number(&it["validation"]["mean"])).collect();
    assert!(losses.len() == 4 && losses.is_sorted(), "{losses:?}");
    // A short run needs a high rate.
    assert!(members[..2].iter().all(|it| it["values"][1] == "0.01"), "{found}");
    assert_eq!(found["loss"], "target");

    // A run is that of `train`.
    let bits = |run: &Path| fs::read(run.join("last.safetensors")).expect("a checkpoint");
    let alone = folder.path("alone");
    let sets = ["--set", "net.hidden=8", "--set", "schedule.learning_rate.from=0.01"];
    said(train(&config, &alone).args(sets));
    let run = "hidden-8-learning_rate.from-0.01-seed-5";
    assert!(bits(&alone) == bits(&untouched.join(run)));

    for name in ["hidden-4-learning_rate.from-0.01-seed-6", run] {
        let checkpoint = killed.join(name).join("last.safetensors");
        kill_at(sweep(&config, &killed, &SMALL), &checkpoint);
    }
    assert_eq!(json(&mut sweep(&config, &killed, &SMALL)), found);
    for member in members {
        for seed in [5, 6] {
            let run = format!("{}-seed-{seed}", member["name"].as_str().expect("a name"));
            assert!(bits(&killed.join(&run)) == bits(&untouched.join(&run)), "{run}");
        }
    }
    let other = [&SMALL[..], &["--set", "net.activation=relu"]].concat();
    assert!(complaint(&mut sweep(&config, &killed, &other)).contains("config"));
}

#[test]
fn diverged_members_come_last() {
    let folder = Workdir::empty();
    let config = folder.write("run.toml", CONFIG);
    let axes = ["target.wdl=0,1", "data.share=0.5,1", "schedule.learning_rate.from=1e38,0.005"];
    let mut command = sweep(&config, &folder.path("sweep"), &["--json"]);
    command.args(["--set", "net.activation=relu"]);
    let found = json(command.args(axes.iter().flat_map(|axis| ["--over", axis])));
    assert_eq!(found["loss"], "results");
    let members = found["members"].as_array().expect("a list");
    for (place, member) in members.iter().enumerate() {
        let diverged = member["values"][2] == "1e38";
        assert_eq!((place >= 4, member["failure"].is_null()), (diverged, !diverged), "{member}");
        // Against a target of scores it would be half of that.
        assert!(diverged || number(&member["test"]["loss"]["mean"]) > 0.06, "{member}");
    }
}
