//! How far a game has gone from its middlegame to its endgame, and how much an endgame is worth.

use shakmaty::Role;

use super::evaluate::{Board, DARK};
use crate::sample::Position;

/// The phase of a position in 256ths, and the scale factor of its endgame in 128ths: `lambda =
/// knights + bishops + 2 * rooks + 4 * queens`, at most 24, and `rho = (256 * (24 - lambda) + 12) /
/// 24` in integers, as in Ethereal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    rho: i32,
    xi: i32,
}

impl Phase {
    /// The denominator of `rho`.
    pub const ONE: i32 = 256;
    /// The scale factor of a normal endgame.
    pub const UNSCALED: i32 = 128;

    pub fn of(position: &Position) -> Phase {
        Phase::of_board(&Board::of(position))
    }

    pub(super) fn of_board(board: &Board) -> Phase {
        Phase { rho: (256 * (24 - lambda(board)) + 12) / 24, xi: factor(board) }
    }

    /// `lambda`: 24 with all pieces on, 0 with kings and pawns alone.
    pub fn pieces(position: &Position) -> u8 {
        lambda(&Board::of(position)) as u8
    }

    /// 0 with all pieces on, 256 with kings and pawns alone.
    pub fn rho(self) -> i32 {
        self.rho
    }

    /// The scale factor of the endgame, at most [`Phase::UNSCALED`], equal for both colours.
    pub fn xi(self) -> i32 {
        self.xi
    }

    /// The same for an evaluation without scale factor.
    pub fn unscaled(self) -> Phase {
        Phase { xi: Phase::UNSCALED, ..self }
    }

    /// Share of the middlegame weight, 0 to 1; exact in an f32 too.
    pub fn middlegame(self) -> f64 {
        f64::from(Phase::ONE - self.rho) / f64::from(Phase::ONE)
    }

    /// Share of the endgame weight, the scale factor in it, 0 to 1; exact in an f32 too.
    pub fn endgame(self) -> f64 {
        f64::from(self.rho * self.xi) / f64::from(Phase::ONE * Phase::UNSCALED)
    }

    pub fn shares(self) -> [f64; 2] {
        [self.middlegame(), self.endgame()]
    }
}

fn lambda(board: &Board) -> i32 {
    let pieces = |role| board.counts(role).into_iter().sum::<i32>();
    let all = pieces(Role::Knight)
        + pieces(Role::Bishop)
        + 2 * pieces(Role::Rook)
        + 4 * pieces(Role::Queen);
    all.min(24)
}

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

    /// Beginner's values of the pieces, in pawns.
    fn value(self) -> i32 {
        3 * (self.knights + self.bishops) + 5 * self.rooks + 9 * self.queens
    }
}

/// The scale factor of the endgame in 128ths.
fn factor(board: &Board) -> i32 {
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
        Phase::UNSCALED
    };
    bishops.min(queen).min(without_pawns(white, black)).min(without_pawns(black, white))
}

/// One bishop each, on squares of different colours, at most two pawns apart.
fn opposite_bishops(a: Army, b: Army) -> i32 {
    let pieces = |it: Army| (it.knights, it.rooks, it.queens);
    if [a.bishops, b.bishops] != [1, 1] || a.dark == b.dark || (a.pawns - b.pawns).abs() > 2 {
        return Phase::UNSCALED;
    }
    match (pieces(a), pieces(b)) {
        ((0, 0, 0), (0, 0, 0)) => 64,
        ((1, 0, 0), (1, 0, 0)) => 96,
        ((0, 1, 0), (0, 1, 0)) => 104,
        _ => Phase::UNSCALED,
    }
}

fn queen_against_pieces(a: Army, b: Army) -> bool {
    a.queens == 1 && a.pieces() == 1 && b.queens == 0 && b.pieces() > 1
}

/// A side that is ahead by at most three pawns, or with two knights, but has no pawns.
fn without_pawns(a: Army, b: Army) -> i32 {
    let lead = a.value() - b.value();
    let ahead = a.pawns == 0 && lead > b.pawns;
    let two_knights = a.knights == 2 && a.pieces() == 2 && b.pieces() == 0;
    if ahead && (lead <= 3 || two_knights) { 16 } else { Phase::UNSCALED }
}
