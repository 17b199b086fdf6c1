//! Values of the pieces by phase, as the evaluation itself has them.

use serde::Serialize;
use shakmaty::Role;

use super::removal::Worth;

/// The men that can be taken off, by their role, which is one more than their place here.
pub const ROLES: [&str; 5] = ["pawn", "knight", "bishop", "rook", "queen"];

/// Positions by the pieces that are left: knights + bishops + 2 rooks + 4 queens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    pub name: &'static str,
    pub from: u8,
    /// More than at the start, after promotions, counts as the opening too.
    pub to: u8,
}

pub const BANDS: [Band; 3] = [
    Band { name: "opening", from: 17, to: u8::MAX },
    Band { name: "middlegame", from: 9, to: 16 },
    Band { name: "endgame", from: 0, to: 8 },
];

/// The number of the band that so many pieces fall into.
pub(super) fn band(pieces: u8) -> usize {
    BANDS.iter().position(|band| pieces >= band.from).expect("the last band begins at 0")
}

/// What men of one role are worth in one band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// Men taken off, one at a time.
    pub count: u64,
    /// Centipawns for the owner: mean and standard deviation over the men.
    pub mean: f64,
    pub spread: f64,
    /// The mean, with that of an endgame's pawn as 100; None where no pawn was seen there, or
    /// where pawns are worth nothing.
    pub of_pawn: Option<f64>,
}

/// By role of [`ROLES`] and band of [`BANDS`]; None where there was no such man.
pub type Values = [[Option<Value>; 3]; 5];

pub(super) fn values(worths: &[Worth]) -> Values {
    let mut sums = [[(0u64, 0.0, 0.0); 3]; 5];
    for worth in worths {
        let sum = &mut sums[place(worth.role)][band(worth.pieces)];
        let value = f64::from(worth.value);
        *sum = (sum.0 + 1, sum.1 + value, sum.2 + value * value);
    }
    let mean = |(count, sum, _): (u64, f64, f64)| sum / count as f64;
    let [.., endgame] = sums[0];
    let pawn = Some(mean(endgame)).filter(|pawn| pawn.is_finite() && *pawn > 0.0);
    sums.map(|bands| {
        bands.map(|sums| {
            let (count, _, squares) = sums;
            let mean = mean(sums);
            let spread = (squares / count as f64 - mean * mean).max(0.0).sqrt();
            let of_pawn = pawn.map(|pawn| 100.0 * mean / pawn);
            (count > 0).then_some(Value { count, mean, spread, of_pawn })
        })
    })
}

/// The place of a role, pawn 0.
pub(super) fn place(role: Role) -> usize {
    role as usize - 1
}
