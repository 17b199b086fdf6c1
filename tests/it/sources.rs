//! Several sources of positions in one run.

use std::collections::HashMap;

use nnuance::config::Config;
use nnuance::features::MAX_ACTIVE;
use nnuance::format::{Format, write_all};
use nnuance::loader::{DataSource, Part, Plan, Reading, Split, Stream, apportion, collect, scan};
use nnuance::log::BySource;
use nnuance::loss::sigmoid;
use nnuance::run::recipe;
use nnuance::sample::Sample;
use nnuance::train::target::{Promise, Worth, targets};

use crate::games;
use crate::largest::largest;
use crate::program::{Run, column, killed_and_resumed, nnuance, said};
use nnuance::architecture::Views;

const GAMES: &str = "data/selfplay-sf15.vf";
const SCORED: &str = "data/selfplay_sf151_scored.txt";

fn source(name: &str, file: &str, limit: u64, share: Option<f64>) -> DataSource {
    DataSource {
        name: name.into(),
        files: vec![file.into()],
        reading: Reading { limit: Some(limit), ..Reading::default() },
        share,
        expected: None,
    }
}

/// Two files, of 900 and 300 positions.
fn plan(shares: [Option<f64>; 2]) -> Plan {
    let [one, other] = shares;
    let sources = vec![source("games", GAMES, 900, one), source("lines", SCORED, 300, other)];
    let files = vec![GAMES.into(), SCORED.into()];
    let mut plan = Plan { sources, batch: 50, ..Plan::reading(files) };
    let scan = scan(&plan, 0, &|_| ()).expect("good data");
    plan.expect(&scan);
    plan
}

/// A view of a position, as it is encoded.
type Key = Vec<u16>;

fn keys(indices: &[u16]) -> impl Iterator<Item = Key> {
    indices.chunks_exact(2 * MAX_ACTIVE).map(<[u16]>::to_vec)
}

#[test]
fn batches_are_cut_by_shares() {
    assert_eq!(apportion(&[1.0], 7), [7]);
    assert_eq!(apportion(&[3.0, 1.0], 100), [75, 25]);
    assert_eq!(apportion(&[1.0, 1.0, 1.0], 100), [34, 33, 33]);
    // Each gives something, as long as there is room.
    assert_eq!(apportion(&[1e6, 1.0, 1.0], 16), [14, 1, 1]);
    for batch in 3..200 {
        let shares = [0.7, 11.3, 2.9];
        let parts = apportion(&shares, batch);
        assert_eq!(parts.iter().sum::<usize>(), batch);
        for (part, share) in parts.iter().zip(shares) {
            let due = share / 14.9 * batch as f64;
            // Those that would get nothing take one of the largest.
            assert!((*part as f64 - due).abs() < 1.1 || *part == 1, "{batch}: {parts:?}");
        }
    }
}

/// As many of each source in every batch, and all positions of a source before any comes again.
#[test]
fn batches_have_the_shares() {
    for window in [1 << 20, 400] {
        let plan = Plan { window, ..plan([Some(2.0), Some(3.0)]) };
        let encoder = games::lists(Views::Perspective);
        let whole: Vec<Sample> = collect(&plan, Part::All, &|_| ()).expect("good data");
        let mut of_source: HashMap<(u8, Key), i64> = HashMap::new();
        for sample in &whole {
            let batch = encoder.encode(std::slice::from_ref(sample));
            let nnuance::batch::Inputs::Active(active) = &batch.inputs else { unreachable!() };
            *of_source.entry((sample.source, active.indices.clone())).or_default() += 1;
        }
        let mut stream = Stream::new(plan, encoder, 0);
        let mut seen: HashMap<(u8, Key), i64> = HashMap::new();
        // Three epochs of the second source: 90 batches with 20 of the first, and 30 of it each.
        for _ in 0..30 {
            let batch = stream.next().expect("no end").expect("good data");
            let sources = &batch.sources;
            assert_eq!(sources.iter().filter(|it| **it == 1).count(), 20);
            assert_eq!(sources.iter().filter(|it| **it == 2).count(), 30);
            let nnuance::batch::Inputs::Active(active) = &batch.inputs else { unreachable!() };
            for (key, source) in keys(&active.indices).zip(sources.iter()) {
                *seen.entry((*source, key)).or_default() += 1;
            }
        }
        for (place, count) in &of_source {
            let times = seen.get(place).copied().unwrap_or_default();
            match place.0 {
                1 => assert!((0..=*count).contains(&times), "600 of 900"),
                _ => assert_eq!(times, 3 * count, "900 of 300"),
            }
        }
        assert_eq!(seen.values().sum::<i64>(), 1500);
    }
}

