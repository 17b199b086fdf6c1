//! Values of the pieces by phase, as the evaluation itself has them.

use serde::Serialize;
use shakmaty::Role;

use super::removal::Worth;
use crate::architecture::{Architecture, MOST_PIECES};

/// The pieces that can be taken off, by their role, which is one more than their place here.
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

/// What pieces of one role are worth in one band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// Pieces taken off, one at a time.
    pub count: u64,
    /// Centipawns for the owner: mean and standard deviation over the pieces.
    pub mean: f64,
    pub spread: f64,
    /// The mean, with that of an endgame's pawn as 100; None where no pawn was seen there, or
    /// where pawns are worth nothing.
    pub of_pawn: Option<f64>,
}

/// By role of [`ROLES`] and band of [`BANDS`]; None where there was no such piece.
pub type Values = [[Option<Value>; 3]; 5];

/// What pieces are worth in one output bucket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BucketValues {
    pub bucket: usize,
    /// The fewest and the most pieces on a board of the bucket.
    pub pieces: [usize; 2],
    /// Positions of the bucket, of all that were looked at.
    pub positions: u64,
    /// By role of [`ROLES`]; None where there was no such piece. Without it a position may be of the
    /// bucket below, which judges it then.
    pub values: [Option<Value>; 5],
}

/// Count, sum and sum of squares of worths.
type Sums = (u64, f64, f64);

pub(super) fn values(worths: &[Worth]) -> Values {
    let sums = sums(worths, |worth| band(worth.pieces));
    let pawn = pawn(&sums);
    sums.map(|bands| bands.map(|sums| value(sums, pawn)))
}

/// The same by output bucket, which so many positions are of; none where there is one bucket.
pub(super) fn of_buckets(
    worths: &[Worth],
    net: &Architecture,
    positions: &[u64],
) -> Vec<BucketValues> {
    if net.buckets == 1 {
        return Vec::new();
    }
    let pawn = pawn(&sums::<{ BANDS.len() }>(worths, |worth| band(worth.pieces)));
    let sums = sums::<MOST_PIECES>(worths, |worth| worth.bucket.into());
    let bucket = |bucket: usize| {
        let mut pieces = (2..=MOST_PIECES).filter(|count| net.bucket(*count) == bucket);
        let first = pieces.next()?;
        Some(BucketValues {
            bucket,
            pieces: [first, pieces.next_back().unwrap_or(first)],
            positions: positions[bucket],
            values: sums.map(|buckets| value(buckets[bucket], pawn)),
        })
    };
    (0..net.buckets).filter_map(bucket).collect()
}

/// By role and something else.
fn sums<const N: usize>(worths: &[Worth], other: impl Fn(&Worth) -> usize) -> [[Sums; N]; 5] {
    let mut sums = [[(0, 0.0, 0.0); N]; 5];
    for worth in worths {
        let sum = &mut sums[place(worth.role)][other(worth)];
        let value = f64::from(worth.value);
        *sum = (sum.0 + 1, sum.1 + value, sum.2 + value * value);
    }
    sums
}

/// The mean worth of an endgame's pawn, where it is worth something.
fn pawn(sums: &[[Sums; BANDS.len()]; 5]) -> Option<f64> {
    let [.., (count, sum, _)] = sums[0];
    Some(sum / count as f64).filter(|pawn| pawn.is_finite() && *pawn > 0.0)
}

fn value((count, sum, squares): Sums, pawn: Option<f64>) -> Option<Value> {
    let mean = sum / count as f64;
    let spread = (squares / count as f64 - mean * mean).max(0.0).sqrt();
    let of_pawn = pawn.map(|pawn| 100.0 * mean / pawn);
    (count > 0).then_some(Value { count, mean, spread, of_pawn })
}

/// The place of a role, pawn 0.
pub(super) fn place(role: Role) -> usize {
    role as usize - 1
}
