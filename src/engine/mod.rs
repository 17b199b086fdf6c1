//! Data made by players: positions scored ([`label`]), resolved to the ends of their principal
//! variations ([`resolve`]), or played from scratch ([`selfplay`]). A [`Player`] is a program that
//! speaks UCI, or a search within this program.
//!
//! ```text
//! items ─ pool ─▶ player: uci ─▶ process ─▶ engine
//!           │ what they made, in order
//!           ▼
//!          job ─▶ journal ─▶ output
//! ```
//!
//! Each item (a position, or the number of a game) is made by one player that forgot everything
//! before it, so the output depends neither on how many players there are nor on where a job was
//! stopped and resumed, as long as a player itself gives the same answer twice: one thread, a
//! fixed hash size, and a limit of nodes or depth.

pub mod adjudicate;
pub mod chess960;
pub mod clock;
pub mod game;
mod job;
pub mod journal;
mod label;
mod mix;
pub mod opening;
pub mod player;
pub mod pool;
mod process;
mod resolve;
pub mod search;
mod selfplay;
pub mod uci;

use std::io;
use std::path::PathBuf;

pub use journal::{JournalError, Skip};
pub use label::{LabelJob, label};
pub use mix::Mix;
pub use opening::BookError;
pub use player::{Crew, Entrant, Player};
pub use resolve::{ResolveJob, resolve};
pub use search::{Clock, Limit};
pub use selfplay::{SelfplayJob, selfplay};
pub use uci::{EngineSettings, Fault};

pub use crate::score::Score;

use crate::format::{BadRecords, ReadError};

/// Who looks on while a job runs. Called from the thread that runs it, often.
pub trait Watch {
    /// So many items are finished, those of earlier runs included.
    fn progress(&self, done: u64);

    /// Whether it is time to commit what is made, however little it is. The output does not depend
    /// on it, only what a kill may lose.
    fn is_time(&self) -> bool {
        false
    }

    /// Whether to finish the items under way and leave the rest for another run.
    fn stop(&self) -> bool;
}

/// What a job did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Items finished, in all runs together.
    pub done: u64,
    /// Positions or games in the output.
    pub written: u64,
    /// Items that could not be made, in order.
    pub skipped: Vec<Skip>,
    /// Engines that had to be started anew.
    pub restarts: u64,
    /// Items that earlier runs had finished.
    pub resumed_at: u64,
    /// Whether [`Watch::stop`] ended the job; the same call resumes it.
    pub stopped: bool,
    /// Records of the input that were not read in this run.
    pub bad_records: BadRecords,
}

/// Why a job ended without being done. What was made until then is kept, and the same call
/// resumes the job once the cause is gone.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot start the engine {program}: {error}; install it or give its path")]
    Start { program: PathBuf, error: io::Error },
    #[error("{0}; is it an engine that speaks UCI?")]
    NotUci(#[source] Fault),
    #[error("{engine} has no option `{name}`{near}")]
    Option { engine: String, name: String, near: String },
    #[error("UCI_Chess960 is set as the positions need it; leave it out of the options")]
    Chess960,
    #[error("the match cannot go on: {0}")]
    Match(String),
    #[error("{count} items in a row failed, the last one because {reason}; see to the engine")]
    Hopeless { count: u64, reason: String },
    #[error("nothing was written to {path}: {reason}")]
    Nothing { path: PathBuf, reason: String },
    #[error("{format} holds games, but {made} has no moves; write bulletformat, text or epd")]
    NoMoves { format: &'static str, made: String },
    #[error("{0} does not hold games; write viriformat, binpack or pgn")]
    NoGames(&'static str),
    #[error("positions do not hold what {0} wants; choose another format")]
    NoWriter(&'static str),
    #[error("cannot write position {number} to {path} as {format}: {reason}")]
    Write { path: PathBuf, format: &'static str, number: u64, reason: String },
    #[error("games of no random moves would all be the same; allow some, or give a book")]
    SameGames,
    #[error("cannot read {path}: {error}")]
    Input { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}
