//! Both forms of a trace, and the rows that come of them.

use std::io::{Cursor, Write};
use std::path::Path;

use nnuance::batch::Terms;
use nnuance::format::trace::{
    Entry, FORMAT, HEADER, MAGIC, TraceSource, Traced, Traces, write_binary, write_text,
};
use nnuance::format::{self, Fault, ReadError, Source, write_all};
use nnuance::loader::push;
use nnuance::terms::{Kind, OwnTerms};
use proptest::prelude::*;
use shakmaty::Color;

use crate::games;
use crate::own_engine::{own, scratch};

fn input(bytes: &[u8]) -> format::Input {
    Box::new(Cursor::new(bytes.to_vec()))
}

/// All positions, and the faults with their places.
pub fn read(bytes: &[u8], own: Option<&OwnTerms>) -> (Vec<Traced>, Vec<String>) {
    let mut traces = Traces::new(input(bytes), own);
    let (mut all, mut faults, mut traced) = (Vec::new(), Vec::new(), Traced::default());
    loop {
        match traces.next(&mut traced) {
            Ok(true) => all.push(traced.clone()),
            Ok(false) => return (all, faults),
            Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => faults.push(bad.to_string()),
            Err(Fault::Io(error)) => panic!("{error}"),
        }
        assert!(all.len() + faults.len() <= bytes.len() + 1, "it does not end");
    }
}

fn text(traces: &[Traced]) -> Vec<u8> {
    let mut bytes = format!("{HEADER}\n").into_bytes();
    traces.iter().for_each(|traced| write_text(traced, &mut bytes).unwrap());
    bytes
}

fn binary(traces: &[Traced]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    traces.iter().for_each(|traced| write_binary(traced, &mut bytes).unwrap());
    bytes
}

pub fn entry(term: u16, white: i16, black: i16) -> Entry {
    Entry { term, white, black }
}

pub const FEN: &str = "8/5k2/p2p4/1p1P4/1P6/P2B4/5K2/2b5 b - - 3 41";

#[test]
fn lines_as_engines_print_them() {
    let lines = format!(
        "nnuance-trace 1\r\n\
         1.0 w 24 128 | 0:5:4 3:-1:0 1:0:2\r\n\
         \n\
         1/2-1/2\tb 11.5 64.25 game=12 cp=-35|0:4:4 0:1:-32768|{FEN}\n\
         nnuance-trace 1\n\
         0-1 w 0 0 |"
    );
    let (traces, faults) = read(lines.as_bytes(), Some(&own()));
    assert_eq!(faults, [""; 0]);
    let first = Traced {
        result: 1.0,
        phase: 24.0,
        scale: 128.0,
        entries: vec![entry(0, 5, 4), entry(3, -1, 0), entry(1, 0, 2)],
        ..Traced::default()
    };
    let second = Traced {
        turn: Color::Black,
        phase: 11.5,
        scale: 64.25,
        score: Some(-35),
        game: 12.try_into().ok(),
        entries: vec![entry(0, 4, 4), entry(0, 1, -32768)],
        fen: FEN.into(),
        ..Traced::default()
    };
    let third = Traced { result: 0.0, scale: 0.0, ..Traced::default() };
    assert_eq!(traces, [first, second, third]);
}

#[test]
fn binary_golden_bytes() {
    let traced = Traced {
        result: 1.0,
        turn: Color::Black,
        phase: 1.5,
        scale: 1.0,
        score: Some(-2),
        eval: None,
        game: 258.try_into().ok(),
        entries: vec![entry(513, 3, -4)],
        fen: "F".into(),
    };
    let golden = b"NNTRACE1\x02\x01\x01\x01\x01\x00\xfe\xff\x00\x00\xc0\x3f\x00\x00\x80\x3f\
                   \x02\x01\0\0\0\0\0\0\x01\x02\x03\x00\xfc\xffF";
    assert_eq!(binary(std::slice::from_ref(&traced)), golden);
    assert_eq!(read(golden, None), (vec![traced], vec![]));
}

fn traced() -> impl Strategy<Value = Traced> {
    let amount = || prop_oneof![(0..=24u16).prop_map(f32::from), 0.0f32..24.0];
    let entries = prop::collection::vec((0u16..4, any::<[i16; 2]>()), 0..40);
    let fens = prop_oneof![Just(""), Just(FEN)];
    let head = (0..3u8, any::<bool>(), amount(), amount());
    let facts = (prop::option::of(-32767i16..=32767), any::<u64>().prop_map(|game| game >> 1));
    (head, facts, entries, fens).prop_map(|(head, (score, game), entries, fen)| Traced {
        result: f32::from(head.0) / 2.0,
        turn: Color::from_white(head.1),
        phase: head.2,
        scale: head.3,
        score,
        eval: None,
        game: game.try_into().ok(),
        entries: entries
            .into_iter()
            .map(|(term, [white, black])| entry(term, white, if term == 2 { 0 } else { black }))
            .collect(),
        fen: fen.into(),
    })
}

