//! Engines under UCI, the Universal Chess Interface (Meyer-Kahlen and Huber, 2000).

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use shakmaty::{CastlingMode, Chess, EnPassantMode, Move, Position as _, fen::Fen};

use super::EngineError;
use super::clock::Deadline;
use super::player::{
    Limit, MoveResult, Player, PlayerFactory, exact_score, parse_move, reported_nodes,
};
use crate::digits::group_digits;
use crate::sample::Position;
use crate::score::Score;
use crate::words::find_nearest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// Program, which is found as a shell finds it.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Names and values of `setoption`. Defaults are Threads = 1, Hash = 16, OwnBook = false.
    pub options: Vec<(String, String)>,
    /// Milliseconds for an answer, added to [`Limit::longest_milliseconds`].
    pub patience_ms: u64,
}

impl EngineSettings {
    /// Describes an engine with default options and a minute for every answer.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self { program, arguments: Vec::new(), options: Vec::new(), patience_ms: 60_000 }
    }
}

/// Options that are set unless given. OwnBook: moves from a book have no score.
const DEFAULTS: [(&str, &str); 3] = [("Threads", "1"), ("Hash", "16"), ("OwnBook", "false")];
const CHESS960: &str = "UCI_Chess960";

/// The failure of an engine, with the command and the position.
#[derive(Debug, thiserror::Error)]
#[error(
    "{engine} {what} after `{command}`{on}{fen}{wrote}{message}",
    on = if fen.is_empty() { "" } else { " on " },
    wrote = if message.is_empty() { "" } else { "; it wrote: " }
)]
pub struct EngineFault {
    pub engine: String,
    pub command: String,
    /// FEN of the position; empty if none was searched.
    pub fen: String,
    pub what: String,
    /// The last lines that an engine wrote for people before it exited; else empty.
    pub message: Box<str>,
    /// Whether the engine ignores the limit in nodes, so that no search can be used.
    pub ignores_nodes: bool,
}

/// The game so far, as a player receives it before a search.
#[derive(Clone, Debug)]
pub struct GameLine {
    pub first: Chess,
    pub moves: Vec<Move>,
    mode: CastlingMode,
    pub chess: Chess,
}

impl GameLine {
    /// Creates a line from a position. It is of Chess960 if castling starts from unusual squares.
    pub fn new(chess: Chess) -> Self {
        let unusual = Position::from_chess(&chess).castles_unusually();
        let mode = CastlingMode::from_chess960(unusual);
        Self { first: chess.clone(), moves: Vec::new(), mode, chess }
    }

    /// Returns whether castling has the notation of Chess960.
    pub fn is_chess960(&self) -> bool {
        self.mode.is_chess960()
    }

    pub fn push_move(&mut self, legal: Move) {
        self.moves.push(legal);
        self.chess.play_unchecked(legal);
    }

    fn position_command(&self) -> String {
        let mut command = format!("position fen {}", format_fen(&self.first));
        for (i, played) in self.moves.iter().enumerate() {
            command += if i == 0 { " moves " } else { " " };
            command += &played.to_uci(self.mode).to_string();
        }
        command
    }

    pub fn to_fen(&self) -> String {
        format_fen(&self.chess)
    }
}

fn format_fen(chess: &Chess) -> String {
    Fen::from_position(chess, EnPassantMode::Legal).to_string()
}

/// A running engine, killed when dropped.
pub struct Uci {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    messages: Arc<Messages>,
    /// The thread that reads standard error.
    errors: JoinHandle<()>,
    id: String,
    options: Vec<String>,
    settings: EngineSettings,
    chess960: bool,
    /// FEN of the searched position, for messages; empty before the first search.
    fen: String,
    /// Nodes of the last search, if the engine reports them.
    searched: Option<u64>,
    /// Whether limits in nodes need no further test.
    is_tested: bool,
}

/// Longest line in bytes. An endless one must not fill the memory.
const LONGEST: u64 = 1 << 16;
/// Number of lines that may wait to be read. A program that sends more is blocked.
const WAITING: usize = 256;
/// Number of lines, and their letters, that an error quotes.
const MESSAGES: usize = 5;
const MESSAGE_LENGTH: usize = 300;
/// Largest number of options that are stored.
const MAX_OPTIONS: usize = 4096;
/// Milliseconds in which a program exits after it closed its output.
const EXIT_TIME: u64 = 500;
/// Milliseconds for the answer to `stop`.
const STOP_TIME: u64 = 2_000;
/// A quiet position that is in no book.
const MIDDLEGAME: &str = "r1bq1rk1/1p2bpp1/p1n1pn1p/3p4/2PP4/P1N2N1P/1P2BPP1/R1BQ1RK1 w - - 0 12";
/// Limits that show whether an engine keeps limits in nodes: it finishes iterations in between.
const TEST_NODES: [u64; 2] = [500, 100_000];

