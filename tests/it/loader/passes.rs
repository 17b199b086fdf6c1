//! Passes over streamed data: each position once, well mixed, from any resume point.

use nnuance::format::{bulletformat, text, viriformat};
use nnuance::loader::Passes;
use nnuance::resume_point::{ResumePoint, TurnState};

use crate::support::kit::*;

const POSITIONS: usize = 60_000;
const WINDOW: usize = 8_000;

fn plan(folder: &Workdir) -> StreamPlan {
    let boards = games::positions(500, 3);
    let samples: Vec<Sample> = (0..POSITIONS)
        .map(|i| {
            let score = Some((i as i32 - POSITIONS as i32 / 2) as i16);
            let result = [0.0, 0.5, 1.0][i % 3];
            Sample { score, result, ..Sample::from_position(boards[i % 500]) }
        })
        .collect();
    let formats: [(&str, &'static Format); 4] = [
        ("0.bf", &bulletformat::FORMAT),
        ("1.txt", &text::FORMAT),
        ("2.bf.gz", &bulletformat::FORMAT),
        ("3.txt.zst", &text::FORMAT),
    ];
    let mut rest = &samples[..];
    let shares = [25_000, 25_000, 7_000, 3_000];
    let files = formats.iter().zip(shares).map(|((name, format), count)| {
        let samples = rest.split_off(..count).expect("samples for all files");
        let path = folder.path(name);
        write_all(&path, format, samples).expect("a file");
        path
    });
    let files = files.collect();
    let order = PassOrder { window: WINDOW, batch: 1000, seed: 5, ..PassOrder::default() };
    StreamPlan::new(ReadPlan { check_view: false, ..ReadPlan::new(files) }, order)
}

fn batches(plan: &StreamPlan, resume_point: Option<ResumePoint>, count: usize) -> Vec<Batch> {
    let encoder = games::lists(Perspectives::SideToMove);
    let stream = Stream::resume_stream(plan.clone(), encoder, 0, None, resume_point).take(count);
    stream.collect::<Result<_, _>>().expect("good data")
}

fn scores(batches: &[Batch]) -> Vec<i32> {
    batches.iter().flat_map(|it| it.scores.iter().map(|score| score.abs() as i32)).collect()
}

#[test]
fn each_pass_has_all_positions() {
    let folder = Workdir::empty();
    for (shuffle, window) in [(true, WINDOW), (true, 1), (true, 200_000), (false, WINDOW)] {
        let mut plan = plan(&folder);
        (plan.order.shuffle, plan.order.window) = (shuffle, window);
        let scores = scores(&batches(&plan, None, 3 * POSITIONS / 1000));
        let mut passes: Vec<Vec<i32>> = scores.chunks(POSITIONS).map(<[_]>::to_vec).collect();
        let differ = passes[0] != passes[1] && passes[1] != passes[2];
        assert_eq!(differ, shuffle, "an order of its own, where there is any");
        passes.iter_mut().for_each(|pass| pass.sort_unstable());
        let mut all: Vec<i32> = (0..POSITIONS as i32).map(|i| (i - 30_000).abs()).collect();
        all.sort_unstable();
        assert!(passes.iter().all(|pass| *pass == all), "{shuffle} {window}");
    }
}

/// Deals and shuffles have one order for any number of threads, ahead of time or not.
#[test]
fn threads_do_not_change_the_order() {
    let folder = Workdir::empty();
    let plan = plan(&folder);
    let bins = || {
        let mut passes = Passes::new(&plan, &ResumePoint::default()).unwrap();
        let bin = |_| {
            let (records, resume_point) = passes.take_bin().unwrap();
            (format!("{records:?}"), format!("{resume_point:?}"))
        };
        (0..40).map(bin).collect::<Vec<_>>()
    };
    assert!(same_for_threads(&[2, 3, 8], "passes", bins) == bins());
}

#[test]
fn pass_resumes_from_any_place() {
    let folder = Workdir::empty();
    let plan = plan(&folder);
    let all = batches(&plan, None, 150);
    for end in [0, 1, 7, 30, 58, 59, 60, 61, 90, 119, 120] {
        let resume_point = all[end].resume_point.clone().expect("data that stream by");
        let json = serde_json::to_string(&resume_point).expect("plain data");
        let resume_point = serde_json::from_str(&json).expect("the same");
        let rest = batches(&plan, Some(resume_point), 20);
        assert!(rest == all[end + 1..end + 21], "after batch {end}");
    }
    let read = |batch: usize| all[batch].resume_point.clone().expect("a resume point").read;
    let (first, last) = (read(0), read(149));
    assert!(!first.is_complete && first.train < POSITIONS as u64 && !first.sketch.is_empty());
    assert!(last.is_complete && last.train == POSITIONS as u64);
    let files: Vec<[u64; 3]> =
        [25_000, 25_000, 7_000, 3_000].iter().map(|count| [*count, 0, 0]).collect();
    assert_eq!(last.files, files);
    // By the number of batches alone, too.
    let encoder = games::lists(Perspectives::SideToMove);
    let rest = Stream::new(plan.clone(), encoder, 70_000).take(20);
    assert!(rest.collect::<Result<Vec<_>, _>>().expect("good data") == all[70..90]);
}

/// Neighbours in a file move by two thirds of the memory on average, and few meet in a batch.
#[test]
fn neighbours_come_far_apart() {
    let folder = Workdir::empty();
    let mut plan = plan(&folder);
    // One file, in which scores are indices.
    plan.read.files.truncate(1);
    let count = 25_000;
    // The first pass begins before the memory is full.
    let order = scores(&batches(&plan, None, 2 * count / 1000)).split_off(count);
    let mut indices = vec![0; POSITIONS];
    order.iter().enumerate().for_each(|(index, score)| indices[30_000 - *score as usize] = index);
    let apart: Vec<usize> = indices[..count].windows(2).map(|it| it[0].abs_diff(it[1])).collect();
    let mean = apart.iter().sum::<usize>() as f64 / apart.len() as f64;
    assert!((0.5..0.8).contains(&(mean / WINDOW as f64)), "{mean}");
    let close = apart.iter().filter(|it| **it < 100).count() as f64 / apart.len() as f64;
    assert!(close < 0.03, "{close}");
}

/// The last record of a file that is cut off may begin in its last piece, or before.
#[test]
fn cut_end_is_found_before_training() {
    let folder = Workdir::empty();
    let start = folder.path("start.bf");
    write_all(&start, &bulletformat::FORMAT, &games::samples(1000, 1)).expect("a file");
    let games = Path::new(GAMES);
    for (format, source, times, message) in [
        (&bulletformat::FORMAT, start.as_path(), 3000, "record 2998273: the file ends after 5 of"),
        (&viriformat::FORMAT, games, 5, "the file ends within the game"),
    ] {
        let mut bytes = fs::read(source).expect("a file").repeat(times);
        let piece = format.cut.expect("a format that is cut").bytes as usize;
        bytes.truncate(bytes.len() / piece * piece + 5);
        let path = folder.path(format.name);
        fs::write(&path, bytes).expect("a file");
        let said = refused(&format!(
            "version = 3\n[data]\nfiles = [{path:?}]\nwindow = 10000\n\
             [net]\ninputs = \"perspective\"\nhidden = 8\n[target]\nwdl = 0.5\n\
             [schedule]\npositions = 100000\nbatch = 1000\nlearning_rate = 0.001\n"
        ));
        assert!(said.contains(message) && said.contains("data.bad_records"), "{said}");
    }
}

#[test]
fn impossible_place_is_refused() {
    let folder = Workdir::empty();
    let with_turns = |next, open| {
        let turns = TurnState { rounds: 0, next, open };
        ResumePoint { turns, ..ResumePoint::default() }
    };
    for resume_point in [
        ResumePoint { bin: 1 << 20, ..ResumePoint::default() },
        ResumePoint { taken: 1 << 20, ..ResumePoint::default() },
        with_turns(1 << 20, Vec::new()),
        with_turns(1, vec![(1, 0)]),
        with_turns(1, vec![(0, 1 << 50)]),
    ] {
        let encoder = games::lists(Perspectives::SideToMove);
        let mut stream =
            Stream::resume_stream(plan(&folder), encoder, 0, None, Some(resume_point.clone()));
        assert!(stream.next().is_some_and(|it| it.is_err()), "{resume_point:?}");
    }
}