/// What the row of a batch says of a term, its entries added up.
fn row<C: Copy, S: std::iter::Sum>(
    rows: &nnuance::batch::Rows<C>,
    row: usize,
    term: usize,
    count: impl Fn(C) -> S,
) -> S {
    rows.row(row).filter(|(of, _)| *of == term).map(|(_, value)| count(value)).sum()
}

proptest! {
    #[test]
    fn both_forms_come_back(traces in prop::collection::vec(traced(), 0..8)) {
        for bytes in [text(&traces), binary(&traces)] {
            let (back, faults) = read(&bytes, Some(&own()));
            prop_assert_eq!(&back, &traces);
            prop_assert_eq!(faults.len(), 0);
            let twice = [&bytes[..], &bytes[..]].concat();
            prop_assert_eq!(read(&twice, None).0.len(), 2 * traces.len());
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes, None);
        let lines = [HEADER.as_bytes(), b"\n", &bytes].concat();
        for start in [&lines[..], &[&MAGIC[..], &bytes].concat()] {
            read(start, Some(&own()));
            let mut reader = (FORMAT.reader)(input(start));
            let mut samples = Vec::new();
            while !matches!(reader.read(&mut samples), Ok(false)) {}
        }
    }

    #[test]
    fn changed_bytes_never_panic(
        traces in prop::collection::vec(traced(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        for mut bytes in [text(&traces), binary(&traces)] {
            for (place, byte) in &changes {
                *place.get_mut(&mut bytes) = *byte;
            }
            read(&bytes, Some(&own()));
        }
    }

    #[test]
    fn rows_hold_what_the_trace_says(traces in prop::collection::vec(traced(), 1..6)) {
        let (own, mut terms) = (own(), Terms::default());
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
                    Kind::Normal => (white - black, [0, 0], 0),
                    Kind::Safety => (0, [white, black], 0),
                    Kind::Complexity => (0, [0, 0], white),
                };
                prop_assert_eq!((normal, safety, complexity), expected);
            }
            let share = f64::from(traced.phase) / 24.0;
            prop_assert_eq!(terms.middlegame[i], share as f32);
            prop_assert_eq!(terms.endgame[i], (f64::from(traced.scale) / 128.0 * (1.0 - share)) as f32);
            prop_assert_eq!(terms.turn[i] == 1, traced.turn == Color::White);
        }
        prop_assert!(!terms.normal.count.contains(&0) && !terms.complexity.count.contains(&0));
        prop_assert!(!terms.safety.count.contains(&[0, 0]));
    }
}

#[test]
fn a_wrong_line_is_told() {
    let begin = "expected `RESULT w|b PHASE SCALE | TERM:WHITE:BLACK ... | FEN`";
    for (line, told) in [
        ("1.0 w 24", begin),
        ("1.0 w 24 | 0:1:1", begin),
        ("1.0 w 24 128 0:1:1", "`0:1:1`, expected cp=SCORE, eval=VALUE, game=NUMBER or `|`"),
        ("1.0 w 24 128", "no `|` before the counts"),
        ("0.7 w 24 128 |", "result `0.7`, expected 1.0, 0.5, 0.0, 1-0, 1/2-1/2 or 0-1"),
        ("1.0 W 24 128 |", "side to move `W`, expected w or b"),
        ("1.0 w -1 128 |", "phase `-1`, expected a number from 0"),
        ("1.0 w 24 inf |", "scale factor `inf`, expected a number from 0"),
        ("1.0 w 24.5 128 |", "phase 24.5, but the term list says `phase 24`"),
        ("1.0 w 24 257 |", "scale factor 257, more than twice the normal one"),
        ("1.0 w 24 128 cp=1.5 |", "score `1.5`, expected a whole number of centipawns"),
        ("1.0 w 24 128 cp=-32768 |", "score -32768 is out of range"),
        ("1.0 w 24 128 cp=1 cp=1 |", "`cp=1` is the second of its kind"),
        ("1.0 w 24 128 game=0 |", "game `0`, expected a whole number from 1"),
        ("1.0 w 24 128 ply=3 |", "`ply=3`, expected cp=SCORE"),
        ("1.0 w 24 128 | 0:x:1", "`0:x:1`, expected TERM:WHITE:BLACK"),
        ("1.0 w 24 128 | 0:1", "`0:1`, expected TERM:WHITE:BLACK"),
        ("1.0 w 24 128 | 0:1:2:3", "`0:1:2:3`, expected TERM:WHITE:BLACK"),
        ("1.0 w 24 128 | 0:1:32768", "`0:1:32768`, expected TERM:WHITE:BLACK"),
        ("1.0 w 24 128 | 0:1:1000000000000", "expected TERM:WHITE:BLACK"),
        ("1.0 w 24 128 | -1:1:2", "`-1:1:2`, expected TERM:WHITE:BLACK"),
        ("1.0 w 24 128 | 4:1:2", "term 4, but the term list ends with term 3"),
        ("1.0 w 24 128 | 2:1:1", "term 2 is a complexity term and has no sides"),
    ] {
        let lines = format!("{HEADER}\n0.5 w 1 1 |\n{line}\n0.5 b 1 1 |\n");
        let (traces, faults) = read(lines.as_bytes(), Some(&own()));
        assert_eq!((traces.len(), faults.len()), (2, 1), "{line}");
        assert!(faults[0].starts_with("line 3: "), "{}", faults[0]);
        assert!(faults[0].contains(told), "{line:?} gives {:?}", faults[0]);
    }
    let long = format!("{HEADER}\n{} w 1 1 |\n1.0 w 1 1 | | {}\n", "1".repeat(81), "8".repeat(256));
    let faults = read(long.as_bytes(), None).1;
    assert!(faults[0].contains("a word of 81 bytes"), "{}", faults[0]);
    assert_eq!(faults[1], "line 3: a FEN of 256 bytes, at most 255 fit");
    let not_text = [HEADER.as_bytes(), b"\n1.0 \xff w\n1.0 w 1 1 | | \xff\n"].concat();
    let faults = read(&not_text, None).1;
    assert_eq!(faults, ["line 2: the line is not UTF-8", "line 3: the FEN is not UTF-8"]);
}

