//! Bytes to samples and back, over every format of the registry.

use std::io::{BufRead as _, Write as _};

use nnuance::format::{
    self, FileSink, ReadError, WriteError, bulletformat, epd, text, unpack, viriformat,
};
use nnuance::sample::{GameHash, Piece};
use shakmaty::{Board, FromSetup as _, Setup};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::support::kit::*;

pub use crate::formats::fuzz::targets::read as exhaust;
pub const BULLET: &str = "../shared/data/formats/bullet_batch.bf";

pub fn open(path: &Path) -> Result<SampleSource, ReadError> {
    SampleSource::open_file(path, None, 0)
}

pub fn read_source(source: &mut SampleSource) -> Result<Vec<Sample>, ReadError> {
    let mut samples = Vec::new();
    while source.next_block(&mut samples)? {}
    Ok(samples)
}

pub fn read(path: impl AsRef<Path>) -> Result<Vec<Sample>, ReadError> {
    read_source(&mut open(path.as_ref())?)
}

pub struct Scratch {
    _folder: Workdir,
    pub path: PathBuf,
}

pub fn scratch(name: &str, bytes: &[u8]) -> Scratch {
    let folder = Workdir::empty();
    Scratch { path: folder.write(name, bytes).into(), _folder: folder }
}

pub fn read_bytes(bytes: &[u8]) -> Result<Vec<Sample>, ReadError> {
    read(&scratch("positions", bytes).path)
}

pub fn read_as(format: &'static Format, bytes: &[u8]) -> Result<Vec<Sample>, ReadError> {
    read_source(&mut SampleSource::open_file(&scratch("positions", bytes).path, Some(format), 0)?)
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut pack = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    pack.write_all(bytes).unwrap();
    pack.finish().unwrap()
}

pub fn writable() -> impl Iterator<Item = &'static Format> {
    format::ALL.into_iter().filter(|format| format.writer.is_some())
}

