//! What the fuzz targets do, on stable Rust: `tests/it/formats/fuzz.rs` runs them too.

use std::fs;
use std::hint::black_box;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use flate2::read::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

use nnuance::architecture::{Activation, Architecture, Inputs, Kings, Layer, Perspectives};
use nnuance::config::Config;
use nnuance::draw;
use nnuance::engine::game::Adjudication;
use nnuance::engine::journal::{self, Journal};
use nnuance::engine::opening::Openings;
use nnuance::engine::{EngineError, JobPart, Player, PlayerFactory, SkippedItem, player};
use nnuance::export::{self, Manifest, StoredEvaluation};
use nnuance::features::{self, DirtyPieces};
use nnuance::format::trace::TraceReader;
use nnuance::format::{ALL, Fault, Format, SampleSource, book, fen_of_line, pgn, unpack};
use nnuance::hce::terms::built_in_list;
use nnuance::hce::{HceEvaluator, HceWeights};
use nnuance::interface::{self, UciCommand};
use nnuance::log::{self, Log};
use nnuance::net::{Accumulator, Evaluate as _, Hints, Net, stored_arrays};
use nnuance::progress::Progress;
use nnuance::report::html::{self, ReportRun};
use nnuance::run::arena::{MatchRules, Recorder, TimeControl, play_match};
use nnuance::run::report::ShownRun;
use nnuance::sample::{Position, Sample, mix_hash};
use nnuance::scales::{HeadFormat, Scales};
use nnuance::shakmaty::fen::Fen;
use nnuance::shakmaty::{CastlingMode, Chess, Color, Piece, Position as _, Role, Setup, Square};
use nnuance::sketch::Sketch;
use nnuance::terms::EngineTerms;
use nnuance::train::checkpoint::Checkpoint;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Any bytes in, properties asserted; whether the bytes were valid.
pub type Target = (&'static str, fn(&[u8]) -> bool);

pub const TARGETS: [Target; 19] = [
    ("formats", formats),
    ("pgn", pgn_text),
    ("packed", packed),
    ("fen", |data| text(data, fen)),
    ("features", feature_lists),
    ("net", net),
    ("import", |data| {
        data.len() > 1 && export::import_weights(&data[1..], &shape(data[0])).is_ok()
    }),
    ("checkpoint", checkpoint),
    ("manifest", manifest),
    ("description", |data| text(data, |it| export::parse_description(it).is_ok())),
    ("config", |data| text(data, config)),
    ("hce", |data| text(data, hce)),
    ("terms", terms),
    ("answer", |data| text(data, |it| it.lines().any(answer))),
    ("book", book),
    ("sketch", |data| text(data, sketch)),
    ("journal", journal),
    ("report", report),
    ("command", |data| text(data, |it| it.lines().filter(|line| command(line)).count() > 0)),
];

/// The files from which a target starts.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new("fuzz/corpus").join(target);
    let files = fs::read_dir(folder).expect("a folder of the target's name");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a file")).collect()
}

fn text(data: &[u8], of: impl Fn(&str) -> bool) -> bool {
    of(&String::from_utf8_lossy(data))
}

/// Drives a reader to its end over whatever bytes; the samples and the number of faults.
pub fn read(format: &Format, bytes: &[u8]) -> (Vec<Sample>, usize) {
    let mut reader = (format.reader)(Box::new(Cursor::new(bytes.to_vec())));
    let (mut samples, mut faults) = (Vec::new(), 0);
    loop {
        match reader.read_samples(&mut samples) {
            Ok(true) => {}
            Ok(false) => return (samples, faults),
            Err(Fault::Io(error)) => panic!("{error}"),
            Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => {
                assert!(!bad.to_string().is_empty() && !bad.reason.to_string().is_empty());
                faults += 1;
                // An empty file may lack a header.
                assert!(faults <= bytes.len() + 1, "{} does not move on", format.name);
            }
        }
    }
}