impl Uci {
    /// Starts an engine and sets its options, which it must support.
    ///
    /// # Errors
    ///
    /// Fails with [`EngineError::Start`] if the program cannot be started, with
    /// [`EngineError::NotUci`] if it does not answer as UCI requires, with [`EngineError::Option`]
    /// for an option that it lacks, and with [`EngineError::Chess960`] if `UCI_Chess960` is among
    /// the options.
    pub fn start_engine(settings: &EngineSettings) -> Result<Self, EngineError> {
        let program = settings.program.clone();
        let mut command = Command::new(&program);
        command.args(&settings.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            // Ctrl-C in a terminal reaches the whole group, but engines should finish their item.
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let started = command.spawn();
        let mut child = started.map_err(|error| EngineError::Start { program, error })?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("the output was piped");
        let errors = child.stderr.take().expect("errors were piped");
        let (sender, lines) = sync_channel(WAITING);
        thread::spawn(move || {
            read_lines(output, |line| {
                let is_whole = line.is_ok();
                sender.send(line).is_ok() && is_whole
            });
        });
        let messages = Arc::new(Messages::default());
        let kept = messages.clone();
        let errors = thread::spawn(move || {
            // Read to its end: a full pipe would block the engine, and the last lines count.
            read_lines(errors, |line| match line {
                Ok(line) => {
                    kept.keep_line(&line);
                    true
                }
                Err(error) => error.kind() == io::ErrorKind::InvalidData,
            });
        });
        let mut engine = Self {
            child,
            input,
            lines,
            messages,
            errors,
            id: settings.player_name(),
            options: Vec::new(),
            settings: settings.clone(),
            chess960: false,
            fen: String::new(),
            searched: None,
            is_tested: false,
        };
        engine.introduce_engine().map_err(EngineError::NotUci)?;
        let given =
            |name: &str| settings.options.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
        for (name, value) in DEFAULTS {
            if engine.has_option(name) && !given(name) {
                engine.set_option(name, value).map_err(EngineError::NotUci)?;
            }
        }
        for (name, value) in &settings.options {
            if !engine.has_option(name) {
                let near = find_nearest(name, engine.options.iter().map(String::as_str));
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let (engine, name) = (settings.player_name(), name.clone());
                return Err(EngineError::Option { engine, name, near });
            }
            if name.eq_ignore_ascii_case(CHESS960) {
                return Err(EngineError::Chess960);
            }
            engine.set_option(name, value).map_err(EngineError::NotUci)?;
        }
        engine.wait_until_ready("setoption").map_err(EngineError::NotUci)?;
        Ok(engine)
    }

    fn introduce_engine(&mut self) -> Result<(), EngineFault> {
        let deadline = Deadline::after_milliseconds(self.settings.patience_ms);
        self.send_command("uci")?;
        loop {
            let line = self.read_line(deadline, "uci")?;
            if let Some(id) = line.strip_prefix("id name ") {
                self.id = id.trim().to_string();
            } else if let Some(option) = line.strip_prefix("option name ") {
                let name = option.split(" type ").next().unwrap_or(option);
                self.options.truncate(MAX_OPTIONS);
                self.options.push(name.trim().to_string());
            } else if line == "uciok" {
                return Ok(());
            }
        }
    }

    fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.eq_ignore_ascii_case(name))
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineFault> {
        self.send_command(&format!("setoption name {name} value {value}"))
    }

    /// Waits until all commands so far are processed.
    fn wait_until_ready(&mut self, command: &str) -> Result<(), EngineFault> {
        let deadline = Deadline::after_milliseconds(self.settings.patience_ms);
        self.send_command("isready")?;
        while self.read_line(deadline, command)? != "readyok" {}
        Ok(())
    }

