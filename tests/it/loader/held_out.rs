//! Held-out games: some validate, the others are the test that training never reads.

use nnuance::format::plain;
use nnuance::loader::{HeldOut, TestShare, TrainingShare};
use nnuance::sketch::Sketch;

use crate::formats::registry::{first, read};
use crate::support::kit::*;
const SPLIT: Split = Split { share: 0.25, seed: 0 };

const CONFIG: &str = r#"
version = 3
seed = 5
data = { files = ["GAMES"], held_out = 0.25 }
net = { inputs = "perspective", mirror = false, start_size = 1.0, hidden = 4 }
target = { wdl = 0.5, score_scale = 130.0 }
schedule = { positions = 300000, batch = 256, learning_rate = 0.01, checkpoints = 200 }
"#;

fn plan(path: &Path) -> ReadPlan {
    ReadPlan { split: SPLIT, test: TestShare::DEFAULT, ..ReadPlan::new(vec![path.to_path_buf()]) }
}

pub fn games(count: usize) -> Vec<Vec<u8>> {
    let bytes = fs::read(GAMES).expect("the games");
    let (mut games, mut end) = (Vec::new(), 0);
    while games.len() < count {
        let from = end;
        end += 32;
        while bytes[end..end + 4] != [0; 4] {
            end += 4;
        }
        end += 4;
        games.push(bytes[from..end].to_vec());
    }
    games
}

fn write(folder: &Workdir, name: &str, games: &[Vec<u8>]) -> PathBuf {
    let path = folder.path(name);
    fs::write(&path, games.concat()).expect("a file");
    path
}

fn subsets(path: &Path, plan: &ReadPlan) -> Vec<Subset> {
    let samples = read(path).expect("games");
    let games = samples.chunk_by(|a, b| a.game == b.game);
    games.map(|game| plan.subset_of_game(game[0].split_group())).collect()
}

/// Reverses the result of a game; a draw becomes a win.
fn with_other_result(game: &[u8]) -> Vec<u8> {
    const RESULT: usize = 30;
    let mut game = game.to_vec();
    game[RESULT] = if game[RESULT] == 0 { 2 } else { 0 };
    game
}

fn train(folder: &Workdir, games: &Path, out: &str, more: &[&str]) -> PathBuf {
    let config = folder.write("run.toml", CONFIG.replace("GAMES", &games.to_string_lossy()));
    let out = folder.path(out);
    said(program::train(&config, &out).args(more));
    out
}

fn assert_same_checkpoints(runs: [&Path; 2], names: &[&str], what: &str) {
    for name in names {
        let [first, second] = runs.map(|run| checkpoint(run, name));
        assert!(first.weights == second.weights && first.state == second.state, "{what}: {name}");
    }
}

fn compared(args: &[&str], out: &Path) -> Value {
    json(nnuance().args(["compare", "material", "--json"]).arg(out).args(args))
}

#[test]
fn validation_and_test_are_disjoint() {
    let whole = ReadPlan {
        split: Split { share: 0.1, seed: 0 },
        test: TestShare::DEFAULT,
        ..ReadPlan::new(vec![GAMES.into()])
    };
    let games = |part| -> BTreeSet<u64> {
        let samples = collect_samples(&whole, part, &|_| {}).expect("games");
        samples.iter().map(Sample::split_group).collect()
    };
    let all = games(None);
    let [train, validation, test] =
        [Subset::Train, Subset::Validation, Subset::Test].map(|subset| games(Some(subset)));
    assert!(validation.is_disjoint(&test));
    let held_out = &all - &train;
    assert_eq!(&validation | &test, held_out);
    // Within four standard deviations of a fair coin.
    let spread = 4.0 * (held_out.len() as f64 / 4.0).sqrt();
    assert!((test.len() as f64 - held_out.len() as f64 / 2.0).abs() < spread, "{}", test.len());
    let scanned = scan(&whole, 0, &|_| {}).expect("good data");
    assert_eq!(scanned.validation.group_count(), validation.len());
    assert_eq!(scanned.test.group_count(), test.len());
    // Without a test all of them validate.
    let old =
        scan(&ReadPlan { test: TestShare(0.0), ..whole.clone() }, 0, &|_| {}).expect("good data");
    assert_eq!((old.validation.group_count(), old.test.total), (held_out.len(), 0));
    assert_eq!(old.counts.train, scanned.counts.train);
    assert_eq!(old.sketch, scanned.sketch);
}