/// A file of the format that the first byte chooses: its reader ends, what it yields is legal chess,
/// and written as the format that the second byte chooses, it comes back.
fn formats(data: &[u8]) -> bool {
    let [from, to, bytes @ ..] = data else { return false };
    let [from, to] = [from, to].map(|it| ALL[usize::from(*it) % ALL.len()]);
    (to.recognises)(bytes);
    let samples = read(from, bytes).0;
    for sample in &samples {
        let chess = sample.position.to_chess().expect("a reader yields legal positions");
        if let Some(played) = sample.played {
            assert!(played.legal_move(&chess).is_some(), "{sample:?}");
        }
    }
    let Some(new) = to.writer else { return !samples.is_empty() };
    for sample in samples.iter().take(8) {
        let (mut writer, mut written) = (new(), Vec::new());
        if writer.write_sample(sample, &mut written).is_err() {
            continue;
        }
        writer.finish_output(&mut written);
        let (back, faults) = read(to, &written);
        assert_eq!((back.len(), faults), (1, 0), "{sample:?} as {}", to.name);
        let known = |it: &Sample| (it.result, it.position.piece_count());
        assert_eq!(known(&back[0]), known(sample));
        if from.name == to.name && from.name != "pgn" {
            assert_eq!(Sample { game: sample.game, ..back[0] }, *sample);
        }
        // Written again, it is the same.
        let (mut writer, mut again) = (new(), Vec::new());
        writer.write_sample(&back[0], &mut again).expect("what was held can be held");
        writer.finish_output(&mut again);
        assert_eq!(read(to, &again).0, back, "{}", to.name);
    }
    !samples.is_empty()
}

/// Games in any dialect, as training data and as scoresheets.
fn pgn_text(data: &[u8]) -> bool {
    let (samples, faults) = read(&pgn::FORMAT, data);
    let Ok(sheets) = pgn::read_scoresheets(Box::new(Cursor::new(data.to_vec()))) else {
        return false;
    };
    assert!(faults > 0 || samples.is_empty() || !sheets.is_empty());
    for sheet in sheets {
        assert!(sheet.white_result.is_none_or(|it| [0.0, 0.5, 1.0].contains(&it)));
        assert!(sheet.start.is_empty() || Position::from_fen(&sheet.start).is_ok());
    }
    !samples.is_empty()
}

thread_local! {
    /// A folder for the files of a target.
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder");
}

/// A file of the folder, with these bytes.
fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.with(|folder| folder.path().join(name));
    // File systems flush a file that is written again.
    let _ = fs::remove_file(&path);
    fs::write(&path, bytes).expect("a file");
    path
}

/// The samples of a file under a name of no format, and whether it was read to its end.
fn samples(bytes: &[u8]) -> (Vec<Sample>, bool) {
    let mut samples = Vec::new();
    let Ok(mut source) = SampleSource::open_file(&write("data", bytes), None, 3) else {
        return (samples, false);
    };
    while samples.len() < 1 << 16 {
        match source.next_block(&mut samples) {
            Ok(true) => {}
            end => return (samples, end.is_ok()),
        }
    }
    (samples, false)
}

/// Content that is compressed as the first byte says, and damaged where the second byte says: without
/// damage it is read as it is.
fn packed(data: &[u8]) -> bool {
    let [codec, damage, content @ ..] = data else { return false };
    let (one, two) = content.split_at(content.len() / 2);
    let zstd = |bytes| zstd::encode_all(bytes, 1).expect("memory is written");
    let mut file = match codec % 8 {
        0 => content.to_vec(),
        1 => read_all(GzEncoder::new(content, Compression::fast())),
        2 => [one, two].map(|part| read_all(GzEncoder::new(part, Compression::fast()))).concat(),
        3 => zstd(content),
        4 => [zstd(one), zstd(two)].concat(),
        5 => zip(content, content, 0),
        6 => zip(content, &read_all(DeflateEncoder::new(content, Compression::fast())), 8),
        _ => zstd(&read_all(GzEncoder::new(content, Compression::fast()))),
    };
    if *damage > 0 {
        let place = file.len() * usize::from(*damage) / 256;
        file.get_mut(place).into_iter().for_each(|byte| *byte ^= damage);
    }
    let found = samples(&file);
    if *damage == 0 && codec % 8 != 7 && !unpack::is_packed(content) {
        assert_eq!(found, samples(content), "codec {codec}");
    }
    !found.0.is_empty()
}

