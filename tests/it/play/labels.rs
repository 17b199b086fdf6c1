//! Positions scored by engines, and engines that fail.

use nnuance::engine::{
    EngineError, EngineSettings, JobPart, JobReport, Limit, PositionsJob, label_positions,
};
use nnuance::format::{binpack, text, viriformat};

use crate::support::fake_engine::*;
use crate::support::kit::*;

/// Scores positions; the report and what is written.
fn label(
    input: &Path,
    (output, format): (&str, &'static Format),
    engine: EngineSettings,
) -> (JobReport, Vec<Sample>) {
    let job = label_job(input, output, format, crew(engine, 2));
    (label_positions(&job, &Quiet).unwrap(), read(&job.output))
}

#[test]
fn labels_for_any_number_of_engines() {
    let (_folder, input, samples) = folder_of_positions(700);
    let expected = all_labelled(&samples);
    for engines in [1, 3] {
        let name = format!("out{engines}.txt");
        let job = label_job(&input, &name, &text::FORMAT, crew(fake(&[]), engines));
        let report = label_positions(&job, &Quiet).unwrap();
        assert_eq!((report.done, report.written), (700, 700));
        assert!(report.skipped.is_empty() && !report.stopped);
        assert_eq!(read(&job.output), expected);
        assert!(!path_of(&job.output).exists());
    }
}

#[test]
fn skipped_positions_stay_in_games() {
    let folder = Workdir::empty();
    let (whole, samples) = games_in(&folder, 6000);
    // Every 17th position or so fails.
    let fails = |sample: &Sample| hash_of(&sample.position.to_chess().unwrap()).is_multiple_of(17);
    for (input, format, name) in
        [(&whole, &viriformat::FORMAT, "1.vf"), (&whole, &binpack::FORMAT, "1.binpack")]
    {
        let (report, found) = label(input, (name, format), fake(&[("Crash", "17".into())]));
        assert!(report.skipped.len() > 3);
        let right = |sample: &Sample| if fails(sample) { *sample } else { labelled(sample) };
        assert!(found == samples.iter().map(right).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn parts_make_the_whole() {
    let (folder, lines, _) = folder_of_positions(101);
    let (games, samples) = games_in(&folder, 6000);
    for (input, format, total) in
        [(&lines, &text::FORMAT, 101), (&games, &viriformat::FORMAT, samples.len() as u64)]
    {
        let job = |name: &str, range| {
            let job = label_job(input, name, format, crew(fake(&[]), 2));
            let output = folder.path(name);
            label_positions(&PositionsJob { range, output, ..job.clone() }, &Quiet).unwrap();
            let bytes = folder.bytes(name);
            fs::remove_file(folder.path(name)).unwrap();
            bytes
        };
        let part = |part: &str| {
            job(part, part.replace('-', "/").parse::<JobPart>().unwrap().item_range(total))
        };
        assert!(["1-3", "2-3", "3-3"].map(part).concat() == job("whole", 0..total));
    }
    for wrong in ["0/3", "4/3", "1", "1/0", "a/b"] {
        assert!(wrong.parse::<JobPart>().is_err(), "{wrong}");
    }
}

/// Scores of positions without moves need no search, and a bound is no score.
#[test]
fn no_moves_and_bounds() {
    let (folder, input, samples) = folder_of_positions(100);
    let lines = "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1 | 0 | 1.0\n\
                 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1 | 0 | 0.5\n";
    let few = PathBuf::from(folder.write("few.txt", lines));
    let (_, found) = label(&few, ("out.txt", &text::FORMAT), fake(&[("Crash", "1".into())]));
    let scores: Vec<_> = found.iter().map(|sample| sample.score.unwrap()).collect();
    assert_eq!(scores, [-32_000, 0]);

    let engine = fake(&[("Bound", "5".into())]);
    let (report, found) = label(&input, ("bounds.txt", &text::FORMAT), engine);
    let is_bound = |sample: &&Sample| {
        let chess = sample.position.to_chess().unwrap();
        hash_of(&chess).is_multiple_of(5) && !chess.legal_moves().is_empty()
    };
    let (bounds, exact): (Vec<_>, Vec<_>) = samples.iter().partition(is_bound);
    assert!(bounds.len() > 5 && report.skipped.len() == bounds.len(), "{}", report.skipped.len());
    assert_eq!(found, exact.into_iter().map(labelled).collect::<Vec<_>>());
}

#[test]
fn failure_spoils_one_position() {
    let (_folder, input, samples) = folder_of_positions(120);
    let is_bad = |sample: &&Sample| {
        let chess = sample.position.to_chess().unwrap();
        !chess.legal_moves().is_empty() && hash_of(&chess).is_multiple_of(17)
    };
    let bad: Vec<_> = samples.iter().filter(is_bad).collect();
    assert!(bad.len() > 2 && bad.len() < 12, "{}", bad.len());
    for (way, said) in [
        ("Crash", "; it wrote: no network"),
        ("Hang", "700 ms"),
        ("Nonsense", "`banana`"),
        ("Illegal", "`a1a1`"),
    ] {
        let engine = EngineSettings { patience_ms: 700, ..fake(&[(way, "17".into())]) };
        let (report, found) = label(&input, (&format!("{way}.txt"), &text::FORMAT), engine);
        let expected: Vec<_> =
            samples.iter().filter(|sample| !is_bad(sample)).map(labelled).collect();
        assert_eq!(found, expected, "{way}");
        assert_eq!(report.skipped.len(), bad.len());
        for (skip, sample) in report.skipped.iter().zip(&bad) {
            assert_eq!(samples[skip.item as usize].position, sample.position);
            assert_eq!(
                Position::from_fen(&skip.fen).unwrap().zobrist_key(),
                sample.position.zobrist_key()
            );
            assert!(skip.reason.contains(said), "{}", skip.reason);
        }
    }
}

#[test]
fn failure_once_is_tried_again() {
    let (folder, input, samples) = folder_of_positions(120);
    let once = folder.path("once");
    fs::create_dir(&once).unwrap();
    let options = [("Crash", "17".to_string()), ("Once", once.display().to_string())];
    let (report, found) = label(&input, ("out.txt", &text::FORMAT), fake(&options));
    assert!(report.skipped.is_empty());
    assert!(fs::read_dir(once).unwrap().count() > 2);
    assert_eq!(found, all_labelled(&samples));
}

#[test]
fn constant_failure_ends_the_job() {
    let (_folder, input, samples) = folder_of_positions(120);
    let job = label_job(&input, "out.txt", &text::FORMAT, crew(fake(&[]), 1));
    label_positions(&job, &StopAfter::new(40)).unwrap();
    let journal = path_of(&job.output);
    let broken = PositionsJob { crew: crew(fake(&[("Crash", "1".into())]), 1), ..job.clone() };
    let error = label_positions(&broken, &Quiet).unwrap_err().to_string();
    assert!(error.contains("options"), "{error}");

    // The same settings, but the engine is broken: nothing made before is lost.
    let text = fs::read_to_string(&journal).unwrap();
    let edited = text.replace("\"options\",\"\"", "\"options\",\"Crash = 1\"");
    fs::write(&journal, edited).unwrap();
    let before = fs::read(&job.output).unwrap();
    assert!(!before.is_empty());
    let error = label_positions(&broken, &Quiet).unwrap_err();
    assert!(matches!(error, EngineError::Hopeless { count: 10, .. }), "{error}");
    assert_eq!(fs::read(&job.output).unwrap(), before);

    fs::write(&journal, &text).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(last["items"].as_u64() >= Some(40), "{last}");
    let report = label_positions(&job, &Quiet).unwrap();
    assert!(report.skipped.is_empty());
    assert_eq!(read(&job.output), all_labelled(&samples));
}

/// An engine that stops after a few nodes, or that does not stop, keeps no limit in nodes.
#[test]
fn ignored_node_limits_end_the_job() {
    let (_folder, input, samples) = folder_of_positions(40);
    let labels = |option: &str, limit| {
        let engine = EngineSettings { patience_ms: 700, ..fake(&[(option, "1".into())]) };
        let job = label_job(&input, "out.txt", &text::FORMAT, crew(engine, 2));
        let job = PositionsJob { limit: Limit::Nodes(limit), ..job };
        (label_positions(&job, &Quiet), job)
    };
    for (option, limit, said) in [
        ("Few", 2000, "searched 6 nodes"),
        ("Few", 60, "searched 6 nodes"),
        ("Fixed", 2000, "searched 300,000 nodes"),
        ("Endless", 2000, "searched 9,000,000 nodes"),
        ("Silent", 2000, "did not stop within 700 ms"),
    ] {
        let (result, job) = labels(option, limit);
        let error = result.unwrap_err();
        assert!(matches!(error, EngineError::NodesIgnored(_)), "{error}");
        let error = error.to_string();
        assert!(error.contains(&format!("{said} after `go nodes {limit}`")), "{error}");
        assert!(error.contains("limit it by --depth or --movetime"), "{error}");
        // Nothing is left that would refuse the next limit.
        assert!(!job.output.exists() && !path_of(&job.output).exists());
    }
    // An engine of long iterations reports little of a search that keeps its limit.
    let (result, job) = labels("Sparse", 2000);
    assert_eq!(result.unwrap().written, 40);
    assert_eq!(read(&job.output), all_labelled(&samples));
    let crew = crew(fake(&[("Few", "1".into())]), 2);
    let job = label_job(&input, "depth.txt", &text::FORMAT, crew);
    let job = PositionsJob { limit: Limit::Depth(1), ..job };
    assert_eq!(label_positions(&job, &Quiet).unwrap().written, 40);
}

#[test]
fn books_of_engines_are_off_unless_asked_for() {
    let (_folder, input, samples) = folder_of_positions(20);
    let (_, off) = label(&input, ("off.txt", &text::FORMAT), fake(&[]));
    assert_eq!(off, all_labelled(&samples));
    let engine = fake(&[("OwnBook", "true".into())]);
    let (_, on) = label(&input, ("on.txt", &text::FORMAT), engine);
    assert!(on.iter().all(|sample| sample.score == Some(1)));
}
