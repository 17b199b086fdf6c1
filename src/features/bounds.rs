//! Largest sums over legal positions, for the bounds of sets.

use std::array::from_fn;

/// Pieces of a side besides the king.
const OTHERS: usize = 15;

/// The largest sum of a value of each piece, by kind and square as they are seen: a side has a king
/// and at most 15 other pieces, one to a square, and no pawns on the first and last rank.
pub(super) fn of_squares(own_kings: &[usize], value: impl Fn(usize, usize) -> i64) -> i64 {
    let side = |side: usize| {
        let king = |square: usize| value(6 * side + 5, square);
        let king = match side {
            0 => own_kings.iter().map(|&square| king(square)).max(),
            _ => (0..64).map(king).max(),
        };
        let mut others: [i64; 64] = from_fn(|square| {
            let roles = if matches!(square / 8, 0 | 7) { 1..5 } else { 0..5 };
            roles.map(|role| value(6 * side + role, square)).max().unwrap_or(0).max(0)
        });
        others.select_nth_unstable_by(OTHERS, |a, b| b.cmp(a));
        king.unwrap_or(0) + others[..OTHERS].iter().sum::<i64>()
    };
    side(0) + side(1)
}

/// The largest sum of a value, 0 or more, of each piece by kind: a side has a king, a queen, two
/// rooks, bishops and knights, and eight pawns or what they were promoted to.
pub(super) fn of_material(value: impl Fn(usize) -> i64) -> i64 {
    let side = |first: usize| {
        let [pawn, knight, bishop, rook, queen, king] = from_fn(|role| value(first + role));
        let promoted = pawn.max(knight).max(bishop).max(rook).max(queen);
        king + queen + 2 * (rook + bishop + knight) + 8 * promoted
    };
    side(0) + side(6)
}

/// The smallest and the largest sum of weights, by a function that gives the largest.
pub(super) fn both(weights: &[i32], largest: impl Fn(&dyn Fn(usize) -> i64) -> i64) -> [i64; 2] {
    let weight = |row: usize| i64::from(weights[row]);
    [-largest(&|row| -weight(row)), largest(&weight)]
}
