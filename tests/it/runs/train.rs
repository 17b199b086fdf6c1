//! `nnuance train`: runs that are killed, threads, and every kind of mistake.

use crate::support::kit::*;

const CONFIG: &str = include_str!("../fixtures/configs/stream.toml");

#[test]
fn resuming_needs_the_best_weights() {
    let work = Workdir::new(&short());
    said(&mut work.train("run", &[]));
    let [whole, net] = ["run/best.safetensors", "run/net.bin"].map(|name| work.bytes(name));
    let best = work.path("run/best.safetensors");
    for bytes in [Some(&whole[..100]), None] {
        match bytes {
            Some(bytes) => fs::write(&best, bytes).unwrap(),
            None => fs::remove_file(&best).unwrap(),
        }
        let said = complaint(&mut work.resume("run", &["schedule.positions=900000"]));
        assert!(said.contains("best.safetensors"), "{said}");
        assert!(work.bytes("run/net.bin") == net);
    }
    // An edited config changes nothing, and is not lost.
    fs::write(&best, whole).unwrap();
    let config = work.bytes("run/config.toml");
    let edited = [&config[..], b"# edited\n"].concat();
    fs::write(work.path("run/config.toml"), &edited).unwrap();
    said(&mut work.resume("run", &[]));
    assert!(work.bytes("run/config.toml") == config && work.bytes("run/net.bin") == net);
    assert!(work.bytes("run/config.edited.toml") == edited);
}

/// Half a second, so that many runs and kills take less than a minute.
fn short() -> String {
    with("400000", "110000").replace("[net]", "limit = 9000\n[net]")
}

#[test]
fn killed_and_resumed_with_every_option() {
    let hidden = "hidden = 8\n";
    let deep = |keys: &str| {
        short().replace("mirror = false\n", "").replace(hidden, &format!("{keys}{DEEP}"))
    };
    let chunks = short().replace("window = 8192\n", "chunk = 200\n");
    // Chunks split by the ends of batches and passes, and with pairs.
    let pairs = chunks.replace(hidden, "hidden = 128\n");
    for (text, runs) in [(short(), 14), (chunks, 5), (pairs, 4)] {
        killed_and_resumed(&text, runs);
    }
    for precision in ["f32", "mixed"] {
        killed_and_resumed(&deep(&format!("precision = \"{precision}\"")), 4);
    }
    // A net without kernels.
    let unserved = "hidden = 8\nactivation = \"sqrrelu\"\npsqt = true\noutput_buckets = 4\n";
    killed_and_resumed(&short().replace(hidden, unserved), 3);
    // States other than Adam's means, and means of weights, which checkpoints have instead.
    for lines in ["name = \"radam\"\naverage_decay = 0.9", "name = \"ranger\""] {
        killed_and_resumed(&format!("{}[optimizer]\n{lines}\n", short()), 4);
    }
    // Most rows miss steps before a checkpoint.
    killed_and_resumed(&threats(&short()), 4);
}

