//! `nnuance data doctor`: real files are fit, and every kind of damage is found.

use nnuance::data::doctor::Keys;

use crate::formats::registry::{BULLET, read};
use crate::support::kit::*;

/// Files with their format, and the point of view of their scores.
const FILES: [(&str, &str, &str); 12] = [
    (GAMES, "viriformat", "white"),
    (NOTATED, "pgn", "side-to-move"),
    (SCORED, "text", "white"),
    (QUIET, "epd", "white"),
    (BULLET, "bulletformat", "side-to-move"),
    ("../shared/data/formats/nnue-pytorch_small.binpack", "binpack", "side-to-move"),
    ("../shared/data/games/fishtest-fastchess.pgn", "pgn", "side-to-move"),
    ("../shared/data/games/gm868_1950-1987_decisive.pgn", "pgn", "white"),
    ("../shared/data/games/gm_games_40k.pgn.zst", "pgn", "white"),
    ("../shared/data/games/jackychess_example.pgn", "pgn", "side-to-move"),
    ("../shared/data/train/gm_texel_train.txt.zst", "epd", "white"),
    ("../shared/data/train/tcec_scored_train.txt.zst", "text", "white"),
];

fn doctor(arguments: &[&str]) -> Output {
    nnuance().args(["data", "doctor"]).args(arguments).output().expect("it runs")
}

/// The diagnosis of a file, and whether the exit status is success.
fn json(arguments: &[&str]) -> (Value, bool) {
    let output = doctor(&[arguments, &["--json"]].concat());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let errors = String::from_utf8_lossy(&output.stderr);
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{errors}"));
    let fit = value.as_array().expect("files").iter().all(|file| file["fit"] == true);
    assert_eq!(output.status.code(), Some(i32::from(!fit)), "{errors}");
    (value[0].clone(), fit)
}

