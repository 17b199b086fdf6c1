//! How far a game has gone from its middlegame to its endgame.

use shakmaty::Role;

use crate::sample::Position;

/// The phase of a position in 256ths.
///
/// `lambda = knights + bishops + 2 * rooks + 4 * queens` of both sides, at most 24, and
/// `rho = (256 * (24 - lambda) + 12) / 24` in integers, as in Ethereal (A. Grant, "Evaluation &
/// Tuning in Chess Engines").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    rho: i32,
}

impl Phase {
    /// The denominator of the shares.
    pub const ONE: i32 = 256;

    pub fn of(position: &Position) -> Phase {
        let lambda: i32 = position
            .men()
            .map(|man| match man.role {
                Role::Pawn | Role::King => 0,
                Role::Knight | Role::Bishop => 1,
                Role::Rook => 2,
                Role::Queen => 4,
            })
            .sum();
        Phase::from_lambda(lambda)
    }

    pub(super) fn from_lambda(lambda: i32) -> Phase {
        Phase { rho: (256 * (24 - lambda.min(24)) + 12) / 24 }
    }

    /// 0 with all pieces on, 256 with kings and pawns alone.
    pub fn rho(self) -> i32 {
        self.rho
    }

    /// Share of the middlegame weight, 0 to 1; exact in an f32 too.
    pub fn middlegame(self) -> f64 {
        f64::from(Phase::ONE - self.rho) / f64::from(Phase::ONE)
    }

    /// Share of the endgame weight, 0 to 1. No endgame is scaled down yet, so both shares sum
    /// to one.
    pub fn endgame(self) -> f64 {
        f64::from(self.rho) / f64::from(Phase::ONE)
    }
}
