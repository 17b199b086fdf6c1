//! Unusual runs: permanent checkpoints, longer runs, other starts, failures.

use nnuance::weights::WeightsFile;

use crate::nets::integers::stored_by_bullet;
use crate::support::kit::*;

/// Some 36 steps an epoch.
const CONFIG: &str = r#"version = 3
data = { files = ["data/selfplay_sf151_scored.txt"], limit = 10000 }
net = { inputs = "perspective", mirror = false, start_size = 1.0, hidden = 8 }
target = { score_scale = 126.0, wdl = 0.2 }
[schedule]
epochs = 2
batch = 256
learning_rate = { shape = "cosine", from = 0.01, to = 0.0001 }
"#;

const RESULTS: [&str; 4] = ["last.safetensors", "best.safetensors", "net.bin", "config.toml"];

fn packed(work: &Workdir, name: &str) -> WeightsFile {
    Weights::from_bytes(&work.bytes(name)).expect("a checkpoint")
}

#[test]
fn checkpoints_kept_by_epoch_or_step() {
    let work = Workdir::new(CONFIG);
    let every_epoch = ["schedule.keep_every=\"1 epoch\"", "schedule.epochs=3"];
    said(&mut work.train("run", &every_epoch));
    let kept = ["epoch-00001.safetensors", "epoch-00002.safetensors", "epoch-00003.safetensors"];
    assert_eq!(names(&work.path("run/checkpoints")), kept);
    let weights = |name: &str| packed(&work, name).weights;
    assert_ne!(weights("run/checkpoints/epoch-00001.safetensors"), weights("run/last.safetensors"));
    assert_eq!(weights("run/checkpoints/epoch-00003.safetensors"), weights("run/last.safetensors"));
    let first = work.path("run/checkpoints/epoch-00001.safetensors");
    let [table, _] = said(nnuance().arg("compare").arg(first).arg(work.path("run")));
    assert!(table.contains("run/epoch-00001"), "{table}");
    said(work.train("run", &["schedule.keep_every=\"20 steps\""]).arg("--overwrite"));
    let kept = ["00000020", "00000040", "00000060"].map(|it| format!("step-{it}.safetensors"));
    assert_eq!(names(&work.path("run/checkpoints")), kept);
}

/// A run that is made longer, twice and in other units, is the run of its last config.
#[test]
fn longer_run_has_the_same_bits() {
    let work = Workdir::new(CONFIG);
    said(&mut work.train("run", &["schedule.keep_every=\"1 epoch\""]));
    said(&mut work.resume("run", &["schedule.epochs=4"]));
    said(&mut work.resume("run", &["schedule.positions=50000"]));
    assert!(work.text("run/config.toml").contains("positions = 50000"));
    said(train(&work.name("run/config.toml"), &work.path("again")).args(["--threads", "1"]));
    assert_same(&work.path("run"), &work.path("again"), &RESULTS, "longer");
    assert_eq!(names(&work.path("run/checkpoints")), names(&work.path("again/checkpoints")));
    assert!(complaint(&mut work.resume("run", &["schedule.epochs=1"])).contains("steps already"));
    assert!(complaint(&mut work.resume("run", &["net.hidden=16"])).contains("hidden"));
    // It is complete after refused changes.
    said(&mut work.resume("run", &[]));
}

/// A checkpoint is written while the training continues, but its error ends the run.
#[test]
fn unwritable_checkpoint_stops_the_run() {
    let work = Workdir::new(CONFIG);
    let keep = "schedule.keep_every=\"1 epoch\"";
    said(&mut work.train("run", &[keep]));
    let last = work.bytes("run/last.safetensors");
    let folder = work.path("run/checkpoints");
    fs::rename(&folder, work.path("aside")).expect("it can be moved");
    fs::write(&folder, "in the way").expect("a file");
    let said_no = complaint(&mut work.resume("run", &["schedule.epochs=4"]));
    assert!(said_no.contains("epoch-00003.safetensors"), "{said_no}");
    // The last checkpoint is not beyond those kept.
    let step = |bytes: &[u8]| {
        let facts = Weights::from_bytes(bytes).expect("a checkpoint").facts;
        Checkpoint::read_state(&facts).expect("a state").step
    };
    assert!(step(&work.bytes("run/last.safetensors")) < step(&last) * 3 / 2);
    fs::remove_file(&folder).expect("it can be removed");
    fs::rename(work.path("aside"), &folder).expect("it can be moved");
    said(&mut work.resume("run", &[]));
    assert_eq!(names(&folder).len(), 4);
    said(&mut work.train("whole", &[keep]));
    said(&mut work.resume("whole", &["schedule.epochs=4"]));
    assert_same(&work.path("run"), &work.path("whole"), &RESULTS[..1], "written later");
}

