//! How far a game has gone from its middlegame to its endgame, and how much an endgame is worth.

use shakmaty::Role;

use super::evaluate::Board;
use super::scale;
use crate::sample::Position;

/// The phase of a position in 256ths, and the scale factor of its endgame in 128ths.
///
/// `lambda = knights + bishops + 2 * rooks + 4 * queens` of both sides, at most 24, and
/// `rho = (256 * (24 - lambda) + 12) / 24` in integers, as in Ethereal (A. Grant, "Evaluation &
/// Tuning in Chess Engines").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    rho: i32,
    xi: i32,
}

impl Phase {
    /// The denominator of `rho`.
    pub const ONE: i32 = 256;
    /// The scale factor of a normal endgame.
    pub const UNSCALED: i32 = scale::UNSCALED;

    pub fn of(position: &Position) -> Phase {
        Phase::of_board(&Board::of(position))
    }

    pub(super) fn of_board(board: &Board) -> Phase {
        Phase { rho: (256 * (24 - lambda(board)) + 12) / 24, xi: scale::factor(board) }
    }

    /// `lambda`: 24 with all pieces on, 0 with kings and pawns alone.
    pub fn pieces(position: &Position) -> u8 {
        lambda(&Board::of(position)) as u8
    }

    /// 0 with all pieces on, 256 with kings and pawns alone.
    pub fn rho(self) -> i32 {
        self.rho
    }

    /// The scale factor of the endgame, at most [`Phase::UNSCALED`]; less where an advantage is
    /// hard to convert. It depends on the pieces alone, and is the same for both colours.
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

    /// Both shares.
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
