//! `nnuance sweep`: who goes on, what is chosen, and what a kill leaves of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nnuance::report::seeds::{Contender, Spread, contest};
use nnuance::report::{Options, Predictions, Truth, compare::compare, sums};
use nnuance::run::sweep::{Axis, Rung, rungs};
use serde_json::Value;
use tempfile::TempDir;

const CONFIG: &str = r#"
version = 1
seed = 5
[data]
files = ["data/selfplay-sf15.vf"]
limit = 100000
[model]
inputs = "perspective"
hidden = 8
[target]
score_scale = 132.0
[schedule]
epochs = 2
batch = 1024
validations = 8
learning_rate = { shape = "cosine", from = 0.005, to = 0.0001 }
"#;

fn config(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("small.toml");
    std::fs::write(&path, text).expect("a config");
    path.to_string_lossy().into_owned()
}

fn sweep(config: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["sweep", config, "--out"]).arg(out).args(more);
    command
}

fn fine(mut command: Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn json(command: Command) -> Value {
    serde_json::from_slice(&fine(command).stdout).expect("JSON")
}

fn refused(mut command: Command, why: &str) {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(why), "{why:?} is not in {said}");
    assert!(output.stdout.is_empty());
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn labels(outcome: &Value) -> Vec<&str> {
    let members = outcome["members"].as_array().expect("a list");
    members.iter().map(|it| it["label"].as_str().expect("a text")).collect()
}

#[test]
fn one_member_in_so_many_goes_on_and_is_trained_so_many_times_as_long() {
    let of = |members, one_in, wanted| {
        let rungs = rungs(members, one_in, wanted).expect("rungs");
        rungs.iter().map(|Rung { members, part }| (*members, *part)).collect::<Vec<_>>()
    };
    assert_eq!(of(24, 3, None), [(24, 9), (8, 3), (2, 1)]);
    assert_eq!(of(27, 3, None), [(27, 9), (9, 3), (3, 1)]);
    assert_eq!(of(81, 3, Some(4)), [(81, 27), (27, 9), (9, 3), (3, 1)]);
    assert_eq!(of(24, 3, Some(2)), [(24, 3), (8, 1)]);
    assert_eq!(of(24, 3, Some(1)), [(24, 1)]);
    assert_eq!(of(16, 2, Some(4)), [(16, 8), (8, 4), (4, 2), (2, 1)]);
    assert_eq!(of(4, 3, None), [(4, 3), (2, 1)]);
    assert_eq!(of(2, 3, None), [(2, 1)]);
    assert!(rungs(24, 3, Some(4)).is_err() && rungs(2, 2, Some(2)).is_err());
}

#[test]
fn keys_may_be_short_and_values_may_have_commas() {
    let of = |text: &str| {
        let Axis { key, title, values } = Axis::parse(text).expect(text);
        (key, title, values.join(" | "))
    };
    let owned = |key: &str, title: &str, values: &str| (key.into(), title.into(), values.into());
    assert_eq!(of("model.hidden=16,32"), owned("model.hidden", "hidden", "16 | 32"));
    assert_eq!(of("hidden = 16, 32"), owned("model.hidden", "hidden", "16 | 32"));
    assert_eq!(of("target.wdl=0,.1,.3"), owned("target.wdl", "wdl", "0 | 0.1 | 0.3"));
    assert_eq!(
        of("learning_rate.from=.002,1e-3"),
        owned("schedule.learning_rate.from", "learning_rate.from", "0.002 | 1e-3")
    );
    assert_eq!(of("head=[],[16],[16, 32]"), owned("model.head", "head", "[] | [16] | [16, 32]"));
    assert_eq!(
        of("learning_rate={shape=\"step\",from=1},\"a,b\",'c,]'"),
        owned(
            "schedule.learning_rate",
            "learning_rate",
            "{shape=\"step\",from=1} | \"a,b\" | 'c,]'"
        )
    );
    for (text, why) in [
        ("hidden", "write it as key=value,value"),
        ("hidden=", "a value is missing"),
        ("hidden=8,", "a value is missing"),
        ("hiden=8,16", "did you mean `hidden`"),
        ("model.hiden=8,16", "did you mean `model.hidden`"),
        ("loss.nothing.at.all=1,2", "target.loss.nothing.at.all"),
        ("seed=1,2", "--seeds"),
        ("data.held_out=0.1,0.2", "compared on the same ones"),
        ("min_ply=1,2", "compared on the same ones"),
        ("epochs=1,2", "shares of one length"),
        ("climb.games=10,20", "no setting of a run"),
    ] {
        match Axis::parse(text) {
            Err(error) => assert!(format!("{error:#}").contains(why), "{text}: {error:#}"),
            // What no key takes the config finds.
            Ok(axis) => assert_eq!(axis.key, why),
        }
    }
    // A climb has a key of that name too, and is no run.
    assert_eq!(of("start=a.bin,b.bin"), owned("model.start", "start", "a.bin | b.bin"));
}

/// Positions of games whose results evaluations predict more or less well.
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

    fn truth(&self) -> Truth<'_> {
        Truth {
            results: &self.results,
            targets: None,
            groups: &self.groups,
            noun: "test games",
            games_known: true,
            doubt: None,
        }
    }

    /// Centipawns that know the result behind so much noise.
    fn evaluation(&self, name: &str, noise: f64, seed: u64) -> Predictions {
        let say = |(place, result): (usize, &f64)| {
            let chance = (0..4).map(|it| draw(place as u64, 100 * seed + it) - 0.5).sum::<f64>();
            100.0 * (2.0 * result - 1.0) + noise * chance
        };
        Predictions::new(name, self.results.iter().enumerate().map(say).collect())
    }

    fn sums(&self, evaluation: &Predictions) -> Vec<f64> {
        sums(evaluation, &self.truth(), &Options::default()).expect("sums").results
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
fn with_one_seed_a_contest_measures_as_compare_does_and_names_no_winner() {
    let world = World::new();
    let [good, bad] =
        [("good", 300.0), ("bad", 900.0)].map(|(name, noise)| world.evaluation(name, noise, 1));
    let compared = compare(&[good.clone(), bad.clone()], &world.truth(), &Options::default());
    let compared = compared.expect("a comparison");
    assert!(compared.pairs[0].decided);
    let all = [&good, &bad].map(|it| vec![world.sums(it)]);
    let contenders =
        [("good", &all[0]), ("bad", &all[1])].map(|(name, sums)| Contender { name, sums });
    let found = contest(&contenders, &world.truth());
    let (duel, pair) = (&found.duels[0], &compared.pairs[0]);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a}, {b}");
    near(duel.difference.mean, pair.difference.mean);
    let intervals = [duel.difference, pair.difference].map(|it| it.interval.expect("an interval"));
    (0..2).for_each(|end| near(intervals[0][end], intervals[1][end]));
    for (measured, other) in found.contenders.iter().zip(&compared.evaluations) {
        near(measured.loss.mean, other.loss.mean);
    }
    assert!(!duel.decided && duel.seeds.is_none());
    let said = found.sentences("wins").join("\n");
    assert!(said.contains("one seed") && !said.contains("wins"), "{said}");
}