fn read_all(mut input: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).expect("memory is read");
    bytes
}

/// A zip archive of one file, whose content is stored (method 0) or deflated (8).
fn zip(content: &[u8], packed: &[u8], method: u16) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(content);
    let words =
        |numbers: &[u16]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
    let sizes = [sum.sum(), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes);
    let head = [words(&[20, 0, method, 0, 0]), sizes.concat(), words(&[1, 0])].concat();
    let local = [b"PK\x03\x04", &head[..], b"a", packed].concat();
    let entry = [b"PK\x01\x02", &words(&[20])[..], &head, &[0; 14], b"a"].concat();
    let places = [entry.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat();
    let end = [b"PK\x05\x06", &words(&[0, 0, 1, 1])[..], &places, &[0; 2]].concat();
    [local, entry, end].concat()
}

/// Openings, whose positions come back as lines of FEN.
fn book(data: &[u8]) -> bool {
    let Ok(found) = book::read_book(&write("book", data)) else { return false };
    let lines: Vec<String> = found.iter().map(Position::to_fen).collect();
    assert_eq!(
        book::read_book(&write("book", lines.join("\n").as_bytes())).expect("our lines"),
        found
    );
    true
}

/// The quick parser and the obvious one agree, and a position comes back from each of its forms.
fn fen(text: &str) -> bool {
    let slow = text.parse::<Fen>().ok().map(Fen::into_setup).map(Position::from_setup);
    let found = Position::from_fen(text).ok();
    assert_eq!(found, slow.and_then(Result::ok));
    let _ = Position::from_fen(&fen_of_line(text));
    found.as_ref().map(comes_back).is_some()
}

fn comes_back(position: &Position) {
    assert_eq!(Position::from_fen(&position.to_fen()).as_ref(), Ok(position));
    assert_eq!(Position::from_bytes(&position.to_bytes()).as_ref(), Ok(position));
    assert_eq!(Position::from_chess(&position.to_chess().expect("it is legal")), *position);
    assert_eq!(position.flip_colours().flip_colours(), *position);
}

/// A net with all feature sets, all but the pieces mirrored.
static ALL_SETS: LazyLock<Net> = LazyLock::new(|| {
    let buckets: Vec<u8> = (0..32).map(|square| square / 8).collect();
    let kings = Kings::new(true, &buckets).expect("the buckets have no gaps");
    let sets = features::set_names();
    let sets = sets.iter().map(|name| features::set_named(name, kings).expect("a set")).collect();
    let inputs = Inputs::new(Perspectives::Perspective, sets, false);
    let net = Architecture {
        inputs,
        ..Architecture::simple(Perspectives::Perspective, 2, Activation::SCReLU)
    };
    let bytes: Vec<u8> = (0..1 << 10).map(|i| (mix_hash(7, i) >> 32) as u8).collect();
    let hints = Hints { net, scales: Scales::default() };
    Net::read(&repeated(&bytes, &hints), &hints).expect("the size of the net")
});

/// The bytes as often as the file of a net has room for.
fn repeated(bytes: &[u8], Hints { net, scales }: &Hints) -> Vec<u8> {
    let arrays = stored_arrays(net, *scales);
    let size = arrays.iter().map(|it| it.array.len() * it.number.byte_size()).sum();
    bytes.iter().copied().cycle().take(size).collect()
}