#[test]
fn test_is_independent_of_other_draws() {
    let (sample, mut smaller) = (&mut first(GAMES, 1)[0], 0);
    // Test games among those drawn by others, and among the rest.
    let (mut counts, mut totals) = ([[0u32; 2]; 2], [[0u32; 2]; 2]);
    for number in 1..=200_000 {
        sample.game = std::num::NonZeroU64::new(mix_hash(7, number));
        let taken = TestShare(0.5).takes_group(sample.split_group());
        let draws = [
            SPLIT.holds_out(sample.split_group()),
            TrainingShare(0.5).takes_group(sample.split_group()),
        ];
        for (i, draw) in draws.into_iter().enumerate() {
            counts[i][usize::from(draw)] += u32::from(taken);
            totals[i][usize::from(draw)] += 1;
        }
        let in_smaller = TestShare(0.3).takes_group(sample.split_group());
        assert!(taken || !in_smaller, "a smaller test is a part of a larger one");
        smaller += u32::from(in_smaller);
        assert!(
            TestShare(1.0).takes_group(sample.split_group())
                && !TestShare(0.0).takes_group(sample.split_group())
        );
    }
    assert!((f64::from(smaller) / 200_000.0 - 0.3).abs() < 0.005, "{smaller}");
    for (count, total) in counts.iter().flatten().zip(totals.iter().flatten()) {
        let spread = 4.0 * (f64::from(*total) / 4.0).sqrt();
        assert!((f64::from(*count) - f64::from(*total) / 2.0).abs() < spread, "{counts:?} {total}");
    }
}

#[test]
fn training_ignores_the_test() {
    let folder = Workdir::empty();
    let games = games(400);
    let path = write(&folder, "games.vf", &games);
    let plan = plan(&path);
    let subsets = subsets(&path, &plan);
    assert_eq!(subsets.len(), games.len());
    let changed = |name: &str, changed_subset: Subset, every: usize| {
        let changed = games.iter().zip(&subsets).enumerate().map(|(i, (game, subset))| {
            if *subset == changed_subset && i % every == 0 {
                with_other_result(game)
            } else {
                game.clone()
            }
        });
        write(&folder, name, &changed.collect::<Vec<_>>())
    };
    let other_test = changed("test.vf", Subset::Test, 1);
    // Too few to be worth learning, so that changing their results has little effect.
    let other_validation = changed("validation.vf", Subset::Validation, 8);
    assert!(subsets.iter().filter(|subset| **subset == Subset::Test).count() > 20);
    let runs = [&path, &other_test, &other_validation].map(|path| {
        train(&folder, path, &path.file_stem().expect("a name").to_string_lossy(), &[])
    });
    assert_eq!(log(&runs[0]), log(&runs[1]));
    assert_ne!(log(&runs[0]), log(&runs[2]), "the log shows the validation loss");
    let files = ["best.safetensors", "last.safetensors"];
    assert_same_checkpoints([&runs[0], &runs[1]], &files, "another test");
    let read = |run: &Path, name: &str| fs::read(run.join(name)).expect("a file");
    assert!(read(&runs[0], "net.bin") == read(&runs[1], "net.bin"));
    // And the test changes with them.
    let [first, second] = [&runs[0], &runs[1]].map(|run| compared(&[], run));
    assert_eq!(first["noun"], "test games");
    assert_eq!(first["measured_on"], second["measured_on"]);
    let test = collect_samples(&plan, Some(Subset::Test), &|_| {}).expect("games").len();
    assert_eq!(first["measured_on"]["positions"], test);
    assert_ne!(first["evaluations"], second["evaluations"]);
}

#[test]
fn no_game_to_validate() {
    let folder = Workdir::empty();
    let games = games(40);
    let [_, path] = cut(&folder, &games, &write(&folder, "games.vf", &games));
    let error = scan(&plan(&path), 0, &|_| {}).expect_err("none validates").to_string();
    assert!(error.contains("data.test"), "{error}");
    let all =
        scan(&ReadPlan { test: TestShare(1.0), ..plan(&path) }, 0, &|_| {}).expect("good data");
    assert_eq!(all.validation.total, 0);
}

#[test]
fn split_depends_on_its_seed() {
    let samples = read(GAMES).expect("games");
    let held = |seed| -> BTreeSet<u64> {
        let split = Split { seed, ..SPLIT };
        samples
            .iter()
            .filter(|it| split.holds_out(it.split_group()))
            .map(Sample::split_group)
            .collect()
    };
    let games: BTreeSet<u64> = samples.iter().map(Sample::split_group).collect();
    let [first, second] = [held(0), held(1)];
    assert!(first == held(0));
    // A quarter of a quarter of the games, within four standard deviations.
    let (both, expected) = (first.intersection(&second).count() as f64, games.len() as f64 / 16.0);
    assert!((both - expected).abs() < 4.0 * expected.sqrt(), "{both} for {expected}");
}

