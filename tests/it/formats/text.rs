//! Text formats: Stockfish's plain text, lines of tuners, lines of any length.

use nnuance::format::{Fault, SampleReader, bulletformat, epd, pgn, plain, text};
use proptest::prelude::*;
use std::io::BufReader;

use crate::formats::registry::{
    START, exhaust, read_as, read_bytes, read_source, samples, scratch, write,
};
use crate::support::kit::*;

const RECORD: &str = "fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n\
                      move c7c5\nscore -27\nply 1\nresult -1\ne\n";

#[test]
fn plain_golden() {
    let samples = read_bytes(RECORD.as_bytes()).unwrap();
    let [sample] = samples[..] else { panic!("{samples:?}") };
    assert_eq!((sample.score, sample.result, sample.ply), (Some(-27), 0.0, Some(1)));
    assert_eq!(sample.played.unwrap().target_square(), shakmaty::Square::C5);
    assert_eq!(write(&plain::FORMAT, &samples).unwrap(), RECORD.as_bytes());
    // Castling is the king's move there, king takes rook here.
    let castling = "fen r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 20\nmove e8c8\nscore 32002\nply 39\n\
                    result 0\ne\n";
    let sample = read_bytes(castling.as_bytes()).unwrap()[0];
    assert!(sample.played.unwrap().is_castling());
    assert_eq!((sample.score, sample.result), (None, 0.5));
    assert_eq!(write(&plain::FORMAT, &[sample]).unwrap(), castling.as_bytes());
    // In whatever order, with Windows line ends, and without a move.
    let other =
        "result 0\r\n\r\nply 39\r\nscore 5\r\nfen r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 20\r\ne";
    let back = read_bytes(other.as_bytes()).unwrap();
    assert_eq!(back, [Sample { score: Some(5), played: None, ..sample }]);
    assert_eq!(read_bytes(&write(&plain::FORMAT, &back).unwrap()).unwrap(), back);
}

