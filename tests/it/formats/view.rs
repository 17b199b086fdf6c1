//! Points of view of results and scores: measured over every real file, and refused by training.

use nnuance::format::{
    ReadView,
    view::{ViewCheck, measure_view},
};

use crate::formats::registry::{BULLET, read, read_bytes, read_source, scratch, write};
use crate::support::kit::*;

const FILES: [&str; 7] = [
    GAMES,
    SCORED,
    QUIET,
    BULLET,
    "../shared/data/formats/nnue-pytorch_small.binpack",
    "../shared/data/train/gm_texel_train.txt.zst",
    "../shared/data/train/tcec_scored_train.txt.zst",
];

fn first(path: &str, count: usize) -> (SampleSource, Vec<Sample>) {
    let mut source = SampleSource::open_file(Path::new(path), None, 0).unwrap();
    let mut samples = Vec::new();
    while samples.len() < count && source.next_block(&mut samples).unwrap() {}
    samples.truncate(count);
    (source, samples)
}

fn turned(samples: &[Sample], only_black: bool) -> Vec<Sample> {
    let turned = |sample: &Sample| match only_black && sample.position.turn().is_white() {
        true => *sample,
        false => games::turned(sample),
    };
    samples.iter().map(turned).collect()
}

#[test]
fn turned_copies_are_found() {
    for path in FILES {
        if !need::shared(path) {
            continue;
        }
        let (source, samples) = first(path, 8000);
        let colours = source.format().facts.colours == Presence::Always;
        let scored = samples.iter().any(|sample| sample.score.is_some());
        for of in [LabelKind::Result, LabelKind::Score] {
            if of == LabelKind::Score && !scored {
                assert_eq!(measure_view(&samples, of, colours), ViewCheck::Unsure);
                continue;
            }
            let verdict = measure_view(&samples, of, colours);
            assert!(matches!(verdict, ViewCheck::Holds(_)), "{path}: {verdict:?}");
            assert_eq!(verdict.explain_contradiction(source.read_view(of), "data"), None);

            let verdict = measure_view(&turned(&samples, false), of, colours);
            assert!(matches!(verdict, ViewCheck::WrongSign(_)), "{path}: {verdict:?}");
            assert!(verdict.explain_contradiction(source.read_view(of), "data").is_some());
            if colours {
                let verdict = measure_view(&turned(&samples, true), of, colours);
                assert!(matches!(verdict, ViewCheck::OtherView(_)), "{path}: {verdict:?}");
                let why = verdict.explain_contradiction(source.read_view(of), "data").unwrap();
                assert!(why.contains(of.view_keys()[1]), "{path}: {why}");
                // Values of the other view follow a move of Black.
                let follows = ReadView { follows_move: true, ..source.read_view(of) };
                let why = verdict.explain_contradiction(follows, "data").unwrap();
                assert!(why.contains("wrong sign where Black is to move"), "{path}: {why}");
            }
        }
    }
}

#[test]
fn too_little_is_not_judged() {
    let (_, samples) = first(SCORED, 8000);
    assert_eq!(measure_view(&[], LabelKind::Result, true), ViewCheck::Unsure);
    assert_eq!(
        measure_view(&turned(&samples[..60], false), LabelKind::Result, true),
        ViewCheck::Unsure
    );
    // If only White is to move the views are the same, but inverted results still show.
    let white: Vec<_> =
        samples.iter().filter(|sample| sample.position.turn().is_white()).copied().collect();
    assert_eq!(measure_view(&white, LabelKind::Result, true), ViewCheck::Unsure);
    assert!(matches!(measure_view(&white, LabelKind::Result, false), ViewCheck::Holds(_)));
    let verdict = measure_view(&turned(&white, false), LabelKind::Result, true);
    assert!(matches!(verdict, ViewCheck::WrongSign(_)), "{verdict:?}");
    // Results without information.
    let drawn: Vec<_> = samples.iter().map(|sample| Sample { result: 0.5, ..*sample }).collect();
    assert_eq!(measure_view(&drawn, LabelKind::Result, true), ViewCheck::Unsure);
    // Results at random.
    for seed in 0..40u64 {
        let random = |(i, sample): (usize, &Sample)| Sample {
            result: (mix_hash(seed, i as u64) % 3) as f32 / 2.0,
            ..*sample
        };
        let random: Vec<_> = samples.iter().enumerate().map(random).collect();
        assert_eq!(measure_view(&random, LabelKind::Result, true), ViewCheck::Unsure);
    }
}

