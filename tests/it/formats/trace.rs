//! Traces of an engine, and the rows from them.

use nnuance::batch::TermBatch;
use nnuance::format::trace::{HEADER, TraceEntry, TraceReader, TracedPosition};
use nnuance::format::{self, Fault};
use nnuance::loader::{TestShare, TrainingShare, push, read_traces};
use nnuance::terms::TermKind;
use proptest::prelude::*;

use crate::cli::own_engine::own;
use crate::formats::registry::scratch;
use crate::support::kit::*;

/// All positions, and the faults with their places.
pub fn read(bytes: &[u8], own: Option<&EngineTerms>) -> (Vec<TracedPosition>, Vec<String>) {
    let input: format::ByteInput = Box::new(Cursor::new(bytes.to_vec()));
    let mut traces = TraceReader::new(input, own);
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    loop {
        match traces.read_position() {
            Ok(Some(traced)) => all.push(traced),
            Ok(None) => return (all, faults),
            Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => faults.push(bad.to_string()),
            Err(Fault::Io(error)) => panic!("{error}"),
        }
        assert!(all.len() + faults.len() <= bytes.len() + 1, "it does not end");
    }
}

const FEN: &str = "8/5k2/p2p4/1p1P4/1P6/P2B4/5K2/2b5 b - - 3 41";

fn line(traced: &TracedPosition) -> String {
    let TracedPosition { sample, phase, scale, eval, entries } = traced;
    let Sample { position, result, score, game, .. } = sample;
    let white = position.turn().is_white();
    let result = if white { *result } else { 1.0 - result };
    let mut line = format!("{result:.1} {} {phase} {scale}", position.turn().char());
    if let Some(score) = score {
        line += &format!(" cp={}", if white { *score } else { -score });
    }
    line += &eval.map_or(String::new(), |eval| format!(" eval={eval}"));
    line += &game.map_or(String::new(), |game| format!(" game={game}"));
    line += " |";
    for TraceEntry { term, white, black } in entries {
        line += &format!(" {term}:{white}:{black}");
    }
    format!("{line} | {}\n", position.to_fen())
}

fn text(traces: &[TracedPosition]) -> String {
    traces.iter().map(line).fold(format!("{HEADER}\n"), |text, line| text + &line)
}

#[test]
fn lines_as_engines_print_them() {
    let white = FEN.replace(" b ", " w ");
    let lines = format!(
        "\u{feff}{HEADER}\r\n\
         1.0 w 24 128 | 0:5:4 3:-1:0 1:0:2 | {white}\r\n\
         \n\
         1/2-1/2\tb 11.5 64.25 game=12 cp=-35|0:4:4 0:1:-32768|{FEN}\n\
         {HEADER}\n\
         0-1 w 0 0 | | {white}"
    );
    let (traces, faults) = read(lines.as_bytes(), Some(&own()));
    assert_eq!(faults, [""; 0]);
    let [first, second, third] = &traces[..] else { panic!("{traces:?}") };
    let entry = |term, white, black| TraceEntry { term, white, black };
    assert_eq!(first.entries, [entry(0, 5, 4), entry(3, -1, 0), entry(1, 0, 2)]);
    assert_eq!((first.sample.result, first.phase, first.scale), (1.0, 24.0, 128.0));
    assert_eq!(second.entries, [entry(0, 4, 4), entry(0, 1, -32768)]);
    assert_eq!((second.sample.score, second.phase, second.scale), (Some(35), 11.5, 64.25));
    assert_eq!(second.sample.position.turn(), Color::Black);
    assert!(second.sample.game.is_some() && first.sample.game.is_none());
    assert_eq!((third.sample.result, &third.entries[..]), (0.0, &[][..]));
}

