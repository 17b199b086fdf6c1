//! Stockfish's binpack: golden figures, an independent reader, malformed files.

use nnuance::format::{binpack, viriformat};
use sfbinpack::chess::r#move::MoveType;
use sfbinpack::{CompressedTrainingDataEntryReader, TrainingDataEntry};

use crate::formats::registry::{exhaust, first, read, read_as, read_bytes, samples, write};
use crate::support::kit::*;

const SMALL: &str = "../shared/data/formats/nnue-pytorch_small.binpack";

fn games() -> Vec<Sample> {
    first(GAMES, 30_000)
}

#[test]
fn golden_figures_of_stockfishs_file() {
    if !need::shared(SMALL) {
        return;
    }
    let samples = read(SMALL).unwrap();
    let count = |is: &dyn Fn(&Sample) -> bool| samples.iter().filter(|sample| is(sample)).count();
    assert_eq!(samples.len(), 434_921);
    let results = [1.0, 0.5, 0.0].map(|result| count(&|sample| sample.result == result));
    assert_eq!(results, [133_616, 167_663, 133_642]);
    let score = |sample: &Sample| i64::from(sample.score.unwrap_or(32_002));
    assert_eq!(samples.iter().map(score).sum::<i64>(), 413_711_924);
    assert_eq!(count(&|sample| sample.score.is_none()), 10_200);
    assert_eq!(count(&|sample| score(sample).abs() > 20_000), 33_725);

    let quiet: Vec<_> = samples
        .iter()
        .filter(|sample| {
            let played = sample.played.unwrap();
            let special = played.is_en_passant() || played.is_castling();
            sample.ply.unwrap() >= 16
                && !sample.position.in_check()
                && score(sample).abs() <= 10_000
                && !played.is_capture(&sample.position)
                && !special
                && played.promotion().is_none()
        })
        .collect();
    assert_eq!(quiet.len(), 237_683);
    let results =
        [1.0, 0.5, 0.0].map(|result| quiet.iter().filter(|sample| sample.result == result).count());
    assert_eq!(results, [63_869, 106_933, 66_881]);
    assert_eq!(quiet.iter().map(|sample| score(sample)).sum::<i64>(), -1_423_327);

    // A second writing gives the same samples in about as many bytes.
    let bytes = write(&binpack::FORMAT, &samples).unwrap();
    let original = fs::read(SMALL).unwrap();
    assert!(read_bytes(&bytes).unwrap() == samples);
    assert!(bytes.len() <= original.len() + original.len() / 100, "{}", bytes.len());
}

/// An entry of the other library, as a sample of ours without its game.
fn same(theirs: &TrainingDataEntry, ours: &Sample) {
    assert_eq!(ours.score.unwrap_or(32_002), theirs.score);
    assert_eq!((ours.result * 2.0) as i16 - 1, theirs.result);
    assert_eq!(ours.ply, Some(theirs.ply));
    let (fen, their_fen) = (ours.position.to_fen(), theirs.pos.fen().unwrap());
    let fields: Vec<_> = fen.split(' ').collect();
    let their_fields: Vec<_> = their_fen.split(' ').collect();
    // The other library has an en passant square only where capturing is legal.
    for (i, (field, their_field)) in fields.iter().zip(&their_fields).enumerate() {
        if i != 3 || *their_field != "-" {
            assert_eq!(field, their_field, "{fen} and {their_fen}");
        }
    }
    let played = ours.played.unwrap();
    let (from, to) = (theirs.mv.from().index(), theirs.mv.to().index());
    assert_eq!((played.from() as u32, played.target_square() as u32), (from, to), "{fen}");
    assert_eq!(played.promotion().is_some(), theirs.mv.mtype() == MoveType::Promotion);
    assert_eq!(played.is_castling(), theirs.mv.mtype() == MoveType::Castle);
    assert_eq!(played.is_en_passant(), theirs.mv.mtype() == MoveType::EnPassant);
}

#[test]
fn another_library_reads_the_same() {
    if need::shared(SMALL) {
        let ours = read(SMALL).unwrap();
        let mut theirs =
            CompressedTrainingDataEntryReader::new(File::open(SMALL).unwrap()).unwrap();
        for sample in &ours {
            assert!(theirs.has_next());
            same(&theirs.next(), sample);
        }
        assert!(!theirs.has_next());
    }
    // The other library reads our chains.
    let games = games();
    let bytes = write(&binpack::FORMAT, &games).unwrap();
    let mut theirs = CompressedTrainingDataEntryReader::new(Cursor::new(&bytes[..])).unwrap();
    for (i, sample) in games.iter().enumerate() {
        same(&theirs.next(), sample);
        let goes_on = games.get(i + 1).is_some_and(|next| next.game == sample.game);
        assert_eq!(theirs.is_next_entry_continuation(), goes_on);
    }
    assert!(!theirs.has_next());
}