/// Peak of the memory of a run in KiB, while it runs.
#[cfg(target_os = "linux")]
fn peak(run: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{run}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A graph of Burn's would grow with every step.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat() {
    for model in ["hidden = 8", "hidden = 8\nactivation = \"sqrrelu\""] {
        let text = short().replace("hidden = 8", model).replace("batch = 1024", "batch = 16");
        let work = Workdir::new(&text.replace("window = 8192\n", ""));
        let mut child = work.train("run", &["data.limit=1000"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let log = work.path("run/log.csv");
        let rows = || std::fs::read_to_string(&log).map_or(0, |text| text.lines().count());
        let (mut first, mut last) = (0, 0);
        while child.try_wait().unwrap().is_none() {
            last = peak(child.id()).unwrap_or(last);
            first = if rows() < 5 { last } else { first };
            std::thread::sleep(Duration::from_millis(5));
        }
        // 17,000 steps; a kilobyte a step would be 17 MB.
        assert!(first > 0 && last < first + 8000, "{first} to {last} KiB");
    }
}

fn threats(text: &str) -> String {
    text.replace("mirror = false\n", "sets = [\"pieces\", \"threats\"]\n")
}

/// Every array that a net can have, some with clips and rates of their own.
pub const DEEP: &str = r#"
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
"head.0" = { clip = 0.6, rate = 0.5 }
"#;

/// The weights of `best` and `last` at the end of a run with this optimiser.
fn ends(text: &str, lines: &str) -> [Weights; 2] {
    let run = Run::new(&format!("{text}[optimizer]\n{lines}\n"), "2");
    let read = |name| checkpoint(&run.out, name).weights;
    ["best.safetensors", "last.safetensors"].map(read)
}

#[test]
fn means_of_weights() {
    let plain = ends(&short(), "");
    assert!(ends(&short(), "average_decay = 0.0") == plain);
    let [_, mean] = ends(&short(), "average_decay = 0.9");
    let pairs = mean.0.iter().flat_map(|(name, it)| it.values.iter().zip(&plain[1].0[name].values));
    let moved = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    assert!(moved > 0.0 && moved < 0.5, "{moved}");
}

#[test]
fn missed_steps_change_nothing() {
    for lines in ["", "name = \"radam\""] {
        let text = threats(&with("400000", "110000"));
        assert!(ends(&text, &format!("{lines}\naverage_decay = 0.0")) == ends(&text, lines));
    }
}

#[test]
fn same_bits_for_any_threads() {
    let start = CONFIG.find("[net]").expect("a section");
    let end = CONFIG.find("[target]").expect("a section");
    // Some 150 steps each. The last keeps its data in memory.
    let net = "[net]\ninputs = \"perspective\"\nmirror = false\nstart_size = 1.0\nhidden";
    for model in [
        "[terms]".to_string(),
        "[net]\ninputs = \"plain\"\nstart_size = 1.0\nhidden = 16".to_string(),
        format!("{net} = 40"),
        format!("{net} = 40\nprecision = \"mixed\""),
        format!(
            "{net} = 40\npsqt = true\nhead = [{{ size = 4, activation = \"dual\" }}, {{ size = 1 }}]"
        ),
        format!("{net} = 136"),
        threats(&format!("{net} = 40")),
    ] {
        let text = format!("{}{model}\n{}", &CONFIG[..start], &CONFIG[end..]);
        let text = match model.ends_with("136") {
            true => text.replace("window = 8192", "chunk = 150"),
            false => text,
        };
        same_for_any_threads(&text.replace("400000", "150000"));
    }
}

#[cfg(unix)]
#[test]
fn interrupted_run_leaves_a_checkpoint() {
    let work = Workdir::new(CONFIG);
    let mut command = work.train("run", &["schedule.positions=3000000"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !work.path("run/last.safetensors").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The page is there since the first validation, and reloads itself until the run is stopped.
    assert!(work.text("run/report.html").contains("http-equiv=\"refresh\""));
    said(Command::new("kill").args(["-INT", &child.id().to_string()]));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(130) && said.contains("--resume"), "{said}");
    assert!(said.contains("run/report.html, reloads itself"), "{said}");
    let page = work.text("run/report.html");
    stands_alone(&page);
    assert!(page.contains("Training has stopped") && !page.contains("http-equiv=\"refresh\""));
    assert!(page.contains("not ended: at step ") && page.contains("<figcaption>Loss<"), "{page}");
}

fn with(from: &str, to: &str) -> String {
    assert!(CONFIG.contains(from), "{from} is not in the config");
    CONFIG.replace(from, to)
}

#[test]
fn mistakes_are_refused() {
    let work = Workdir::empty();
    let file = |name: &str, bytes: &[u8]| work.write(name, bytes);
    let games = fs::read(GAMES).unwrap();
    let text = fs::read_to_string(SCORED).unwrap();
    let mut lines: Vec<&str> = text.lines().take(100).collect();
    let few = file("few.txt", lines[..3].join("\n").as_bytes());
    let few = with(SCORED, &few).replace("window =", "held_out = 0.001\nwindow =");
    lines[41] = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 | 12 | 3.0";
    for (text, word) in [
        (with("hidden", "hiden"), "`hidden`"),
        (with("hidden = 8", "hidden = 0"), "net.hidden"),
        (with("shape = \"cosine\"", "shape = \"cosin\""), "cosine"),
        (with("positions = 400000", "positions = 400000\nepochs = 2"), "superbatches"),
        (with(SCORED, "data/no-such-file.vf"), "no-such-file.vf"),
        (with(SCORED, &file("cut.vf", &games[..10_001])), "cut.vf"),
        (with(SCORED, &file("empty.vf", &[])), "empty.vf"),
        (with(SCORED, &file("wrong.txt", lines.join("\n").as_bytes())), "line 42"),
        (with(SCORED, QUIET), "target.wdl"),
        (few, "data.held_out"),
        (with("[net]", "filter = { min_pieces = 33 }\n[net]"), "no positions are left"),
        (with("[net]", "filter = { min_ply = 16 }\n[net]"), "min_ply"),
    ] {
        let said = refused(&text);
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn finished_run_is_not_overwritten() {
    let work = Workdir::new(&short());
    said(&mut work.train("run", &[]));
    let before = work.bytes("run/last.safetensors");
    assert!(complaint(&mut work.train("run", &[])).contains("--overwrite"));
    assert!(before == work.bytes("run/last.safetensors"));
}

#[test]
fn diverged_run_keeps_its_last_checkpoint() {
    let work = Workdir::new(CONFIG);
    let sets = ["optimizer.name=sgd", "optimizer.clip=0", "schedule.learning_rate=1e38"];
    let sets = [&sets[..], &["net.activation=sqrrelu"]].concat();
    let said = complaint(&mut work.train("run", &sets));
    assert!(said.contains("diverged") && said.contains("last.safetensors"), "{said}");
    let kept = Weights::from_bytes(&work.bytes("run/last.safetensors")).unwrap().weights;
    assert_eq!(kept.non_finite(), None);
}