/// From any position on the same batches come, kept or streamed.
#[test]
fn streams_resume_anywhere() {
    for (window, shares) in [
        (1 << 20, [Some(1.0), Some(2.5)]),
        (130, [Some(1.0), Some(2.5)]),
        (1 << 20, [None; 2]),
        (130, [None; 2]),
    ] {
        let plan = Plan { window, ..plan(shares) };
        let encoder = games::lists(Views::Perspective);
        let from = |passed| Stream::new(plan.clone(), encoder.clone(), passed);
        let batch = |stream: &mut Stream| stream.next().expect("no end").expect("good data");
        let mut whole = from(0);
        let all: Vec<_> = (0..60).map(|_| batch(&mut whole)).collect();
        for start in [1, 7, 23, 40] {
            let mut stream = from(50 * start as u64);
            for (number, expected) in all[start..].iter().take(12).enumerate() {
                assert!(batch(&mut stream) == *expected, "{window} {shares:?} {start}+{number}");
            }
        }
    }
}

/// What the first look at the data has kept comes in the order in which it would be read again.
#[test]
fn cached_positions_equal_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let format = Format::named("marlinformat").unwrap();
    let all = games::samples(52_000, 2);
    // More files than are read side by side, of none to several blocks.
    let (mut files, mut rest) = (Vec::new(), &all[..]);
    for (number, size) in
        [9_000, 100, 6_000, 14_000, 50, 4_500, 300, 8_000, 9_500, 20].iter().enumerate()
    {
        let (own, left) = rest.split_at(*size);
        rest = left;
        files.push(folder.path().join(format!("{number}.bin")));
        write_all(&files[number], format, own).unwrap();
    }
    let split = Split { share: 0.2, seed: 3 };
    let files =
        Plan { split, batch: 5_000, window: 1 << 20, check_view: false, ..Plan::reading(files) };
    for mut plan in [files, plan([Some(1.0), Some(2.5)]), plan([None; 2])] {
        let found = scan(&plan, 1 << 20, &|_| ()).expect("good data");
        plan.expect(&found);
        assert!(scan(&plan, found.train - 1, &|_| ()).expect("good data").kept.is_none());
        let encoder = games::lists(Views::Perspective);
        let from = |kept| Stream::of(plan.clone(), encoder.clone(), 0, kept);
        let streams = [found.kept, None].map(from);
        let [kept, read] = streams.map(|stream| stream.take(25).collect::<Result<Vec<_>, _>>());
        assert!(kept.expect("good data") == read.expect("good data"));
    }
}

#[test]
fn results_stand_beside_sources() {
    for source in [0, 1, 2, 255] {
        let of = |result| Sample { source, result, ..games::samples(1, 3)[0] };
        for result in [0.0, 0.5, 1.0, 0.3, 0.123_456] {
            let batch = games::lists(Views::SideToMove).encode(&[of(result)]);
            let exact = source == 0 || result * 2.0 == (result * 2.0).round();
            let off = (batch.results[0] - result).abs();
            assert!(if exact { off == 0.0 } else { off < 1e-5 }, "{source} {result} {off}");
            let expected = [source];
            assert_eq!(&batch.sources[..], if source == 0 { &[][..] } else { &expected });
        }
    }
}

/// The formula, written once more.
#[test]
fn sources_have_their_own_targets() {
    let mut samples = games::samples(40, 5);
    for (i, sample) in samples.iter_mut().enumerate() {
        sample.source = (i % 4) as u8;
        // Those of the third need no scores.
        sample.score = sample.score.filter(|_| i % 4 != 3);
    }
    // What common scores promise is looked up; these lie at the end of that table, and beyond.
    let rare = [4096, -4096, 4097, -4097, 30_000, -32_767];
    let scored = samples.iter_mut().filter(|sample| sample.score.is_some());
    scored.zip(rare).for_each(|(sample, score)| sample.score = Some(score));
    let batch = games::lists(Views::SideToMove).encode(&samples);
    let worths = [
        Worth::from(Promise::scale(400.0)),
        Worth::new(Promise::scale(100.0), Some(0.9)),
        Worth::from(Promise { scale: 200.0, offset: 50.0 }),
        Worth::new(Promise::scale(400.0), Some(1.0)),
    ];
    let found = targets(&batch, 0.25, &worths);
    for (sample, target) in samples.iter().zip(&found[..]) {
        let score = sample.score.map_or(f64::NAN, f64::from);
        let result = f64::from(sample.result);
        let expected = match sample.source {
            0 => 0.25 * result + 0.75 * sigmoid(score / 400.0),
            1 => 0.9 * result + 0.1 * sigmoid(score / 100.0),
            2 => {
                let win = sigmoid((score - 50.0) / 200.0) - sigmoid((-score - 50.0) / 200.0);
                0.25 * result + 0.75 * (0.5 + 0.5 * win)
            }
            _ => result,
        };
        assert!((f64::from(*target) - expected).abs() < 1e-6, "{sample:?}");
    }
}

