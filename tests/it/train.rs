//! `nnuance train` as a user meets it: runs that are killed, threads, and every kind of mistake.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::assert::OutputAssertExt;
use nnuance::train::checkpoint::Checkpoint;
use nnuance::weights::Weights;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use tempfile::TempDir;

/// A short run over 30,000 positions, which ends within an epoch.
const CONFIG: &str = r#"
version = 1
seed = 5
[data]
files = ["data/selfplay_sf151_scored.txt"]
window = 8192
[model]
inputs = "perspective"
hidden = 8
[target]
wdl = { shape = "linear", from = 0.0, to = 0.5 }
[schedule]
positions = 400000
batch = 1024
learning_rate = { shape = "cosine", from = 0.01, to = 0.0001 }
validations = 12
checkpoints = 20
keep_every = "15k positions"
"#;

fn nnuance() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nnuance"))
}

fn config(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("run.toml");
    std::fs::write(&path, text).expect("a config");
    path.to_string_lossy().into_owned()
}

/// Weights, optimiser and state: all that a checkpoint holds.
fn checkpoint(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).expect("a checkpoint")
}

/// The log without the column of speeds.
fn log(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("log.csv")).expect("a log");
    let row = |line: &str| line.rsplit_once(',').expect("columns").0.to_string();
    text.lines().map(row).collect()
}

/// The checkpoints that are kept for good, with their names.
fn kept(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder.join("checkpoints")).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    names
        .into_iter()
        .map(|name| (name.clone(), checkpoint(folder, &format!("checkpoints/{name}"))))
        .collect()
}

fn train(config: &str, out: &Path, threads: &str) {
    let mut command = nnuance();
    command.args(["train", config, "--threads", threads, "--out"]).arg(out);
    command.assert().success();
}

/// Runs of a config that are killed, often more than once, each against one that was not.
fn survive_kills(text: &str, runs: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, text);
    let untouched = folder.path().join("untouched");
    let start = Instant::now();
    train(&config, &untouched, "2");
    let length = start.elapsed();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut killed = 0;
    for kill in 0..runs {
        let out = folder.path().join(format!("killed-{kill}"));
        let mut run = nnuance();
        run.args(["train", &config, "--out"]).arg(&out);
        let mut moment = length.mul_f64(random.random_range(0.0..1.0));
        // Killed, and often killed again while it goes on.
        loop {
            let mut child =
                run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
            std::thread::sleep(moment);
            child.kill().expect("SIGKILL, or it has ended");
            let ended = child.wait().expect("its end").success();
            let begun = out.join("last.safetensors").exists();
            run = nnuance();
            if ended {
                // Too late, on a machine whose speed drifts: once more from the start.
                std::fs::remove_dir_all(&out).expect("it can be removed");
                run.args(["train", &config, "--out"]).arg(&out);
                moment /= 2;
                continue;
            }
            killed += 1;
            if begun {
                run.args(["train", "--resume"]).arg(&out);
            } else {
                run.args(["train", &config, "--out"]).arg(&out);
            }
            if begun && random.random_range(0..2) == 0 {
                break;
            }
            moment = length.mul_f64(random.random_range(0.0..0.5));
        }
        run.args(["--threads", ["1", "2", "3"][kill % 3]]).assert().success();
        for name in ["last.safetensors", "best.safetensors"] {
            let same = checkpoint(&out, name) == checkpoint(&untouched, name);
            assert!(same, "kill {kill} at {moment:?}: {name} differs");
        }
        assert_eq!(log(&out), log(&untouched), "kill {kill}");
        assert_eq!(kept(&out), kept(&untouched), "kill {kill}");
        std::fs::remove_dir_all(&out).expect("it can be removed");
    }
    println!("{killed} kills, run of {length:?}");
    assert!(killed >= runs);
}

/// What the run would want at its end is looked for at its beginning.
#[test]
fn a_run_without_its_best_weights_does_not_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, &short());
    let out = folder.path().join("run");
    let run = |command: &mut Command| command.assert();
    run(nnuance().arg("train").arg(&config).arg("--out").arg(&out)).success();
    let other = folder.path().join("other");
    let larger = ["--set", "model.hidden=24"];
    run(nnuance().arg("train").arg(&config).args(larger).arg("--out").arg(&other)).success();

    let best = out.join("best.safetensors");
    let whole = std::fs::read(&best).expect("best weights");
    let net = std::fs::read(out.join("net.bin")).expect("a net");
    let foreign = std::fs::read(other.join("best.safetensors")).expect("best weights");
    for bytes in [Some(&whole[..100]), Some(&foreign[..]), None] {
        match bytes {
            Some(bytes) => std::fs::write(&best, bytes).expect("it can be written"),
            None => std::fs::remove_file(&best).expect("it can be removed"),
        }
        let longer = ["--set", "schedule.positions=900000"];
        let resumed = run(nnuance().args(["train", "--resume"]).arg(&out).args(longer)).failure();
        let said = String::from_utf8_lossy(&resumed.get_output().stderr).into_owned();
        assert!(said.contains("best.safetensors") && said.contains("restore it"), "{said}");
        assert!(said.contains("model.start"), "{said}");
        assert_eq!(std::fs::read(out.join("net.bin")).expect("a net"), net);
    }
}