/// Trains on a file of a section; returns whether it succeeded, and standard error.
fn train_on(data: &Path, section: &str, more: &str) -> (bool, String) {
    let work = Workdir::new(&format!(
        "version = 3\n{section}\nfiles = [{data:?}]\n{more}\n[terms]\nuse = [\"material\"]\n\
         [target]\nwdl = 1.0\n[optimizer]\nname = \"gauss-newton\"\n[schedule]\nepochs = 1\n"
    ));
    let output = work.train("run", &[]).output().expect("it runs");
    let done = output.status.success();
    assert_eq!(work.path("run/terms.json").exists(), done);
    (done, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn wrong_point_of_view_is_refused() {
    let turned = |scores: bool, results: bool, white: bool| {
        games::changed_lines(|line, fen, score, result| {
            let turn = white || fen.contains(" b ");
            let score = if scores && turn { -score } else { score };
            let result = if results && turn { 1.0 - result } else { result };
            (line < 12_000).then_some((score, result))
        })
    };
    let (sound, side) = (turned(false, false, false), turned(true, true, false));
    let (scores, all) = (turned(true, false, false), turned(false, true, true));
    let by_side = "score_view = \"side-to-move\"\nresult_view = \"side-to-move\"";
    let results_by_side = "result_view = \"side-to-move\"";
    for (text, more, word) in [
        (&sound, "", ""),
        (&side, by_side, ""),
        (&all, "check_view = false", ""),
        (&side, "", "the results are read as White's, but seem to be the side to move's"),
        (&side, "", "set data.result_view or --result-view to side-to-move"),
        (&side, results_by_side, "set data.score_view or --score-view to side-to-move"),
        (&sound, by_side, "set data.result_view or --result-view to white"),
        (&scores, "", "the scores are read as White's, but seem to be the side to move's"),
        (&scores, "score_view = \"side-to-move\"", ""),
        (&all, "", "wrong sign"),
        (&sound, "score_view = \"black\"", "score_view"),
        (
            &sound,
            "point_of_view = \"white\"",
            "it is now `score_view` for scores and `result_view`",
        ),
    ] {
        let data = scratch("positions.txt", text.as_bytes());
        let (done, said) = train_on(&data.path, "[data]", more);
        assert!(done == word.is_empty() && said.contains(word), "{word}: {said}");
    }
}

/// The finding of the doctor about a view, if it is a problem.
fn problem(path: &Path, kind: LabelKind, more: &[&str]) -> Option<String> {
    let output = nnuance().args(["data", "doctor", "--json"]).arg(path).args(more).output();
    let files: Value = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    let findings = files[0]["diagnosis"]["findings"].as_array().expect("findings");
    let about = format!("view, {}", kind.name());
    let mut found = findings.iter().filter(|it| it["about"] == about && it["grade"] == "problem");
    found.next().map(|it| it["says"].as_str().expect("text").to_string())
}

/// Follows the advice of the doctor for a file, of which only `kind` is wrong, and returns the
/// samples.
fn cure(format: &'static Format, bytes: &[u8], kind: LabelKind) -> Vec<Sample> {
    let file = scratch("positions", bytes);
    let says = problem(&file.path, kind, &[]).unwrap_or_else(|| panic!("{}", format.name));
    let (said, cure) = says.split_once("; set data.").expect(&says);
    let (option, view) =
        cure.split_once(" or ").and_then(|it| it.1.split_once(" to ")).expect(cure);
    let view = PointOfView::named(view).expect(view);
    let words =
        format!("the {} are read as {}'s, but seem to be {view}'s:", kind.name(), view.opposite());
    assert!(said.starts_with(&words), "{}: {said}", format.name);
    for kind in LabelKind::ALL {
        let still = problem(&file.path, kind, &[option, view.name()]);
        assert_eq!(still, None, "{}", format.name);
    }
    let given = match kind {
        LabelKind::Score => GivenViews { scores: Some(view), results: None },
        LabelKind::Result => GivenViews { scores: None, results: Some(view) },
    };
    let source = SampleSource::open_file(&file.path, Some(format), 0).expect("a file");
    read_source(&mut source.seen_by(given).expect("colours")).expect("samples")
}

/// Samples whose scores or results are of the other view.
fn seen_otherwise(samples: &[Sample], kind: LabelKind) -> Vec<Sample> {
    let seen = |sample: &Sample| match (sample.position.turn().is_black(), kind) {
        (false, _) => *sample,
        (true, LabelKind::Score) => Sample { score: sample.score.map(|it| -it), ..*sample },
        (true, LabelKind::Result) => Sample { result: 1.0 - sample.result, ..*sample },
    };
    samples.iter().map(seen).collect()
}

#[test]
fn cures_end_complaints_in_every_format() {
    let ((_, lines), (_, games)) = (first(SCORED, 12_000), first(GAMES, 12_000));
    for name in ["text", "epd", "plain", "marlinformat", "binpack"] {
        let format = Format::named(name).expect("a format");
        let right = write(format, &lines).expect("fit");
        let right = read_bytes(&right).expect("samples");
        for kind in LabelKind::ALL {
            let bytes = write(format, &seen_otherwise(&lines, kind)).expect("fit");
            assert_eq!(cure(format, &bytes, kind), right, "{name}");
        }
    }
    for name in ["viriformat", "binpack"] {
        let format = Format::named(name).expect("a format");
        let bytes = write(format, &seen_otherwise(&games, LabelKind::Score)).expect("fit");
        let scores = |samples: &[Sample]| samples.iter().map(|it| it.score).collect::<Vec<_>>();
        assert_eq!(scores(&cure(format, &bytes, LabelKind::Score)), scores(&games), "{name}");
    }
}

#[test]
fn cures_end_complaints_about_comments() {
    let format = Format::named("pgn").expect("a format");
    let (_, games) = first(GAMES, 12_000);
    let small = |score: i16| score.clamp(-2000, 2000);
    let small = |it: &Sample| Sample { score: it.score.map(small).filter(|it| *it != 0), ..*it };
    let games: Vec<Sample> = games.iter().map(small).collect();
    // What stands before and after a score, and whether it is White's and follows a move.
    for (before, behind, white, follows) in [
        ("{", "/9}", false, false),
        ("{(e2e4) ", " 0s}", false, false),
        ("{d=9, wv=", ",}", true, false),
        ("{[%eval ", ",9]}", true, true),
        ("{9:", "}", true, true),
        ("{X 1.0: 9:", "}", true, true),
    ] {
        let pgn = |turned: bool| {
            let comment = |(i, sample): (usize, &Sample)| {
                let of = if follows { games.get(i + 1) } else { Some(sample) };
                let of = of.filter(|it| it.game == sample.game);
                let flips = white && of.is_some_and(|it| it.position.turn().is_black());
                let flips = flips != (turned && sample.position.turn().is_black());
                let score = of.and_then(|it| it.score);
                Sample { score: score.map(|it| if flips { -it } else { it }), ..*sample }
            };
            let samples: Vec<_> = games.iter().enumerate().map(comment).collect();
            let text = String::from_utf8(write(format, &samples).expect("fit")).expect("UTF-8");
            text.replace('{', before).replace("/0}", behind)
        };
        let right = scratch("right.pgn", pgn(false).as_bytes());
        let samples = read(&right.path).expect("samples");
        assert_eq!(problem(&right.path, LabelKind::Score, &[]), None, "{before}");
        let cured = cure(format, pgn(true).as_bytes(), LabelKind::Score);
        assert_eq!(cured, samples, "{before}");
        let scored = |it: &&Sample| it.score.is_some();
        assert!(cured.iter().filter(scored).count() > 9000, "{before}");
    }
}

#[test]
fn keys_of_a_source_are_named() {
    let text = games::changed_lines(|line, fen, score, result| {
        let result = if fen.contains(" b ") { 1.0 - result } else { result };
        (line < 12_000).then_some((score, result))
    });
    let data = scratch("positions.txt", text.as_bytes());
    let train = |more: &str| train_on(&data.path, "[[data.source]]", more).1;
    let said = train("");
    assert!(
        said.contains("set data.source.result_view or --result-view to side-to-move"),
        "{said}"
    );
    let said = train("result_view = \"side-to-move\"");
    assert!(!said.contains("result_view"), "{said}");
    // So does a comparison.
    let compare = |more: &[&str]| {
        let words = ["compare", "material", "score", "--data"];
        all_said(nnuance().args(words).arg(&data.path).args(more))
    };
    let key = "set data.result_view or --result-view to side-to-move";
    assert!(one_line(&compare(&[])).contains(key));
    assert!(!one_line(&compare(&["--result-view", "side-to-move"])).contains("result_view"));
}