/// Sources without settings of their own give the bits of files.
#[test]
fn plain_sources_equal_files() {
    let files = format!("files = [\"{GAMES}\", \"{SCORED}\"]");
    let sources =
        format!("[[data.source]]\nfiles = [\"{GAMES}\"]\n[[data.source]]\nfiles = [\"{SCORED}\"]");
    for rest in [
        "[net]\ninputs = \"perspective\"\nhidden = 8\n[target]\nwdl = 0.4\nscore_scale = 126\n\
         [schedule]\nepochs = 2\nbatch = 256\nlearning_rate = 0.01",
        "[terms]\ntune = [\"material\"]\n[target]\nwdl = 1.0\n[schedule]\nepochs = 2\n\
         batch = 256\nlearning_rate = 1.0",
        "[terms]\ntune = [\"material\"]\n[target]\nwdl = 1.0\n\
         [optimizer]\nname = \"gauss-newton\"",
    ] {
        let [one, other] = [&files, &sources].map(|data| {
            let text = format!("version = 3\n[data]\nlimit = 4000\n{data}\n{rest}");
            Run::new(&text, "2").last().weights
        });
        assert!(one == other, "{rest}");
    }
}

/// Games with scores, and games of which only the results count, twice as much.
const TWO: &str = r#"version = 3
[data]
held_out = 0.2
[[data.source]]
name = "strong"
files = ["data/selfplay_sf151_scored.txt"]
limit = 3000
batch_share = 3
score_scale = 126
[[data.source]]
name = "played"
files = ["data/selfplay_sf151_200games.pgn"]
limit = 2000
batch_share = 1
weight = 2
wdl = 1
filter = { min_ply = 16 }
[net]
inputs = "perspective"
mirror = false
start_size = 1.0
hidden = 8
[target]
wdl = 0.3
score_scale = 300
[schedule]
epochs = 6
batch = 100
learning_rate = 0.01
"#;

#[test]
fn sources_have_their_own_losses() {
    let run = Run::new(TWO, "2");
    let by_source = BySource::parse(&run.text("sources.csv")).unwrap();
    assert_eq!(by_source.names, ["strong", "played"]);
    let total = column(&run.out, "validation_loss");
    assert_eq!(by_source.rows.len(), total.len());
    // Together they are the validation loss: each counts as often as it validates, and as much.
    let config = Config::parse(TWO, "it", &[]).unwrap();
    let plan = recipe::plan(&config);
    let held = collect(&plan, Part::Validation, &|_| ()).unwrap();
    let count = |source| held.iter().filter(|it| it.source == source).count() as f64;
    // In a byte one half is 128 / 255.
    let (strong, played) = (count(1) * 128.0 / 255.0, count(2));
    assert!(held.iter().filter(|it| it.source == 2).all(|it| it.ply.unwrap() >= 16));
    assert!(held.iter().any(|it| it.source == 1 && it.ply.is_none()));
    let apart = by_source.rows.iter().zip(&total).map(|((_, losses), total)| {
        let [one, other] = [losses[0].unwrap(), losses[1].unwrap()];
        ((strong * one + played * other) / (strong + played) - total).abs()
    });
    assert!(largest(apart) < 1e-7);
    // Its own data, measured again: both sources, each as it is read.
    said(nnuance().arg("compare").arg(&run.out).arg("material"));
}

#[test]
fn killed_and_resumed_on_several_sources() {
    let longer = TWO.replace("epochs = 6", "epochs = 60");
    killed_and_resumed(&longer, 2);
    let together = longer.replace("batch_share = 3\n", "").replace("batch_share = 1\n", "");
    killed_and_resumed(&together, 1);
    killed_and_resumed(&longer.replace("held_out = 0.2", "held_out = 0.2\nwindow = 500"), 1);
    // Batches that would mix chunks of one pass.
    killed_and_resumed(&longer.replace("batch = 100", "batch = 4096"), 1);
}

/// Direct methods take all positions, each against the target of its source.
#[test]
fn terms_learn_from_several_sources() {
    let text = TWO
        .replace("batch_share = 3\n", "")
        .replace("batch_share = 1\n", "")
        .replace("[target]", "[terms]\ntune = [\"material\"]\n[target]");
    let [net, terms, schedule] =
        ["[net]", "[terms]", "[schedule]"].map(|section| text.find(section).unwrap());
    let method = "[optimizer]\nname = \"gauss-newton\"\n";
    let text = [&text[..net], &text[terms..schedule], method].concat();
    let learnt = |text: &str| {
        let run = Run::new(text, "2");
        assert!(BySource::parse(&run.text("sources.csv")).unwrap().rows.len() > 2);
        run.text("terms.json")
    };
    let level = learnt(&text.replace("weight = 2\n", ""));
    assert!(learnt(&text) != level);
    assert!(learnt(&text.replace("weight = 2\n", "weight = 1\n")) == level);
}