/// Half a second, so that fifty of them and their kills take no minute.
fn short() -> String {
    with("400000", "110000").replace("[model]", "limit = 9000\n[model]")
}

#[test]
fn killed_at_any_moment_and_resumed_a_run_ends_with_the_same_bits() {
    survive_kills(&short(), 50);
}

/// Positions that stay together, cut by the ends of batches and passes, their mirror images too.
#[test]
fn killed_and_resumed_a_run_of_planned_chunks_ends_with_the_same_bits() {
    let kept = short().replace("window = 8192\n", "chunk = 200\n");
    survive_kills(&kept, 12);
    let copies = kept.replace("limit = ", "mirrored_copies = true\nlimit = ");
    survive_kills(&copies.replace("hidden = 8\n", "hidden = 8\nmirror = false\n"), 6);
    // With pairs.
    survive_kills(&kept.replace("hidden = 8\n", "hidden = 128\n"), 6);
}

/// Each source has passes of its own, in batches that would mix chunks of one.
#[test]
fn sources_with_shares_train_in_large_batches() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = |name: &str, share: f64| {
        format!("[[data.source]]\nfiles = [\"data/{name}\"]\nbatch_share = {share}\nlimit = 5000\n")
    };
    let [one, other] =
        [("selfplay_sf151_scored.txt", 0.9), ("selfplay-sf15.vf", 0.1)].map(|(n, s)| source(n, s));
    let text = CONFIG
        .replace("files = [\"data/selfplay_sf151_scored.txt\"]\nwindow = 8192\n", "")
        .replace("[model]", &format!("{one}{other}[model]"))
        .replace("batch = 1024", "batch = 4096")
        .replace("400000", "90000");
    let config = config(&folder, &text);
    train(&config, &folder.path().join("run"), "2");
}

/// Every array that a net can have, some with clips and rates of their own.
const DEEP: &str = r#"
mirror = true
king_buckets = [0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
factorised = true
hidden = 12
pairwise = true
head = [{ size = 7, activation = "dual" }, { size = 5, activation = "screlu" }, { size = 1 }]
skip = true
output_buckets = 5
[optimizer.layers]
factoriser.clip = 0.5
head.0 = { clip = 0.6, rate = 0.5 }
"#;

#[test]
fn killed_and_resumed_a_deep_net_ends_with_the_same_bits() {
    for precision in ["f32", "mixed"] {
        let model = format!("precision = \"{precision}\"{DEEP}");
        survive_kills(&short().replace("hidden = 8\n", &model), 8);
    }
}

/// What optimisers keep beside Adam's means, and means of weights, which checkpoints hold instead.
#[test]
fn killed_and_resumed_every_optimiser_ends_with_the_same_bits() {
    for lines in [
        "name = \"radam\"\naverage_decay = 0.9",
        "name = \"ranger\"\nclip_gradients = 0.001",
        "name = \"lion\"\naverage_last = 0.5",
        "name = \"schedule-free\"",
    ] {
        survive_kills(&format!("{}[optimizer]\n{lines}\n", short()), 6);
    }
}

/// The part in which weights are rounded begins, and goes on, as if nobody had been killed.
#[test]
fn killed_and_resumed_a_net_that_is_rounded_ends_with_the_same_bits() {
    let coarse = "rounded_last = 0.5\nqa = 64\nqb = 16\n";
    for (model, optimizer) in [
        ("hidden = 8\n", "name = \"schedule-free\""),
        ("hidden = 8\nprecision = \"mixed\"\n", "average_last = 0.4"),
        (&format!("head_format = \"int8\"{DEEP}"), ""),
    ] {
        let text = short().replace("hidden = 8\n", &format!("{coarse}{model}"));
        let text = match optimizer {
            "" => text,
            lines => format!("{text}[optimizer]\n{lines}\n"),
        };
        survive_kills(&text, 5);
    }
}

/// What a run of the short config ends with, as `best` and `last`, when its optimiser is this.
fn ends(folder: &TempDir, name: &str, lines: &str) -> [Weights; 2] {
    let config = config(folder, &format!("{}[optimizer]\n{lines}\n", short()));
    let out = folder.path().join(name);
    train(&config, &out, "2");
    ["best", "last"].map(|name| {
        let path = out.join(format!("{name}.safetensors"));
        Checkpoint::read(&path).expect("a checkpoint").weights
    })
}

/// A mean that forgets all but the last step is what takes the steps, and so is one of the last step
/// alone. A longer mean is another, which is near.
#[test]
fn a_mean_of_one_step_is_the_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = ends(&folder, "plain", "");
    assert!(ends(&folder, "forgets", "average_decay = 0.0") == plain);
    let [_, last] = ends(&folder, "last", "average_last = 1e-6");
    assert!(last == plain[1]);
    let [_, mean] = ends(&folder, "mean", "average_last = 0.1");
    let far = |a: &Weights, b: &Weights| {
        let pairs = a.0.iter().flat_map(|(name, array)| array.values.iter().zip(&b.0[name].values));
        pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    };
    let moved = far(&mean, &plain[1]);
    assert!(moved > 0.0 && moved < 0.5, "{moved}");
}

