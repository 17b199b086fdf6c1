//! The largest sums over legal positions, for [`FeatureSet::bound_sums`](super::FeatureSet::bound_sums).

use std::array::from_fn;

/// The maximum number of pieces of a side besides the king.
const OTHERS: usize = 15;

/// Computes the largest sum of a value per piece, by kind and square from a perspective. A side has
/// a king, at most 15 other pieces on different squares, and no pawns on the first and last rank.
pub fn of_squares(own_kings: &[usize], value: impl Fn(usize, usize) -> i64) -> i64 {
    let sum_side = |side: usize| {
        let king = possible_squares(6 * side + 5, own_kings)
            .map(|square| value(6 * side + 5, square))
            .max();
        let mut largest = [0; 64];
        for kind in 6 * side..6 * side + 5 {
            possible_squares(kind, own_kings)
                .for_each(|it| largest[it] = value(kind, it).max(largest[it]));
        }
        largest.select_nth_unstable_by(OTHERS, |a, b| b.cmp(a));
        king.unwrap_or(0) + largest[..OTHERS].iter().sum::<i64>()
    };
    sum_side(0) + sum_side(1)
}

/// The squares on which a kind of piece can stand, for the possible squares of the own king.
pub fn possible_squares(kind: usize, own_kings: &[usize]) -> impl Iterator<Item = usize> + '_ {
    (0..64).filter(move |square| is_square_of(kind, *square, own_kings))
}

/// Whether a kind of piece can stand on a square, for the possible squares of the own king.
pub(super) fn is_square_of(kind: usize, square: usize, own_kings: &[usize]) -> bool {
    match kind {
        5 => own_kings.contains(&square),
        11 => own_kings.iter().any(|king| king_distance(*king, square) > 1),
        _ => own_kings != [square] && (!kind.is_multiple_of(6) || !matches!(square / 8, 0 | 7)),
    }
}

/// The number of king moves between two squares.
pub(super) fn king_distance(a: usize, b: usize) -> usize {
    (a / 8).abs_diff(b / 8).max((a % 8).abs_diff(b % 8))
}

/// Computes the largest sum of a value per piece, 0 or more, by kind. A side has a king, a queen, two
/// rooks, bishops and knights, and eight pawns or promoted pieces.
pub fn of_material(value: impl Fn(usize) -> i64) -> i64 {
    let sum_side = |first: usize| {
        let [pawn, knight, bishop, rook, queen, king] = from_fn(|role| value(first + role));
        let promoted = pawn.max(knight).max(bishop).max(rook).max(queen);
        king + queen + 2 * (rook + bishop + knight) + 8 * promoted
    };
    sum_side(0) + sum_side(6)
}

/// Sums the `count` largest values, without negative ones.
pub fn sum_largest(mut values: Vec<i64>, count: usize) -> i64 {
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.into_iter().take(count).filter(|value| *value > 0).sum()
}

/// Computes the smallest and the largest sum of weights by a function for the largest.
pub fn lower_and_upper(
    weights: &[i32],
    largest: impl Fn(&dyn Fn(usize) -> i64) -> i64,
) -> [i64; 2] {
    let weight = |row: usize| i64::from(weights[row]);
    [-largest(&|row| -weight(row)), largest(&weight)]
}