#[test]
fn wrong_plain_records_are_skipped() {
    for (from, to, place, reason) in [
        ("move c7c5", "move e2e4", "line 12", "move `e2e4` is not legal"),
        ("move c7c5", "score 3", "line 9", "`score` occurs twice"),
        ("score -27", "score 0.3", "line 9", "whole number"),
        ("ply 1\n", "", "line 11", "no `ply`"),
        ("result -1", "result 1-0", "line 11", "expected 1, 0 or -1"),
        ("ply 1", "depth 12", "line 10", "expected a line of fen"),
        ("fen rnbq", "fen rnbz", "line 7", "not a FEN"),
    ] {
        let bytes = [RECORD, &RECORD.replacen(from, to, 1), RECORD].concat();
        let error = read_bytes(bytes.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(reason), "{error}");
        let (samples, faults) = exhaust(&plain::FORMAT, bytes.as_bytes());
        assert_eq!((samples.len(), faults), (2, 1));
    }
    let cut = [RECORD, &RECORD[..40]].concat();
    let error = read_bytes(cut.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 7"), "{error}");
}

#[test]
fn results_in_any_notation() {
    let fen = START.strip_suffix(" 0 1").unwrap();
    let black = fen.replace(" w ", " b ");
    for (result, white) in
        [("1-0", 1.0), ("0-1", 0.0), ("1/2-1/2", 0.5), ("0.25", 0.25), ("1.0", 1.0), (".5", 0.5)]
    {
        for line in [
            format!("{fen} [{result}]"),
            format!("{fen}; [{result}]"),
            format!("{fen}; {result}"),
            format!("{fen};{result};"),
            format!("{fen} {result}"),
            format!("{START} {result}"),
            format!("{fen} \"{result}\""),
            format!("{fen} c9 \"{result}\";"),
        ] {
            let sample = read_bytes(line.as_bytes()).unwrap()[0];
            assert_eq!((sample.result, sample.score), (white, None), "{line}");
            let again = write(&epd::FORMAT, &[sample]).unwrap();
            assert_eq!(read_bytes(&again).unwrap(), [sample]);
        }
        let sample = read_bytes(format!("{black} {result}").as_bytes()).unwrap()[0];
        assert_eq!(sample.result, 1.0 - white);
    }
    // A FEN without a result has none.
    for line in [START, fen, &format!("{fen} 0"), &format!("{fen} 1.5"), &format!("{fen} 0 0.5")] {
        assert!(read_as(&epd::FORMAT, line.as_bytes()).is_err(), "{line}");
    }
    // Results between 0 and 1, from Black's point of view, survive a round trip.
    for millionths in (250..1_000_000).step_by(997) {
        let line = format!("{black} 0 1 [{}]\n", f64::from(millionths) / 1e6);
        let sample = read_bytes(line.as_bytes()).unwrap()[0];
        assert_eq!(write(&epd::FORMAT, &[sample]).unwrap(), line.as_bytes());
    }
}

pub fn read_seen_by(
    format: &'static Format,
    given: GivenViews,
    bytes: &[u8],
) -> Result<Vec<Sample>, String> {
    let file = scratch("positions", bytes);
    let source = SampleSource::open_file(&file.path, Some(format), 0).unwrap().seen_by(given);
    let mut source = source.map_err(|error| error.to_string())?;
    for kind in LabelKind::ALL {
        assert!(given.given_view(kind).is_none_or(|view| source.read_view(kind).view == view));
    }
    Ok(read_source(&mut source).unwrap())
}

fn both(view: PointOfView) -> GivenViews {
    GivenViews { scores: Some(view), results: Some(view) }
}

#[test]
fn view_can_be_given() {
    let lines = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 | -120 | 0.0\n\
                 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 | 120 | 1.0\n";
    let white = samples(lines);
    let mover =
        read_seen_by(&text::FORMAT, both(PointOfView::SideToMove), lines.as_bytes()).unwrap();
    assert_eq!((white[0].score, white[0].result), (Some(120), 1.0));
    assert_eq!((mover[0].score, mover[0].result), (Some(-120), 0.0));
    assert_eq!(white[1], mover[1]);
    let same = read_seen_by(&text::FORMAT, both(PointOfView::White), lines.as_bytes()).unwrap();
    assert_eq!(same, white);
    // One of the two.
    let scores = GivenViews { scores: Some(PointOfView::SideToMove), results: None };
    let one = read_seen_by(&text::FORMAT, scores, lines.as_bytes()).unwrap();
    assert_eq!((one[0].score, one[0].result), (Some(-120), 1.0));
    // The other way, for a format that takes the side to move.
    let record = RECORD.as_bytes();
    let [given, turned] = [PointOfView::SideToMove, PointOfView::White]
        .map(|view| read_seen_by(&plain::FORMAT, both(view), record).unwrap()[0]);
    assert_eq!((given.score, given.result), (Some(-27), 0.0));
    assert_eq!((turned.score, turned.result), (Some(27), 1.0));
    // Without colours there is one point of view.
    let format = &bulletformat::FORMAT;
    let bullet = write(format, &white).unwrap();
    assert!(read_seen_by(format, both(PointOfView::SideToMove), &bullet).is_ok());
    let error = read_seen_by(format, both(PointOfView::White), &bullet).unwrap_err();
    assert!(error.contains("set result_view to side-to-move"), "{error}");
    // The result of a game is that of its first position.
    let text = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 0 40\"]\n\n40... Kd7 41. e4 1-0\n";
    let text = text.as_bytes();
    let mover = read_seen_by(&pgn::FORMAT, both(PointOfView::SideToMove), text).unwrap();
    let results: Vec<_> = mover.iter().map(|sample| sample.result).collect();
    assert_eq!(results, [1.0, 0.0]);
}

const LINE: &str = "7k/8/8/8/8/8/8/K7 w - - 0 1 | 5 | 0.5";
const LONGEST: usize = 4096;

fn read(bytes: &[u8], piece: usize) -> (usize, Vec<String>) {
    let input = BufReader::with_capacity(piece, Cursor::new(bytes.to_vec()));
    let mut reader: Box<dyn SampleReader> = (text::FORMAT.reader)(Box::new(input));
    let (mut samples, mut faults) = (Vec::new(), Vec::new());
    loop {
        match reader.read_samples(&mut samples) {
            Ok(true) => {}
            Ok(false) => return (samples.len(), faults),
            Err(Fault::Skipped(bad)) => faults.push(bad.location.to_string()),
            Err(fault) => panic!("{fault:?}"),
        }
    }
}

/// A line of so many bytes, all of them spaces if it is too short for more.
fn padded(length: usize) -> String {
    let spaces = " ".repeat(length.saturating_sub(LINE.len()));
    if length < LINE.len() { " ".repeat(length) } else { spaces + LINE }
}
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn lines_are_counted_however_they_arrive(
        lines in prop::collection::vec(
            prop_oneof![0..100usize, LONGEST - 2..LONGEST + 4, 9000..9100usize],
            1..8,
        ),
        ended: bool,
        piece in 1..9000usize,
    ) {
        let text: Vec<String> = lines.iter().map(|&length| padded(length)).collect();
        let bytes = text.join("\n") + if ended { "\n" } else { "" };
        let samples = lines.iter().filter(|&&line| (LINE.len()..=LONGEST).contains(&line)).count();
        let faults: Vec<String> = (1..)
            .zip(&lines)
            .filter(|&(_, &line)| line > LONGEST)
            .map(|(number, _)| format!("line {number}"))
            .collect();
        assert_eq!(read(bytes.as_bytes(), piece), (samples, faults));
    }
}