#[test]
fn a_winner_stands_against_other_games_and_other_seeds() {
    let world = World::new();
    let all = |noises: &[f64], first: u64| -> Vec<Vec<f64>> {
        let seeds = noises.iter().zip(first..);
        seeds.map(|(noise, seed)| world.sums(&world.evaluation("it", *noise, seed))).collect()
    };
    let of = |one: &[f64], other: &[f64]| {
        let (one, other) = (all(one, 1), all(other, 50));
        let contenders = [("one", &one), ("other", &other)];
        contest(&contenders.map(|(name, sums)| Contender { name, sums }), &world.truth())
    };
    // Far apart whatever the seed; whoever was chosen.
    let found = of(&[300.0, 310.0, 320.0], &[900.0, 910.0, 920.0]);
    assert!(found.duels[0].decided && found.sentences("wins")[0].ends_with("one wins."));
    let found = of(&[900.0, 910.0, 920.0], &[300.0, 310.0, 320.0]);
    assert!(found.duels[0].decided && found.sentences("wins")[0].ends_with("other wins."));
    // So far apart for games, but not for seeds.
    let found = of(&[300.0, 310.0, 900.0], &[310.0, 890.0, 1200.0]);
    let duel = &found.duels[0];
    assert!(!duel.difference.contains_zero() && duel.seeds.expect("seeds").contains_zero());
    assert!(!duel.decided && found.sentences("wins")[0].contains("over seeds contains zero"));
    // Alike.
    let found = of(&[600.0, 600.0, 600.0], &[600.0, 600.0, 600.0]);
    assert!(!found.duels[0].decided);
    // Games unknown, too few, or a doubt about them.
    let truth = Truth { games_known: false, ..world.truth() };
    let (one, other) = (all(&[300.0, 310.0], 1), all(&[900.0, 910.0], 50));
    let contenders =
        [("one", &one), ("other", &other)].map(|(name, sums)| Contender { name, sums });
    assert!(!contest(&contenders, &truth).duels[0].decided);
    let doubted = Truth { doubt: Some("they were seen"), ..world.truth() };
    let found = contest(&contenders, &doubted);
    assert!(found.sentences("wins")[0].contains("they were seen: these data cannot tell"));
}