#[test]
fn sketch_has_the_smallest_hashes() {
    let samples = read(GAMES).expect("games");
    let smallest: BTreeSet<u64> = samples.iter().map(Sample::split_group).collect();
    let smallest: BTreeSet<u64> = smallest.into_iter().take(2048).collect();
    let mut sketch = Sketch::default();
    sketch.add_hashes(samples.iter().map(Sample::split_group));
    assert!(
        samples.iter().all(
            |it| sketch.contains_hash(it.split_group()) == smallest.contains(&it.split_group())
        )
    );
    // In halves too.
    let (mut joined, mut half) = (Sketch::default(), Sketch::default());
    let (first, second) = samples.split_at(samples.len() / 2);
    joined.add_hashes(first.iter().map(Sample::split_group));
    half.add_hashes(second.iter().map(Sample::split_group));
    joined.join_sketch(&half);
    assert!(joined == sketch);
}

const UNSCORED: &str = r#"
version = 3
target = { wdl = WDL, scale = 400 }
schedule = { epochs = 2, batch = 256, learning_rate = 0.01 }
[data]
files = ["GAMES"]
held_out = 0.2
WINDOW
MODEL
"#;

#[test]
fn unscored_positions_are_skipped() {
    let folder = Workdir::empty();
    let samples = &first(GAMES, 6000)[..6000];
    let mut sparse = samples.to_vec();
    sparse.iter_mut().step_by(3).for_each(|sample| sample.score = None);
    let scored: Vec<Sample> = sparse.iter().filter(|it| it.score.is_some()).copied().collect();
    let unscored: Vec<Sample> =
        samples.iter().map(|sample| Sample { score: None, ..*sample }).collect();
    let [sparse, scored, unscored] = [("sparse", sparse), ("scored", scored), ("none", unscored)]
        .map(|(name, samples)| {
            let path = folder.path(format!("{name}.plain"));
            write_all(&path, &plain::FORMAT, &samples).expect("a file");
            path
        });
    let run = |path: &Path, model: &str, window: &str, wdl: &str, out: &str| {
        let text = UNSCORED
            .replace("GAMES", &path.to_string_lossy())
            .replace("MODEL", model)
            .replace("WINDOW", window)
            .replace("WDL", wdl);
        let out = folder.path(out);
        let mut command = program::train(&folder.write("run.toml", &text), &out);
        let output = command.arg("--overwrite").output().expect("a process");
        (output.status.success(), String::from_utf8(output.stderr).expect("text"), out)
    };
    let net = "[net]\ninputs = \"perspective\"\nmirror = false\nstart_size = 1.0\nhidden = 4";
    let wdls = ["0.5", "[{ shape = \"linear\", from = 1.0, to = 0.9 }]"];
    for (model, window, wdl) in [
        (net, "", wdls[0]),
        (net, "window = 1000", wdls[1]),
        (net, "limit = 2500", wdls[0]),
        ("[terms]", "", wdls[0]),
    ] {
        let (fine, said, with) = run(&sparse, model, window, wdl, "sparse");
        assert!(fine, "{said}");
        let (fine, said, without) = run(&scored, model, window, wdl, "scored");
        assert!(fine, "{said}");
        // The order of streamed data depends on the blocks of their files.
        if !window.starts_with("window") {
            let what = format!("{model} {window}");
            assert_eq!(log(&with), log(&without), "{what}");
            assert_same_checkpoints([&with, &without], &["last.safetensors"], &what);
        }
        // Results alone need no scores.
        let (fine, said, _) = run(&sparse, model, window, "1.0", "results");
        assert!(fine, "{said}");
        let (fine, said, _) = run(&unscored, model, window, wdl, "none");
        assert!(!fine && said.contains("none.plain"), "{said}");
    }
}