fn finding(file: &Value, about: &str) -> String {
    let findings = file["diagnosis"]["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["about"] == about);
    let found = found.unwrap_or_else(|| panic!("nothing about {about}: {findings:?}"));
    found["grade"].as_str().expect("text").to_string()
}

fn samples(path: &str, count: usize) -> Vec<Sample> {
    let mut samples = read(path).unwrap();
    samples.truncate(count);
    samples
}

fn turned(sample: &Sample) -> Sample {
    Sample { result: 1.0 - sample.result, ..*sample }
}

#[test]
fn real_files_are_fit() {
    for (path, format, view) in FILES {
        if !need::shared(path) {
            continue;
        }
        let (file, fit) = json(&[path, "--limit", "60000"]);
        assert!(fit, "{path}: {}", file["diagnosis"]["findings"]);
        let results = if format == "pgn" { "white" } else { view };
        let seen_by = json!({ "scores": view, "results": results });
        assert_eq!((&file["format"], &file["seen_by"]), (&format.into(), &seen_by), "{path}");
        assert_eq!(finding(&file, "view, results"), "ok", "{path}");
        let positions = file["diagnosis"]["positions"].as_u64().unwrap();
        assert_eq!(positions == 60_000, file["limited"] == true, "{path}");
    }
}

#[test]
fn counts_equal_a_slow_pass() {
    let (file, _) = json(&[SCORED]);
    let all = samples(SCORED, usize::MAX);
    let it = &file["diagnosis"];
    let count = |fact: &dyn Fn(&Sample) -> bool| all.iter().filter(|it| fact(it)).count() as u64;
    assert_eq!(it["positions"], all.len());
    assert_eq!(it["side_to_move"]["wins"], count(&|it| it.result == 1.0));
    let white = |it: &Sample| if it.position.turn().is_white() { 1.0 } else { 0.0 };
    assert_eq!(it["white"]["wins"], count(&|it| it.result == white(it)));
    assert_eq!(it["in_check"], count(&|it| it.position.in_check()));
    assert_eq!(it["scored"], count(&|it| it.score.is_some()));
    let distinct: HashSet<_> = all.iter().map(|it| it.position.zobrist_key()).collect();
    let repeated = 1.0 - distinct.len() as f64 / all.len() as f64;
    assert!((it["repeats"]["positions"].as_f64().unwrap() - repeated).abs() < 1e-12);
    let (many, _) = json(&[SCORED, "--min-pieces", "20"]);
    let pieces = |it: &Sample| it.position.pieces().count();
    assert_eq!(many["diagnosis"]["positions"], count(&|it| pieces(it) >= 20));
    // The loss is lowest at the scale.
    let scale = it["scale"]["scale"].as_f64().unwrap();
    let loss = |scale: f64| -> f64 {
        let error = |it: &Sample| {
            let expected = sigmoid(f64::from(it.score.unwrap()) / scale);
            (expected - f64::from(it.result)).powi(2)
        };
        all.iter().filter(|it| it.score.unwrap().abs() <= 20_000).map(error).sum()
    };
    assert!(loss(scale) < loss(scale * 1.01) && loss(scale) < loss(scale / 1.01));
}

#[test]
fn turned_results_are_found() {
    let folder = Workdir::empty();
    let right = samples(SCORED, 30_000);
    let all: Vec<_> = right.iter().map(turned).collect();
    let black = |it: &Sample| if it.position.turn().is_black() { turned(it) } else { *it };
    let black: Vec<_> = right.iter().map(black).collect();
    for (name, samples) in [("turned.txt", all), ("black.txt", black)] {
        let (file, fit) = json(&[&folder.write_samples(name, "text", &samples)]);
        assert!(!fit && finding(&file, "view, results") == "problem");
        // The scores are as good as before.
        assert_eq!(finding(&file, "view, scores"), "ok");
    }
    let (file, fit) = json(&[SCORED, "--score-view", "side-to-move"]);
    assert!(!fit && finding(&file, "view, scores") == "problem");
}

#[test]
fn repeats_and_leaks_are_found() {
    let folder = Workdir::empty();
    let all = samples(SCORED, 30_000);
    let doubled = [&all[..10_000], &all[..10_000]].concat();
    let (one, _) = json(&[&folder.write_samples("doubled.txt", "text", &doubled)]);
    assert_eq!(finding(&one, "repeats"), "note");
    assert!(one["diagnosis"]["repeats"]["records"].as_f64() > Some(0.5));

    let other = folder.write_samples("other.txt", "text", &all[20_000..]);
    let leaky = [&all[..10_000], &all[20_000..20_500]].concat();
    let leaky = folder.write_samples("leaky.txt", "text", &leaky);
    let (one, fit) = json(&[&leaky, "--against", &other]);
    assert!(!fit && finding(&one, "leakage") == "problem");

    let games = samples(GAMES, 40_000);
    let cut = games[..20_000].iter().rposition(|it| it.game != games[20_000].game).unwrap() + 1;
    let first = folder.write_samples("first.vf", "viriformat", &games[..cut]);
    let second = folder.write_samples("second.vf", "viriformat", &games[cut..]);
    let (one, fit) = json(&[&first, "--against", &second]);
    assert!(fit && one["diagnosis"]["against"]["games"] == 0.0);
    let (one, fit) = json(&[&first, "--against", &second, &first]);
    assert!(!fit && one["diagnosis"]["against"]["games"] == 1.0);
    let twice =
        folder.write_samples("twice.vf", "viriformat", &[&games[..cut], &games[..cut]].concat());
    let (one, _) = json(&[&twice]);
    assert_eq!(one["diagnosis"]["repeats"]["games"], 0.5);
}

#[test]
fn damage_is_found() {
    let work = Workdir::empty();
    let cut = work.write("cut.vf", &fs::read(GAMES).unwrap()[..200_001]);
    let (one, fit) = json(&[&cut]);
    assert!(fit && finding(&one, "records") == "note");

    // Compressed and cut off: the records before the cut are shown.
    let packed = zstd::encode_all(&fs::read(SCORED).unwrap()[..], 3).unwrap();
    let cut = work.write("cut.txt.zst", &packed[..packed.len() / 2]);
    let (one, fit) = json(&[&cut]);
    assert!(!fit && one["diagnosis"]["positions"].as_u64() > Some(1000));
    assert_eq!(finding(&one, "records"), "problem");

    let text = fs::read_to_string(SCORED).unwrap();
    let bad = |(number, line): (usize, &str)| match number % 3 {
        2 => format!("{}\n", &line[1..]),
        _ => format!("{line}\n"),
    };
    let lines: String = text.lines().take(900).enumerate().map(bad).collect();
    let (one, fit) = json(&[&work.write("bad.txt", lines)]);
    assert!(!fit && finding(&one, "records") == "problem");
    assert_eq!(one["diagnosis"]["bad_examples"].as_array().unwrap().len(), 5);
    assert!(one["diagnosis"]["bad_examples"][0].as_str().unwrap().starts_with("line 3"));

    let output = doctor(&["data/README.md"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}

/// More keys than memory: the shares are good estimates then.
#[test]
fn thinned_keys_keep_the_shares() {
    let sample = samples(SCORED, 1)[0];
    let mut keys = [Keys::default(), Keys::default()];
    let game = |number: u64| std::num::NonZeroU64::new(mix_hash(3, number).max(1));
    for number in 0..2_500_000u64 {
        // Each game is new to the first; one in five of them is in the second too.
        keys[0].add(&Sample { game: game(number), ..sample });
        let other = if number % 5 == 0 { number } else { number + 10_000_000 };
        keys[1].add(&Sample { game: game(other), ..sample });
    }
    let share = keys[0].measure_overlap(&keys[1]).games.unwrap();
    assert!((share - 0.2).abs() < 0.005, "{share}");
}
