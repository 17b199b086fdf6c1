//! A chess search for measurements: one thread, no clock, no randomness. Principal-variation
//! alpha-beta has iterative deepening, aspiration windows, transposition table, null move, late-move
//! reductions and pruning, futility, killers, history, static exchanges and check extensions.

mod evaluate;
mod order;
mod table;
mod tree;

pub use crate::net::Evaluate;
pub use evaluate::{SearchTerms, Sum, follow_moves};
pub use order::static_exchange;
pub use tree::{Quiescence, QuietEnd};

use std::sync::atomic::{AtomicBool, Ordering};

use order::History;
use shakmaty::uci::UciMove;
use shakmaty::{Chess, EnPassantMode, Move, MoveList, Position as _, zobrist::Zobrist64};
use table::TranspositionTable;
use tree::{INFINITE, Margins, SearchTree};

use crate::score::Score;

/// Longest line in half-moves from the root.
pub const MAX_PLIES: usize = 128;
pub const MAX_DEPTH: u32 = 100;
const MATES: i32 = Score::HIGHEST;

/// Limits of a search; the first one reached ends it. Without any it ends after [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Half-moves of the last iteration, at least 1.
    pub depth: Option<u32>,
    /// Largest number of nodes, even within an iteration.
    pub nodes: Option<u64>,
    /// Number of nodes after which no new iteration starts.
    pub soft_nodes: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub struct SearchSettings {
    pub limits: Limits,
    /// Scale of the evaluation's centipawns: `sigmoid(cp / scale)` is the expected result. Margins
    /// are multiples of it, so that pruning does not depend on the scale.
    pub scale: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// Score from the point of view of the side to move.
    pub score: Score,
    /// Principal variation; empty if there is no legal move.
    pub pv: Vec<Move>,
    /// Half-moves of the last finished iteration; 0 if there is none.
    pub depth: u32,
    /// Half-moves of the longest line that was searched.
    pub seldepth: u32,
    pub nodes: u64,
}

#[derive(Debug)]
pub struct Searcher {
    table: TranspositionTable,
    history: History,
}

impl Searcher {
    /// Creates a searcher with a transposition table of `mebibytes` MiB, at least 1.
    pub fn new(mebibytes: usize) -> Self {
        Self { table: TranspositionTable::new(mebibytes), history: History::new() }
    }

    /// Clears all memory, for a new game, or for another evaluation.
    pub fn clear_memory(&mut self) {
        self.table.clear_table();
        self.history.clear_history();
    }

    /// Searches the current position and passes the result of each finished iteration to `watch`.
    /// The evaluation must be the same as in earlier searches, unless the memory is cleared. Exact
    /// lines of an unfinished iteration count.
    ///
    /// # Panics
    ///
    /// Panics unless the scale of the settings is finite and above 0.
    pub fn search_position(
        &mut self,
        game: &SearchGame,
        evaluation: &mut dyn Evaluate,
        settings: &SearchSettings,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(&SearchResult),
    ) -> SearchResult {
        let SearchSettings { limits, scale } = *settings;
        self.table.age_entries();
        self.history.age_history();
        let memory = (&mut self.table, &mut self.history);
        let nodes = limits.nodes.unwrap_or(u64::MAX);
        let mut tree = SearchTree::new(game, evaluation, memory, Margins::new(scale), nodes, stop);
        let mut result = initial_result(game, &mut tree);
        for depth in 1..=limits.depth.unwrap_or(MAX_DEPTH).clamp(1, MAX_DEPTH) {
            let enough = depth > 1 && limits.soft_nodes.is_some_and(|soft| tree.nodes >= soft);
            if tree.moves.is_empty() || enough || stop.load(Ordering::Relaxed) {
                break;
            }
            tree.depth = depth as i32;
            let score = search_window(&mut tree, game, (depth > 1).then_some(result.score));
            let exact = if tree.is_stopped { tree.so_far } else { Some(score) };
            if let Some(exact) = exact {
                (result.score, result.pv) = (root_score(exact), tree.pv().to_vec());
            }
            (result.seldepth, result.nodes) = (tree.reached as u32, tree.nodes);
            if tree.is_stopped {
                break;
            }
            result.depth = depth;
            watch(&result);
        }
        result
    }
}