/// A legal position of two kings and pairs of square and piece; both may have 16 pieces.
fn position(data: &[u8]) -> Option<Position> {
    let [white, black, flags, men @ ..] = data else { return None };
    let mut setup = Setup::empty();
    let square = |byte: u8| Square::new(u32::from(byte) % 64);
    setup.board.set_piece_at(square(*white), Color::White.king());
    setup.board.set_piece_at(square(*black), Color::Black.king());
    for [at, piece] in men.as_chunks().0.iter().take(30) {
        let color = Color::from_white(piece & 1 == 0);
        let role = Role::ALL[usize::from(piece >> 1) % 5];
        if setup.board.piece_at(square(*at)).is_none() && setup.board.by_color(color).count() < 16 {
            setup.board.set_piece_at(square(*at), Piece { color, role });
        }
    }
    setup.castling_rights =
        setup.board.rooks().into_iter().filter(|it| (it.rank() as u8).is_multiple_of(7)).collect();
    setup.ep_square = (flags & 2 != 0).then(|| square(*flags));
    setup.turn = Color::from_white(flags & 1 == 0);
    let turned = Setup { turn: !setup.turn, ..setup.clone() };
    Position::from_setup(setup).or_else(|_| Position::from_setup(turned)).ok()
}

/// Any legal position, and moves from it: lists agree with their sets' declarations, evaluations of
/// changes with those of whole positions, and those of both sides with each other.
fn feature_lists(data: &[u8]) -> bool {
    let Some(mut here) = position(data) else { return false };
    comes_back(&here);
    let net = &*ALL_SETS;
    let mut along = Accumulator::new(net, &here);
    for byte in data.iter().rev().take(3) {
        if let Err(wrong) = net.architecture().inputs.check_position(&here, false) {
            panic!("{wrong}");
        }
        let terms = HceWeights::of_list(built_in_list(), 400.0);
        let [one, other] =
            [here, here.flip_colours()].map(|it| HceEvaluator::new(&terms).evaluate(&it));
        assert!((one - other).abs() < 1e-6, "{one} {other} {}", here.to_fen());
        let chess = here.to_chess().expect("it is legal");
        let moves = chess.legal_moves();
        if moves.is_empty() {
            return true;
        }
        let played = moves[usize::from(*byte) % moves.len()];
        let moved = DirtyPieces::from_move(chess.turn(), &played);
        here = Position::from_chess(&chess.play(played).expect("it is legal"));
        along.play_move(Some(&moved), &here);
        assert_eq!(along.value(), net.evaluate(&here), "{played} to {}", here.to_fen());
    }
    assert_eq!(along.value(), net.evaluate_slowly(&here), "{}", here.to_fen());
    true
}

/// Shapes of nets by a number.
fn shape(choice: u8) -> Hints {
    let view = [Perspectives::Perspective, Perspectives::SideToMove, Perspectives::Plain]
        [usize::from(choice % 3)];
    let curve = [Activation::CReLU, Activation::SCReLU][usize::from(choice >> 2 & 1)];
    let mut net = Architecture::simple(view, 2, curve);
    if choice & 8 != 0 {
        net.head = vec![Layer::new(3, Activation::SCReLU)];
        net.skip = choice & 16 != 0;
        net.pairwise = choice & 32 != 0;
    }
    net.psqt = choice & 64 != 0 && view == Perspectives::Perspective;
    net.buckets = if choice & 128 != 0 { 2 } else { 1 };
    let head_format =
        if choice & 24 == 8 && choice & 4 == 0 { HeadFormat::Int8 } else { HeadFormat::Float };
    Hints { net, scales: Scales { head_format, ..Scales::default() } }
}

/// A net of the shape that the first byte chooses, as it is or repeated to a size that fits: it is
/// written as it was read, and evaluated as its definition says.
fn net(data: &[u8]) -> bool {
    let [choice, fits, bytes @ ..] = data else { return false };
    let hints = shape(*choice);
    let file = if fits & 1 != 0 { repeated(bytes, &hints) } else { bytes.to_vec() };
    let Ok(net) = Net::read(&file, &hints) else { return false };
    assert!(net.to_bytes().starts_with(&file));
    let start = Position::from_chess(&Chess::default());
    assert_eq!(net.evaluate(&start), net.evaluate_slowly(&start), "{}", net.architecture());
    export::dequantise_net(&net).check_finite().is_ok()
}

