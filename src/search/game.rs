//! The game that led to a position, as far as repetitions ask for it.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, Position as _};

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

    /// Goes on by a legal move.
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

    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }
}

/// The hash of a position. Squares of en passant count where the capture is legal.
pub(super) fn key(chess: &Chess) -> u64 {
    chess.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// The position after a move and its hash, from those before it.
pub(super) fn follow(chess: &Chess, before: u64, played: Move) -> (Chess, u64) {
    let changed = chess.update_zobrist_hash(Zobrist64(before), played, EnPassantMode::Legal);
    let mut after = chess.clone();
    after.play_unchecked(played);
    let key = changed.map_or_else(|| key(&after), |hash| hash.0);
    (after, key)
}
