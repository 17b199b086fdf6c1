//! An engine that speaks UCI, the Universal Chess Interface (Meyer-Kahlen and Huber, 2000).

use std::path::PathBuf;

use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, File, Move, Position as _, Square, fen::Fen,
};

use super::EngineError;
use super::clock::Deadline;
use super::player::{Entrant, Player};
use super::process::{Process, Silence};
use super::search::{Info, Limit, Searched, parse_move};

/// Which engine, and how it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// The program, looked for as a shell does.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Names and values of `setoption`. Threads = 1 and Hash = 16 are set before these, where the
    /// engine has such options, so that what it finds can be found again.
    pub options: Vec<(String, String)>,
    /// Milliseconds until an engine that does not answer is given up; those of
    /// [`Limit::milliseconds`] come on top.
    pub patience_ms: u64,
}

impl EngineSettings {
    /// An engine with options of our own choice, given a minute for every answer.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            options: Vec::new(),
            patience_ms: 60_000,
        }
    }
}

/// What an engine does when no option says otherwise.
const DEFAULTS: [(&str, &str); 2] = [("Threads", "1"), ("Hash", "16")];
const CHESS960: &str = "UCI_Chess960";

/// What went wrong with an engine, after which command, on which position.
#[derive(Debug, thiserror::Error)]
#[error("{engine} {what} after `{command}`{}", on(.fen))]
pub struct Fault {
    pub engine: String,
    pub command: String,
    /// Empty where no position was searched.
    pub fen: String,
    pub what: What,
}

fn on(fen: &str) -> String {
    if fen.is_empty() { String::new() } else { format!(" on {fen}") }
}

/// What an engine did.
#[derive(Debug, thiserror::Error)]
pub enum What {
    #[error(transparent)]
    Silence(#[from] Silence),
    #[error("answered `{0}`, which is not a legal move,")]
    Illegal(String),
    #[error("gave a move but no score")]
    NoScore,
    #[error("gave a move but only a bound of its score; let it search further")]
    OnlyBounds,
    #[error("has no option UCI_Chess960, which this position needs,")]
    NoChess960,
}

/// The game so far: what a player is told before it searches.
#[derive(Clone, Debug)]
pub struct Line {
    first: Chess,
    moves: Vec<Move>,
    mode: CastlingMode,
    chess: Chess,
}

impl Line {
    /// A position without a past. Kings and rooks that castle from unusual squares make it one of
    /// Chess960.
    pub fn new(chess: Chess) -> Self {
        let usual = |color: Color| {
            let rooks = chess.castles().castling_rights() & chess.board().by_color(color);
            let rank = color.fold_wb(Square::A1, Square::A8).rank();
            let at = |file| Square::from_coords(file, rank);
            rooks.is_empty()
                || chess.board().king_of(color) == Some(at(File::E))
                    && rooks.into_iter().all(|rook| rook == at(File::A) || rook == at(File::H))
        };
        let mode = CastlingMode::from_chess960(!(usual(Color::White) && usual(Color::Black)));
        Self { first: chess.clone(), moves: Vec::new(), mode, chess }
    }

    /// The position now.
    pub fn chess(&self) -> &Chess {
        &self.chess
    }

    /// Whether the game began where only Chess960 castles.
    pub fn is_chess960(&self) -> bool {
        self.mode.is_chess960()
    }

    /// The first position.
    pub fn first(&self) -> &Chess {
        &self.first
    }

    /// The moves since then.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Goes on with a legal move.
    pub fn play(&mut self, legal: Move) {
        self.moves.push(legal);
        self.chess.play_unchecked(legal);
    }

    fn command(&self) -> String {
        let mut command = format!("position fen {}", fen(&self.first));
        for (i, played) in self.moves.iter().enumerate() {
            command += if i == 0 { " moves " } else { " " };
            command += &played.to_uci(self.mode).to_string();
        }
        command
    }

    /// The FEN of the position now.
    pub fn fen(&self) -> String {
        fen(&self.chess)
    }
}

fn fen(chess: &Chess) -> String {
    Fen::from_position(chess, EnPassantMode::Legal).to_string()
}

/// A running engine.
pub struct Uci {
    process: Process,
    /// The program's name without its folder, for messages.
    name: String,
    /// What the engine calls itself.
    id: String,
    options: Vec<String>,
    patience_ms: u64,
    chess960: bool,
}

impl Uci {
    /// Starts an engine and sets its options. A name that the engine does not know is an error,
    /// which says what name is near; values are the engine's own affair.
    pub fn start(settings: &EngineSettings) -> Result<Self, EngineError> {
        let program = settings.program.clone();
        let process = Process::start(&program, &settings.arguments)
            .map_err(|error| EngineError::Start { program: program.clone(), error })?;
        let name = settings.name();
        let mut engine = Self {
            process,
            id: name.clone(),
            name,
            options: Vec::new(),
            patience_ms: settings.patience_ms,
            chess960: false,
        };
        engine.introduce().map_err(EngineError::NotUci)?;
        let given =
            |name: &str| settings.options.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        for (name, value) in DEFAULTS {
            if engine.has(name) && !given(name) {
                engine.set(name, value).map_err(EngineError::NotUci)?;
            }
        }
        for (name, value) in &settings.options {
            if !engine.has(name) {
                return Err(engine.unknown(name));
            }
            if name.eq_ignore_ascii_case(CHESS960) {
                return Err(EngineError::Chess960);
            }
            engine.set(name, value).map_err(EngineError::NotUci)?;
        }
        engine.ready("setoption", "").map_err(EngineError::NotUci)?;
        Ok(engine)
    }

