//! Runs beyond their usual course: kept checkpoints, runs made longer, runs that start from others,
//! and runs that go wrong.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nnuance::train::checkpoint::Checkpoint;
use nnuance::weights::{Weights, WeightsFile};
use tempfile::TempDir;

use crate::largest::smallest;

/// Some 36 steps an epoch.
const CONFIG: &str = r#"version = 1
[data]
files = ["data/selfplay_sf151_scored.txt"]
limit = 10000
[model]
inputs = "perspective"
hidden = 8
[target]
score_scale = 126.0
wdl = 0.2
[schedule]
epochs = 2
batch = 256
learning_rate = { shape = "cosine", from = 0.01, to = 0.0001 }
"#;

/// A folder with a config.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        std::fs::write(desk.path("run.toml"), CONFIG).expect("a config");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// Trains the config in a folder.
    fn train(&self, out: &str, sets: &[&str]) -> Said {
        let (config, out) = (self.text("run.toml"), self.text(out));
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        nnuance(&["train", &config, "--out", &out].into_iter().chain(sets).collect::<Vec<_>>())
    }

    fn resume(&self, run: &str, sets: &[&str]) -> Said {
        let run = self.text(run);
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        nnuance(&["train", "--resume", &run].into_iter().chain(sets).collect::<Vec<_>>())
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect(name)
    }

    /// The log without the column of speeds.
    fn log(&self, run: &str) -> Vec<String> {
        let text = String::from_utf8(self.bytes(&format!("{run}/log.csv"))).expect("text");
        text.lines().map(|line| line.rsplit_once(',').expect("columns").0.to_string()).collect()
    }

    fn packed(&self, name: &str) -> WeightsFile {
        Weights::from_bytes(&self.bytes(name)).expect("a checkpoint")
    }
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn fine(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self
    }

    fn fails(self, words: &str) -> Self {
        assert!(self.code == Some(1) && self.err.contains(words), "{:?} {}", self.code, self.err);
        self
    }
}

