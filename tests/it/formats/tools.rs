//! The tools of `nnuance data`, and the parts below them.

use nnuance::data::shuffle::{Shuffle, ShuffleError};
use nnuance::data::{pack_sample, unpack_sample};
use nnuance::loader::Filter;

use crate::formats::registry::read;
use crate::support::kit::*;

pub fn data(args: &[&str]) -> Command {
    let mut command = nnuance();
    command.arg("data").args(args);
    command
}

pub fn fine(args: &[&str]) -> String {
    let [out, _] = said(&mut data(args));
    out
}

pub fn fails(args: &[&str]) -> String {
    failure(&mut data(args))
}

/// Records of bulletformat that differ: the score counts them.
fn numbered(count: i16) -> Vec<Sample> {
    let position = Position::from_fen("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap();
    let sample = |score| Sample { score: Some(score), ..Sample::from_position(position) };
    (0..count).map(sample).collect()
}

fn buckets<const N: usize>(records: &[[u8; N]], seed: u64, memory: u64) -> Vec<Vec<[u8; N]>> {
    let folder = Workdir::empty();
    let mut shuffle = Shuffle::new(seed, memory, folder.root_path());
    for piece in records.chunks(777) {
        shuffle.push(piece).unwrap();
    }
    let mut out = Vec::new();
    let take = |bucket: &[[u8; N]]| -> Result<(), ShuffleError> {
        out.push(bucket.to_vec());
        Ok(())
    };
    shuffle.finish_shuffle(take).unwrap();
    out
}

fn shuffled<const N: usize>(records: &[[u8; N]], seed: u64, memory: u64) -> Vec<[u8; N]> {
    buckets(records, seed, memory).concat()
}

#[test]
fn shuffle_depends_on_the_seed_alone() {
    let records: Vec<[u8; 4]> = (0..200_000u32).map(u32::to_le_bytes).collect();
    let first = shuffled(&records, 1, 1 << 30);
    assert_ne!(first, records);
    let mut sorted = first.clone();
    sorted.sort_by_key(|record| u32::from_le_bytes(*record));
    assert!(sorted == records, "it is no permutation");
    // 40,000 bytes: the buckets go to the file 50 times.
    assert!(shuffled(&records, 1, 40_000) == first, "memory shows in the order");
    assert!(shuffled(&records, 2, 1 << 30) != first);
}

fn chi_square(counts: &[f64]) -> f64 {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter().map(|count| (count - mean).powi(2) / mean).sum()
}

#[test]
fn places_are_equally_likely() {
    // 4,000 seeds, 40 records: 39 degrees of freedom, whose 99.99 % lies at 79.
    let records: Vec<[u8; 1]> = (0..40).map(|number| [number]).collect();
    let (mut first, mut neighbours) = ([0f64; 40], [0f64; 40]);
    for seed in 0..4000 {
        let order = shuffled(&records, seed, 1 << 20);
        let place = |number| order.iter().position(|record| record[0] == number).unwrap();
        first[place(0)] += 1.0;
        neighbours[(40 + place(1) - place(0)) % 40] += 1.0;
    }
    for counts in [&first[..], &neighbours[1..]] {
        assert!(chi_square(counts) < 79.0, "{counts:?}");
    }
}

#[test]
fn orders_in_buckets_are_equally_likely() {
    let records: Vec<[u8; 2]> = (0..768u16).map(u16::to_le_bytes).collect();
    let mut orders = [0f64; 6];
    for seed in 0..16 {
        for bucket in buckets(&records, seed, 1 << 20) {
            let bucket: Vec<u16> = bucket.into_iter().map(u16::from_le_bytes).collect();
            if let [a, b, c] = bucket[..] {
                let mut sorted = [a, b, c];
                sorted.sort_unstable();
                let place = |it| sorted.iter().position(|other| *other == it).unwrap();
                orders[2 * place(a) + usize::from(place(b) > place(c))] += 1.0;
            }
        }
    }
    // 5 degrees of freedom, whose 99.99 % lies at 26.
    assert!(orders.iter().sum::<f64>() > 800.0 && chi_square(&orders) < 26.0, "{orders:?}");
}

#[test]
fn shuffles_of_files() {
    let folder = Workdir::empty();
    let samples = numbered(30_000);
    folder.write_samples("a.bf", "bulletformat", &samples);
    folder.write_samples("a.bf.gz", "bulletformat", &samples);
    let shuffle = |from: &str, to: &str, more: &[&str]| {
        let (from, to) = (folder.name(from), folder.name(to));
        fine(&[&["shuffle", &from, "-o", &to, "--seed"], more].concat());
    };
    shuffle("a.bf", "1.bf", &["3"]);
    shuffle("a.bf.gz", "2.bf", &["3", "--memory", "1"]);
    shuffle("a.bf", "3.bf", &["3", "--memory", "1"]);
    shuffle("a.bf", "4.bf", &["4"]);
    assert!(folder.bytes("1.bf") == folder.bytes("2.bf"), "packing shows in the order");
    assert!(folder.bytes("1.bf") == folder.bytes("3.bf"), "memory shows in the order");
    assert!(folder.bytes("1.bf") != folder.bytes("4.bf"));
    let mut scores: Vec<_> = folder.samples("1.bf").iter().map(|it| it.score).collect();
    scores.sort();
    assert!(scores.into_iter().eq((0..30_000).map(Some)));
    assert_eq!(folder.names().len(), 6);
}

#[test]
fn shuffle_refuses_cut_files_and_inputs() {
    let folder = Workdir::empty();
    folder.write_samples("a.bf", "bulletformat", &numbered(100));
    let bytes = folder.bytes("a.bf");
    folder.write("cut.bf", &bytes[..100 * 32 - 5]);
    let (a, cut, out) = (folder.name("a.bf"), folder.name("cut.bf"), folder.name("out.bf"));
    assert!(fails(&["shuffle", &a, &cut, "-o", &out]).contains("cut.bf"));
    assert!(!folder.path("out.bf").exists());
    fine(&["shuffle", &cut, "-o", &out, "--bad-records", "1"]);
    assert_eq!(folder.bytes("out.bf").len(), 99 * 32);
    assert!(fails(&["shuffle", &a, "-o", &out]).contains("--overwrite"));
    fine(&["shuffle", &a, "-o", &out, "--overwrite"]);
    fails(&["shuffle", &a, "-o", &a, "--overwrite"]);
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn temporary_records_drop_the_game_alone() {
    for path in [QUIET, SCORED, NOTATED] {
        for sample in read(path).unwrap().into_iter().step_by(7) {
            let back = unpack_sample(&pack_sample(&sample)).unwrap();
            assert_eq!(back, Sample { game: None, ..sample });
        }
    }
}

#[test]
fn unfit_samples_of_convert() {
    let folder = Workdir::empty();
    let [_, warning] = said(&mut data(&["convert", SCORED, "-o", &folder.name("a.bf")]));
    assert!(warning.contains("castling rights"));
    assert_eq!(folder.bytes("a.bf").len(), 30_000 * 32);
    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [1.0] 50\n\
                 4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 [0.5]\n\
                 4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 [0.25] -7\n";
    folder.write("lines.epd", lines);
    let (lines, bf) = (folder.name("lines.epd"), folder.name("lines.bf"));
    assert!(fails(&["convert", &lines, "-o", &bf]).contains("--skip-unfit"));
    assert!(!folder.path("lines.bf").exists());
    fine(&["convert", &lines, "-o", &bf, "--skip-unfit"]);
    assert_eq!(folder.samples("lines.bf").len(), 1);
    // A given point of view.
    let turned = folder.name("turned.epd");
    fine(&["convert", &lines, "-o", &turned, "--score-view", "side-to-move"]);
    let scores: Vec<_> = folder.samples("turned.epd").iter().map(|it| it.score).collect();
    assert_eq!(scores, [Some(50), None, Some(-7)]);
    assert!(fails(&["convert", &lines, "-o", &folder.name("what.ever")]).contains("--to"));
    folder.write("bad.txt", "8/8/8/4k3/8/8/8/4K3 w - - 0 1 | 0 | 0.5\nbad\n");
    let error = fails(&["convert", &folder.name("bad.txt"), "-o", &folder.name("bad.bf")]);
    assert!(error.contains("line 2") && error.contains("--bad-records"), "{error}");
}

#[test]
fn filters_equal_those_of_training() {
    let folder = Workdir::empty();
    let out = folder.name("quiet.epd");
    let filters = "--min-ply 16 --min-pieces 4 --max-score 1000 --skip-in-check --skip-captures \
                   --skip-promotions --skip-castling --skip-zero-scores --max-miss 300 \
                   --random-skip 0.1";
    let filters: Vec<&str> = filters.split(' ').collect();
    fine(&[&["filter", NOTATED, "-o", &out], &filters[..]].concat());
    let filter = Filter {
        min_ply: Some(16),
        min_pieces: Some(4),
        max_score: Some(1000),
        skip_in_check: true,
        skip_captures: true,
        skip_promotions: true,
        skip_castling: true,
        skip_zero_scores: true,
        max_miss: Some(300),
        random_skip: Some(0.1),
        ..Filter::default()
    };
    let games = read(NOTATED).unwrap();
    let kept: Vec<_> = games
        .iter()
        .filter(|it| filter.rejecting_key(it).is_none())
        .map(|it| it.position)
        .collect();
    let found: Vec<_> = folder.samples("quiet.epd").iter().map(|it| it.position).collect();
    assert!(kept.len() > 1000 && kept == found);
    let error = fails(&["filter", SCORED, "-o", &folder.name("x.txt"), "--min-ply", "16"]);
    assert!(error.contains("min_ply"), "{error}");
}

#[test]
fn borders_of_filters() {
    let sample = Sample { ply: Some(16), score: Some(-1000), ..numbered(1)[0] };
    let pieces = sample.position.piece_count();
    let filters = |by: usize| {
        let none = Filter::default();
        [
            Filter { min_ply: Some(16 + by as u16), ..none.clone() },
            Filter { max_score: Some(1000 - by as u16), ..none.clone() },
            Filter { min_pieces: Some(pieces + by), ..none.clone() },
            Filter { max_pieces: Some(pieces - by), ..none },
        ]
    };
    for (at, beyond) in filters(0).into_iter().zip(filters(1)) {
        assert!(at.rejecting_key(&sample).is_none(), "{at:?}");
        assert!(beyond.rejecting_key(&sample).is_some(), "{beyond:?}");
    }
}

/// The loser's score counts, in draws either side's; scores are the side to move's.
#[test]
fn misses_are_scores_against_the_result() {
    let filter = Filter { max_miss: Some(2500), ..Filter::default() };
    for (result, score, passes) in [
        (0.0, 2500, true),
        (0.0, 2501, false),
        (0.0, -9000, true),
        (1.0, -2500, true),
        (1.0, -2501, false),
        (1.0, 9000, true),
        (0.5, 2500, true),
        (0.5, 2501, false),
        (0.5, -2501, false),
    ] {
        let sample = Sample { result, score: Some(score), ..numbered(1)[0] };
        assert_eq!(filter.rejecting_key(&sample).is_none(), passes, "{result} {score}");
    }
}

/// What is drawn depends on the position and its game alone, and has the shares asked for.
#[test]
fn random_filters_keep_their_shares() {
    let games = read(NOTATED).unwrap();
    let passed = |filter: Filter| {
        let passes = games.iter().filter(|it| filter.rejecting_key(it).is_none());
        passes.count() as f64 / games.len() as f64
    };
    let found = passed(Filter { random_skip: Some(0.15), ..Filter::default() });
    assert!((found - 0.85).abs() < 0.02, "{found}");
    let line = |pieces: f64| (0.2 + 0.8 * (pieces - 10.0) / 20.0).clamp(0.2, 1.0);
    let wanted = games.iter().map(|it| line(it.position.piece_count() as f64)).sum::<f64>();
    let accept_pieces = vec![[10.0, 0.2], [30.0, 1.0]];
    let found = passed(Filter { accept_pieces, ..Filter::default() });
    assert!((found - wanted / games.len() as f64).abs() < 0.02, "{found}");
}

#[test]
fn samples_equal_splits_of_training() {
    let folder = Workdir::empty();
    let (drawn, rest) = (folder.name("drawn.pgn"), folder.name("rest.pgn"));
    let sample = ["sample", NOTATED, "-o", &drawn, "--rest", &rest, "--share", "0.3"];
    fine(&[&sample[..], &["--seed", "5"]].concat());
    let rule = Split { share: 0.3, seed: 5 };
    let games = read(NOTATED).unwrap();
    let (held, others): (Vec<_>, Vec<_>) =
        games.iter().partition(|it| rule.holds_out(it.split_group()));
    assert_eq!(folder.samples("drawn.pgn"), held);
    assert_eq!(folder.samples("rest.pgn"), others);
    // Whole games, and positions where games are unknown: 3,000 expected, 52 the deviation.
    let lengths = |samples: &[Sample]| {
        let mut lengths = BTreeMap::new();
        samples.iter().for_each(|it| *lengths.entry(it.game).or_insert(0) += 1);
        lengths
    };
    let whole = lengths(&games);
    assert!(lengths(&held).iter().all(|(game, length)| whole[game] == *length));
    fine(&["sample", SCORED, "-o", &folder.name("some.txt"), "--share", "0.1"]);
    assert!(folder.samples("some.txt").len().abs_diff(3000) < 300);
    fails(&["sample", NOTATED, "-o", &rest, "--rest", &rest, "--share", "0.3"]);
    folder.write_samples("few.bf", "bulletformat", &numbered(1));
    let [few, x, y] = ["few.bf", "x.bf", "y.bf"].map(|name| folder.name(name));
    fails(&["sample", &few, "-o", &x, "--rest", &y, "--share", "0.5"]);
    assert!(!folder.path("x.bf").exists() && !folder.path("y.bf").exists());
}

#[test]
fn dedup_keeps_the_first() {
    let folder = Workdir::empty();
    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [1.0] 50\n\
                 4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 [0.5] 9\n\
                 4k3/8/8/8/8/8/4P3/4K3 w - - 7 9 [0.0] 101\n\
                 4k3/4p3/8/8/8/8/8/4K3 b - - 0 1 [0.0] 4\n\
                 r3k3/8/8/8/8/8/8/4K3 w q - 0 1 [0.5]\n\
                 r3k3/8/8/8/8/8/8/4K3 w - - 0 1 [0.5]\n\
                 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [1.0]\n";
    folder.write("a.epd", lines);
    fine(&["dedup", &folder.name("a.epd"), "-o", &folder.name("f.epd")]);
    let all = folder.samples("a.epd");
    assert_eq!(folder.samples("f.epd"), [all[0], all[1], all[3], all[4], all[5]]);
    // By the FENs of a real file.
    fine(&["dedup", NOTATED, "-o", &folder.name("real.epd")]);
    let mut seen = HashSet::new();
    let bare = |it: &Sample| {
        let fen = it.position.to_fen();
        fen.split(' ').take(4).collect::<Vec<_>>().join(" ")
    };
    let games = read(NOTATED).unwrap();
    let expected: Vec<_> = games.iter().map(bare).filter(|it| seen.insert(it.clone())).collect();
    let found: Vec<_> = folder.samples("real.epd").iter().map(bare).collect();
    assert!(expected.len() < games.len() && found == expected);
}

#[test]
fn stats_count() {
    let json = json(&mut data(&["stats", NOTATED, "--json"]));
    let games = read(NOTATED).unwrap();
    let count = |holds: &dyn Fn(&Sample) -> bool| games.iter().filter(|it| holds(it)).count();
    assert_eq!(json["positions"], games.len());
    assert_eq!(json["games"], 200);
    assert_eq!(json["draws"], count(&|it| it.result == 0.5));
    assert_eq!(json["in_check"], count(&|it| it.position.in_check()));
    assert_eq!(json["pieces"][30], count(&|it| it.position.piece_count() == 32));
    let close = |it: &Sample| it.score.is_some_and(|score| (26..=50).contains(&score.abs()));
    assert_eq!(json["scores"][1], count(&close));
    fine(&["stats", NOTATED]);
}