pub fn write(format: &Format, samples: &[Sample]) -> Result<Vec<u8>, String> {
    let mut writer = format.writer.expect("a format that can be written")();
    let mut bytes = Vec::new();
    for sample in samples {
        writer.write_sample(sample, &mut bytes).map_err(|error| error.to_string())?;
    }
    writer.finish_output(&mut bytes);
    Ok(bytes)
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// `FEN | score | result` of White, as samples.
pub fn samples(lines: &str) -> Vec<Sample> {
    read_as(&text::FORMAT, lines.as_bytes()).unwrap()
}

pub fn kept(format: &Format, sample: &Sample) -> Sample {
    let mut kept = *sample;
    if format.facts.colours == Presence::Never {
        let turned = match sample.position.turn() {
            Color::White => sample.position,
            Color::Black => sample.position.flip_colours(),
        };
        // Rooks that may castle become rooks.
        let mut pieces = turned.nibbles();
        for byte in &mut pieces {
            for shift in [0, 4] {
                if *byte >> shift & 7 == 6 {
                    *byte ^= 5 << shift;
                }
            }
        }
        let position = Position::from_parts(turned.occupied(), pieces, Color::White, None, 0, 1);
        kept.position = position.unwrap();
    }
    if format.facts.plies == Presence::Never {
        kept.ply = None;
    }
    if format.facts.scores == Presence::Never {
        kept.score = None;
    }
    if format.facts.plies == Presence::Always {
        let position = &sample.position;
        let counted = 2 * position.fullmove().saturating_sub(1);
        let counted = counted + u16::from(position.turn().is_black());
        kept.ply = sample.ply.or(Some(counted));
    }
    if format.facts.moves == Presence::Never {
        kept.played = None;
    }
    if format.facts.games == Presence::Never {
        kept.game = None;
    }
    if format.name == "binpack" {
        kept.position = numbered(&sample.position, kept.ply.unwrap() / 2 + 1);
    }
    kept
}

fn numbered(position: &Position, fullmove: u16) -> Position {
    let (occupied, pieces, turn) = (position.occupied(), position.nibbles(), position.turn());
    let (ep, halfmove) = (position.ep_square(), position.halfmove());
    Position::from_parts(occupied, pieces, turn, ep, halfmove, fullmove).unwrap()
}

pub const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

const VIRI_EXAMPLE: &str = "ffff00000000ffff 16422561 00000000 88888888 9ecaade9 40 00 0100 0000 \
                            02 00  0c07 0a00  3409 1400  c309 e2ff  3c0d ff7f  2709 ff7f  00000000";

const BULLET_EXAMPLES: [(&str, &str); 2] = [
    (
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 | 0 | 1.0",
        "ffff00000000ffff 13422531 00000000 88888888 9bcaadb9 0000 02 04 04 000000",
    ),
    (
        "r3k2r/8/8/8/8/8/4P3/4K3 b kq - 0 1 | 35 | 0.0",
        "9100000000001010 53830d00 00000000 00000000 00000000 ddff 02 04 04 000000",
    ),
];

#[test]
fn bulletformat_golden_bytes() {
    for (line, bytes) in BULLET_EXAMPLES {
        let sample = samples(line)[0];
        let bytes = hex(bytes);
        assert_eq!(write(&bulletformat::FORMAT, &[sample]).unwrap(), bytes, "{line}");
        let back = read_as(&bulletformat::FORMAT, &bytes).unwrap();
        assert_eq!(back, [kept(&bulletformat::FORMAT, &sample)]);
        assert_eq!(back, read_bytes(&bytes).unwrap());
    }
}
#[test]
fn bulletformat_refuses_unsound_records() {
    let sound = hex(BULLET_EXAMPLES[0].1);
    for (at, byte, reason) in [
        (8, 0x73, "nibble 7"),
        (8, 0x63, "is not a piece"),
        (8, 0x15, "White has 2 kings"),
        (10, 0x22, "White has 0 kings"),
        (0, 0xfe, "there are more pieces"),
        (26, 3, "result byte 3"),
        (27, 5, "king bytes 5 and 4"),
        (28, 60, "king bytes 4 and 60"),
        (25, 0x80, "score -32768"),
    ] {
        let mut bytes = sound.repeat(3);
        bytes[32 + at] = byte;
        let error = read_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("record 2: ") && error.contains(reason), "{error}");
        assert_eq!(exhaust(&bulletformat::FORMAT, &bytes).0.len(), 2);
    }
    let error = read_bytes(&sound.repeat(2)[..63]).unwrap_err().to_string();
    assert!(error.contains("record 2: ") && error.contains("31"), "{error}");
    if need::shared(BULLET) {
        let samples = read(BULLET).unwrap();
        assert_eq!(samples.len(), 16_273);
        assert!(write(&bulletformat::FORMAT, &samples).unwrap() == fs::read(BULLET).unwrap());
    }
}

#[test]
fn viriformat_golden_bytes() {
    let bytes = hex(VIRI_EXAMPLE);
    assert_eq!(bytes.len(), 56);
    let samples = read_bytes(&bytes).unwrap();
    let scores: Vec<_> = samples.iter().map(|sample| sample.score.unwrap()).collect();
    assert_eq!(scores, [10, -20, -30, -32767, 32767]);
    let results: Vec<_> = samples.iter().map(|sample| sample.result).collect();
    assert_eq!(results, [1.0, 0.0, 1.0, 0.0, 1.0]);
    let plies: Vec<_> = samples.iter().map(|sample| sample.ply.unwrap()).collect();
    assert_eq!(plies, [0, 1, 2, 3, 4]);
    assert!(samples.iter().all(|sample| sample.game.is_some() && sample.game == samples[0].game));
    assert_eq!(samples[0].position.to_fen(), START);
    let captures: Vec<_> =
        samples.iter().map(|sample| sample.played.unwrap().is_capture(&sample.position)).collect();
    assert_eq!(captures, [false, false, false, false, true]);
    assert_eq!(write(&viriformat::FORMAT, &samples).unwrap(), bytes);

    // A game's hash covers its start and moves, not scores and result.
    let mut other = bytes.clone();
    (other[30], other[34]) = (0, 99);
    assert_eq!(read_bytes(&other).unwrap()[0].game, samples[0].game);
}