fn nnuance(args: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_nnuance")).args(args).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Starts a command, and kills it when the run in this folder has its first checkpoint.
pub fn kill_at_checkpoint(mut command: Command, run: &Path) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    while !run.join("last.safetensors").exists() {
        let ended = child.try_wait().expect("a state");
        assert!(
            ended.is_none() || run.join("last.safetensors").exists(),
            "it ended before {run:?}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("SIGKILL, or it has ended");
    child.wait().expect("its end");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn checkpoints_are_kept_under_their_own_names_and_can_be_compared() {
    let desk = Desk::new();
    let said = desk.train("run", &["schedule.keep_every=\"1 epoch\"", "schedule.epochs=3"]).fine();
    let kept = ["epoch-00001.safetensors", "epoch-00002.safetensors", "epoch-00003.safetensors"];
    assert_eq!(names(&desk.path("run/checkpoints")), kept);
    assert!(said.out.contains("epoch-00001") && said.out.contains("epoch-00003"), "{}", said.out);
    let weights = |name: &str| desk.packed(name).weights;
    assert_ne!(weights("run/checkpoints/epoch-00001.safetensors"), weights("run/last.safetensors"));
    assert_eq!(weights("run/checkpoints/epoch-00003.safetensors"), weights("run/last.safetensors"));
    let (first, last) = (desk.text("run/checkpoints/epoch-00001.safetensors"), desk.text("run"));
    let said = nnuance(&["compare", &first, &last]).fine();
    assert!(said.out.contains("run/epoch-00001"), "{}", said.out);

    let config = desk.text("run.toml");
    let run = desk.text("run");
    let set = "schedule.keep_every=\"20 steps\"";
    nnuance(&["train", &config, "--out", &run, "--overwrite", "--set", set]).fine();
    let kept = ["00000020", "00000040", "00000060"].map(|it| format!("step-{it}.safetensors"));
    assert_eq!(names(&desk.path("run/checkpoints")), kept);
    desk.train("never", &["schedule.keep_every=\"3 positions\""]).fails("less than a step");
}

#[test]
fn what_the_rate_will_be_is_said_at_the_start() {
    let desk = Desk::new();
    let said =
        desk.train("run", &["target.wdl={ shape = \"linear\", from = 0.0, to = 0.5 }"]).fine();
    let lines: Vec<&str> = said.err.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("at step")).expect("the steps");
    let cells = |line: &str| line[13..].split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(cells(lines[at]).len(), 10, "{}", said.err);
    assert!(lines[at + 1].starts_with("learning rate") && lines[at + 2].starts_with("wdl"));
    assert_eq!((&cells(lines[at + 1])[0][..], &cells(lines[at + 2])[0][..]), ("1.00e-2", "0.000"));
    let widths = [0, 1, 2].map(|row| lines[at + row].len());
    assert!(widths.iter().all(|width| *width == widths[0] && *width <= 104), "{widths:?}");
    let said = desk.train("other", &["schedule.learning_rate=0.01"]).fine();
    assert!(said.err.contains("learning rate 0.01 all through"), "{}", said.err);
}

#[test]
fn a_run_that_is_made_longer_is_the_run_that_its_config_tells_of() {
    let desk = Desk::new();
    desk.train("run", &["schedule.keep_every=\"1 epoch\""]).fine();
    let said = desk.resume("run", &["schedule.epochs=4"]).fine();
    assert!(said.err.contains("steps now instead of"), "{}", said.err);
    // And once more, in the other unit.
    desk.resume("run", &["schedule.positions=50000"]).fine();
    let config = String::from_utf8(desk.bytes("run/config.toml")).expect("text");
    assert!(config.contains("extended") && config.contains("positions = 50000"), "{config}");
    assert!(config.contains("epochs = 2.0") && config.contains("epochs = 4.0"), "{config}");

    let (config, again) = (desk.text("run/config.toml"), desk.text("again"));
    nnuance(&["train", &config, "--out", &again, "--threads", "1"]).fine();
    for name in ["last.safetensors", "best.safetensors", "net.bin", "config.toml"] {
        assert!(
            desk.bytes(&format!("run/{name}")) == desk.bytes(&format!("again/{name}")),
            "{name}"
        );
    }
    assert_eq!(desk.log("run"), desk.log("again"));
    assert_eq!(names(&desk.path("run/checkpoints")), names(&desk.path("again/checkpoints")));

    let said = desk.resume("run", &["schedule.epochs=1"]).fails("steps already");
    assert!(said.err.contains("ask for more"), "{}", said.err);
    desk.resume("run", &["model.hidden=16"]).fails("nothing else");
    // It is whole after what was refused.
    desk.resume("run", &[]).fine();
}

/// It is written while the training goes on, yet an error is the run's.
#[test]
fn a_checkpoint_that_cannot_be_written_stops_the_run() {
    let desk = Desk::new();
    let keep = "schedule.keep_every=\"1 epoch\"";
    desk.train("run", &[keep]).fine();
    let last = desk.bytes("run/last.safetensors");
    let folder = desk.path("run/checkpoints");
    std::fs::rename(&folder, desk.path("aside")).expect("it can be moved");
    std::fs::write(&folder, "in the way").expect("a file");
    let said = desk.resume("run", &["schedule.epochs=4"]).fails("cannot write");
    assert!(said.err.contains("epoch-00003.safetensors"), "{}", said.err);
    // What a run goes on from is not beyond what it has kept.
    let step = |bytes: &[u8]| {
        let facts = Weights::from_bytes(bytes).expect("a checkpoint").facts;
        Checkpoint::state(&facts).expect("a state").step
    };
    assert!(step(&desk.bytes("run/last.safetensors")) < step(&last) * 3 / 2);
    std::fs::remove_file(&folder).expect("it can be removed");
    std::fs::rename(desk.path("aside"), &folder).expect("it can be moved");
    desk.resume("run", &[]).fine();
    assert_eq!(names(&folder).len(), 4);
    desk.train("whole", &[keep]).fine();
    desk.resume("whole", &["schedule.epochs=4"]).fine();
    assert!(desk.bytes("run/last.safetensors") == desk.bytes("whole/last.safetensors"));
}

#[test]
fn a_kill_while_a_run_is_made_longer_does_no_harm() {
    let desk = Desk::new();
    let [whole, torn] = ["whole", "torn"].map(|run| {
        desk.train(run, &[]).fine();
        desk.path(run)
    });
    desk.resume("whole", &["schedule.epochs=4"]).fine();
    // Only the first of the writes was done: that of the last checkpoint.
    let last = |run: &Path| Checkpoint::read(&run.join("last.safetensors")).expect("a checkpoint");
    let mut facts = last(&whole).facts;
    assert!(!facts.contains_key("config_before"));
    let before = desk.bytes("torn/config.toml");
    facts.insert("config_before".into(), String::from_utf8(before.clone()).expect("text"));
    let written = Checkpoint { facts, ..last(&torn) };
    written.write(&torn.join("last.safetensors")).expect("a checkpoint");
    // What somebody else wrote there is no part of it.
    let edited = String::from_utf8_lossy(&before).replace("epochs = 2.0", "epochs = 3.0");
    std::fs::write(torn.join("config.toml"), edited).expect("a config");
    desk.resume("torn", &[]).fails("epochs: 3.0 in the file, 4.0 in the run");
    std::fs::write(torn.join("config.toml"), before).expect("a config");
    let said = desk.resume("torn", &[]).fine();
    assert!(said.err.contains("was killed while it was made longer"), "{}", said.err);
    for name in ["last.safetensors", "best.safetensors", "net.bin", "config.toml"] {
        let [one, other] = ["whole", "torn"].map(|run| desk.bytes(&format!("{run}/{name}")));
        assert!(one == other, "{name}");
    }
    assert_eq!(desk.log("whole"), desk.log("torn"));
}

#[test]
fn a_run_that_stopped_early_can_be_made_longer() {
    let desk = Desk::new();
    let sets = ["schedule.patience=1", "schedule.learning_rate=0.3", "schedule.epochs=20"];
    let said = desk.train("run", &sets).fine();
    assert!(said.err.contains("no longer fell"), "{}", said.err);
    desk.resume("run", &["schedule.epochs=30"]).fine();
    let (config, again) = (desk.text("run/config.toml"), desk.text("again"));
    nnuance(&["train", &config, "--out", &again]).fine();
    assert!(desk.bytes("run/last.safetensors") == desk.bytes("again/last.safetensors"));
    assert_eq!(desk.log("run"), desk.log("again"));
}

#[test]
fn a_config_that_was_edited_or_deleted_is_not_passed_over() {
    let desk = Desk::new();
    desk.train("run", &[]).fine();
    let whole = desk.bytes("run/config.toml");
    let text = String::from_utf8(whole.clone()).expect("text");
    std::fs::write(desk.path("run/config.toml"), text.replace("hidden = 8", "hidden = 16"))
        .unwrap();
    let said = desk.resume("run", &[]).fails("model.hidden: 16 in the file, 8 in the run");
    assert!(!said.err.contains("data.files"), "only what differs: {}", said.err);
    // A comment changes nothing.
    std::fs::write(desk.path("run/config.toml"), format!("{text}# mine\n")).unwrap();
    desk.resume("run", &[]).fine();
    std::fs::remove_file(desk.path("run/config.toml")).unwrap();
    let said = desk.resume("run", &[]).fine();
    assert!(said.err.contains("is gone; it is written again"), "{}", said.err);
    assert_eq!(desk.bytes("run/config.toml"), whole);
}

#[test]
fn a_run_that_learns_nothing_leaves_no_net() {
    let desk = Desk::new();
    let said = desk.train("run", &["schedule.learning_rate=1e9"]).fails("nothing was learnt");
    assert!(said.err.contains("learning rate is 1e9") && said.out.is_empty(), "{}", said.err);
    assert!(!desk.path("run/net.bin").exists() && desk.path("run/last.safetensors").exists());
}

#[test]
fn a_folder_that_is_moved_is_not_made_anew() {
    let desk = Desk::new();
    let (config, out) = (desk.text("run.toml"), desk.text("run"));
    let child = Command::new(env!("CARGO_BIN_EXE_nnuance"))
        .args(["train", &config, "--out", &out, "--set", "schedule.epochs=2000"])
        .args(["--set", "schedule.checkpoints=1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !desk.path("run/last.safetensors").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::rename(desk.path("run"), desk.path("moved")).expect("it can be moved");
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("was moved, removed or replaced"), "{said}");
    assert!(!desk.path("run").exists() && desk.path("moved/last.safetensors").exists());
    // It goes on where it is now.
    let said = desk.resume("moved", &["schedule.epochs=1"]);
    assert!(said.err.contains("steps already") || said.code == Some(0), "{}", said.err);
}

/// The validation loss before the first step.
fn first_loss(desk: &Desk, run: &str) -> f64 {
    let row = desk.log(run)[1].clone();
    row.split(',').nth(3).and_then(|cell| cell.parse().ok()).expect("a loss")
}

#[test]
fn a_net_starts_from_a_run_a_checkpoint_or_a_net() {
    let desk = Desk::new();
    desk.train("first", &[]).fine();
    let best = desk.packed("first/best.safetensors").weights;
    let best_loss = smallest(
        desk.log("first")[1..]
            .iter()
            .map(|row| row.split(',').nth(3).expect("a cell").parse().expect("a loss")),
    );
    std::fs::copy(desk.path("first/net.bin"), desk.path("alone.bin")).expect("a copy");
    // As bullet writes it: names, counts and floats.
    let mut bullet = Vec::new();
    for (id, name) in [
        ("l0w", "accumulator.weight"),
        ("l0b", "accumulator.bias"),
        ("l1w", "output.weight"),
        ("l1b", "output.bias"),
    ] {
        let values = &best.0[name].values;
        bullet.extend(format!("{id}\n").into_bytes());
        bullet.extend((values.len() as u64).to_le_bytes());
        bullet.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
    std::fs::write(desk.path("weights.bin"), bullet).expect("a file");
    for (number, (start, exact)) in [
        ("first", true),
        ("first/best.safetensors", true),
        ("first/net.bin", true),
        ("weights.bin", true),
        ("alone.bin", false),
    ]
    .into_iter()
    .enumerate()
    {
        let run = format!("from-{number}");
        let set = format!("model.start={:?}", desk.text(start));
        let said = desk.train(&run, &[&set, "schedule.epochs=1"]).fine();
        assert!(said.err.contains("starts from"), "{}", said.err);
        let off = (first_loss(&desk, &run) - best_loss).abs();
        assert!(if exact { off < 1e-7 } else { off > 0.0 && off < 1e-3 }, "{start}: {off}");
        let facts = desk.packed(&format!("{run}/last.safetensors")).facts;
        let manifest = String::from_utf8(desk.bytes(&format!("{run}/net.json"))).expect("text");
        assert!(facts.contains_key("start") && manifest.contains("\"doubt\""), "{start}");
        // What nobody knows the origin of may have seen everything.
        let known = start.starts_with("first");
        assert_eq!(facts["start"].contains("\"doubt\":null"), known, "{}", facts["start"]);
        assert_eq!(said.err.contains("nothing is known"), !known, "{}", said.err);
    }
    // Resumed, it needs its start no more.
    std::fs::rename(desk.path("first"), desk.path("gone")).expect("it can be moved");
    desk.resume("from-0", &["schedule.epochs=2"]).fine();
}

#[test]
fn a_start_of_another_shape_is_refused_and_one_that_knows_more_is_a_doubt() {
    let desk = Desk::new();
    desk.train("first", &[]).fine();
    let set = format!("model.start={:?}", desk.text("first"));
    let said = desk.train("narrow", &[&set, "model.hidden=4"]).fails("(768 -> 8)x2 -> 1");
    assert!(said.err.contains("(768 -> 4)x2 -> 1"), "{}", said.err);
    desk.train("none", &["model.start=nowhere"]).fails("cannot read nowhere");
    desk.train("none", &["model.start=material"]).fails("for handcrafted terms");
    let said = desk.train("other", &[&set, "data.held_out_seed=9"]).fine();
    assert!(said.err.contains("held out other games"), "{}", said.err);
    let said = nnuance(&["compare", &desk.text("other"), "material"]).fine();
    assert!(said.err.contains("held out other games"), "{} {}", said.err, said.out);
    // The games of the start count as seen, also where the run itself has others.
    let sets = [&set[..], "data.files=[\"data/selfplay_sf151_quiet.epd\"]", "target.wdl=1.0"];
    desk.train("elsewhere", &sets).fine();
    let sketch =
        |run: &str| desk.packed(&format!("{run}/last.safetensors")).facts["sketch"].clone();
    let (first, elsewhere) = (sketch("first"), sketch("elsewhere"));
    let common = first.split(' ').filter(|it| elsewhere.contains(it)).count();
    assert!(common > 100, "{common}");
}

#[test]
fn a_run_without_a_checkpoint_is_begun_anew_and_a_file_counts_once() {
    let desk = Desk::new();
    desk.train("run", &[]).fine();
    std::fs::remove_file(desk.path("run/last.safetensors")).unwrap();
    let said = desk.resume("run", &[]).fails("before its first checkpoint");
    assert!(said.err.contains("config.toml --out"), "{}", said.err);
    desk.resume("nothing", &[]).fails("name the folder of a run");

    let data = std::fs::canonicalize("data/selfplay_sf151_scored.txt").expect("the data");
    let twice = format!("data.files=[\"data/selfplay_sf151_scored.txt\", {data:?}]");
    desk.train("twice", &[&twice]).fails("are one file; remove one");
}