/// A checkpoint whose header ends at the last `}`; its length is written before it, so that changes
/// of it are read. Whatever is read comes back.
fn checkpoint(data: &[u8]) -> bool {
    let end = data.iter().rposition(|byte| *byte == b'}').map_or(0, |at| at + 1);
    let bytes = [&(end as u64).to_le_bytes(), data].concat();
    let path = Path::new("fuzz");
    let _ = export::import_weights(&bytes, &shape(0));
    let Ok(first) = Checkpoint::from_bytes(&bytes, path) else { return false };
    let again = Checkpoint::from_bytes(&first.to_bytes(), path).expect("our own file");
    assert_eq!((&first.weights, &first.facts), (&again.weights, &again.facts));
    assert_eq!((&first.state, &first.optimizer), (&again.state, &again.optimizer));
    true
}

fn manifest(data: &[u8]) -> bool {
    let Ok(found) = Manifest::from_json(data) else { return false };
    let _ = Net::read(data, &found.to_hints());
    if let Some(StoredEvaluation::Net(net)) = found.provenance.base.as_ref().map(|base| &base.below)
    {
        let _ = net.read_net();
    }
    let again = serde_json::to_vec(&found).expect("it has a JSON form");
    assert_eq!(Manifest::from_json(&again).ok().as_ref(), Some(&found));
    true
}

/// A config that is accepted is so again when written whole, and its numbers are in range.
fn config(text: &str) -> bool {
    let Ok(found) = Config::parse_text(text, "fuzz", &[]) else { return false };
    let whole = found.to_toml();
    let again = Config::parse_text(&whole, "fuzz", &[]).expect("our own file");
    assert_eq!(again.to_toml(), whole);
    for positions in [1, 1000, 1 << 30, 1 << 50] {
        let span = found.run_span(positions);
        assert!(span.steps >= 1);
        if let Ok(rate) = found.learning_rate.fit_to_span(&span) {
            assert!([0.0, 0.3, 1.0].iter().all(|done| rate.value_at(*done).is_finite()));
        }
        black_box((found.pair_count(positions), found.window_positions(positions)));
    }
    black_box((found.source_targets(), found.needs_scores(), found.final_wdl()));
    true
}

/// A file of handcrafted weights: a text that begins with `{`, or lines `/path/of/keys value` that
/// change or add a value in a file of all terms.
fn hce(text: &str) -> bool {
    static ALL_TERMS: LazyLock<Value> = LazyLock::new(|| {
        serde_json::from_str(&HceWeights::of_list(built_in_list(), 400.0).to_json())
            .expect("our own file")
    });
    let mut file = ALL_TERMS.clone();
    for (path, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        match (file.pointer_mut(path), path.rsplit_once('/')) {
            (Some(place), _) => *place = value,
            (None, Some((above, key))) => {
                let object = file.pointer_mut(above).and_then(Value::as_object_mut);
                object.into_iter().for_each(|it| drop(it.insert(key.to_string(), value.clone())));
            }
            _ => {}
        }
    }
    let text = if text.starts_with('{') { text.to_string() } else { file.to_string() };
    let Ok(found) = HceWeights::from_json(&text) else { return false };
    let written = found.to_json();
    let again = HceWeights::from_json(&written).expect("our own file");
    assert_eq!(again.to_json(), written);
    let start = Position::from_chess(&Chess::default());
    assert!(HceEvaluator::new(&found).evaluate(&start).is_finite());
    true
}