#[test]
fn viriformat_reads_the_quickstart_games() {
    let samples = read(GAMES).unwrap();
    assert_eq!(samples.len(), 1_554_109);
    let starts = samples.windows(2).filter(|pair| pair[0].game != pair[1].game).count() + 1;
    assert_eq!(starts, 12_453);

    let quiet = samples.iter().filter(|sample| {
        let played = sample.played.unwrap();
        sample.ply.unwrap() >= 16
            && sample.position.piece_count() >= 4
            && sample.score.unwrap().unsigned_abs() <= 10_000
            && !played.is_capture(&sample.position)
            && played.promotion().is_none()
            && !sample.position.in_check()
    });
    assert_eq!(quiet.count(), 997_456);

    let bytes = write(&viriformat::FORMAT, &samples).unwrap();
    assert!(bytes == fs::read(GAMES).unwrap(), "the games changed when written again");
}

#[test]
fn viriformat_cut_anywhere() {
    // Two games, the second one from a position without castling.
    let one = hex(VIRI_EXAMPLE);
    let bytes = one.repeat(2);
    for length in 0..=bytes.len() {
        // A start alone is a sound record of marlinformat.
        if length == 32 {
            continue;
        }
        let whole = length != 0 && length % one.len() == 0;
        match read_bytes(&bytes[..length]) {
            Ok(samples) => assert!(whole && samples.len() == 5 * length / one.len(), "{length}"),
            Err(error) => assert!(!whole, "{length}: {error}"),
        }
        match read_as(&viriformat::FORMAT, &bytes[..length]) {
            Ok(_) => assert!(whole),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("ends") || error.contains("empty"), "{error}");
            }
        }
    }
}

#[test]
fn viriformat_skips_framed_games() {
    let sound = hex(VIRI_EXAMPLE);
    for (at, byte, place) in [
        (8, 0x67, "game at byte 56: nibble 7"),
        (24, 0x41, "game at byte 56: en passant square number 65"),
        (30, 7, "game at byte 56: result byte 7"),
        (37, 0x0f, "game at byte 56, move 2: move 0x0f34 is not legal"),
        (44, 0x38, "game at byte 56, move 4: move"),
    ] {
        let mut bytes = sound.repeat(3);
        bytes[56 + at] = byte;
        let error = read_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains(place), "{error}");
        let (samples, faults) = exhaust(&viriformat::FORMAT, &bytes);
        assert_eq!((samples.len(), faults), (10, 1));
    }
}
pub fn chess960_games() -> Vec<Sample> {
    let mut samples = Vec::new();
    for start in (0..960).step_by(13) {
        let mut setup = Setup::initial();
        setup.board = Board::chess960(start);
        setup.castling_rights = setup.board.rooks();
        let mut chess = Chess::from_setup(setup, CastlingMode::Chess960).unwrap();
        let (first, mut hash) =
            (samples.len(), GameHash::from_start(&Position::from_chess(&chess)));
        for ply in 0..80 {
            let moves = chess.legal_moves();
            if moves.is_empty() {
                break;
            }
            let random = mix_hash(u64::from(start), ply) as usize;
            let rare = moves.iter().find(|legal| legal.is_castle() || legal.is_en_passant());
            let legal = *rare.unwrap_or(&moves[random % moves.len()]);
            let white_result = (start % 3) as f32 / 2.0;
            let position = Position::from_chess(&chess);
            samples.push(Sample {
                result: if chess.turn().is_white() { white_result } else { 1.0 - white_result },
                score: Some((random >> 20) as i16 / 2),
                ply: Some(ply as u16),
                played: PlayedMove::from_move(&legal),
                ..Sample::from_position(position)
            });
            hash.add_move(PlayedMove::from_move(&legal).unwrap());
            chess.play_unchecked(legal);
        }
        samples[first..].iter_mut().for_each(|sample| sample.game = Some(hash.to_game()));
    }
    samples
}

