//! A chess search that is a measuring instrument: one thread, neither clock nor chance.
//! Principal-variation alpha-beta with iterative deepening and aspiration windows, transposition
//! table, null move, late-move reductions and pruning, futility, killers, history, static exchange
//! evaluation and check extension.

mod evaluate;
mod order;
mod table;
mod tree;

pub use evaluate::{Evaluate, Sum, Terms, integers};
pub use order::exchange;
pub use tree::{Quiescence, QuietEnd};

use std::sync::atomic::{AtomicBool, Ordering};

use order::History;
use shakmaty::{Chess, EnPassantMode, Move, Position as _, zobrist::Zobrist64};
use table::Table;
use tree::{INFINITE, Margins, Tree};

use crate::score::Score;

/// No line is longer, in half-moves from the root.
pub const MOST_PLIES: usize = 128;
pub const MOST_DEPTH: u32 = 100;
const MATES: i32 = Score::HIGHEST;

/// When a search ends; the first that is reached counts. Without any, after [`MOST_DEPTH`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Half-moves of the last iteration, at least 1.
    pub depth: Option<u32>,
    /// No more nodes than these, whatever is unfinished then.
    pub nodes: Option<u64>,
    /// No new iteration from so many nodes on.
    pub soft_nodes: Option<u64>,
}

/// The parameters of a search, beside the position.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    pub limits: Limits,
    /// What the evaluation's centipawns are worth: a share of `sigmoid(cp / scale)` of the points.
    /// Margins are multiples of it, so that evaluations of any scale are pruned alike.
    pub scale: f64,
}

/// The result of a search, so far or at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Seen by the side to move.
    pub score: Score,
    /// The best move and what is thought to follow; empty where there is no legal move.
    pub pv: Vec<Move>,
    /// Half-moves of the last iteration that was finished, 0 if none was.
    pub depth: u32,
    /// Half-moves of the longest line that was searched.
    pub seldepth: u32,
    pub nodes: u64,
}

#[derive(Debug)]
pub struct Searcher {
    table: Table,
    history: History,
}

impl Searcher {
    /// With a transposition table of so many MiB, at least 1.
    pub fn new(mebibytes: usize) -> Self {
        Self { table: Table::new(mebibytes), history: History::new() }
    }

    /// Forgets everything, for a new game, or for another evaluation.
    pub fn forget(&mut self) {
        self.table.clear();
        self.history.clear();
    }

    /// Searches the present position and passes the result of each finished iteration to `watch`.
    /// The evaluation must be that of earlier searches, unless they are forgotten. Of an unfinished
    /// iteration an exact line counts.
    pub fn search(
        &mut self,
        game: &Game,
        evaluation: &mut dyn Evaluate,
        question: &Question,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(&Searched),
    ) -> Searched {
        let Question { limits, scale } = *question;
        self.table.age();
        self.history.age();
        let memory = (&mut self.table, &mut self.history);
        let most = limits.nodes.unwrap_or(u64::MAX);
        let mut tree = Tree::new(game, evaluation, memory, Margins::new(scale), most, stop);
        let moves = game.chess().legal_moves();
        let mut found = at_first(game, &mut tree, moves.first());
        for depth in 1..=limits.depth.unwrap_or(MOST_DEPTH).clamp(1, MOST_DEPTH) {
            let enough = depth > 1 && limits.soft_nodes.is_some_and(|soft| tree.nodes >= soft);
            if moves.is_empty() || enough || stop.load(Ordering::Relaxed) {
                break;
            }
            tree.depth = depth as i32;
            let score = aspire(&mut tree, game, (depth > 1).then_some(found.score));
            let exact = if tree.is_stopped { tree.so_far } else { Some(score) };
            if let Some(exact) = exact {
                (found.score, found.pv) = (told(exact), tree.pv().to_vec());
            }
            (found.seldepth, found.nodes) = (tree.reached as u32, tree.nodes);
            if tree.is_stopped {
                break;
            }
            found.depth = depth;
            watch(&found);
        }
        found
    }
}

/// The result before the first iteration: any legal move.
fn at_first(game: &Game, tree: &mut Tree, first: Option<&Move>) -> Searched {
    let score = match first {
        Some(_) => Score::Centipawns(tree.value()),
        None if game.chess().is_check() => Score::Mate(0),
        None => Score::Centipawns(0),
    };
    Searched { score, pv: first.copied().into_iter().collect(), depth: 0, seldepth: 0, nodes: 0 }
}

/// Root score in a window around that of the last iteration, wider where it misses.
fn aspire(tree: &mut Tree, game: &Game, guess: Option<Score>) -> i32 {
    let mut width = tree.margins.window;
    let (mut alpha, mut beta) = match guess {
        Some(Score::Centipawns(guess)) if tree.depth >= 4 => (guess - width, guess + width),
        _ => (-INFINITE, INFINITE),
    };
    loop {
        tree.so_far = None;
        let score = tree.search(game.chess(), [alpha, beta], tree.depth, 0, false);
        if tree.is_stopped || alpha < score && score < beta {
            return score;
        }
        width = width.saturating_mul(3);
        let wide =
            |bound: i32| if bound.abs() > MATES / 2 { bound.signum() * INFINITE } else { bound };
        match score <= alpha {
            true => alpha = wide(score.saturating_sub(width)),
            false => beta = wide(score.saturating_add(width)),
        }
    }
}

fn told(score: i32) -> Score {
    match score {
        score if score > MATES => Score::Mate((Score::MATE - score + 1) / 2),
        score if score < -MATES => Score::Mate(-(Score::MATE + score + 1) / 2),
        score => Score::Centipawns(score),
    }
}

/// A position and the hashes of those before it since the last capture or move of a pawn.
#[derive(Clone, Debug)]
pub struct Game {
    chess: Chess,
    /// The present position's is the last.
    keys: Vec<u64>,
}

impl Game {
    /// A game that begins here; castling is told as the position's mode has it.
    pub fn new(chess: Chess) -> Self {
        let keys = vec![key(&chess)];
        Self { chess, keys }
    }

    pub fn play(&mut self, played: Move) {
        let (after, key) = follow(&self.chess, self.keys[self.keys.len() - 1], played);
        if played.is_zeroing() {
            self.keys.clear();
        }
        self.keys.push(key);
        self.chess = after;
    }

    pub fn chess(&self) -> &Chess {
        &self.chess
    }

    /// How often the position has stood on the board, at least 1.
    pub fn occurrences(&self) -> usize {
        let last = self.keys[self.keys.len() - 1];
        self.keys.iter().filter(|key| **key == last).count()
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }
}

/// The hash of a position. Squares of en passant count where the capture is legal.
fn key(chess: &Chess) -> u64 {
    chess.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// The position after a move and its hash, from those before it.
fn follow(chess: &Chess, before: u64, played: Move) -> (Chess, u64) {
    let changed = chess.update_zobrist_hash(Zobrist64(before), played, EnPassantMode::Legal);
    let mut after = chess.clone();
    after.play_unchecked(played);
    let key = changed.map_or_else(|| key(&after), |hash| hash.0);
    (after, key)
}