    fn send_command(&mut self, command: &str) -> Result<(), EngineFault> {
        let input = self.input.as_mut().expect("the input is open until the drop");
        let sent = input.write_all(format!("{command}\n").as_bytes()).and_then(|()| input.flush());
        sent.map_err(|error| {
            match error.kind() {
                io::ErrorKind::BrokenPipe => {
                    // Its last lines are in the pipe; if it only closed its input, it may write on.
                    let deadline = Deadline::after_milliseconds(EXIT_TIME);
                    while self.read_line(deadline, command).is_ok() {}
                    self.describe_exit(command, "input")
                }
                _ => self.describe_fault(command, &format!("cannot be written to ({error})")),
            }
        })
    }

    /// Reads the next line of the answer to a command, without its end.
    fn read_line(&mut self, deadline: Deadline, command: &str) -> Result<String, EngineFault> {
        let what = match self.lines.recv_timeout(deadline.time_left()) {
            Ok(Ok(line)) if !deadline.time_left().is_zero() => {
                if let Some(text) = line.strip_prefix("info string ") {
                    self.messages.keep_line(text);
                }
                return Ok(line);
            }
            Ok(Err(error)) => format!("cannot be read ({error})"),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(self.describe_exit(command, "output"));
            }
            Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => {
                format!("did not answer within {} ms", deadline.patience_ms)
            }
        };
        Err(self.describe_fault(command, &what))
    }

    /// Describes the fault of an engine that exited, or closed its input or output.
    fn describe_exit(&mut self, command: &str, closed: &str) -> EngineFault {
        let deadline = Deadline::after_milliseconds(EXIT_TIME);
        let what = loop {
            match self.child.try_wait() {
                Ok(status)
                    if (status.is_none() || !self.errors.is_finished())
                        && !deadline.time_left().is_zero() =>
                {
                    thread::sleep(Duration::from_millis(5))
                }
                Ok(None) => break format!("closed its {closed}"),
                Ok(Some(status)) => break format!("exited ({status})"),
                Err(error) => break format!("exited ({error})"),
            }
        };
        let message = self.messages.join_lines().into();
        EngineFault { message, ..self.describe_fault(command, &what) }
    }

    /// Returns whether the engine searches as many nodes for a small limit as for a large one. It
    /// tests another process, once, so that the memory of this one does not change.
    fn ignores_nodes(&mut self) -> bool {
        if std::mem::replace(&mut self.is_tested, true) {
            return false;
        }
        let Ok(mut tested) = Self::start_engine(&self.settings) else { return false };
        tested.is_tested = true;
        let position = Position::from_fen(MIDDLEGAME).expect("a legal position");
        let line = GameLine::new(position.to_chess().expect("a legal position"));
        let mut counts = [0; 2];
        for (count, nodes) in counts.iter_mut().zip(TEST_NODES) {
            match tested.search_without_memory(&line, Limit::Nodes(nodes)) {
                Ok(_) => *count = tested.searched.unwrap_or(0),
                Err(fault) => return fault.ignores_nodes,
            }
        }
        counts[1] < 2 * counts[0]
    }

    /// Returns whether the engine ends a search on `stop`.
    fn obeys_stop(&mut self) -> bool {
        let deadline = Deadline::after_milliseconds(STOP_TIME);
        let mut line = self.send_command("stop").and_then(|()| self.read_line(deadline, "stop"));
        while line.as_ref().is_ok_and(|line| !line.starts_with("bestmove")) {
            line = self.read_line(deadline, "stop");
        }
        line.is_ok()
    }

    fn nodes_fault(&self, go: &str, what: &str) -> EngineFault {
        EngineFault { ignores_nodes: true, ..self.describe_fault(go, what) }
    }

    fn describe_fault(&self, command: &str, what: &str) -> EngineFault {
        // A long game would hide the message.
        let command = command.split(" moves ").next().unwrap_or(command).to_string();
        let (engine, fen) = (self.settings.player_name(), self.fen.clone());
        let (what, message) = (what.to_string(), Box::default());
        EngineFault { engine, command, fen, what, message, ignores_nodes: false }
    }
}

