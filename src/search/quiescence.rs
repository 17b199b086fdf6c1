//! Where pending captures leave a position: the quiet end of its quiescence search.
//!
//! Source: Texel's tuning method (P. Österlund) judges a position by its quiescence score, which is
//! what the evaluation says of such an end.

use std::sync::atomic::AtomicBool;

use shakmaty::{Chess, Move, Position as _};

use super::margins::Margins;
use super::order::History;
use super::table::Table;
use super::tree::{INFINITE, Tree};
use super::{Evaluate, Game, MATES};
use crate::sample::Position;

/// A quiescence search and nothing else, with neither window nor memory, so that what it finds
/// hangs on position and evaluation alone.
#[derive(Debug)]
pub struct Quiescence {
    table: Table,
    history: History,
    scale: f64,
}

/// The end of a quiescence search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietEnd {
    /// Centipawns for the side to move at the beginning.
    pub score: i32,
    /// The position that the score is the evaluation of.
    pub position: Position,
    /// Half-moves to it.
    pub plies: usize,
    /// Whether the rules say the score, mate or a draw, so that no evaluation was asked.
    pub is_decided: bool,
}

impl QuietEnd {
    /// +1, or -1 where the other side is to move at the end.
    pub fn sign(&self) -> i32 {
        if self.plies.is_multiple_of(2) { 1 } else { -1 }
    }
}

/// Nodes of one search, at most: far more than captures on a board of a game need.
const MOST_NODES: u64 = 1 << 16;

impl Quiescence {
    /// `scale` is that of [`Question`](super::Question).
    ///
    /// # Panics
    /// If the scale is not above 0 and finite.
    pub fn new(scale: f64) -> Self {
        let _ = Margins::new(scale);
        Self { table: Table::none(), history: History::new(), scale }
    }

    /// The score of each legal move, seen by who makes it: that of the quiescence search behind it.
    /// None where a search does not come to an end in time.
    pub fn moves(
        &mut self,
        chess: &Chess,
        evaluation: &mut dyn Evaluate,
    ) -> Option<Vec<(Move, QuietEnd)>> {
        let of = |played: Move| {
            let mut after = chess.clone();
            after.play_unchecked(played);
            let end = self.end(&after, evaluation)?;
            let drawn = after.is_insufficient_material() || after.halfmoves() >= 100;
            let is_decided = end.is_decided || drawn;
            Some((played, QuietEnd { score: -end.score, plies: end.plies + 1, is_decided, ..end }))
        };
        chess.legal_moves().into_iter().map(of).collect()
    }

    /// Searches a position; None where the search does not come to an end in time.
    pub fn end(&mut self, chess: &Chess, evaluation: &mut dyn Evaluate) -> Option<QuietEnd> {
        let (game, stop) = (Game::new(chess.clone()), AtomicBool::new(false));
        let memory = (&mut self.table, &mut self.history);
        let margins = Margins::new(self.scale);
        let mut tree = Tree::new(&game, evaluation, memory, margins, MOST_NODES, &stop);
        let score = tree.quiesce(chess, [-INFINITE, INFINITE], 0);
        if tree.is_stopped {
            return None;
        }
        let (mut end, plies) = (chess.clone(), tree.pv().len());
        tree.pv().iter().for_each(|&played| end.play_unchecked(played));
        let drawn = end.is_insufficient_material() || end.halfmoves() >= 100;
        let is_decided = score.abs() > MATES || plies > 0 && drawn || end.is_stalemate();
        Some(QuietEnd { score, position: Position::from_chess(&end), plies, is_decided })
    }
}