/// An engine's term list, then a trace of its terms after the first zero byte.
fn terms(data: &[u8]) -> bool {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (terms, trace) = data.split_at(end);
    let parse =
        |terms: &[u8]| EngineTerms::parse(&String::from_utf8_lossy(terms), Path::new("fuzz"));
    // A trace is read with any list.
    let found = parse(terms);
    let is_valid = found.is_ok();
    let own = found.or_else(|_| parse(b"a normal 1 2\nb.c safety 8 0\nd complexity 0 7\n"));
    let own = own.expect("a valid list");
    let again = EngineTerms::parse(&own.to_string(), Path::new("fuzz")).expect("our own file");
    assert_eq!(again.list.len(), own.list.len());
    let _ = own.list.choose(&["*".into(), "!a*".into()]);
    let weights: Vec<[f64; 2]> = own.list.terms.iter().map(|term| term.start).collect();
    let trace = trace.get(1..).unwrap_or_default().to_vec();
    let mut traces = TraceReader::new(Box::new(Cursor::new(trace)), Some(&own));
    for _ in 0..=data.len() {
        match traces.read_position() {
            Ok(Some(traced)) => {
                black_box(traced.evaluate_white(&own, &weights, own.list.tempo));
            }
            Ok(None) => return is_valid,
            Err(_) => {}
        }
    }
    panic!("the reader does not move on");
}

/// A sketch of games: it comes back, and shares its games with itself.
fn sketch(text: &str) -> bool {
    let Ok(found) = Sketch::try_from(text.to_string()) else { return false };
    assert_eq!(Sketch::try_from(String::from(found.clone())).as_ref(), Ok(&found));
    let mut joined = Sketch::default();
    joined.join_sketch(&found);
    assert!(joined.count_shared(&found) <= found.count_shared(&found) && joined.upper_bound() >= 1);
    assert!(
        (0.0..=1.0).contains(&found.known_share([0, found.upper_bound(), u64::MAX].into_iter()))
    );
    true
}

/// A player without moves, and progress that stops at once.
struct Idle;

impl PlayerFactory for Idle {
    fn player_name(&self) -> String {
        "a".into()
    }

    fn start_player(&self) -> Result<Box<dyn Player + '_>, EngineError> {
        Err(EngineError::SameGames)
    }

    fn list_settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        Ok(Vec::new())
    }
}

impl Progress for Idle {
    fn should_stop(&self) -> bool {
        true
    }
}

/// The journal of a job or, by the first byte, of a match, after its first line or with it. What a
/// journal was cut to is read again.
fn journal(data: &[u8]) -> bool {
    let [choice, lines @ ..] = data else { return false };
    let output = write("output", &[b'\n'; 512]);
    let path = journal::path_of(&output);
    let idle = || Box::new(Idle) as Box<dyn PlayerFactory>;
    let players = [idle(), idle()];
    let rules = MatchRules {
        pace: TimeControl::Nodes(1),
        openings: Openings::default(),
        adjudication: Adjudication::default(),
        seed: 1,
    };
    let resume = || match choice & 1 {
        0 => {
            let found =
                Journal::<SkippedItem>::open_job(&output, &[("job", "label".into())]).ok()?;
            assert!(found.progress.bytes <= 512);
            Some((found.progress.items, found.notes.len() as u64))
        }
        _ => {
            let recorder =
                Recorder::open_match_file(&output, &players, &rules, (3, JobPart::WHOLE), None)
                    .ok()?;
            let pairs = (3, JobPart::WHOLE);
            let played = play_match(&players, &rules, pairs, None, Some(recorder), &Idle).ok()?;
            assert!(played.meetings[0].pairs.0.iter().sum::<u64>() <= 3);
            Some((played.forfeits.unwrap_or(0), played.meetings[0].pairs.0[0]))
        }
    };
    static HEADS: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    let head = HEADS[usize::from(choice & 1)].get_or_init(|| {
        [&path, &output].into_iter().for_each(|file| drop(fs::remove_file(file)));
        resume();
        fs::write(&output, [b'\n'; 512]).expect("a file");
        fs::read(&path).expect("the journal of a first job")
    });
    let head = if choice & 2 == 0 { &head[..] } else { &[] };
    write("output.journal", &[head, lines].concat());
    let Some(found) = resume() else { return false };
    assert!(!path.exists() || resume() == Some(found));
    true
}

