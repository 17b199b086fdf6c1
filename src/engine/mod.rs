//! Data made by players: scored `positions`, or games from scratch (`selfplay`). `pool` distributes
//! items to [`Player`]s and commits their results, in order, to output and journal. A player starts
//! each item without memory, so the output depends neither on the number of players nor on resumes.

pub mod clock;
pub mod game;
pub mod journal;
pub mod opening;
pub mod player;
pub mod pool;
mod positions;
mod selfplay;
pub mod uci;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use journal::JournalError;
pub use player::{Limit, ParallelPlayers, Player, PlayerFactory};
pub use positions::{PositionsJob, label_positions};
pub use selfplay::{SelfplayJob, play_games};
pub use uci::{EngineFault, EngineSettings};

pub use crate::score::Score;

use crate::format::book::BookError;
use crate::format::{BadRecords, ReadError, WriteError};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedItem {
    /// Number of the item from 0, in order of the input or of the games.
    pub item: u64,
    pub fen: String,
    pub reason: String,
}

/// A contiguous share of a job, for one of several machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPart {
    /// Number of the part, from 1.
    number: u64,
    count: u64,
}

impl JobPart {
    pub const WHOLE: Self = Self { number: 1, count: 1 };

    /// Returns the items of this part, out of `total`.
    pub fn item_range(self, total: u64) -> Range<u64> {
        let start =
            |number: u64| (u128::from(total) * u128::from(number) / u128::from(self.count)) as u64;
        start(self.number - 1)..start(self.number)
    }
}

impl FromStr for JobPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err("expected a part such as 2/3, the second of three".into()),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct JobReport {
    /// Finished items of all runs together.
    pub done: u64,
    pub written: u64,
    /// Failed items, in order.
    pub skipped: Vec<SkippedItem>,
    /// Whether [`Progress::should_stop`](crate::progress::Progress::should_stop) ended the job. The
    /// same call resumes it.
    pub stopped: bool,
    /// Bad records of the input, in this run.
    pub bad_records: BadRecords,
    /// Numbers of moves of games without a score, and of all moves, in this run.
    pub unscored: [u64; 2],
}

impl JobReport {
    fn require_written(self, path: &Path, why: &str) -> Result<Self, EngineError> {
        if self.written > 0 || self.stopped {
            return Ok(self);
        }
        let reason = self.skipped.first().map_or(why, |skip| &skip.reason).to_string();
        Err(EngineError::Nothing { path: path.to_path_buf(), reason })
    }
}

/// Returns the remedy for an engine that did not start.
fn start_remedy(program: &Path, error: &io::Error) -> String {
    let text = program.to_string_lossy();
    let is_bare = |path: &Path| path.parent().is_some_and(|folder| folder.as_os_str().is_empty());
    let may_start = |path: &Path| if is_bare(path) { !path.is_dir() } else { path.is_file() };
    match text.split_once(' ') {
        _ if program.is_file() && is_bare(program) => format!("name it as ./{text}"),
        _ if program.is_file() && error.kind() == io::ErrorKind::PermissionDenied => {
            format!("make it executable (chmod +x {text})")
        }
        Some((name, arguments)) if !program.exists() && may_start(Path::new(name)) => {
            let arguments = arguments.split_whitespace().map(|it| format!(" --argument {it}"));
            format!("give its arguments apart: --engine {name}{}", arguments.collect::<String>())
        }
        _ => "install one (apt install stockfish), or give another path with --engine".to_string(),
    }
}

/// The reason why a job ended. The same call resumes it after the cause is removed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot start the engine {program}: {error}; {}", start_remedy(program, error))]
    Start { program: PathBuf, error: io::Error },
    #[error("{0}; is it a UCI engine?")]
    NotUci(#[source] EngineFault),
    #[error("{engine} has no option `{name}`{near}")]
    Option { engine: String, name: String, near: String },
    #[error("UCI_Chess960 is set automatically; remove it from the options")]
    Chess960,
    #[error("cannot continue the match: {0}")]
    Match(String),
    #[error(
        "{count} items in a row failed, the last one because {reason}; check the engine. Finished \
         items are kept, and the same command resumes the job"
    )]
    Hopeless { count: u64, reason: String },
    #[error(
        "{0}: it does not keep a limit in nodes; limit it by --depth or --movetime, in a match by \
         --time"
    )]
    NodesIgnored(String),
    #[error("{0} holds all games of this match")]
    MatchComplete(PathBuf),
    #[error("nothing was written to {path}: {reason}")]
    Nothing { path: PathBuf, reason: String },
    #[error("{format} stores games, but {input} has no moves; write bulletformat, text or epd")]
    NoMoves { format: &'static str, input: PathBuf },
    #[error("{0} cannot store games; write viriformat, binpack or pgn")]
    NoGames(&'static str),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("games without random moves would all be the same; allow some, or give a book")]
    SameGames,
    #[error("cannot read {path}: {error}")]
    Input { path: PathBuf, error: io::Error },
    #[error(
        "{path} has {lines} positions beside {finished} that are finished, too few for {games} \
         games without random moves; reduce the games, or allow random moves"
    )]
    SmallBook { path: PathBuf, lines: usize, finished: usize, games: u64 },
    #[error("{path} has finished positions alone, {finished} of them; give another book")]
    FinishedBook { path: PathBuf, finished: usize },
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}
