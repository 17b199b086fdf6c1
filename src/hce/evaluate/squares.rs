//! Sets of squares as 64 bits, a1 the lowest, h8 the highest.

use shakmaty::{Bitboard, Square, attacks};

pub const FILE_A: u64 = 0x0101_0101_0101_0101;
pub const FILE_H: u64 = FILE_A << 7;
pub const RANK_1: u64 = 0xff;
/// All squares of a1's colour.
pub const DARK: u64 = 0xaa55_aa55_aa55_aa55;
/// Indices of roles in arrays of sets.
pub const PAWN: usize = 0;
pub const KNIGHT: usize = 1;
pub const BISHOP: usize = 2;
pub const ROOK: usize = 3;
pub const QUEEN: usize = 4;
pub const KING: usize = 5;

/// Iterates over the squares of a set, lowest first.
pub fn squares_of(set: u64) -> impl Iterator<Item = u32> {
    Bitboard(set).into_iter().map(u32::from)
}

pub fn count_squares(set: u64) -> i32 {
    set.count_ones() as i32
}

/// Returns 1 unless the set is empty.
pub fn any_square(set: u64) -> i32 {
    i32::from(set != 0)
}

pub fn shift_east(set: u64) -> u64 {
    (set & !FILE_H) << 1
}

pub fn shift_west(set: u64) -> u64 {
    (set & !FILE_A) >> 1
}

pub fn shift_sideways(set: u64) -> u64 {
    shift_east(set) | shift_west(set)
}

pub fn pawn_attacks(pawns: u64) -> u64 {
    shift_sideways(pawns) << 8
}

pub fn file_of(square: u32) -> usize {
    (square & 7) as usize
}

/// Returns the rank of a square, 0 to 7.
pub fn rank_of(square: u32) -> usize {
    (square >> 3) as usize
}

/// Returns the index of a square's rank on an axis of ranks 2 to 7.
pub fn pawn_rank(square: u32) -> usize {
    rank_of(square).saturating_sub(1)
}

pub fn file_squares(file: usize) -> u64 {
    FILE_A << file
}

pub fn ranks_above(square: u32) -> u64 {
    // Shifted twice, since a shift by 64 bits overflows.
    !0 << (square & 56) << 8
}

/// Returns the distance of two squares in king moves.
pub fn king_distance(a: u32, b: u32) -> usize {
    file_of(a).abs_diff(file_of(b)).max(rank_of(a).abs_diff(rank_of(b)))
}

pub fn knight_attacks(square: u32) -> u64 {
    attacks::knight_attacks(Square::new(square)).into()
}

pub fn bishop_attacks(square: u32, occupied: u64) -> u64 {
    attacks::bishop_attacks(Square::new(square), Bitboard(occupied)).into()
}

pub fn rook_attacks(square: u32, occupied: u64) -> u64 {
    attacks::rook_attacks(Square::new(square), Bitboard(occupied)).into()
}

pub fn king_attacks(square: u32) -> u64 {
    attacks::king_attacks(Square::new(square)).into()
}

/// Returns the squares in front on the same file.
pub fn squares_ahead(square: u32) -> u64 {
    file_squares(file_of(square)) & ranks_above(square)
}

/// Returns the two files beside the square's; one at the edge.
pub fn beside_file(square: u32) -> u64 {
    shift_sideways(file_squares(file_of(square)))
}

pub fn is_outpost(square: u32, enemy_pawns: u64) -> bool {
    (3..6).contains(&rank_of(square))
        && enemy_pawns & beside_file(square) & ranks_above(square) == 0
}

/// Returns 1 on files c to f, 0 on others.
pub fn is_central(square: u32) -> usize {
    usize::from((2..6).contains(&file_of(square)))
}

/// Returns the closedness, 0 to 8: half the pawns, +2 per rammed pair, -2 per file without pawns.
pub fn pawn_closedness(up: u64, down: u64) -> usize {
    let pawns = up | down;
    let rammed = count_squares((up << 8) & down);
    let open = (0..8).filter(|i| pawns & file_squares(*i) == 0).count() as i32;
    (count_squares(pawns) / 2 + 2 * rammed - 2 * open).clamp(0, 8) as usize
}