#[test]
fn positions_pack_as_their_pieces_stand() {
    // The fast conversion from a board to nibbles and back, against the slow one.
    for sample in chess960_games() {
        let position = sample.position;
        let chess = position.to_chess().unwrap();
        assert_eq!(position.to_board(), *chess.board());
        assert_eq!(position.in_check(), chess.is_check());
        let rights = chess.castles().castling_rights();
        for (found, (square, piece)) in position.pieces().zip(chess.board().iter()) {
            assert_eq!((found.square, found.color, found.role), (square, piece.color, piece.role));
            assert_eq!(found.castles, rights.contains(square));
        }
        let flipped = position.flip_colours();
        let flip = |it: Piece| Piece { square: it.square.flip_vertical(), color: !it.color, ..it };
        let mut pieces: Vec<_> = position.pieces().map(flip).collect();
        pieces.sort_by_key(|piece| piece.square);
        assert!(flipped.pieces().eq(pieces));
        assert_eq!(flipped.flip_colours(), position);
        assert_eq!(flipped.zobrist_key(), position.zobrist_key());
    }
}

#[test]
fn lines_of_many_kinds() {
    let same = samples(&format!("{START} | -12 | 0.5"));
    assert_eq!(same[0].score, Some(-12));
    let fen = START.strip_suffix(" 0 1").unwrap();
    for line in [
        format!("\u{feff}{START} | -12 | 0.5\r\n\r\n"),
        format!("\n\n  {START}|-12|1/2-1/2"),
        format!("{fen} | -12 | .5\n"),
        format!("{fen} 0 | -12 | 0.50\n"),
    ] {
        assert_eq!(read_bytes(line.as_bytes()).unwrap(), same, "{line}");
    }
    for line in [
        format!("{START} [0.5] -12"),
        format!("{START} [1/2-1/2] -12\r\n"),
        format!("{START}; [0.5] -12"),
    ] {
        assert_eq!(read_as(&epd::FORMAT, line.as_bytes()).unwrap(), same, "{line}");
    }
    for line in [
        format!("{fen} c9 \"1/2-1/2\";"),
        format!("{START} c9 \"1/2-1/2\";"),
        format!("{fen} bm e4; c9 \"1/2-1/2\"; id \"first\";"),
        format!("{START} bm e4; c9 \"1/2-1/2\";"),
        format!("{START} [0.5]"),
    ] {
        let back = read_bytes(line.as_bytes()).unwrap();
        assert_eq!(back, [Sample { score: None, ..same[0] }], "{line}");
    }
}

#[test]
fn lines_of_black_are_flipped() {
    let black = START.replace(" w ", " b ");
    for (result, seen) in [("1.0", 0.0), ("0-1", 1.0), ("0", 1.0), ("1", 0.0), ("1/2-1/2", 0.5)] {
        for (format, line) in [
            (&text::FORMAT, format!("{black} | 40 | {result}")),
            (&epd::FORMAT, format!("{black} [{result}] 40")),
        ] {
            let sample = read_as(format, line.as_bytes()).unwrap()[0];
            assert_eq!((sample.score, sample.result), (Some(-40), seen), "{line}");
        }
    }
}

#[test]
fn wrong_lines_are_named() {
    let sound = format!("{START} | 3 | 0.5\n");
    let wrong: [Vec<u8>; 9] = [
        format!("{START} | 3 | 0.5 | 1").into(),
        format!("{START} | 0.35 | 0.5").into(),
        format!("{START} | -32768 | 0.5").into(),
        format!("{START} | 3 | 0.7").into(),
        format!("{START} 7 | 3 | 0.5").into(),
        b"8/8/8/8/8/8/8/8 w - - 0 1 | 3 | 0.5".to_vec(),
        b"4k3/8/8/8/8/8/4R3/4K3 w - - 0 1 | 3 | 0.5".to_vec(),
        b"\xff\xfe | 3 | 0.5".to_vec(),
        vec![b'x'; 1 << 20],
    ];
    for line in wrong {
        let bytes = [&sound.repeat(2).into_bytes()[..], &line, b"\n", sound.as_bytes()].concat();
        let file = scratch("positions.txt", &bytes);
        let error = read(&file.path).unwrap_err().to_string();
        let name = file.path.display().to_string();
        assert!(error.contains(&name) && error.contains("line 3: "), "{error}");

        // Allowed, it is skipped and counted.
        let mut source = SampleSource::open_file(&file.path, None, 1).unwrap();
        let samples = read_source(&mut source).unwrap();
        assert_eq!((samples.len(), source.bad_records().count), (3, 1));
        assert_eq!(source.bad_records().first[0].location, nnuance::format::RecordPlace::Line(3));
    }
}