#[test]
fn games_are_those_of_viriformat() {
    let games = games();
    let back = read_bytes(&write(&binpack::FORMAT, &games).unwrap()).unwrap();
    assert!(back == games);
    assert_eq!(binpack::FORMAT.facts.games, Presence::Sometimes);
    let viri = read_bytes(&write(&viriformat::FORMAT, &back).unwrap()).unwrap();
    assert!(viri == games);
}

#[test]
fn positions_without_moves_and_scores() {
    let lines = "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 3 | 10 | 1.0\n\
                 8/8/8/2k5/8/8/4R3/4K3 w - - 99 120 | -5 | 0.5\n\
                 r3k2r/8/8/8/8/8/8/R3K2R b Kq - 3 9 | 0 | 0.0\n";
    let mut samples = samples(lines);
    samples[1].score = None;
    let bytes = write(&binpack::FORMAT, &samples).unwrap();
    assert_eq!(bytes.len(), 8 + 3 * 34);
    let back = read_bytes(&bytes).unwrap();
    for (i, sample) in samples.iter_mut().enumerate() {
        sample.ply = Some([5, 238, 17][i]);
    }
    assert_eq!(back, samples);
    for (bad, reason) in [
        (Sample { score: Some(32_002), ..samples[0] }, "32002 means no score"),
        (Sample { score: Some(i16::MIN), ..samples[0] }, "-32768"),
        (Sample { ply: Some(20_000), ..samples[0] }, "ply 20000"),
        (Sample { result: 0.25, ..samples[0] }, "expected 0, 0.5 or 1"),
    ] {
        let error = write(&binpack::FORMAT, &[bad]).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn malformed_chunks_end_in_an_error() {
    // The chunk of issue 17: a stem with a number of moves, and no movetext after it.
    let line = samples("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 | 0 | 0.5");
    let sound = write(&binpack::FORMAT, &games()[..20]).unwrap();
    let game = exhaust(&binpack::FORMAT, &sound).0;
    assert_eq!(game.len(), 20);
    let mut bare = sound[..8 + 34].to_vec();
    bare[4..8].copy_from_slice(&34u32.to_le_bytes());
    let chunk = |chain: &[u8]| [&b"BINP"[..], &(chain.len() as u32).to_le_bytes(), chain].concat();
    let stem = write(&binpack::FORMAT, &line).unwrap()[8..].to_vec();
    let with = |at: usize, bytes: &[u8]| {
        let mut stem = stem.clone();
        stem[at..at + bytes.len()].copy_from_slice(bytes);
        chunk(&stem)
    };
    for (bytes, reason) in [
        (bare, "chain 1, move 1: the movetext ends"),
        (with(32, &[0, 1]), "the stem has no move, but 1 follow"),
        (with(24, &[0x04, 0x1c << 2]), "move e1e4 is not legal"),
        (with(24, &[0x44, 0x04]), "is not legal"),
        (with(24, &[0x84, 0x1c]), "move e1h1 is not legal"),
        (with(28, &[0xc0, 0]), "the result is not"),
        (with(26, &[0xff, 0xff]), "score -32768"),
        (with(8, &[0x1f]), "too many kings"),
        (with(10, &[0xee]), "rook that may castle on"),
        (with(0, &[0xff; 8]), "64 pieces on the board"),
        (chunk(&stem[..20]), "a chain has 20 bytes, expected at least 34"),
        (chunk(&[&stem[..], b"x"].concat()), "chain 2: a chain has 1 bytes"),
        (b"BINP\0\0\0\x70".to_vec(), "a chunk has 1879048192 bytes"),
        (b"BINX\0\0\0\0".to_vec(), "does not begin with"),
        (b"BINP\xff".to_vec(), "ends after 5 of the 8"),
        (b"BINP\xff\xff\xff\x01".to_vec(), "ends within the chunk"),
    ] {
        // A file that ends early has nothing after the fault.
        let after = if reason.contains("ends") && !reason.contains("movetext") { 0 } else { 1 };
        let bytes = [&sound[..], &bytes, &sound.repeat(after)].concat();
        let error = read_as(&binpack::FORMAT, &bytes).unwrap_err().to_string();
        let place = format!("chunk at byte {}", sound.len());
        assert!(error.contains(&place) && error.contains(reason), "{reason}: {error}");
        let (samples, faults) = exhaust(&binpack::FORMAT, &bytes);
        assert_eq!(faults, 1, "{reason}");
        assert!(samples.starts_with(&game) && samples.len() <= 41);
    }
    // A file cut anywhere gives its whole chains and one fault.
    for length in 8..sound.len() {
        let (_, faults) = exhaust(&binpack::FORMAT, &sound[..length]);
        assert_eq!(faults, 1, "{length}");
    }
}
