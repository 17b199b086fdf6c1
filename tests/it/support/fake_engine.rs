//! A fake engine, which is this test program, and helpers for tests of engines.

use std::env;
use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use nnuance::engine::game::Adjudication;
use nnuance::engine::opening::{Openings, StartPosition};
use nnuance::engine::{EngineSettings, Limit, ParallelPlayers, PositionsJob, SelfplayJob};
use shakmaty::{EnPassantMode, Move};

use crate::formats::registry as formats;
use crate::support::kit::*;

/// A hash of a position without its counters.
pub fn hash_of(chess: &Chess) -> u64 {
    let fen = Fen::from_position(chess, EnPassantMode::Legal).to_string();
    let fields = fen.split(' ').take(4).flat_map(str::bytes);
    fields.fold(0, |hash, byte| mix_hash(hash, u64::from(byte)))
}

/// Result of the fake engine: a score and a variation of up to four moves.
pub fn fake_search(chess: &Chess) -> (i32, Vec<Move>) {
    let (mut chess, mut pv) = (chess.clone(), Vec::new());
    let score = (hash_of(&chess) % 601) as i32 - 300;
    for _ in 0..1 + hash_of(&chess) / 601 % 4 {
        let moves = chess.legal_moves();
        if moves.is_empty() {
            break;
        }
        let legal = moves[hash_of(&chess) as usize % moves.len()];
        chess.play_unchecked(legal);
        pv.push(legal);
    }
    (score, pv)
}

/// Not a test: the fake engine of other tests. Its options are divisors: it misbehaves on positions
/// whose hash is a multiple.
#[test]
#[ignore = "an engine, started by other tests"]
fn fake_engine() {
    let (mut chess, mut mode) = (Chess::new(), CastlingMode::Standard);
    let mut bad: Vec<(String, u64)> = Vec::new();
    let mut once: Option<PathBuf> = None;
    let mut in_book = true;
    let mut nodes = 0;
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "uci" => {
                writeln!(out, "id name Fake 1").unwrap();
                let options = "Crash Hang Nonsense Illegal Bound Few Fixed Sparse Silent Endless \
                               Once Hash";
                for option in options.split(' ') {
                    writeln!(out, "option name {option} type string").unwrap();
                }
                writeln!(out, "option name OwnBook type check default true").unwrap();
                writeln!(out, "option name UCI_Chess960 type check default false").unwrap();
                writeln!(out, "uciok").unwrap();
            }
            "isready" => writeln!(out, "readyok").unwrap(),
            "setoption" => match words[2] {
                "UCI_Chess960" => mode = CastlingMode::from_chess960(words[4] == "true"),
                "Once" => once = Some(words[4].into()),
                "Hash" => {}
                "OwnBook" => in_book = words[4] == "true",
                name => bad.push((name.to_string(), words[4].parse().unwrap())),
            },
            "position" => {
                let fen: Fen = words[2..8].join(" ").parse().unwrap();
                // As in engines: castling from unusual squares is an error outside of 960.
                chess = fen.into_position(mode).unwrap();
                for word in words.iter().skip(9) {
                    let uci: UciMove = word.parse().unwrap();
                    let legal = uci.to_move(&chess).unwrap();
                    assert_eq!(legal.to_uci(mode), uci);
                    chess.play_unchecked(legal);
                }
            }
            "stop" => writeln!(out, "bestmove {}", fake_search(&chess).1[0].to_uci(mode)).unwrap(),
            "go" => {
                nodes = if words[1] == "nodes" { words[2].parse().unwrap() } else { nodes };
                let hash = hash_of(&chess);
                let hit = bad.iter().find(|(_, every)| hash.is_multiple_of(*every));
                let best = || fake_search(&chess).1[0].to_uci(mode);
                let first = || match &once {
                    Some(folder) => fs::File::create_new(folder.join(hash.to_string())).is_ok(),
                    None => true,
                };
                match hit.filter(|_| first()).map(|(name, _)| name.as_str()) {
                    _ if in_book => {
                        writeln!(out, "info score cp 1 depth 1\nbestmove {}", best()).unwrap();
                    }
                    Some("Few") => {
                        writeln!(out, "info depth 1 score cp 5 nodes 6").unwrap();
                        writeln!(out, "bestmove {}", best()).unwrap();
                    }
                    Some(name @ ("Fixed" | "Sparse")) => {
                        let (score, _) = fake_search(&chess);
                        // A fixed number, or what the last finished iteration had.
                        let nodes = if name == "Fixed" { 300_000 } else { nodes / 50 };
                        writeln!(out, "info depth 2 score cp {score} nodes {nodes}").unwrap();
                        writeln!(out, "bestmove {}", best()).unwrap();
                    }
                    Some("Silent") => {}
                    Some("Endless") => writeln!(out, "info depth 30 nodes 9000000").unwrap(),
                    Some("Crash") => {
                        match hash % 2 {
                            0 => writeln!(out, "info string no network").unwrap(),
                            _ => writeln!(std::io::stderr(), "no network").unwrap(),
                        }
                        std::process::exit(3)
                    }
                    Some("Hang") => thread::sleep(Duration::from_secs(3600)),
                    Some("Nonsense") => {
                        out.write_all(b"\xff\xfe info score cp\n\ninfo score mate x pv\n").unwrap();
                        writeln!(out, "bestmove banana").unwrap();
                    }
                    Some("Bound") => {
                        let (score, _) = fake_search(&chess);
                        writeln!(out, "info depth 1 score cp {score} lowerbound").unwrap();
                        writeln!(out, "bestmove {}", best()).unwrap();
                    }
                    Some(_) => writeln!(out, "info score cp 9\nbestmove a1a1").unwrap(),
                    None => {
                        let (score, pv) = fake_search(&chess);
                        let pv: Vec<_> = pv.iter().map(|m| m.to_uci(mode).to_string()).collect();
                        let line = pv.join(" ");
                        writeln!(out, "info depth 4 score cp {score} nodes 1500 pv {line}")
                            .unwrap();
                        writeln!(out, "info depth 5 score cp 31 lowerbound nodes 1900").unwrap();
                        writeln!(out, "info multipv 2 score cp 77").unwrap();
                        writeln!(out, "bestmove {}", pv[0]).unwrap();
                    }
                }
            }
            _ => {}
        }
        out.flush().unwrap();
    }
}