#[test]
fn limit_of_bad_records() {
    let sound = format!("{START} | 3 | 0.5\n");
    let file = scratch("positions", format!("{sound}bad\n{sound}bad\nbad\n{sound}").as_bytes());
    let count = |limit| read_source(&mut SampleSource::open_file(&file.path, None, limit).unwrap());
    assert_eq!(count(3).unwrap().len(), 3);
    let error = count(2).unwrap_err().to_string();
    assert!(error.contains("line 5"), "{error}");
}

#[test]
fn files_of_other_kinds() {
    for (bytes, looks) in [
        (&b"[net]\nname = \"first\"\n"[..], "`[net]`"),
        (b"hello, world\n", "`hello, world`"),
        (b"\x01\x02\x03", "01 02 03"),
        (b"\n\n\n", ""),
        (b"", "is empty"),
    ] {
        let error = read_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(looks), "{error}");
    }
    // One bad game or record at the head does not hide the format.
    let mut bytes = hex(VIRI_EXAMPLE).repeat(2);
    bytes[37] = 0x0f;
    let error = read_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("game at byte 0, move 2"), "{error}");
    // A given format is checked.
    let error = read_as(&text::FORMAT, &hex(VIRI_EXAMPLE)).unwrap_err().to_string();
    assert!(error.contains("viriformat"), "{error}");
}

/// The first blocks of a file, with at least so many samples if it has them.
pub fn first(path: impl AsRef<Path>, count: usize) -> Vec<Sample> {
    let (mut source, mut samples) = (open(path.as_ref()).unwrap(), Vec::new());
    while samples.len() < count && source.next_block(&mut samples).unwrap() {}
    samples
}

pub fn real() -> Vec<Sample> {
    [first(GAMES, 20_000), read(SCORED).unwrap(), read(QUIET).unwrap()].concat()
}

fn held(format: &Format, samples: &[Sample]) -> Vec<Sample> {
    samples
        .iter()
        .filter(|sample| format.facts.moves != Presence::Always || sample.played.is_some())
        .filter(|sample| format.facts.games != Presence::Always || sample.game.is_some())
        .filter(|sample| format.facts.scores != Presence::Always || sample.score.is_some())
        .copied()
        .collect()
}
#[test]
fn formats_keep_what_they_hold() {
    let (real, games) = (real(), chess960_games());
    let played = |is: fn(PlayedMove) -> bool| {
        games.iter().filter(|sample| is(sample.played.unwrap())).count()
    };
    let special = (played(PlayedMove::is_castling), played(PlayedMove::is_en_passant));
    assert!(special.0 > 50 && special.1 > 10, "{special:?}");
    for (format, samples) in writable().flat_map(|it| [(it, &real), (it, &games)]) {
        let held = held(format, samples);
        assert!(held.len() >= samples.len().min(20_000));
        if format.name == "binpack" && samples == &games {
            write(format, &held).unwrap_err();
            continue;
        }
        let bytes = write(format, &held).unwrap();
        let back = read_bytes(&bytes).unwrap();
        assert_eq!(back.len(), held.len(), "{}", format.name);
        for (back, sample) in back.iter().zip(&held) {
            let mut expected = kept(format, sample);
            if format.name == "binpack" {
                // The last games are torn where the samples end; single positions have none.
                expected.game = back.game;
            }
            assert_eq!(*back, expected, "{}", format.name);
        }
        assert!(write(format, &back).unwrap() == bytes, "{}", format.name);
        assert_eq!(Format::named(format.name).unwrap().name, format.name);
    }
}