#[test]
fn killed_while_made_longer() {
    let work = Workdir::new(CONFIG);
    let [whole, torn] = ["whole", "torn"].map(|run| {
        said(&mut work.train(run, &[]));
        work.path(run)
    });
    said(&mut work.resume("whole", &["schedule.epochs=4"]));
    // Only the first of the writes was done: that of the last checkpoint.
    let last = |run: &Path| checkpoint(run, "last.safetensors");
    let written = Checkpoint { facts: last(&whole).facts, ..last(&torn) };
    written.write_file(&torn.join("last.safetensors")).expect("a checkpoint");
    said(&mut work.resume("torn", &[]));
    assert_same(&whole, &torn, &RESULTS, "killed while made longer");
}

#[test]
fn longer_after_stopping_early() {
    let work = Workdir::new(CONFIG);
    let sets = ["schedule.patience=1", "schedule.learning_rate=0.3", "schedule.epochs=20"];
    said(&mut work.train("run", &sets));
    let losses = column(&work.path("run"), "validation_loss");
    let best = losses.iter().position(|it| *it == smallest(losses.iter().copied()));
    assert_eq!(losses.len(), best.unwrap() + 1 + 1, "stopped after one validation: {losses:?}");
    said(&mut work.resume("run", &["schedule.epochs=30"]));
    said(&mut train(&work.name("run/config.toml"), &work.path("again")));
    assert_same(&work.path("run"), &work.path("again"), &RESULTS[..1], "stopped early");
}

#[test]
fn edited_or_deleted_config() {
    let work = Workdir::new(CONFIG);
    said(&mut work.train("run", &[]));
    let (text, path) = (work.text("run/config.toml"), work.path("run/config.toml"));
    fs::write(&path, text.replace("hidden = 8", "hidden = 16")).unwrap();
    said(&mut work.resume("run", &[]));
    assert_eq!(work.text("run/config.toml"), text);
    fs::remove_file(&path).unwrap();
    said(&mut work.resume("run", &[]));
    assert_eq!(work.text("run/config.toml"), text);
    fs::remove_file(work.path("run/last.safetensors")).unwrap();
    assert!(complaint(&mut work.resume("run", &[])).contains("checkpoint"));
}

#[test]
fn runs_without_a_net_are_refused() {
    let work = Workdir::new(CONFIG);
    let said = complaint(&mut work.train("run", &["schedule.learning_rate=1e9"]));
    assert!(said.contains("nothing was learnt"), "{said}");
    assert!(!work.path("run/net.bin").exists() && work.path("run/last.safetensors").exists());
}

#[test]
fn nets_start_from_runs_and_nets() {
    let work = Workdir::new(CONFIG);
    said(&mut work.train("first", &[]));
    let best = packed(&work, "first/best.safetensors").weights;
    let best_loss = smallest(column(&work.path("first"), "validation_loss"));
    fs::copy(work.path("first/net.bin"), work.path("alone.bin")).expect("a copy");
    let net = Architecture::simple(Perspectives::Perspective, 8, Activation::SCReLU);
    fs::write(work.path("weights.bin"), stored_by_bullet(&net, &best)).expect("a file");
    for (start, exact) in [
        ("first", true),
        ("first/best.safetensors", true),
        ("first/net.bin", false),
        ("weights.bin", true),
        ("alone.bin", false),
    ] {
        let run = format!("from-{}", start.replace('/', "-"));
        let set = format!("net.start={:?}", work.name(start));
        said(&mut work.train(&run, &[&set, "schedule.epochs=1"]));
        let off = (column(&work.path(&run), "validation_loss")[0] - best_loss).abs();
        assert!(if exact { off < 1e-7 } else { off > 0.0 && off < 1e-3 }, "{start}: {off}");
        // A net of unknown origin may have been trained on any game.
        let facts = packed(&work, &format!("{run}/last.safetensors")).facts;
        let known = start.starts_with("first");
        assert_eq!(facts["start"].contains("\"doubt\":null"), known, "{}", facts["start"]);
    }
    // A resumed run no longer needs its start.
    fs::rename(work.path("first"), work.path("gone")).expect("it can be moved");
    said(&mut work.resume("from-first", &["schedule.epochs=2"]));
    assert!(log(&work.path("from-first")).len() > 2);
}

#[test]
fn start_of_another_shape_or_split() {
    let work = Workdir::new(CONFIG);
    said(&mut work.train("first", &[]));
    let set = format!("net.start={:?}", work.name("first"));
    let narrow = complaint(&mut work.train("none", &[&set, "net.hidden=4"]));
    assert!(narrow.contains("(768 -> 4)x2 -> 1"), "{narrow}");
    said(&mut work.train("other", &[&set, "data.held_out_seed=9"]));
    let [doubt, _] = said(nnuance().args(["compare", "material", "-v"]).arg(work.path("other")));
    let doubt = one_line(&doubt);
    assert!(doubt.contains("held out other games"), "{doubt}");
    // The games of the start count as seen, even if the run itself has others.
    let sets = [&set[..], "data.files=[\"data/selfplay_sf151_quiet.epd\"]", "target.wdl=1.0"];
    said(&mut work.train("elsewhere", &sets));
    let [first, elsewhere] = ["first", "elsewhere"]
        .map(|run| packed(&work, &format!("{run}/last.safetensors")).facts["sketch"].clone());
    let common = first.split(' ').filter(|it| elsewhere.contains(it)).count();
    assert!(common > 100, "{common}");
}