/// Arguments with which this program is the fake engine.
const FAKE: [&str; 4] =
    ["--ignored", "--exact", "support::fake_engine::fake_engine", "--nocapture"];

/// Gives a command the fake engine, a program with arguments.
pub fn with_fake(command: &mut Command) -> &mut Command {
    command.arg("--engine").arg(env::current_exe().unwrap());
    command.args(FAKE.map(|word| format!("--argument={word}")))
}

pub fn fake(options: &[(&str, String)]) -> EngineSettings {
    EngineSettings {
        arguments: FAKE.map(str::to_string).to_vec(),
        options: options.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        ..EngineSettings::new(env::current_exe().unwrap())
    }
}

pub fn crew(engine: EngineSettings, engines: usize) -> ParallelPlayers {
    ParallelPlayers { entrant: Arc::new(engine), players: engines }
}

#[track_caller]
pub fn stockfish() -> Option<EngineSettings> {
    need::engine("stockfish").map(EngineSettings::new)
}

pub use nnuance::progress::SilentProgress as Quiet;

pub fn read(path: &Path) -> Vec<Sample> {
    formats::read(path).unwrap()
}

/// A folder with positions in `in.txt`.
pub fn folder_of_positions(count: usize) -> (Workdir, PathBuf, Vec<Sample>) {
    let (folder, samples) = (Workdir::empty(), games::samples(count, 5));
    let path = folder.write_samples("in.txt", "text", &samples).into();
    (folder, path, samples)
}

pub fn games_in(folder: &Workdir, bytes: usize) -> (PathBuf, Vec<Sample>) {
    let all = fs::read(GAMES).unwrap();
    let mut whole = 0;
    while whole < bytes {
        let moves = all[whole + 32..].chunks(4).position(|entry| entry == [0; 4]).unwrap();
        whole += 32 + 4 * moves + 4;
    }
    let path = PathBuf::from(folder.write("in.vf", &all[..whole]));
    let samples = read(&path);
    (path, samples)
}

pub fn label_job(
    input: &Path,
    output: &str,
    format: &'static Format,
    crew: ParallelPlayers,
) -> PositionsJob {
    PositionsJob {
        input: input.to_path_buf(),
        output: input.with_file_name(output),
        format,
        limit: Limit::Nodes(2000),
        crew,
        range: 0..u64::MAX,
        bad_records: 0,
    }
}

pub fn selfplay_job(
    folder: &Path,
    output: &str,
    format: &'static Format,
    crew: ParallelPlayers,
) -> SelfplayJob {
    SelfplayJob {
        output: folder.join(output),
        format,
        games: 8,
        range: 0..8,
        seed: 42,
        limit: Limit::Nodes(1000),
        openings: Openings { start: StartPosition::DoubleChess960, plies: (2, 5), bound: 250 },
        adjudication: Adjudication { max_plies: 40, ..Adjudication::default() },
        crew,
    }
}

pub struct StopAfter {
    count: u64,
    done: AtomicU64,
}

impl StopAfter {
    pub fn new(count: u64) -> Self {
        Self { count, done: AtomicU64::new(0) }
    }
}

impl Progress for StopAfter {
    fn advance_work(&self, count: u64) {
        self.done.fetch_add(count, Ordering::SeqCst);
    }
    fn should_stop(&self) -> bool {
        self.done.load(Ordering::SeqCst) > self.count
    }
}

/// The games of a viriformat file, checked as they are read: the reader refuses illegal moves.
pub fn games_of(path: &Path) -> Vec<Vec<Sample>> {
    let samples = read(path);
    samples.chunk_by(|a, b| a.game == b.game).map(<[Sample]>::to_vec).collect()
}

pub fn labelled(sample: &Sample) -> Sample {
    let chess = sample.position.to_chess().unwrap();
    let score = if !chess.legal_moves().is_empty() {
        fake_search(&chess).0 as i16
    } else if chess.is_check() {
        -32_000
    } else {
        0
    };
    Sample { score: Some(score), ..*sample }
}

pub fn all_labelled(samples: &[Sample]) -> Vec<Sample> {
    samples.iter().map(labelled).collect()
}