#[test]
fn a_wrong_beginning_is_told() {
    for (bytes, told) in [
        (
            &b"1.0 w 24 128 |\n"[..],
            "line 1: expected the line `nnuance-trace 1` before all else, found `1.0",
        ),
        (b"nnuance-trace 2\n", "found `nnuance-trace 2`"),
        (b"abc\n", "found `abc`"),
        (b"NNTRACE3", "byte 7: a trace of a later version"),
    ] {
        let (traces, faults) = read(bytes, None);
        assert_eq!((traces.len(), faults.len()), (0, 1));
        assert!(faults[0].contains(told), "{}", faults[0]);
    }
    assert_eq!(read(b"\n\r\nnnuance-trace 1\nx", None).1[0][..8], *"line 4: ");
    let marked = read("\u{feff}nnuance-trace 1\n1.0 w 1 1 |".as_bytes(), None);
    assert_eq!((marked.0.len(), marked.1.len()), (1, 0));
}

#[test]
fn a_long_line_is_passed_over_without_being_kept() {
    let mut bytes = format!("{HEADER}\n1.0 w 1 1 |").into_bytes();
    bytes.resize(3 << 20, b' ');
    bytes.extend_from_slice(b"\n1.0 w 1 1 |\n");
    let (traces, faults) = read(&bytes, None);
    assert_eq!(
        (traces.len(), &faults[..]),
        (1, &["line 2: the line is longer than 1048576 bytes".to_string()][..])
    );
}

#[test]
fn wrong_records_are_told() {
    let good = Traced { entries: vec![entry(0, 1, 2)], ..Traced::default() };
    let all = binary(&[good.clone(), good.clone(), good.clone()]);
    let second = 8 + 30;
    let nan = f32::NAN.to_le_bytes();
    for (place, bytes, told) in [
        (0, &[3][..], "result byte 3, expected 0, 1 or 2"),
        (1, &[2], "side to move 2, expected 0 for White or 1 for Black"),
        (2, &[2], "byte 2 is 2, expected 1 if there is a score, else 0"),
        (2, &[1, 0, 1, 0, 0, 0x80], "score -32768 is out of range"),
        (8, &nan, "phase NaN, expected a number from 0"),
        (12, &nan, "scale factor NaN, expected a number from 0"),
        (24, &[4], "term 4, but the term list ends with term 3"),
        (24, &[2], "term 2 is a complexity term and has no sides, but 2 stands for Black"),
    ] {
        let mut wrong = all.clone();
        wrong[second + place..][..bytes.len()].copy_from_slice(bytes);
        let (traces, faults) = read(&wrong, Some(&own()));
        assert_eq!(traces, [good.clone(), good.clone()], "{told}");
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("record 2: ") && faults[0].contains(told), "{}", faults[0]);
    }
    for end in second + 1..second + 30 {
        let (traces, faults) = read(&all[..end], None);
        assert_eq!((traces.len(), faults.len()), (1, 1));
        assert!(faults[0].starts_with("record 2: the file ends after"), "{}", faults[0]);
    }
}