/// Against the formula, its integral done by Simpson's rule.
#[test]
fn the_interval_over_seeds_is_that_of_welch() {
    let [one, two] =
        [&[1.0, 2.0, 4.0][..], &[3.0, 5.0, 8.0, 9.0]].map(|it| Spread::of(it).unwrap());
    let found = one.less(&two).expect("an interval");
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a}, {b}");
    // A difference of -3.917 with an error of 1.635 and 4.764 degrees of freedom.
    near(found.interval[0], -8.183_340_9);
    near(found.interval[1], 0.350_007_5);
    near(found.p, 0.064_487_8);
    assert!(found.contains_zero());
    assert!(Spread::of(&[]).is_none() && Spread::of(&[1.0]).unwrap().less(&two).is_none());
    let same = Spread::of(&[1.0, 1.0]).unwrap();
    assert!(same.less(&same).expect("an interval").contains_zero());
}

/// Four members in two rungs, two seeds each.
const SMALL: [&str; 9] = [
    "--over",
    "hidden=4,8",
    "--over",
    "learning_rate.from=0.01,0.0005",
    "--seeds",
    "2",
    "--one-in",
    "2",
    "--json",
];

#[test]
fn a_sweep_chooses_and_measures_and_trains_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = CONFIG.replace("limit = 100000\n", "").replace("epochs = 2", "epochs = 0.5");
    let config = config(&folder, &text);
    let out = folder.path().join("new/sweep");
    let found = json(sweep(&config, &out, &SMALL));
    // So short a run wants a high rate.
    assert!(labels(&found)[0].contains("learning_rate.from 0.01"), "{found}");
    let members = found["members"].as_array().expect("a list");
    let reached: Vec<u64> = members.iter().map(|it| it["rung"].as_u64().unwrap()).collect();
    assert_eq!(reached, [2, 2, 1, 1]);
    let mean = |it: &Value, rung: usize| number(&it["losses"][rung]["mean"]);
    assert!(mean(&members[0], 1) <= mean(&members[1], 1));
    for stayed in &members[2..] {
        assert!(members[..2].iter().all(|it| mean(it, 0) <= mean(stayed, 0)));
    }
    assert_eq!(found["yardstick"], "target");
    let contenders = found["results"]["contenders"].as_array().expect("a list");
    assert_eq!(contenders[0]["name"], labels(&found)[0]);
    let [trained, whole] = [0, 1].map(|it| found["positions"][it].as_u64().unwrap());
    assert!(trained < whole, "{trained} of {whole}");
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("</html>"));

    // A run of the last rung is what `train` makes of the config; the loss is that of `compare`.
    let name = members[0]["name"].as_str().unwrap();
    let runs = [5, 6].map(|seed| out.join(format!("{name}-seed-{seed}")));
    let alone = folder.path().join("alone");
    let mut train = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    train.args(["train", &config, "--out"]).arg(&alone);
    for (axis, key) in ["model.hidden", "schedule.learning_rate.from"].iter().enumerate() {
        let value = members[0]["values"][axis].as_str().unwrap();
        train.args(["--set", &format!("{key}={value}")]);
    }
    fine(train);
    let bits = |run: &Path| std::fs::read(run.join("last.safetensors")).expect("a checkpoint");
    assert!(bits(&alone) == bits(&runs[0]));
    let mut compare = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    compare.arg("compare").args(&runs).arg("--json");
    let compared = json(compare);
    let losses: Vec<f64> = compared["evaluations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| number(&it["loss"]["mean"]))
        .collect();
    let expected = losses.iter().sum::<f64>() / 2.0;
    // `compare` measures the integers of the nets.
    let mean = number(&contenders[0]["loss"]["mean"]);
    assert!((mean - expected).abs() < 3e-4, "{mean}, {expected}");

    // Once more, with more threads: the same, and nothing is trained.
    let before = bits(&runs[0]);
    let again = fine(sweep(&config, &out, &[&SMALL[..], &["--threads", "3"]].concat()));
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), found);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(said.matches("is trained already").count(), 12, "{said}");
    // Another seed: only its runs, and those of whom it lets go on.
    let mut more = SMALL;
    more[5] = "3";
    let more = fine(sweep(&config, &out, &more));
    assert!(String::from_utf8_lossy(&more.stderr).matches("is trained already").count() >= 8);
    assert!(bits(&runs[0]) == before);

    // Another sweep in the same folder, and another config.
    refused(sweep(&config, &out, &["--over", "hidden=4,8"]), "holds another sweep");
    let other = [&SMALL[..], &["--set", "model.mirror=true"]].concat();
    refused(sweep(&config, &out, &other), "another config than the one asked for");
    refused(sweep(&config, &runs[0], &SMALL), "no sweep");
}

