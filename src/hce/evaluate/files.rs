//! Files, and the parts of them before and beside a piece that moves up.

use super::squares::*;

/// The squares in front on the same file.
pub fn ahead(square: u32) -> u64 {
    file(file_of(square)) & above(square)
}

/// The two files beside the square's, one at the edge.
pub fn beside_file(square: u32) -> u64 {
    beside(file(file_of(square)))
}

/// Whether no enemy pawn can ever attack the square.
pub fn is_outpost(square: u32, enemy_pawns: u64) -> bool {
    (3..6).contains(&rank_of(square)) && enemy_pawns & beside_file(square) & above(square) == 0
}

/// 1 on files c to f, 0 outside.
pub fn central(square: u32) -> usize {
    usize::from((2..6).contains(&file_of(square)))
}
