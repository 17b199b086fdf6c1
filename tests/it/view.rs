//! Points of view of results and scores: measured over every real file, and refused by training.

use nnuance::format::view::{LabelKind, ViewCheck, measure};

use crate::formats::{BULLET, GAMES, QUIET, SCORED, scratch};
use crate::kit::*;

const FILES: [&str; 7] = [
    GAMES,
    SCORED,
    QUIET,
    BULLET,
    "../shared/data/formats/nnue-pytorch_small.binpack",
    "../shared/data/train/gm_texel_train.txt.zst",
    "../shared/data/train/tcec_scored_train.txt.zst",
];

fn first(path: &str, count: usize) -> (Source, Vec<Sample>) {
    let mut source = Source::open(Path::new(path), None, 0).unwrap();
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
        let view = source.view();
        let colours = source.format().facts.colours == Presence::Always;
        let scored = samples.iter().any(|sample| sample.score.is_some());
        for of in [LabelKind::Result, LabelKind::Score] {
            if of == LabelKind::Score && !scored {
                assert_eq!(measure(&samples, of, colours), ViewCheck::Unsure);
                continue;
            }
            let verdict = measure(&samples, of, colours);
            assert!(matches!(verdict, ViewCheck::Holds(_)), "{path}: {verdict:?}");
            assert_eq!(verdict.contradiction(view), None);

            let verdict = measure(&turned(&samples, false), of, colours);
            assert!(matches!(verdict, ViewCheck::WrongSign(_)), "{path}: {verdict:?}");
            assert!(verdict.contradiction(view).is_some());
            if colours {
                let verdict = measure(&turned(&samples, true), of, colours);
                assert!(matches!(verdict, ViewCheck::OtherView(_)), "{path}: {verdict:?}");
                assert!(verdict.contradiction(PointOfView::White).is_some());
            }
        }
    }
}

#[test]
fn too_little_is_not_judged() {
    let (_, samples) = first(SCORED, 8000);
    assert_eq!(measure(&[], LabelKind::Result, true), ViewCheck::Unsure);
    assert_eq!(measure(&turned(&samples[..60], false), LabelKind::Result, true), ViewCheck::Unsure);
    // If only White is to move the views are the same, but inverted results still show.
    let white: Vec<_> =
        samples.iter().filter(|sample| sample.position.turn().is_white()).copied().collect();
    assert_eq!(measure(&white, LabelKind::Result, true), ViewCheck::Unsure);
    assert!(matches!(measure(&white, LabelKind::Result, false), ViewCheck::Holds(_)));
    let verdict = measure(&turned(&white, false), LabelKind::Result, true);
    assert!(matches!(verdict, ViewCheck::WrongSign(_)), "{verdict:?}");
    // Results without information.
    let drawn: Vec<_> = samples.iter().map(|sample| Sample { result: 0.5, ..*sample }).collect();
    assert_eq!(measure(&drawn, LabelKind::Result, true), ViewCheck::Unsure);
    // Results at random.
    for seed in 0..40u64 {
        let random = |(i, sample): (usize, &Sample)| Sample {
            result: (mix(seed, i as u64) % 3) as f32 / 2.0,
            ..*sample
        };
        let random: Vec<_> = samples.iter().enumerate().map(random).collect();
        assert_eq!(measure(&random, LabelKind::Result, true), ViewCheck::Unsure);
    }
}

/// Lines of `FEN | score | result`, the score or result of some lines changed.
fn lines(change: impl Fn(bool, &str, &str) -> (String, String)) -> String {
    let text = fs::read_to_string(SCORED).expect("the sample is in the repository");
    let mut out = String::new();
    for line in text.lines().take(12_000) {
        let [fen, score, result] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let (score, result) = change(fen.contains(" b "), score, result);
        out += &format!("{fen} | {score} | {result}\n");
    }
    out
}

/// Trains on a file; returns whether it succeeded, and standard error.
fn train(text: &str, more: &str) -> (bool, String) {
    let data = scratch("positions.txt", text.as_bytes());
    let work = Workdir::new(&format!(
        "version = 3\n[data]\nfiles = [{:?}]\n{more}\n[terms]\nuse = [\"material\"]\n[target]\n\
         wdl = 1.0\n[optimizer]\nname = \"gauss-newton\"\n[schedule]\nepochs = 1\n",
        data.path
    ));
    let output = work.train("run", &[]).output().expect("it runs");
    let done = output.status.success();
    assert_eq!(work.path("run/terms.json").exists(), done);
    (done, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn wrong_point_of_view_is_refused() {
    let result = |text: &str| format!("{:.1}", 1.0 - text.parse::<f64>().expect("a number"));
    let score = |text: &str| (-text.parse::<i32>().expect("a number")).to_string();
    let turned = |scores: bool, results: bool, white: bool| {
        lines(|black, own_score, own_result| {
            let turn = black || white;
            let score = if scores && turn { score(own_score) } else { own_score.into() };
            let result = if results && turn { result(own_result) } else { own_result.into() };
            (score, result)
        })
    };
    let (sound, side) = (turned(false, false, false), turned(true, true, false));
    let (scores, all) = (turned(true, false, false), turned(false, true, true));
    let by_side = "point_of_view = \"side-to-move\"";
    for (text, more, word) in [
        (&sound, "", ""),
        (&side, by_side, ""),
        (&all, "check_view = false", ""),
        (&side, "", "the results"),
        (&sound, by_side, "the results"),
        (&scores, "", "the scores"),
        (&all, "", "wrong sign"),
        (&sound, "point_of_view = \"black\"", "point_of_view"),
    ] {
        let (done, said) = train(text, more);
        assert!(done == word.is_empty() && said.contains(word), "{word}: {said}");
    }
}