/// Gradients are as long as they may be at most: where that is more than they ever are, nothing
/// changes, and a step of plain descent is the learning rate times that where it is less.
#[test]
fn gradients_are_held_within_their_norm() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = ends(&folder, "plain", "");
    assert!(ends(&folder, "free", "clip_gradients = 1e6") == plain);
    assert!(ends(&folder, "held", "clip_gradients = 1e-3") != plain);
}

/// A net whose data are kept.
const KEPT: &str = "inputs = \"perspective\"\nhidden = 136";

#[test]
fn the_number_of_threads_does_not_show_in_the_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = CONFIG.find("[model]").expect("a section");
    let end = CONFIG.find("[target]").expect("a section");
    // Some 150 steps each.
    for model in [
        "inputs = \"hce\"",
        "inputs = \"plain\"\nhidden = 16",
        "inputs = \"perspective\"\nhidden = 40",
        "inputs = \"perspective\"\nhidden = 40\nprecision = \"mixed\"",
        "inputs = \"perspective\"\nhidden = 40\nrounded_last = 0.7\nqa = 32",
        "inputs = \"perspective\"\nhidden = 1024\n[optimizer]\nclip_gradients = 0.0001",
        KEPT,
    ] {
        let text = format!("{}[model]\n{model}\n{}", &CONFIG[..start], &CONFIG[end..]);
        let text = match model {
            KEPT => text.replace("window = 8192", "chunk = 150"),
            _ => text,
        };
        let config = config(&folder, &text.replace("400000", "150000"));
        let runs = ["1", "2", "3", "8"].map(|threads| {
            let out = folder.path().join(threads);
            train(&config, &out, threads);
            let bits = checkpoint(&out, "last.safetensors");
            std::fs::remove_dir_all(out).expect("it can be removed");
            bits
        });
        assert!(runs.iter().all(|bits| *bits == runs[0]), "{model}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_work_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("run");
    let child = nnuance()
        .args(["train", &config, "--set", "schedule.positions=3000000", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !out.join("last.safetensors").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).assert().success();
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("nnuance train --resume"), "{said}");
}

/// Runs a config that must be refused; what was said.
fn refused(text: &str, extra: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, text);
    let out = folder.path().join("out");
    let mut command = nnuance();
    command.args(["train", &config, "--out"]).arg(&out).args(extra);
    let assert = command.assert().failure();
    let output = assert.get_output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout.is_empty(), "nothing belongs on stdout");
    assert!(!said.contains("panicked"), "{said}");
    let left = std::fs::read_dir(&out).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are left behind: {said}");
    said
}

fn with(from: &str, to: &str) -> String {
    assert!(CONFIG.contains(from), "{from} is not in the config");
    CONFIG.replace(from, to)
}