    /// What the engine calls itself.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn introduce(&mut self) -> Result<(), Fault> {
        let deadline = Deadline::after(self.patience_ms);
        self.say("uci", "")?;
        loop {
            let line = self.hear(deadline, "uci", "")?;
            if let Some(id) = line.strip_prefix("id name ") {
                self.id = id.trim().to_string();
            } else if let Some(option) = line.strip_prefix("option name ") {
                let name = option.split(" type ").next().unwrap_or(option);
                self.options.push(name.trim().to_string());
            } else if line == "uciok" {
                return Ok(());
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn unknown(&self, name: &str) -> EngineError {
        let near = self
            .options
            .iter()
            .max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)))
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        EngineError::Option { engine: self.name.clone(), name: name.to_string(), near }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.say(&format!("setoption name {name} value {value}"), "")
    }

    /// Waits until all commands so far are carried out.
    fn ready(&mut self, command: &str, fen: &str) -> Result<(), Fault> {
        let deadline = Deadline::after(self.patience_ms);
        self.say("isready", fen)?;
        while self.hear(deadline, command, fen)? != "readyok" {}
        Ok(())
    }

    fn say(&mut self, command: &str, fen: &str) -> Result<(), Fault> {
        self.process.send(command).map_err(|silence| self.fault(command, fen, silence.into()))
    }

    fn hear(&mut self, deadline: Deadline, command: &str, fen: &str) -> Result<String, Fault> {
        self.process.line(deadline).map_err(|silence| self.fault(command, fen, silence.into()))
    }

    fn fault(&self, command: &str, fen: &str, what: What) -> Fault {
        // A long game would hide the message.
        let command = command.split(" moves ").next().unwrap_or(command).to_string();
        Fault { engine: self.name.clone(), command, fen: fen.to_string(), what }
    }
}

impl Player for Uci {
    fn search_anew(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault> {
        self.say("ucinewgame", &line.fen())?;
        self.ready("ucinewgame", &line.fen())?;
        self.search(line, limit)
    }

    fn search(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault> {
        let fen = line.fen();
        if self.chess960 != line.is_chess960() {
            if !self.has(CHESS960) {
                return Err(self.fault("position", &fen, What::NoChess960));
            }
            self.chess960 = line.is_chess960();
            self.set(CHESS960, if self.chess960 { "true" } else { "false" })?;
        }
        let go = format!("go {limit}");
        let extra = limit.milliseconds(line.chess().turn()).unwrap_or(0);
        let deadline = Deadline::after(self.patience_ms.saturating_add(extra));
        self.say(&line.command(), &fen)?;
        self.say(&go, &fen)?;
        let mut info = Info::default();
        loop {
            let said = self.hear(deadline, &go, &fen)?;
            let (first, rest) = said.split_once(' ').unwrap_or((&said, ""));
            match first {
                "info" => info.read(rest),
                "bestmove" => {
                    let word = rest.split_ascii_whitespace().next().unwrap_or("");
                    let Some(best) = parse_move(word, line.chess()) else {
                        return Err(self.fault(&go, &fen, What::Illegal(word.to_string())));
                    };
                    let none = if info.bounds { What::OnlyBounds } else { What::NoScore };
                    let searched = info.searched(line.chess(), best);
                    return searched.ok_or_else(|| self.fault(&go, &fen, none));
                }
                _ => {}
            }
        }
    }
}

impl Entrant for EngineSettings {
    /// The program's name without its folder.
    fn name(&self) -> String {
        let path = self.program.as_path();
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }

    fn player(&self) -> Result<Box<dyn Player + '_>, EngineError> {
        Ok(Box::new(Uci::start(self)?))
    }

    fn settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        // Started here, so that an engine that is no good is told of before there is any file.
        let engine = Uci::start(self)?;
        let options = self.options.iter().map(|(name, value)| format!("{name} = {value}"));
        Ok(vec![
            ("program", self.program.display().to_string()),
            ("arguments", self.arguments.join(" ")),
            ("engine", engine.id().to_string()),
            ("options", options.collect::<Vec<_>>().join(", ")),
        ])
    }
}