#[test]
fn a_killed_sweep_goes_on_and_ends_with_the_same_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let [untouched, killed] = ["untouched", "killed"].map(|name| folder.path().join(name));
    let expected = json(sweep(&config, &untouched, &SMALL));
    // At any place: as many losses are known, in all.
    let known = || {
        let text = std::fs::read_to_string(killed.join("losses.json")).unwrap_or("{}".into());
        let marks: BTreeMap<String, Vec<Value>> = serde_json::from_str(&text).expect("JSON");
        marks.values().map(Vec::len).sum::<usize>()
    };
    for place in [1, 2, 5, 8, 9, 11, 12] {
        let mut command = sweep(&config, &killed, &SMALL);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a process");
        while known() < place {
            assert!(child.try_wait().expect("a state").is_none() || known() >= place, "{place}");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Somewhere in the run that comes next.
        std::thread::sleep(Duration::from_millis(100 * place as u64 % 700));
        child.kill().expect("SIGKILL, or it has ended");
        child.wait().expect("its end");
    }
    assert_eq!(json(sweep(&config, &killed, &SMALL)), expected);
    for member in expected["members"].as_array().expect("a list") {
        for seed in [5, 6] {
            let run = format!("{}-seed-{seed}", member["name"].as_str().expect("a name"));
            let bits = |out: &Path| std::fs::read(out.join(&run).join("last.safetensors")).unwrap();
            assert!(bits(&killed) == bits(&untouched), "{run}");
        }
    }
}