#[test]
fn mistakes_in_a_config_are_named_with_their_cure() {
    let said = refused(&with("hidden", "hiden"), &[]);
    assert!(said.contains("run.toml:9") && said.contains("did you mean `hidden`?"), "{said}");
    let said = refused(CONFIG, &["--set", "schedule.bach=4"]);
    assert!(said.contains("did you mean `batch`?"), "{said}");
    let said = refused(&with("hidden = 8", "hidden = 0"), &[]);
    assert!(said.contains("model.hidden") && said.contains("found 0"), "{said}");
    let said = refused(&with("\"perspective\"", "\"perspektive\""), &[]);
    assert!(said.contains("did you mean `perspective`?"), "{said}");
    let said = refused(&with("shape = \"cosine\"", "shape = \"cosin\""), &[]);
    assert!(said.contains("cosine"), "{said}");
    let said = refused(&with("positions = 400000", "positions = 400000\nepochs = 2"), &[]);
    assert!(said.contains("one of `epochs`, `positions` and `superbatches`"), "{said}");
    let said = refused(&with("version = 1", "version = 7"), &[]);
    assert!(said.contains("versions 1 to 2, found 7"), "{said}");
    if cfg!(not(feature = "wgpu")) {
        let said = refused(CONFIG, &["--device", "wgpu"]);
        assert!(said.contains("--features wgpu"), "{said}");
    }
    let said = refused(CONFIG, &["--device", "gpu"]);
    assert!(said.contains("flex, ndarray, wgpu and vulkan"), "{said}");
}

#[test]
fn mistakes_in_the_data_are_named_with_their_cure() {
    let data = "data/selfplay_sf151_scored.txt";
    let said = refused(&with(data, "data/no-such-file.vf"), &[]);
    assert!(said.contains("data/no-such-file.vf"), "{said}");

    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let games = std::fs::read("data/selfplay-sf15.vf").expect("the games");
    let cut = file("cut.vf", &games[..10_001]);
    let said = refused(&with(data, &cut), &[]);
    assert!(said.contains("cut.vf") && said.contains("game"), "{said}");

    let text = std::fs::read_to_string(data).expect("the positions");
    let mut lines: Vec<&str> = text.lines().take(100).collect();
    lines[41] = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 | 12 | 3.0";
    let wrong = file("wrong.txt", lines.join("\n").as_bytes());
    let said = refused(&with(data, &wrong), &[]);
    assert!(said.contains("wrong.txt") && said.contains("line 42"), "{said}");
    assert!(said.contains("data.bad_records"), "{said}");

    let unscored = "data/selfplay_sf151_quiet.epd";
    let said = refused(&with(data, unscored), &[]);
    assert!(said.contains("target.wdl = 1.0"), "{said}");

    let few = file("few.txt", text.lines().take(3).collect::<Vec<_>>().join("\n").as_bytes());
    let said = refused(&with(data, &few), &["--set", "data.held_out=0.001"]);
    assert!(said.contains("data.held_out"), "{said}");

    let said = refused(CONFIG, &["--set", "data.filter.min_pieces=33"]);
    assert!(said.contains("no position is left") && said.contains("by pieces"), "{said}");
    let said = refused(CONFIG, &["--set", "data.filter.min_ply=16"]);
    assert!(said.contains("min_ply") && said.contains("the ply"), "{said}");

    let empty = file("empty.vf", &[]);
    let said = refused(&with(data, &empty), &[]);
    assert!(said.contains("empty.vf"), "{said}");
}

#[test]
fn a_run_that_is_there_is_not_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("run");
    train(&config, &out, "2");
    let before = checkpoint(&out, "last.safetensors");
    let mut again = nnuance();
    again.args(["train", &config, "--out"]).arg(&out);
    let said = again.assert().failure();
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(said.contains("--resume") && said.contains("--overwrite"), "{said}");
    assert!(before == checkpoint(&out, "last.safetensors"));
}

#[test]
fn a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let out = folder.path().join("run");
    let mut command = nnuance();
    command.args(["train", &config, "--out"]).arg(&out);
    command.args(["--set", "optimizer.name=sgd", "--set", "optimizer.clip=0"]);
    command.args(["--set", "schedule.learning_rate=1e38", "--set", "model.activation=relu"]);
    let assert = command.assert().failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("diverged") && said.contains("step"), "{said}");
    assert!(said.contains("last.safetensors"), "{said}");
    let (kept, _) = (checkpoint(&out, "last.safetensors"), ());
    let kept = nnuance::weights::Weights::from_bytes(&kept).expect("a checkpoint").weights;
    assert_eq!(kept.non_finite(), None);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_to_is_found_before_the_work() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(&folder, CONFIG);
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).expect("a folder");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).expect("modes");
    // Root may write anywhere; then a folder that no one can make stands in.
    let out = match std::fs::write(closed.join("probe"), "") {
        Ok(()) => Path::new("/proc/no-such-place/run").to_path_buf(),
        Err(_) => closed.join("run"),
    };
    let mut command = nnuance();
    command.args(["train", &config, "--out"]).arg(&out);
    let assert = command.assert().failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("cannot write") && said.contains("config.toml"), "{said}");
    assert!(!said.contains("to train on"), "the data was read first: {said}");
}
