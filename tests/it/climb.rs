//! `nnuance climb`: the loop, its end, and what a kill leaves of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The example, made small.
const SMALL: [&str; 11] = [
    "climb.generations=2",
    "climb.games=40",
    "climb.soft_nodes=40",
    "climb.window=2",
    "climb.pairs=4",
    "climb.nodes=40",
    "data.held_out=0.3",
    "model.hidden=8",
    "schedule.epochs=2",
    "schedule.batch=256",
    "schedule.learning_rate=0.01",
];

fn climb(config: &str, out: &Path, sets: &[&str], more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["climb", config, "--out"]).arg(out).args(more);
    command.args(SMALL.iter().chain(sets).flat_map(|set| ["--set", set]));
    command
}

fn small(out: &Path) -> Command {
    climb("configs/climb.toml", out, &[], &[])
}

fn fine(mut command: Command) -> Output {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output
}

fn refused(mut command: Command, why: &str) {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(why), "{why:?} is not in {said}");
    assert!(output.stdout.is_empty());
}

/// The record of a generation without its seconds.
fn record(out: &Path, number: u64) -> Value {
    fn timeless(value: &mut Value) {
        let Some(table) = value.as_object_mut() else { return };
        table.remove("seconds");
        table.values_mut().for_each(timeless);
    }
    let text = std::fs::read_to_string(out.join(format!("{number:03}/generation.json")));
    let mut record = serde_json::from_str(&text.expect("a record")).expect("JSON");
    timeless(&mut record);
    record
}

/// All that does not hang on a clock or on the name of the folder.
fn made(out: &Path, generations: u64) -> BTreeMap<PathBuf, Vec<u8>> {
    let of = |number: u64| {
        ["games.vf", "run/net.bin"].map(|name| PathBuf::from(format!("{number:03}")).join(name))
    };
    let files = (1..=generations).flat_map(of);
    files.map(|file| (file.clone(), std::fs::read(out.join(&file)).expect("a file"))).collect()
}

#[test]
fn a_climb_is_the_same_for_any_number_of_threads_and_goes_on_where_it_is_raised() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, three] = ["one", "three"].map(|name| folder.path().join(name));
    let output = fine(climb("configs/climb.toml", &one, &[], &["--threads", "1"]));
    fine(climb("configs/climb.toml", &three, &[], &["--threads", "3"]));
    assert!(made(&one, 2) == made(&three, 2));
    for number in [1, 2] {
        assert_eq!(record(&one, number), record(&three, number));
        assert!(one.join(format!("{number:03}/run/report.html")).exists());
    }
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(printed.starts_with("generation") && printed.contains("report.html"), "{printed}");
    let page = std::fs::read_to_string(one.join("report.html")).expect("a page");
    assert!(page.trim_end().ends_with("</html>") && page.contains("Elo above material"));
    let table = |out: &Path| std::fs::read_to_string(out.join("climb.csv")).expect("a table");
    assert_eq!(table(&one).lines().count(), 3);
    let columns = table(&one).lines().map(|line| line.split(',').count()).collect::<Vec<_>>();
    assert_eq!(columns, [14; 3]);
    assert!(!one.join(".lock").exists());

    // Once more: nothing is made anew; one generation more: only that.
    let before = made(&one, 2);
    let again = fine(small(&one));
    assert_eq!(String::from_utf8(again.stdout).expect("UTF-8"), printed);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("generation"));
    let more = fine(climb("configs/climb.toml", &one, &["climb.generations=3"], &[]));
    let said = String::from_utf8_lossy(&more.stderr).into_owned();
    assert!(said.contains("generation 3 of 3") && !said.contains("generation 2 of"), "{said}");
    assert_eq!(table(&one).lines().count(), 4);
    assert!(made(&one, 2) == before);
}

/// Kills a climb as soon as a file is there.
fn kill_at(mut command: Command, file: &Path) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    while !file.exists() {
        let ended = child.try_wait().expect("a state");
        assert!(ended.is_none() || file.exists(), "it ended before {}", file.display());
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("SIGKILL, or it has ended");
    child.wait().expect("its end");
}

