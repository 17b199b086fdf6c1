//! `nnuance curve`: its runs, and going on after a kill.

use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::assert::OutputAssertExt;
use serde_json::Value;
use tempfile::TempDir;

use crate::runs::kill_at_checkpoint;

const CONFIG: &str = r#"
version = 1
seed = 5
[data]
files = ["data/selfplay-sf15.vf"]
limit = 200000
[model]
inputs = "perspective"
hidden = 8
[target]
score_scale = 132.0
[schedule]
epochs = 2
batch = 1024
looks = 8
learning_rate = 0.005
"#;

const RUNS: [&str; 3] = ["share-1-4", "share-1-2", "share-1-1"];

fn nnuance() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nnuance"))
}

fn config(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("small.toml");
    std::fs::write(&path, text).expect("a config");
    path.to_string_lossy().into_owned()
}

fn curve(config: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = nnuance();
    command.args(["curve", config, "--shares", "4", "--out"]).arg(out).args(more);
    command
}

fn fine(mut command: Command) -> Output {
    command.assert().success().get_output().clone()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn bits(out: &Path, run: &str) -> Vec<u8> {
    std::fs::read(out.join(run).join("last.safetensors")).expect("a checkpoint")
}

/// The log without the column of speeds.
fn log(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("log.csv")).expect("a log");
    let row = |line: &str| line.rsplit_once(',').expect("columns").0.to_string();
    text.lines().map(row).collect()
}

#[test]
fn a_curve_measures_its_runs_and_trains_none_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    // All of the file, since `compare` knows no limit.
    let text = CONFIG.replace("limit = 200000\n", "").replace("epochs = 2", "epochs = 0.5");
    let config = config(&folder, &text);
    let out = folder.path().join("curve");
    let first = json(&fine(curve(&config, &out, &["--json"])));
    let runs = first["runs"].as_array().expect("a list");
    assert_eq!(runs.iter().map(|run| run["name"].as_str().unwrap()).collect::<Vec<_>>(), RUNS);
    let number = |value: &Value| value.as_f64().expect("a number");
    // The same steps for all, more data in each.
    assert!(runs.iter().all(|run| run["steps"] == runs[0]["steps"]), "{runs:?}");
    let sizes: Vec<f64> = runs.iter().map(|run| number(&run["positions"])).collect();
    for pair in sizes.windows(2) {
        assert!((1.7..2.3).contains(&(pair[1] / pair[0])), "{sizes:?}");
    }
    let points = first["data"][0]["learning"]["points"].as_array().expect("a list");
    assert_eq!(points.iter().map(|point| number(&point["size"])).collect::<Vec<_>>(), sizes);
    for (point, run) in points.iter().zip(runs) {
        assert!((number(&point["loss"]["mean"]) - number(&run["loss"])).abs() < 1e-9);
    }

    // The run on all of the data is that of `train`.
    let alone = folder.path().join("alone");
    nnuance().args(["train", &config, "--out"]).arg(&alone).assert().success();
    assert_eq!(log(&alone), log(&out.join("share-1-1")));

    // `compare` finds nearly the same losses; its parts are others.
    let mut compare = nnuance();
    compare.arg("compare").args(RUNS.map(|run| out.join(run))).arg("--json");
    let compared = json(&fine(compare));
    for run in runs {
        let name = format!("{}/best", run["name"].as_str().unwrap());
        let all = compared["evaluations"].as_array().expect("a list");
        let other = all.iter().find(|one| one["name"] == *name).expect("the run");
        let (found, expected) = (number(&run["loss"]), number(&other["loss"]["mean"]));
        assert!((found - expected).abs() < 3e-4, "{name}: {found}, {expected}");
    }

    // Once more: nothing to train, the same words; more seeds: only theirs.
    let before = RUNS.map(|run| bits(&out, run));
    let again = fine(curve(&config, &out, &["--json"]));
    assert_eq!(String::from_utf8_lossy(&again.stderr).matches("is trained already").count(), 3);
    assert_eq!(json(&again), first);
    let more = fine(curve(&config, &out, &["--json", "--seeds", "2"]));
    assert_eq!(String::from_utf8_lossy(&more.stderr).matches("is trained already").count(), 3);
    assert_eq!(json(&more)["data"][0]["learning"]["points"][2]["runs"][1], "share-1-1-seed-6");
    assert!(RUNS.map(|run| bits(&out, run)) == before);

    // Another config in the same folder is refused.
    let other = curve(&config, &out, &["--set", "schedule.learning_rate=0.001"]);
    let said = { other }.assert().failure().get_output().stderr.clone();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("another config") && said.contains("--overwrite"), "{said}");
}

#[test]
fn a_killed_curve_goes_on_and_ends_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let [untouched, killed] = ["untouched", "killed"].map(|name| folder.path().join(name));
    let expected = fine(curve(&config, &untouched, &["--json"]));
    // Killed once in each run, as soon as it has begun.
    for run in RUNS {
        kill_at_checkpoint(curve(&config, &killed, &[]), &killed.join(run));
    }
    let found = fine(curve(&config, &killed, &["--json"]));
    assert_eq!(json(&found), json(&expected));
    for run in RUNS {
        assert!(bits(&killed, run) == bits(&untouched, run), "{run}");
    }
}

#[test]
fn sizes_of_nets_give_a_curve_over_neurons() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("curve");
    let more = ["--shares", "1", "--hidden", "8,4,16", "--json"];
    let mut command = nnuance();
    command.args(["curve", &config, "--out"]).arg(&out).args(more);
    let found = json(&fine(command));
    assert_eq!(found["data"], Value::Array(Vec::new()));
    let points = found["neurons"]["points"].as_array().expect("a list");
    let runs: Vec<&str> = points.iter().map(|it| it["runs"][0].as_str().unwrap()).collect();
    assert_eq!(runs, ["share-1-1-hidden-4", "share-1-1", "share-1-1-hidden-16"]);
}

#[test]
fn handcrafted_terms_have_a_curve_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = CONFIG.replace("perspective", "hce").replace("hidden = 8\n", "");
    let (head, _) = text.split_once("[schedule]").expect("a section");
    let text = format!("{head}[optimizer]\nname = \"gauss-newton\"\n");
    let text = text.replace("score_scale = 132.0", "wdl = 1.0").replace("200000", "50000");
    let config = config(&folder, &text);
    let out = folder.path().join("curve");
    let found = fine(curve(&config, &out, &[]));
    let said = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(said.contains("Over the data") && said.contains("was worth"), "{said}");
    let again = fine(curve(&config, &out, &[]));
    assert_eq!(String::from_utf8_lossy(&again.stdout), said);
    let wrong = curve(&config, &out, &["--hidden", "4,8"]).assert().failure();
    assert!(String::from_utf8_lossy(&wrong.get_output().stderr).contains("--hidden is for nets"));
}

#[test]
fn what_gives_no_curve_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("curve");
    for (more, expected) in [
        (&["--set", "data.held_out=0"][..], "test games"),
        (&["--set", "data.test=0"], "test games"),
        (&["--hidden", "0"], "1 to 65536 neurons"),
    ] {
        let said = curve(&config, &out, more).assert().failure().get_output().stderr.clone();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains(expected), "{said}");
    }
    for shares in ["1", "3", "0", "131072"] {
        nnuance().args(["curve", &config, "--shares", shares]).assert().failure();
    }
    assert!(!out.exists());
}