fn traced() -> impl Strategy<Value = TracedPosition> {
    let amount = || prop_oneof![(0..=24u16).prop_map(f32::from), 0.0f32..24.0];
    let entries = prop::collection::vec((0u16..4, any::<[i16; 2]>()), 0..40);
    let facts = (0u64..500, prop::option::of(-32767i16..=32767));
    (facts, amount(), amount(), entries).prop_map(|((seed, score), phase, scale, entries)| {
        let [position] = games::positions(1, seed)[..] else { panic!("one position") };
        let [sample] = games::samples(1, seed)[..] else { panic!("one sample") };
        let entry = |(term, [white, black]): (u16, [i16; 2])| TraceEntry {
            term,
            white,
            black: if term == 2 { 0 } else { black },
        };
        TracedPosition {
            sample: Sample { position, score, game: None, played: None, ply: None, ..sample },
            phase,
            scale,
            eval: None,
            entries: entries.into_iter().map(entry).collect(),
        }
    })
}

/// Counts of a term in a row of a batch, its entries added up.
fn row<C: Copy, S: std::iter::Sum>(
    rows: &nnuance::batch::TermRows<C>,
    row: usize,
    term: usize,
    count: impl Fn(C) -> S,
) -> S {
    rows.entries_of_row(row).filter(|(of, _)| *of == term).map(|(_, value)| count(value)).sum()
}

proptest! {
    #[test]
    fn lines_come_back(traces in prop::collection::vec(traced(), 0..8)) {
        let lines = text(&traces);
        let (back, faults) = read(lines.as_bytes(), Some(&own()));
        prop_assert_eq!(&back, &traces);
        prop_assert_eq!(faults.len(), 0);
        prop_assert_eq!(read(lines.repeat(2).as_bytes(), None).0.len(), 2 * traces.len());
    }

    #[test]
    fn rows_hold_what_the_trace_says(traces in prop::collection::vec(traced(), 1..6)) {
        let (own, mut terms) = (own(), TermBatch::default());
        traces.iter().for_each(|traced| push(traced, &own, &mut terms));
        prop_assert_eq!(terms.len(), traces.len());
        for (i, traced) in traces.iter().enumerate() {
            for (term, listed) in own.list.terms.iter().enumerate() {
                let of = || traced.entries.iter().filter(|entry| usize::from(entry.term) == term);
                let white: i64 = of().map(|entry| i64::from(entry.white)).sum();
                let black: i64 = of().map(|entry| i64::from(entry.black)).sum();
                let normal = row(&terms.normal, i, term, i64::from);
                let safety = [0, 1].map(|side| {
                    row(&terms.safety, i, term, |counts: [i8; 2]| i64::from(counts[side]))
                });
                let complexity = row(&terms.complexity, i, term, i64::from);
                let expected = match listed.kind {
                    TermKind::Normal => (white - black, [0, 0], 0),
                    TermKind::Safety => (0, [white, black], 0),
                    TermKind::Complexity => (0, [0, 0], white),
                };
                prop_assert_eq!((normal, safety, complexity), expected);
            }
            let [middlegame, endgame] = own.shares(traced.phase, traced.scale);
            prop_assert_eq!(terms.middlegame[i], middlegame as f32);
            prop_assert_eq!(terms.endgame[i], endgame as f32);
            prop_assert_eq!(terms.turn[i] == 1, traced.sample.position.turn() == Color::White);
        }
        prop_assert!(!terms.normal.count.contains(&0) && !terms.complexity.count.contains(&0));
        prop_assert!(!terms.safety.count.contains(&[0, 0]));
    }
}

#[test]
fn wrong_lines_are_skipped() {
    let good = format!("0.5 b 1 1 | | {FEN}\n");
    for head in [
        "1.0 b 24",
        "0.7 b 24 128 |",
        "1.0 w 24 128 |",
        "1.0 b 24 inf |",
        "1.0 b 24.5 128 |",
        "1.0 b 24 128 cp=-32768 |",
        "1.0 b 24 128 game=0 |",
        "1.0 b 24 128 | 0:x:1",
        "1.0 b 24 128 | 0:1",
        "1.0 b 24 128 | 0:1:32768",
        "1.0 b 24 128 | -1:1:2",
        "1.0 b 24 128 | 4:1:2",
        "1.0 b 24 128 | 2:1:1",
    ] {
        let lines = format!("{HEADER}\n{good}{head} | {FEN}\n{good}");
        let (traces, faults) = read(lines.as_bytes(), Some(&own()));
        assert_eq!((traces.len(), faults.len()), (2, 1), "{head}");
        assert!(faults[0].starts_with("line 3: "), "{}", faults[0]);
    }
    for header in ["1.0 w 24 128 |", "nnuance-trace 2", "abc"] {
        assert_eq!(read(header.as_bytes(), None).1.len(), 1, "{header}");
    }
    let long = format!("{HEADER}\n1.0 b 1 1 |{} | {FEN}\n{good}", " ".repeat(3 << 20));
    let (traces, faults) = read(long.as_bytes(), None);
    assert_eq!((traces.len(), faults.len()), (1, 1));
}