/// If held-out positions exceed memory, the games with the smallest hashes stay.
#[test]
fn some_held_out_games_are_kept() {
    let folder = Workdir::empty();
    let plan = |path: &Path| ReadPlan {
        split: Split { share: 0.9, seed: 0 },
        test: TestShare(0.0),
        ..ReadPlan::new(vec![path.to_path_buf()])
    };
    let all =
        collect_samples(&plan(Path::new(GAMES)), Some(Subset::Validation), &|_| {}).expect("games");
    let mut files = Vec::new();
    while files.len() * all.len() < 3 * HeldOut::MAX_POSITIONS {
        let path = folder.path(format!("{}.vf", files.len()));
        fs::copy(GAMES, &path).expect("a file");
        files.push(path);
    }
    let scan = scan(&ReadPlan { files: files.clone(), ..plan(Path::new(GAMES)) }, 0, &|_| {});
    let validation = scan.expect("games").validation;
    assert_eq!(validation.total, (files.len() * all.len()) as u64);
    let mut expected: Vec<Sample> = files.iter().flat_map(|_| all.clone()).collect();
    expected.sort_by_key(|sample| mix_hash(1, sample.split_group()));
    expected.truncate(HeldOut::MAX_POSITIONS);
    assert!(validation.samples == expected);
}

fn validated_by(path: &Path) -> String {
    format!("data.validation=[\"{}\"]", path.display())
}

/// Writes the validation games, and the others, to files.
fn cut(folder: &Workdir, games: &[Vec<u8>], path: &Path) -> [PathBuf; 2] {
    let pairs = games.iter().cloned().zip(subsets(path, &plan(path)));
    let (validation, rest): (Vec<_>, Vec<_>) = pairs.partition(|it| it.1 == Subset::Validation);
    [("validation.vf", validation), ("rest.vf", rest)].map(|(name, games)| {
        let games: Vec<Vec<u8>> = games.into_iter().map(|(game, _)| game).collect();
        write(folder, name, &games)
    })
}

#[test]
fn own_files_validate_like_drawn_games() {
    let folder = Workdir::empty();
    let games = games(400);
    let whole = write(&folder, "games.vf", &games);
    let [validation, rest] = cut(&folder, &games, &whole);
    let plans = ReadPlan { validation: vec![validation.clone()], ..plan(&rest) };
    let [separate, drawn] =
        [&plans, &plan(&whole)].map(|it| scan(it, 0, &|_| {}).expect("good data"));
    assert_eq!((&separate.validation, &separate.test), (&drawn.validation, &drawn.test));
    assert_eq!((separate.counts.train, &separate.some), (drawn.counts.train, &drawn.some));
    assert_eq!((separate.files.len(), separate.validating.files.len()), (1, 1));
    assert_eq!(separate.validating.counts.games, separate.validation.group_count() as u64);
    assert_eq!(separate.sketch.count_shared(&separate.validating.sketch), 0);
    let collected =
        |plan: &ReadPlan, subset| collect_samples(plan, subset, &|_| {}).expect("games");
    for subset in [Some(Subset::Validation), Some(Subset::Test)] {
        assert_eq!(collected(&plans, subset), collected(&plan(&whole), subset));
    }

    let drawn = train(&folder, &whole, "drawn", &[]);
    let separate = train(&folder, &rest, "own", &["--set", &validated_by(&validation)]);
    assert_eq!(log(&separate), log(&drawn));
    let files = ["best.safetensors", "last.safetensors"];
    assert_same_checkpoints([&separate, &drawn], &files, "own files");
    let [first, second] = [&drawn, &separate].map(|run| compared(&[], run));
    assert_eq!(first["measured_on"], second["measured_on"]);
    assert_eq!(first["evaluations"][0], second["evaluations"][0]);
    let doubted = compared(&["--data", &validation.to_string_lossy()], &separate).to_string();
    assert!(doubted.contains("checkpoint"), "{doubted}");
}

#[test]
fn validation_games_are_not_trained_on() {
    let folder = Workdir::empty();
    let games = games(120);
    let data = write(&folder, "data.vf", &games[..100]);
    let text = CONFIG.replace("GAMES", &data.to_string_lossy()).replace("300000", "3000");
    let path = folder.write("run.toml", &text);
    let run = |validation: &Path| {
        let mut command = program::train(&path, &folder.path("out"));
        command.args(["--overwrite", "--set", "data.test=1", "--set", &validated_by(validation)]);
        command
    };
    // Validation games that are training games, and games that are not.
    for (from, shares) in [(90, true), (100, false)] {
        let [_, remarks] = said(&mut run(&write(&folder, "some.vf", &games[from..])));
        assert_eq!(remarks.contains("share games"), shares, "{remarks}");
    }
    let mut same = ReadPlan { validation: vec![data.clone()], ..plan(&data) };
    same.reading.filter.min_ply = Some(u16::MAX);
    let error = scan(&same, 0, &|_| {}).expect_err("none is left").to_string();
    assert!(error.contains("`data.validation`"), "{error}");
}