#[test]
fn a_killed_climb_goes_on_and_ends_with_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let [untouched, killed] = ["untouched", "killed"].map(|name| folder.path().join(name));
    let expected = fine(small(&untouched));
    for place in [
        "config.toml",
        "001/games.vf.journal",
        "001/games.vf",
        "001/generation.json",
        "001/run/config.toml",
        "001/run/last.safetensors",
        "001/run/net.bin",
        "climb.csv",
        "002/games.vf",
        "002/run/last.safetensors",
    ] {
        kill_at(small(&killed), &killed.join(place));
    }
    let found = fine(small(&killed));
    assert!(made(&killed, 2) == made(&untouched, 2));
    for number in [1, 2] {
        assert_eq!(record(&killed, number), record(&untouched, number));
    }
    // The same words, but for the minutes and the folder.
    let words = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let row = |line: &str| line.rsplit_once(' ').map_or("", |(row, _)| row).trim().to_string();
        text.lines().filter(|line| !line.contains('/')).map(row).collect::<Vec<_>>()
    };
    assert_eq!(words(&found), words(&expected));
}

#[test]
fn a_climb_begins_with_chance_and_with_terms_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("chance");
    let sets = ["climb.start=random", "climb.generations=1", "climb.games=20"];
    fine(climb("configs/climb.toml", &out, &sets, &[]));
    assert!(out.join("start/net.bin").exists() && out.join("001/run/net.bin").exists());

    let config = folder.path().join("terms.toml");
    let text = "version = 1
         climb = { generations = 1, games = 40, soft_nodes = 40, pairs = 4, nodes = 40 }
         data = { held_out = 0.3 }
         model = { inputs = \"hce\", terms = [\"material\", \"psqt\"], tune = [\"psqt\"] }
         target = { wdl = 1.0 }
         optimizer = { name = \"gauss-newton\" }";
    std::fs::write(&config, text).expect("a config");
    let out = folder.path().join("terms");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.arg("climb").arg(&config).arg("--out").arg(&out);
    fine(command);
    assert!(out.join("001/run/terms.json").exists());
    assert_eq!(record(&out, 1)["best"], 0);
}

#[test]
fn what_cannot_be_climbed_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new/out");
    let example = "configs/climb.toml";
    for (sets, why) in [
        (&["climb.start=score"][..], "score"),
        (&["climb.start=no/such.bin"], "no/such.bin"),
        (&["climb.games=3"], "`climb.games`: lies from 10"),
        (&["climb.random_plies=[9, 8]"], "climb.random_plies"),
        (&["climb.gams=3"], "did you mean `games`"),
        (&["data.files=[\"data/selfplay-sf15.vf\"]"], "a climb makes its own games"),
    ] {
        refused(climb(example, &out, sets, &[]), why);
    }
    refused(climb("configs/net-1-simple.toml", &out, &[], &[]), "a climb makes its own games");
    assert!(!folder.path().join("new").exists());
    let mut net = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    net.args(["climb", "configs/net-1-simple.toml", "--out"]).arg(&out);
    refused(net, "no section [climb]");
    let mut train = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    train.args(["train", example, "--out"]).arg(folder.path().join("train"));
    refused(train, "nnuance climb");
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).expect("a folder");
    std::fs::write(foreign.join("letter.txt"), "Dear").expect("a file");
    refused(small(&foreign), "no climb");

    // Another config than the one it began with, and the same again.
    let sets = ["climb.generations=1", "climb.games=20"];
    fine(climb(example, &out, &sets, &[]));
    let other = [&sets[..], &["model.hidden=16", "seed=2"]].concat();
    refused(climb(example, &out, &other, &[]), "model.hidden: 16 here, 8 there");
    fine(climb(example, &out, &sets, &[]));
    refused(climb(example, &out.join("001/run"), &sets, &[]), "no climb");
}