impl Drop for Uci {
    fn drop(&mut self) {
        // The end of the input also stops an engine under a script, which `kill` does not reach.
        self.input = None;
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines that an engine wrote for people: by `info string`, and to standard error.
#[derive(Default)]
struct Messages(Mutex<VecDeque<String>>);

impl Messages {
    fn keep_line(&self, line: &str) {
        if line.is_empty() {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(line.chars().take(MESSAGE_LENGTH).collect());
        if lines.len() > MESSAGES {
            // A backtrace comes after the message of a panic.
            let is_panic = lines[0].contains("panicked at");
            drop(if is_panic { lines.pop_back() } else { lines.pop_front() });
        }
    }

    fn join_lines(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }
}

/// Passes on lines until the program closes its output, or `take_line` returns false. The parts of
/// a line that is too long are errors of [`io::ErrorKind::InvalidData`], but for the last one.
fn read_lines(output: impl Read, mut take_line: impl FnMut(io::Result<String>) -> bool) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = match output.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(length) if length as u64 == LONGEST => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end"))
            }
            // Words may be separated by tabs or several spaces.
            Ok(_) => {
                let line = String::from_utf8_lossy(&line);
                Ok(line.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
            }
            Err(error) => Err(error),
        };
        if !take_line(read) {
            return;
        }
    }
}

fn searched_nodes(nodes: u64) -> String {
    format!("searched {} nodes", group_digits(nodes))
}

impl Player for Uci {
    fn clear_memory(&mut self, line: &GameLine) -> Result<(), EngineFault> {
        self.fen = line.to_fen();
        self.send_command("ucinewgame")?;
        self.wait_until_ready("ucinewgame")
    }

    fn search_line(&mut self, line: &GameLine, limit: Limit) -> Result<MoveResult, EngineFault> {
        self.fen = line.to_fen();
        if self.chess960 != line.is_chess960() {
            if !self.has_option(CHESS960) {
                let what = "has no option UCI_Chess960, which this position needs,";
                return Err(self.describe_fault("position", what));
            }
            self.chess960 = line.is_chess960();
            self.set_option(CHESS960, if self.chess960 { "true" } else { "false" })?;
        }
        let go = format!("go {limit}");
        let search_time = limit.longest_milliseconds(line.chess.turn()).unwrap_or(0);
        let deadline =
            Deadline::after_milliseconds(self.settings.patience_ms.saturating_add(search_time));
        self.send_command(&line.position_command())?;
        self.send_command(&go)?;
        let (mut exact, mut nodes) = (None, None);
        loop {
            let answer = match self.read_line(deadline, &go) {
                Err(_) if limit.is_overdue(nodes) && self.obeys_stop() => {
                    let what = format!("did not stop within {} ms", deadline.patience_ms);
                    return Err(self.nodes_fault(&go, &what));
                }
                answer => answer?,
            };
            let (first, rest) = answer.split_once(' ').unwrap_or((&answer, ""));
            match first {
                "info" => {
                    exact = exact_score(rest).or(exact);
                    nodes = reported_nodes(rest).or(nodes);
                    if let Some(nodes) = nodes.filter(|nodes| limit.is_far_exceeded(*nodes)) {
                        return Err(self.nodes_fault(&go, &searched_nodes(nodes)));
                    }
                }
                "bestmove" => {
                    let word = rest.split_ascii_whitespace().next().unwrap_or("");
                    let Some(best) = parse_move(word, &line.chess) else {
                        let what = format!("answered `{word}`, which is not a legal move,");
                        return Err(self.describe_fault(&go, &what));
                    };
                    let (score, depth) = exact.unzip();
                    let is_mate = matches!(score, Some(Score::Mate(_)));
                    self.searched = nodes;
                    if let Some(nodes @ 1..) = nodes
                        && limit.is_doubtful(nodes)
                        && !is_mate
                        && line.chess.legal_moves().len() > 1
                        && self.ignores_nodes()
                    {
                        return Err(self.nodes_fault(&go, &searched_nodes(nodes)));
                    }
                    return Ok(MoveResult { best, score, depth: depth.unwrap_or(0) });
                }
                _ => {}
            }
        }
    }
}

impl PlayerFactory for EngineSettings {
    /// Returns the name of the program without its folder.
    fn player_name(&self) -> String {
        let path = self.program.as_path();
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }

    fn start_player(&self) -> Result<Box<dyn Player + '_>, EngineError> {
        Ok(Box::new(Uci::start_engine(self)?))
    }

    fn list_settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        // The engine starts before any file is created, so that a broken one is reported first.
        let engine = Uci::start_engine(self)?;
        let options = self.options.iter().map(|(name, value)| format!("{name} = {value}"));
        Ok(vec![
            ("program", self.program.display().to_string()),
            ("arguments", self.arguments.join(" ")),
            ("engine", engine.id.clone()),
            ("options", options.collect::<Vec<_>>().join(", ")),
        ])
    }
}