#[test]
fn packed_formats() {
    let (real, folder) = (real(), Workdir::empty());
    for format in writable() {
        let held = &held(format, &real)[..3000];
        let expected: Vec<_> = held.iter().map(|sample| kept(format, sample)).collect();
        for packed in ["", ".gz", ".zst"] {
            let path = folder.path(format!("positions.{}{packed}", format.extensions[0]));
            assert_eq!(write_all(&path, format, held).unwrap(), 3000);
            let back = read(&path).unwrap();
            // The last game is cut: it becomes another one.
            let same = back.iter().zip(&expected).all(|(back, expected)| {
                Sample { game: None, ..*back } == Sample { game: None, ..*expected }
            });
            assert!(same && back.len() == 3000, "{}", path.display());

            let bytes = fs::read(&path).unwrap();
            match packed {
                ".gz" => assert_eq!(bytes[..2], [0x1f, 0x8b]),
                ".zst" => assert_eq!(bytes[..4], [0x28, 0xb5, 0x2f, 0xfd]),
                _ => continue,
            }
            // Magic bytes decide, not names, and truncated compressed files are errors.
            assert_eq!(read_bytes(&bytes).unwrap(), back);
            for cut in [5, bytes.len() / 2, bytes.len() - 1] {
                assert!(read_bytes(&bytes[..cut]).is_err(), "{} {cut}", path.display());
            }
        }
    }
}

#[test]
fn blocks_are_deterministic() {
    let sizes = || {
        let mut source = open(Path::new(GAMES)).unwrap();
        let (mut samples, mut sizes) = (Vec::new(), Vec::new());
        while sizes.len() < 20 && source.next_block(&mut samples).unwrap() {
            // A block ends with a game.
            sizes.push(samples.len());
            assert!(samples.len() >= format::BLOCK && samples.len() < 2 * format::BLOCK);
            samples.clear();
        }
        sizes
    };
    assert_eq!(sizes(), sizes());
}

#[test]
fn unfit_samples_are_refused() {
    let folder = Workdir::empty();
    let path = folder.path("positions");
    let sample = samples(&format!("{START} | 3 | 0.5"))[0];
    let scoreless = Sample { score: None, ..sample };
    let between = Sample { result: 0.3, ..sample };
    let lowest = Sample { score: Some(i16::MIN), ..sample };
    for (format, bad) in [
        (&text::FORMAT, scoreless),
        (&bulletformat::FORMAT, scoreless),
        (&bulletformat::FORMAT, between),
        (&bulletformat::FORMAT, lowest),
        (&epd::FORMAT, lowest),
        (&viriformat::FORMAT, sample),
    ] {
        let mut sink = FileSink::create_file(&path, format).unwrap();
        let mut number = 1;
        if format.facts.moves == Presence::Never {
            sink.write_sample(&sample).unwrap();
            number = 2;
        }
        let error = sink.write_sample(&bad).unwrap_err().to_string();
        let place = format!("position {number} to");
        assert!(error.contains(&place) && error.contains(format.name), "{error}");
    }
    let nothing = write_all(&path, &epd::FORMAT, []);
    assert!(matches!(nothing, Err(WriteError::Empty(_))));
    assert!(folder.names().is_empty(), "something was left behind");
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in files {
        zip.start_file(*name, stored).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn zip_archives_of_one_file() {
    let line = format!("{START} | 3 | 0.5\n");
    let mut bytes = archive(&[("a.txt", line.as_bytes())]);
    assert_eq!(read_bytes(&bytes).unwrap().len(), 1);
    let error = read_bytes(&archive(&[("a", b"1"), ("b", b"2")])).unwrap_err().to_string();
    assert!(error.contains("2 files"), "{error}");
    let at = bytes.windows(4).position(|it| it == b" | 3").unwrap();
    bytes[at + 3] = b'4';
    assert!(read_bytes(&bytes).unwrap_err().to_string().contains("damaged"));
    let book = "../shared/data/books/noob_3moves.epd.zip";
    if need::shared(book) {
        let lines = unpack::open_unpacked(Path::new(book)).unwrap().lines();
        assert_eq!(lines.map(Result::unwrap).filter(|line| !line.is_empty()).count(), 150_932);
    }
}