/// The folder of a run: its log and, each after a zero byte, the config, the path of the data and
/// other words of its checkpoint. No text becomes part of the markup of its page.
fn report(data: &[u8]) -> bool {
    let mut parts = data.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut part = || parts.next().unwrap_or_default().into_owned();
    let log_file = write("log.csv", part().as_bytes());
    let (config, path, words) = (part(), part(), part());
    let files = json!([{ "path": path, "bytes": 1, "sha256": words, "games": 3 }]).to_string();
    let facts = [("config", config), ("data", files), ("positions", path), ("compute", words)];
    let facts = facts.map(|(key, text)| (key.to_string(), text)).into();
    write("last.safetensors", &Checkpoint { facts, ..Checkpoint::default() }.to_bytes());
    let folder = log_file.parent().expect("a folder");
    let rows = log::read_rows(&log_file).map_or(0, |rows| rows.len());
    let Ok(found) = ShownRun::read_folder(folder) else { return false };
    let plain = |text: &String| -> String {
        let mark = |at: usize| ['\u{e000}', '\u{e001}', '\u{e002}', '\u{e003}'][at];
        text.chars().map(|it| "<>\"&".find(it).map_or(it, mark)).collect()
    };
    let pairs = |pairs: &[(String, String)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (plain(name), plain(value))).collect()
    };
    let run = found.page;
    let harmless = ReportRun {
        name: plain(&run.name),
        about: pairs(&run.about),
        settings: pairs(&run.settings),
        state: plain(&run.state),
        rows: run.rows.clone(),
    };
    let marks = |run: ReportRun| {
        let other = ReportRun { name: "other".into(), state: "<b>".into(), ..run.clone() };
        let runs = [run, other];
        let page = draw::page(
            &runs[0].about[0].1,
            &html::run_facts(&runs),
            &[
                html::curves_section(&runs),
                html::curves_section(&runs[..1]),
                html::settings_section(&runs),
            ],
        );
        page.matches(['<', '>', '"']).count()
    };
    assert_eq!(marks(run), marks(harmless));
    drop(Log::open_truncated(&log_file, rows as u64 / 2));
    assert_eq!(log::read_rows(&log_file).expect("it was one").len(), rows / 2);
    true
}

/// A line that an engine answers with, on the start position and on one with every kind of move.
fn answer(line: &str) -> bool {
    static POSITIONS: LazyLock<[Chess; 2]> = LazyLock::new(|| {
        let odd = Position::from_fen("r3k2r/P6p/8/1pP5/8/8/p6P/R3K2R w KQkq b6 0 1");
        [Chess::default(), odd.and_then(|it| it.to_chess()).expect("a legal FEN")]
    });
    let (_, rest) = line.split_once(' ').unwrap_or((line, ""));
    let moves = POSITIONS.iter().filter_map(|chess| {
        player::parse_move(rest, chess).inspect(|best| assert!(chess.is_legal(*best), "{rest}"))
    });
    moves.count() > 0 || player::exact_score(rest).is_some()
}

/// A line that an interface sends to our own engine.
fn command(line: &str) -> bool {
    let modes = [CastlingMode::Standard, CastlingMode::Chess960];
    let commands =
        modes.iter().filter_map(|mode| interface::parse_command(line, *mode).ok().flatten());
    let check = |command: &UciCommand| {
        if let UciCommand::Go(go) = command {
            for budget in Color::ALL.iter().filter_map(|turn| go.time_budget(*turn, 10)) {
                assert!((1..=budget.hard).contains(&budget.soft), "{line}");
            }
        }
        if let UciCommand::Position(game) = command {
            comes_back(&Position::from_chess(game.chess()));
        }
    };
    commands.inspect(check).count() > 0
}