#[test]
fn a_member_that_diverges_is_last_and_stops_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("sweep");
    let relu = ["--set", "model.activation=relu", "--one-in", "2"];
    let rates = [&["--over", "learning_rate.from=1e38,0.005,0.003"], &relu[..]].concat();
    let output = fine(sweep(&config, &out, &[&rates[..], &["--json"]].concat()));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(labels(&found)[2].contains("1e38"), "{found}");
    let why = found["members"][2]["failure"].as_str().expect("a reason");
    assert!(why.contains("diverged"), "{why}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("1e38-seed-5 is out"));
    let again = fine(sweep(&config, &out, &rates));
    // It is known, and does not diverge once more.
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(said.matches("is trained already").count(), 5, "{said}");
    let text = String::from_utf8(again.stdout).expect("UTF-8");
    assert!(text.contains("failed") && text.contains("With one seed"), "{text}");
    // None is left: an error, and no table.
    let rates = [&["--over", "learning_rate.from=1e38,2e38,3e38"], &relu[..]].concat();
    refused(sweep(&config, &folder.path().join("none"), &rates), "no member is left");
}

#[test]
fn members_that_learn_other_targets_are_compared_by_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, &CONFIG.replace("epochs = 2", "epochs = 1"));
    let more = ["--over", "wdl=0,.5,1", "--one-in", "2", "--json"];
    let found = json(sweep(&config, &folder.path().join("sweep"), &more));
    assert_eq!(found["yardstick"], "results");
    assert_eq!(found["target"], Value::Null);
    for member in found["members"].as_array().expect("a list") {
        // Against the target of scores alone it would be half of that.
        assert!(number(&member["losses"][0]["mean"]) > 0.06, "{member}");
    }
}

#[test]
fn handcrafted_terms_are_swept_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = CONFIG.replace("perspective", "hce").replace("hidden = 8\n", "");
    let (head, _) = text.split_once("[schedule]").expect("a section");
    let text = format!("{head}[optimizer]\nname = \"gauss-newton\"\n");
    let text = text.replace("score_scale = 132.0", "wdl = 1.0");
    let config = config(&folder, &text);
    let out = folder.path().join("sweep");
    let priors = ["--over", "prior=100,1", "--json"];
    refused(sweep(&config, &out, &priors), "runs until its loss falls no more");
    let found =
        json(sweep(&config, &out, &[&priors[..], &["--set", "schedule.epochs=4"]].concat()));
    assert_eq!(found["members"].as_array().expect("a list").len(), 2);
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_is_trained() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("new/sweep");
    for (more, why) in [
        (&["--over", "hidden=8,0"][..], "member hidden 0"),
        (&["--over", "hidden=8,no"], "member hidden no"),
        (&["--over", "hidden=8,8"], "hidden 8 is named twice"),
        (&["--over", "wdl=0.5,0.50"], "wdl 0.5 and wdl 0.50 are the same member"),
        (&["--over", "hidden=8"], "two members or more"),
        (&["--over", "hidden=4,8", "--over", "model.hidden=2,3"], "names `model.hidden` twice"),
        (&["--over", "hidden=4,8,16", "--rungs", "3"], "2 rungs at most"),
        (&["--over", "hidden=4,8", "--set", "data.held_out=0"], "validate"),
        (&["--over", "hidden=4,8", "--set", "data.test=0"], "test games"),
        (&["--over", "start=\"no/such.bin\",\"nets/quickstart-32.bin\""], "no/such.bin"),
        (
            &["--over", "hidden=4,8,16,32", "--set", "schedule.validations=1"],
            "raise `schedule.validations`",
        ),
    ] {
        refused(sweep(&config, &out, more), why);
    }
    let uneven = CONFIG.replace("epochs = 2", "superbatches = 0.02");
    let uneven = self::config(&folder, &uneven);
    refused(sweep(&uneven, &out, &["--over", "batch=512,1024"]), "no fair question");
    assert!(!folder.path().join("new").exists());
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).expect("a folder");
    std::fs::write(foreign.join("letter.txt"), "Dear").expect("a file");
    refused(sweep(&config, &foreign, &["--over", "hidden=4,8"]), "no sweep");
}
