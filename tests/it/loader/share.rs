//! `data.share`: the share of the training games that a run takes.

use nnuance::loader::{Scan, TrainingShare};

use crate::formats::registry::read;
use crate::support::kit::*;
const SPLIT: Split = Split { share: 0.1, seed: 0 };
const SHARES: [f64; 6] = [1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];

fn plan() -> ReadPlan {
    ReadPlan { split: SPLIT, ..plan_first_positions(GAMES, 400_000) }
}

fn scanned(plan: &ReadPlan) -> Scan {
    scan(plan, 0, &|_| {}).expect("good data")
}

#[test]
fn smaller_shares_are_parts_of_larger() {
    let samples = read(GAMES).expect("games");
    let games = |keep: &dyn Fn(&Sample) -> bool| -> BTreeSet<u64> {
        samples.iter().filter(|sample| keep(sample)).map(Sample::split_group).collect()
    };
    let all = games(&|_| true);
    assert!(all.len() > 10_000, "{} games", all.len());
    let mut smaller = BTreeSet::new();
    for share in SHARES.map(TrainingShare) {
        let taken = games(&|sample| share.takes_group(sample.split_group()));
        assert!(taken.is_superset(&smaller), "{share:?}");
        // Within four standard deviations of a binomial draw, on both sides of the split.
        for held_out in [false, true] {
            let side = games(&|sample| SPLIT.holds_out(sample.split_group()) == held_out);
            let (count, total) = (taken.intersection(&side).count() as f64, side.len() as f64);
            let spread = (total * share.0 * (1.0 - share.0)).sqrt();
            assert!(
                (count - share.0 * total).abs() <= 4.0 * spread,
                "{share:?}: {count} of {total}"
            );
        }
        smaller = taken;
    }
    assert_eq!(smaller, all);
}

#[test]
fn every_share_holds_out_the_same() {
    let whole = scanned(&plan());
    assert_eq!(whole.counts.left_out, 0);
    for share in SHARES.map(TrainingShare) {
        let scan = scanned(&ReadPlan { share, ..plan() });
        assert_eq!(scan.validation, whole.validation, "{share:?}");
        assert_eq!(scan.test, whole.test, "{share:?}");
        assert_eq!(scan.counts.train + scan.counts.left_out, whole.counts.train, "{share:?}");
        assert_eq!(scan.counts.games, whole.counts.games, "{share:?}");
    }
}

#[test]
fn training_sees_its_share_alone() {
    let share = TrainingShare(0.125);
    let slow: Vec<Sample> = collect_samples(&plan(), None, &|_| {})
        .expect("games")
        .into_iter()
        .filter(|it| !SPLIT.holds_out(it.split_group()) && share.takes_group(it.split_group()))
        .collect();
    let scan = scanned(&ReadPlan { share, ..plan() });
    assert_eq!(scan.counts.train, slow.len() as u64);
    assert!(
        slow.iter()
            .all(|sample| scan.sketch.contains_hash(sample.split_group()) || slow.len() > 2048)
    );
    let sorted = |mut scores: Vec<i32>| {
        scores.sort_unstable();
        scores
    };
    let expected = sorted(slow.iter().map(|it| it.score.expect("scores").into()).collect());
    // In memory, and streamed through windows.
    for window in [slow.len(), 10_000] {
        let (batch, expected_count) = (slow.len(), Some(scan.counts.train));
        let order = PassOrder { window, batch, ..PassOrder::default() };
        let plan = ReadPlan { share, ..plan() };
        let plan = stream_plan(plan, order, expected_count);
        let mut stream = Stream::new(plan, games::lists(Perspectives::Perspective), 0);
        for epoch in 0..2 {
            let batch = stream.next().expect("no end").expect("good data");
            let scores = batch.scores.iter().map(|score| *score as i32).collect();
            assert!(sorted(scores) == expected, "window {window}, epoch {epoch}");
        }
    }
}

#[test]
fn same_bits_for_any_threads() {
    let net = "[net]\ninputs = \"perspective\"\nmirror = false\nstart_size = 1.0\nhidden = 8";
    for (data, model) in [("", net), ("window = 8192", net), ("", "[terms]")] {
        same_for_any_threads(&format!(
            "version = 3\nseed = 5\n[data]\nfiles = [\"{GAMES}\"]\nlimit = 300000\nshare = 0.125\n\
             {data}\n{model}\n[schedule]\npositions = 200000\nbatch = 1024\n\
             learning_rate = 0.01\nvalidations = 20\ncheckpoints = 5\n"
        ));
    }
}

#[test]
fn positions_are_drawn_evenly() {
    let samples = collect_samples(&plan(), None, &|_| {}).expect("games");
    let trained: Vec<Sample> =
        samples.into_iter().filter(|it| !SPLIT.holds_out(it.split_group())).collect();
    let drawn = scanned(&plan()).some;
    assert!((60_000..=131_072).contains(&drawn.len()), "{}", drawn.len());
    // In the order of the file.
    let (mut tenths, mut remaining) = ([0.0; 10], drawn.iter().peekable());
    for (index, sample) in trained.iter().enumerate() {
        if remaining.next_if_eq(&sample).is_some() {
            tenths[10 * index / trained.len()] += 1.0;
        }
    }
    assert!(remaining.next().is_none(), "all of them are positions to train on");
    let even = drawn.len() as f64 / 10.0;
    assert!(tenths.iter().all(|count| (count / even - 1.0).abs() < 0.1), "{tenths:?}");
}
