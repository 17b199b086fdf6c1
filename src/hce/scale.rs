//! Endgames that are drawn more often than their evaluation says.
//!
//! The factors are round numbers of our own; which endgames call for one is common knowledge.

use shakmaty::Role;

use super::evaluate::{Board, DARK};

/// The scale factor of a normal endgame.
pub const UNSCALED: i32 = 128;

/// What one side has.
#[derive(Clone, Copy)]
struct Army {
    pawns: i32,
    knights: i32,
    rooks: i32,
    queens: i32,
    bishops: i32,
    /// Whether there is a bishop on dark squares.
    dark: bool,
}

impl Army {
    /// Knights, bishops, rooks and queens.
    fn pieces(self) -> i32 {
        self.knights + self.bishops + self.rooks + self.queens
    }

    /// What the pieces are worth in pawns, as beginners learn it.
    fn value(self) -> i32 {
        3 * (self.knights + self.bishops) + 5 * self.rooks + 9 * self.queens
    }
}

/// The scale factor of the endgame in 128ths.
pub fn factor(board: &Board) -> i32 {
    let [white, black] = [0, 1].map(|colour| {
        let count = |role| board.counts(role)[colour];
        Army {
            pawns: count(Role::Pawn),
            knights: count(Role::Knight),
            rooks: count(Role::Rook),
            queens: count(Role::Queen),
            bishops: count(Role::Bishop),
            dark: board.pieces[colour][Role::Bishop as usize - 1] & DARK != 0,
        }
    });
    let bishops = opposite_bishops(white, black);
    let queen = if queen_against_pieces(white, black) || queen_against_pieces(black, white) {
        88
    } else {
        UNSCALED
    };
    bishops.min(queen).min(without_pawns(white, black)).min(without_pawns(black, white))
}

/// One bishop each, on squares of different colours; with a knight or a rook each, or alone.
/// Three pawns more win all the same.
fn opposite_bishops(a: Army, b: Army) -> i32 {
    let pieces = |it: Army| (it.knights, it.rooks, it.queens);
    if [a.bishops, b.bishops] != [1, 1] || a.dark == b.dark || (a.pawns - b.pawns).abs() > 2 {
        return UNSCALED;
    }
    match (pieces(a), pieces(b)) {
        ((0, 0, 0), (0, 0, 0)) => 64,
        ((1, 0, 0), (1, 0, 0)) => 96,
        ((0, 1, 0), (0, 1, 0)) => 104,
        _ => UNSCALED,
    }
}

/// A queen and no other piece against two pieces or more, no queens among them.
fn queen_against_pieces(a: Army, b: Army) -> bool {
    a.queens == 1 && a.pieces() == 1 && b.queens == 0 && b.pieces() > 1
}

/// A side that is ahead, but has no pawns, and pieces worth at most three pawns more, or two
/// knights against nothing.
fn without_pawns(a: Army, b: Army) -> i32 {
    let lead = a.value() - b.value();
    let ahead = a.pawns == 0 && lead > b.pawns;
    let two_knights = a.knights == 2 && a.pieces() == 2 && b.pieces() == 0;
    if ahead && (lead <= 3 || two_knights) { 16 } else { UNSCALED }
}
