//! Players: UCI programs, or the built-in search.

use std::fmt;
use std::sync::Arc;

use shakmaty::{Chess, Color, Move, uci::UciMove};

use super::EngineError;
use super::uci::{EngineFault, GameLine};
use crate::interface::Clock;
use crate::score::Score;

/// A player of one board, which remembers earlier searches.
pub trait Player {
    /// Searches the position at the end of a line, which must have a legal move.
    ///
    /// # Errors
    ///
    /// Fails if the player ends, does not answer in time, answers no legal move, or ignores the
    /// limit.
    fn search_line(&mut self, line: &GameLine, limit: Limit) -> Result<MoveResult, EngineFault>;

    /// Forgets earlier searches, before a line is searched.
    ///
    /// # Errors
    ///
    /// Fails if the player ends, or does not answer in time.
    fn clear_memory(&mut self, line: &GameLine) -> Result<(), EngineFault>;

    /// Searches without memory of earlier searches, so that the result depends on the line alone.
    ///
    /// # Errors
    ///
    /// Fails as [`Player::clear_memory`] and [`Player::search_line`] do.
    fn search_without_memory(
        &mut self,
        line: &GameLine,
        limit: Limit,
    ) -> Result<MoveResult, EngineFault> {
        self.clear_memory(line)?;
        self.search_line(line, limit)
    }
}

/// A participant that can start players for several boards.
pub trait PlayerFactory: Send + Sync {
    fn player_name(&self) -> String;
    /// Starts a player.
    ///
    /// # Errors
    ///
    /// Fails if the player cannot be started.
    fn start_player(&self) -> Result<Box<dyn Player + '_>, EngineError>;
    /// Lists all settings that its answers depend on, for the journal of a job: names and values.
    ///
    /// # Errors
    ///
    /// Fails if the settings cannot be determined, such as those of an engine that does not start.
    fn list_settings(&self) -> Result<Vec<(&'static str, String)>, EngineError>;
}

#[derive(Clone)]
pub struct ParallelPlayers {
    pub entrant: Arc<dyn PlayerFactory>,
    /// Number of players in parallel, at least 1. Results do not depend on it.
    pub players: usize,
}

/// A limit of a search. Nodes and depth on one thread are reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Half-moves.
    Depth(u32),
    Nodes(u64),
    /// Nodes: no iteration starts after `soft` or continues after `hard`. UCI engines get `soft`.
    SoftNodes {
        soft: u64,
        hard: u64,
    },
    /// Milliseconds.
    Movetime(u64),
    Clocks([Clock; 2]),
}

impl Limit {
    /// Returns the nodes that UCI engines get as limit.
    fn uci_nodes(self) -> Option<u64> {
        match self {
            Limit::Nodes(nodes) | Limit::SoftNodes { soft: nodes, .. } => Some(nodes),
            _ => None,
        }
    }

    /// Returns whether so many nodes were searched that the engine will not stop at the limit.
    pub fn is_far_exceeded(self, nodes: u64) -> bool {
        self.uci_nodes()
            .is_some_and(|limit| nodes > limit.saturating_mul(20).saturating_add(1_000_000))
    }

    /// Returns whether a finished search was so short or long that its limit may have been another.
    pub fn is_doubtful(self, nodes: u64) -> bool {
        self.uci_nodes().is_some_and(|limit| {
            nodes < limit / 8 || nodes > limit.saturating_mul(10).saturating_add(10_000)
        })
    }

    /// Returns whether a search that last reported `nodes` should have ended by its limit in nodes.
    pub fn is_overdue(self, nodes: Option<u64>) -> bool {
        self.uci_nodes().is_some_and(|limit| nodes.is_none_or(|nodes| nodes >= limit))
    }

    /// Returns the largest number of milliseconds of an answer, if time is limited.
    pub fn longest_milliseconds(&self, turn: Color) -> Option<u64> {
        match self {
            Limit::Movetime(milliseconds) => Some(*milliseconds),
            Limit::Clocks(clocks) => Some(clocks[turn.fold_wb(0, 1)].time),
            _ => None,
        }
    }
}

impl fmt::Display for Limit {
    /// Formats the limit for UCI's `go`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Depth(depth) => write!(f, "depth {depth}"),
            Limit::Nodes(nodes) | Limit::SoftNodes { soft: nodes, .. } => {
                write!(f, "nodes {nodes}")
            }
            Limit::Movetime(milliseconds) => write!(f, "movetime {milliseconds}"),
            Limit::Clocks([white, black]) => write!(
                f,
                "wtime {} btime {} winc {} binc {}",
                white.time, black.time, white.increment, black.increment
            ),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct MoveResult {
    pub best: Move,
    /// Score from the point of view of the side to move. None if the program gives none, as some do
    /// for the only legal move or a move from a book.
    pub score: Option<Score>,
    /// Half-moves of the last finished iteration.
    pub depth: u32,
}

/// Parses score and depth of an `info` line. None if it is a bound, or not of the best move.
pub fn exact_score(line: &str) -> Option<(Score, u32)> {
    let (mut depth, mut score) = (0, None);
    let mut words = line.split_ascii_whitespace();
    while let Some(word) = words.next() {
        match word {
            "string" | "lowerbound" | "upperbound" => return None,
            "multipv" if words.next() != Some("1") => return None,
            "depth" => depth = parse_number(words.next()).unwrap_or(0),
            "score" => {
                score = match (words.next(), parse_number(words.next())) {
                    (Some("cp"), Some(value)) => Some(Score::Centipawns(value)),
                    (Some("mate"), Some(moves)) => Some(Score::Mate(moves)),
                    _ => return None,
                }
            }
            "pv" => break,
            _ => {}
        }
    }
    Some((score?, depth))
}

/// Parses the number of searched nodes in an `info` line.
pub fn reported_nodes(line: &str) -> Option<u64> {
    let mut words =
        line.split_ascii_whitespace().take_while(|word| !["string", "pv"].contains(word));
    words.find(|word| *word == "nodes")?;
    parse_number(words.next())
}

/// Parses a legal move in UCI notation.
pub fn parse_move(word: &str, chess: &Chess) -> Option<Move> {
    // Some programs write the piece of a promotion in upper case.
    word.to_ascii_lowercase().parse::<UciMove>().ok()?.to_move(chess).ok()
}

fn parse_number<T: std::str::FromStr>(word: Option<&str>) -> Option<T> {
    word?.parse().ok()
}
