//! Several sources of positions in one run.

use nnuance::loader::{DataSource, ReadOptions};
use nnuance::train::target::blend_targets;

use crate::support::kit::*;

fn source(file: &str, limit: u64) -> DataSource {
    let reading = ReadOptions { limit: Some(limit), ..ReadOptions::default() };
    DataSource { files: vec![file.into()], reading }
}

fn plan() -> StreamPlan {
    let sources = vec![source(GAMES, 900), source(SCORED, 300)];
    let files = vec![GAMES.into(), SCORED.into()];
    let read = ReadPlan { sources, ..ReadPlan::new(files) };
    let positions = scan(&read, 0, &|_| ()).expect("good data").counts.train;
    stream_plan(read, PassOrder { batch: 50, ..PassOrder::default() }, Some(positions))
}

/// From any position on the batches are the same, in memory or streamed.
#[test]
fn streams_resume_anywhere() {
    for window in [1 << 20, 130] {
        let mut plan = plan();
        plan.order.window = window;
        let encoder = games::lists(Perspectives::Perspective);
        let from = |passed| Stream::new(plan.clone(), encoder.clone(), passed);
        let batch = |stream: &mut Stream| stream.next().expect("no end").expect("good data");
        let mut whole = from(0);
        let all: Vec<_> = (0..60).map(|_| batch(&mut whole)).collect();
        for start in [1, 7, 23, 40] {
            let mut stream = from(50 * start as u64);
            for (number, expected) in all[start..].iter().take(12).enumerate() {
                assert!(batch(&mut stream) == *expected, "{window} {start}+{number}");
            }
        }
    }
}

/// Records kept by the scan have the order in which they would be read again.
#[test]
fn cached_positions_equal_streamed() {
    let folder = Workdir::empty();
    let format = Format::named("marlinformat").unwrap();
    let all = games::samples(52_000, 2);
    // More files than are read side by side, of none to several blocks.
    let (mut files, mut rest) = (Vec::new(), &all[..]);
    for (number, size) in
        [9_000, 100, 6_000, 14_000, 50, 4_500, 300, 8_000, 9_500, 20].iter().enumerate()
    {
        let (own, left) = rest.split_at(*size);
        rest = left;
        files.push(folder.path(format!("{number}.bin")));
        write_all(&files[number], format, own).unwrap();
    }
    let split = Split { share: 0.2, seed: 3 };
    let files = ReadPlan { split, check_view: false, ..ReadPlan::new(files) };
    let order = PassOrder { batch: 5_000, ..PassOrder::default() };
    for mut plan in [StreamPlan::new(files, order), plan()] {
        let found = scan(&plan.read, 1 << 20, &|_| ()).expect("good data");
        plan.facts.positions = Some(found.counts.train);
        assert!(
            scan(&plan.read, found.counts.train - 1, &|_| ()).expect("good data").kept.is_none()
        );
        let encoder = games::lists(Perspectives::Perspective);
        let from = |kept| Stream::resume_stream(plan.clone(), encoder.clone(), 0, kept, None);
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
            let batch = games::lists(Perspectives::SideToMove).encode_samples(&[of(result)]);
            let exact = result * 2.0 == (result * 2.0).round();
            let off = (batch.results[0] - result).abs();
            assert!(if exact { off == 0.0 } else { off < 1e-7 }, "{source} {result} {off}");
            let expected = [source];
            assert_eq!(&batch.sources[..], if source == 0 { &[][..] } else { &expected });
        }
    }
}

#[test]
fn sources_have_their_own_targets() {
    let mut samples = games::samples(40, 5);
    for (i, sample) in samples.iter_mut().enumerate() {
        sample.source = (i % 4) as u8;
        // The third source needs no scores.
        sample.score = sample.score.filter(|_| i % 4 != 3);
    }
    // Common scores are in a table; these are at its end and beyond.
    let rare = [4096, -4096, 4097, -4097, 30_000, -32_767];
    let scored = samples.iter_mut().filter(|sample| sample.score.is_some());
    scored.zip(rare).for_each(|(sample, score)| sample.score = Some(score));
    let batch = games::lists(Perspectives::SideToMove).encode_samples(&samples);
    let source_targets = [
        SourceTarget::new(win_rate(400.0), None),
        SourceTarget::new(win_rate(100.0), Some(0.9)),
        SourceTarget::new(WinRateModel { offset: 50.0, ..win_rate(200.0) }, None),
        SourceTarget::new(win_rate(400.0), Some(1.0)),
    ];
    let found = blend_targets(&batch, 0.25, &source_targets);
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

/// Games with scores, and games of which only the results count.
const TWO: &str = include_str!("../fixtures/configs/two-sources.toml");

#[test]
fn killed_and_resumed_on_several_sources() {
    let longer = TWO.replace("epochs = 6", "epochs = 60");
    killed_and_resumed(&longer, 2);
    killed_and_resumed(&longer.replace("held_out = 0.2", "held_out = 0.2\nwindow = 500"), 1);
}

#[test]
fn terms_learn_from_several_sources() {
    let text = TWO.replace("[target]", "[terms]\ntune = [\"material\"]\n[target]");
    let [net, terms, schedule] =
        ["[net]", "[terms]", "[schedule]"].map(|section| text.find(section).unwrap());
    let method = "[optimizer]\nname = \"gauss-newton\"\n";
    let text = [&text[..net], &text[terms..schedule], method].concat();
    let learnt = |text: &str| Run::new(text, "2").text("terms.json");
    assert!(learnt(&text) != learnt(&text.replace("score_scale = 126\n", "")));
}