#[test]
fn what_cannot_be_written_is_told() {
    let odd = Traced { result: 0.25, ..Traced::default() };
    let long = Traced { fen: "8".repeat(256), ..Traced::default() };
    let torn = Traced { fen: "8\n8".into(), ..Traced::default() };
    let many = Traced { entries: vec![entry(0, 0, 0); 65_536], ..Traced::default() };
    let score = Traced { score: Some(i16::MIN), ..Traced::default() };
    let wrong_text = [&odd, &torn, &score];
    let wrong_binary = [&odd, &long, &many, &score];
    assert!(wrong_text.iter().all(|traced| write_text(traced, &mut Vec::new()).is_err()));
    assert!(wrong_binary.iter().all(|traced| write_binary(traced, &mut Vec::new()).is_err()));
}

#[test]
fn files_packed_or_not_and_their_bad_records() {
    let good = Traced { fen: FEN.into(), turn: Color::Black, ..Traced::default() };
    let bad = Traced { entries: vec![entry(9, 0, 0)], ..good.clone() };
    for bytes in [
        text(&[good.clone(), bad.clone(), good.clone()]),
        binary(&[good.clone(), bad, good.clone()]),
    ] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        let zst = zstd::encode_all(&bytes[..], 1).unwrap();
        for packed in [bytes, gz.finish().unwrap(), zst] {
            let (_folder, path) = scratch("positions", &packed);
            let mut source = TraceSource::open(&path, &own(), 1).unwrap();
            let mut traced = Traced::default();
            for _ in 0..2 {
                assert!(source.next(&mut traced).unwrap());
                assert_eq!(traced, good);
            }
            assert!(!source.next(&mut traced).unwrap());
            assert_eq!(source.bad_records().count, 1);
            let mut strict = TraceSource::open(&path, &own(), 0).unwrap();
            assert!(strict.next(&mut traced).unwrap());
            let error = strict.next(&mut traced).unwrap_err();
            assert!(
                error.to_string().contains("2: term 9") || error.to_string().contains("3: term 9")
            );
            assert!(!strict.next(&mut traced).unwrap());
            let mut samples = Vec::new();
            assert!(Source::open(&path, None, 0).unwrap().next_block(&mut samples).unwrap());
            assert_eq!(samples.len(), 3);
        }
    }
    let (_folder, path) = scratch("empty.trace", text(&[]).as_slice());
    let mut source = TraceSource::open(&path, &own(), 0).unwrap();
    assert!(matches!(source.next(&mut Traced::default()), Err(ReadError::NoPositions { .. })));
    assert!(!source.next(&mut Traced::default()).unwrap());
    let (_folder, path) = scratch("a.trace", format!("{FEN} | 5 | 0.5\n").as_bytes());
    let error = TraceSource::open(&path, &own(), 0).err().unwrap().to_string();
    assert!(error.ends_with("it looks like text, not like trace"), "{error}");
}

#[test]
fn traces_with_fens_are_samples() {
    let samples: Vec<_> = games::samples(300, 3)
        .into_iter()
        .zip(games::positions(300, 4))
        .map(|(sample, position)| nnuance::sample::Sample { position, ..sample })
        .collect();
    let traces: Vec<Traced> = samples
        .iter()
        .map(|sample| {
            let turn = sample.position.turn();
            let black = turn == Color::Black;
            Traced {
                result: if black { 1.0 - sample.result } else { sample.result },
                turn,
                score: sample.score.map(|score| if black { -score } else { score }),
                fen: sample.position.fen(),
                ..Traced::default()
            }
        })
        .collect();
    assert!(traces.iter().any(|traced| traced.turn == Color::Black));
    for bytes in [text(&traces), binary(&traces)] {
        assert!((FORMAT.recognises)(&bytes[..50]));
        let others = format::ALL.into_iter().filter(|format| (format.recognises)(&bytes));
        assert_eq!(others.map(|format| format.name).collect::<Vec<_>>(), ["trace"]);
        let (_folder, path) = scratch("data", &bytes);
        let mut back = Vec::new();
        assert!(Source::open(&path, None, 0).unwrap().next_block(&mut back).unwrap());
        assert_eq!(back, samples);
    }
    for (line, told) in [
        ("1.0 w 1 1 |", "line 2: it has no FEN; let the engine print one behind the counts"),
        (&format!("1.0 w 1 1 | | {FEN}"), "says that white is to move, its FEN says black"),
        ("1.0 w 1 1 | | e4", "FEN of 1 fields, expected 4 to 6"),
    ] {
        let (_folder, path) = scratch("a.trace", format!("{HEADER}\n{line}\n").as_bytes());
        let error = Source::open(&path, None, 0).unwrap().next_block(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    let refused = write_all(Path::new("a.trace"), &FORMAT, &samples).unwrap_err();
    assert!(refused.to_string().contains("choose another format"), "{refused}");
}