/// Four pawns more at phase 12 of 24: 4 * (82 / 2 + 94 / 2) = 352, and 12 for the tempo.
#[test]
fn evaluations_are_checked() {
    let faults = |turn: &str, eval: &str| {
        let fen = FEN.replace(" b ", &format!(" {turn} "));
        let lines = format!("{HEADER}\n1.0 {turn} 12 128 eval={eval} | 0:5:1 | {fen}\n");
        assert_eq!(read(lines.as_bytes(), None).1.len(), usize::from(eval == "inf"));
        read(lines.as_bytes(), Some(&own())).1
    };
    for (turn, eval) in [("w", "364"), ("w", "362.5"), ("b", "340")] {
        assert_eq!(faults(turn, eval), [""; 0], "{turn} {eval}");
    }
    for (turn, eval) in [("w", "361.5"), ("b", "-340"), ("w", "inf")] {
        assert_eq!(faults(turn, eval).len(), 1, "{turn} {eval}");
    }
}

/// Stores contain the positions that the ordinary scan has counted, each on its side of the split.
#[test]
fn rows_follow_the_split() {
    let own = own();
    let positions = games::positions(1500, 8);
    let lines = |positions: &[Position], from: usize| {
        let line = |(i, position): (usize, &Position)| {
            let turn = position.turn().char();
            format!("1.0 {turn} 24 128 game={} cp={i} | 0:1:0 | {}\n", 1 + i / 3, position.to_fen())
        };
        let lines = positions.iter().enumerate().map(|(i, it)| line((from + i, it)));
        lines.fold(format!("{HEADER}\n"), |text, line| text + &line)
    };
    let file = scratch("games.trace", lines(&positions[..1200], 0).as_bytes());
    let more = scratch("more.trace", lines(&positions[1200..], 1200).as_bytes());
    let (split, test) = (Split { share: 0.3, seed: 0 }, TestShare(0.5));
    let base = ReadPlan {
        split,
        test,
        share: TrainingShare(0.5),
        check_view: false,
        ..ReadPlan::new(vec![file.path.clone()])
    };
    let encoder = TermsEncoder {
        coding: Coding::new(&[true; TERMS], true),
        chosen: TermSelection::all(own.list.len()),
        weights: vec![[0.0; 2]; own.list.len()],
    };
    for plan in [base.clone(), ReadPlan { validation: vec![more.path.clone()], ..base }] {
        let ([train, held], tally) = read_traces(&plan, &own, &encoder).unwrap();
        let found = scan(&plan, 0, &|_| ()).unwrap();
        assert!(found.counts.train > 100 && found.validation.total > 50);
        assert_eq!(
            [train.len() as u64, held.len() as u64],
            [found.counts.train, found.validation.total]
        );
        assert_eq!(tally.times[0], found.counts.train);
        for (store, part) in [(train, Some(Subset::Train)), (held, Some(Subset::Validation))] {
            let samples = collect_samples(&plan, part, &|_| ()).unwrap();
            let white =
                |it: &Sample| f32::from(it.score.unwrap()) * it.position.turn().fold_wb(1.0, -1.0);
            assert_eq!(
                store.whole_batch().scores[..],
                samples.iter().map(white).collect::<Vec<f32>>()
            );
            assert!(store.whole_batch().results.iter().all(|result| *result == 1.0));
        }
    }
}
