//! Text formats of other tools: Stockfish's plain text, Pedantic's tables, lines of tuners.

use nnuance::format::{Format, Source, epd, hce, pedantic, plain, text};
use nnuance::point_of_view::PointOfView;
use nnuance::sample::Sample;

use crate::formats::{START, exhaust, read_as, read_bytes, samples, scratch, write};

const RECORD: &str = "fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n\
                      move c7c5\nscore -27\nply 1\nresult -1\ne\n";

#[test]
fn plain_golden() {
    let samples = read_bytes(RECORD.as_bytes()).unwrap();
    let [sample] = samples[..] else { panic!("{samples:?}") };
    assert_eq!((sample.score, sample.result, sample.ply), (Some(-27), 0.0, Some(1)));
    assert_eq!(sample.played.unwrap().to(), shakmaty::Square::C5);
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
        ("move c7c5", "score 3", "line 9", "a second `score`"),
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
fn pedantic_golden() {
    let table = "Hash,Ply,GamePly,FEN,Result\n\
                 0123456789ABCDEF,8,135,BOARD w KQkq - 1 5,0.5\n\
                 0123456789ABCDEF,9,135,BOARD b KQkq - 2 5,1.0\n"
        .replace("BOARD", START.split(' ').next().unwrap());
    let samples = read_bytes(table.as_bytes()).unwrap();
    let told: Vec<_> = samples.iter().map(|sample| (sample.ply.unwrap(), sample.result)).collect();
    assert_eq!(told, [(8, 0.5), (9, 0.0)]);
    let written = String::from_utf8(write(&pedantic::FORMAT, &samples).unwrap()).unwrap();
    let lines: Vec<_> = written.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "Hash,Ply,GamePly,FEN,Result"));
    let key = format!("{:016X},9,9,", samples[1].position.key());
    assert!(lines[2].starts_with(&key) && lines[2].ends_with(" b KQkq - 2 5,1.0"), "{written}");
    assert_eq!(read_bytes(written.as_bytes()).unwrap(), samples);
    // More columns, and tables put together.
    let wide = "Hash,Ply,GamePly,FEN,HasCastled,Eval,Result\n\
                1,8,135,rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 1 5,0,33,0.5\n";
    let back = read_bytes([wide, &table].concat().as_bytes()).unwrap();
    assert_eq!((back.len(), back[0]), (3, samples[0]));
    for (from, to, reason) in [
        (",8,135,", ",8,", "4 fields, but the header has 5"),
        (",8,", ",-8,", "ply `-8`"),
        (",0.5", ",0.4", "result `0.4`"),
        ("Result", "Score", "no column Result"),
    ] {
        let bytes = table.replacen(from, to, 1);
        let error = read_as(&pedantic::FORMAT, bytes.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line ") && error.contains(reason), "{error}");
    }
}

#[test]
fn lines_of_hce_tuner_are_those_of_the_side_to_move() {
    let line = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 -120 0.0\n";
    let sample = read_bytes(line.as_bytes()).unwrap()[0];
    assert_eq!((sample.score, sample.result), (Some(-120), 0.0));
    assert_eq!(write(&hce::FORMAT, &[sample]).unwrap(), line.as_bytes());
    // A counter is never a score, nor a score a counter.
    let error = read_as(&hce::FORMAT, b"4k3/8/8/8/8/8/4P3/4K3 b - - -120 0.0").unwrap_err();
    assert!(error.to_string().contains("FEN of 4 fields"), "{error}");
    assert!(read_as(&epd::FORMAT, line.as_bytes()).is_err());
    assert!(read_as(&hce::FORMAT, b"4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 0.0").is_err());
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
    // Results between, seen by Black, come back as they were written.
    for millionths in (250..1_000_000).step_by(997) {
        let line = format!("{black} 0 1 [{}]\n", f64::from(millionths) / 1e6);
        let sample = read_bytes(line.as_bytes()).unwrap()[0];
        assert_eq!(write(&epd::FORMAT, &[sample]).unwrap(), line.as_bytes());
    }
}

fn read_seen_by(
    format: &'static Format,
    view: PointOfView,
    bytes: &[u8],
) -> Result<Vec<Sample>, String> {
    let file = scratch("positions", bytes);
    let source = Source::open(&file.path, Some(format), 0).unwrap().seen_by(view);
    let mut source = source.map_err(|error| error.to_string())?;
    assert_eq!(source.view(), view);
    let mut samples = Vec::new();
    while source.next_block(&mut samples).unwrap() {}
    Ok(samples)
}

#[test]
fn the_user_tells_the_view() {
    let lines = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1 | -120 | 0.0\n\
                 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 | 120 | 1.0\n";
    let white = samples(lines);
    let mover = read_seen_by(&text::FORMAT, PointOfView::SideToMove, lines.as_bytes()).unwrap();
    assert_eq!((white[0].score, white[0].result), (Some(120), 1.0));
    assert_eq!((mover[0].score, mover[0].result), (Some(-120), 0.0));
    assert_eq!(white[1], mover[1]);
    let same = read_seen_by(&text::FORMAT, PointOfView::White, lines.as_bytes()).unwrap();
    assert_eq!(same, white);
    // The other way, for a format that takes the side to move.
    let hce = write(&hce::FORMAT, &white).unwrap();
    let turned = read_seen_by(&hce::FORMAT, PointOfView::White, &hce).unwrap();
    assert_eq!((turned[0].score, turned[0].result), (Some(-120), 0.0));
    // Formats with a view of their own keep it.
    let bullet = write(&nnuance::format::bulletformat::FORMAT, &white).unwrap();
    let format = &nnuance::format::bulletformat::FORMAT;
    assert!(read_seen_by(format, PointOfView::SideToMove, &bullet).is_ok());
    let error = read_seen_by(format, PointOfView::White, &bullet).unwrap_err();
    assert!(error.contains("always seen by the side to move"), "{error}");
}