/// Returns the result before the first iteration: any legal move.
fn initial_result(game: &SearchGame, tree: &mut SearchTree) -> SearchResult {
    let pv: Vec<Move> = tree.moves.first().copied().into_iter().collect();
    let score = match pv.first() {
        Some(_) => Score::Centipawns(tree.evaluate_position()),
        None if game.chess().is_check() => Score::Mate(0),
        None => Score::Centipawns(0),
    };
    SearchResult { score, pv, depth: 0, seldepth: 0, nodes: 0 }
}

/// Searches the root in a window around the score of the last iteration, and widens it on a miss.
fn search_window(tree: &mut SearchTree, game: &SearchGame, guess: Option<Score>) -> i32 {
    let mut width = tree.margins.window;
    let (mut alpha, mut beta) = match guess {
        Some(Score::Centipawns(guess)) if tree.depth >= 4 => (guess - width, guess + width),
        _ => (-INFINITE, INFINITE),
    };
    loop {
        tree.so_far = None;
        let score = tree.search_node(game.chess(), [alpha, beta], tree.depth, 0, false);
        if tree.is_stopped || alpha < score && score < beta {
            return score;
        }
        width = width.saturating_mul(3);
        let widen =
            |bound: i32| if bound.abs() > MATES / 2 { bound.signum() * INFINITE } else { bound };
        match score <= alpha {
            true => alpha = widen(score.saturating_sub(width)),
            false => beta = widen(score.saturating_add(width)),
        }
    }
}

fn root_score(score: i32) -> Score {
    match score {
        score if score > MATES => Score::Mate((Score::MATE - score + 1) / 2),
        score if score < -MATES => Score::Mate(-(Score::MATE + score + 1) / 2),
        score => Score::Centipawns(score),
    }
}

/// A position, and the hashes of the positions before it since the last irreversible move.
#[derive(Clone, Debug)]
pub struct SearchGame {
    chess: Chess,
    /// Hashes; the last one is that of the current position.
    keys: Vec<u64>,
    /// Moves to search in the current position; all if empty.
    only: Vec<Move>,
}

impl SearchGame {
    /// Creates a game from this position; castling has the notation of its mode.
    pub fn new(chess: Chess) -> Self {
        let keys = vec![position_key(&chess)];
        Self { chess, keys, only: Vec::new() }
    }

    /// Restricts a search to these moves of the current position; illegal ones are ignored.
    pub fn restrict_moves(&mut self, moves: &[UciMove]) {
        self.only = moves.iter().filter_map(|word| word.to_move(&self.chess).ok()).collect();
    }

    /// Returns the moves that a search compares.
    fn legal_moves(&self) -> MoveList {
        let mut moves = self.chess.legal_moves();
        moves.retain(|it| self.only.is_empty() || self.only.contains(it));
        moves
    }

    pub fn play_move(&mut self, played: Move) {
        let (after, key) = follow_move(&self.chess, self.keys[self.keys.len() - 1], played);
        if played.is_zeroing() {
            self.keys.clear();
        }
        self.keys.push(key);
        self.chess = after;
        self.only.clear();
    }

    pub fn chess(&self) -> &Chess {
        &self.chess
    }

    /// Counts the occurrences of the position, at least 1.
    pub fn count_occurrences(&self) -> usize {
        let last = self.keys[self.keys.len() - 1];
        self.keys.iter().filter(|key| **key == last).count()
    }
}

/// Computes the hash of a position. En passant squares count if the capture is legal.
fn position_key(chess: &Chess) -> u64 {
    chess.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// Returns the position after a move and its hash, from the position and the hash before it.
fn follow_move(chess: &Chess, before: u64, played: Move) -> (Chess, u64) {
    let changed = chess.update_zobrist_hash(Zobrist64(before), played, EnPassantMode::Legal);
    let mut after = chess.clone();
    after.play_unchecked(played);
    let key = changed.map_or_else(|| position_key(&after), |hash| hash.0);
    (after, key)
}
