//! The rules, asked of packed positions in little time.
//!
//! [`Position::to_chess`] asks them all, but building its board takes longer than reading a
//! record; here only what records of 32 bytes get wrong is asked.

use shakmaty::{Bitboard, Color, Square, attacks};

use crate::sample::Position;

/// The pieces of a position as bitboards, by nibble: role, + 8 Black's, 6 = a rook that may castle.
pub struct Boards {
    by_nibble: [Bitboard; 16],
    occupied: Bitboard,
}

impl Boards {
    pub fn new(position: &Position) -> Self {
        let mut by_nibble = [0u64; 16];
        let mut nibbles = u128::from_le_bytes(position.nibbles());
        let mut rest = position.occupied();
        while rest != 0 {
            by_nibble[(nibbles & 15) as usize] |= rest & rest.wrapping_neg();
            rest &= rest - 1;
            nibbles >>= 4;
        }
        Self { by_nibble: by_nibble.map(Bitboard), occupied: Bitboard(position.occupied()) }
    }

    pub fn of(&self, color: Color, nibble: usize) -> Bitboard {
        self.by_nibble[nibble + 8 * usize::from(color.is_black())]
    }

    /// Rooks that may castle, of both sides.
    pub fn castling(&self) -> Bitboard {
        self.by_nibble[6] | self.by_nibble[14]
    }

    pub fn kings(&self, color: Color) -> Bitboard {
        self.of(color, 5)
    }

    /// The king of a side that has one.
    pub fn king(&self, color: Color) -> Option<Square> {
        self.kings(color).single_square()
    }

    /// Whether a piece of this side attacks the square.
    pub fn attacks(&self, color: Color, square: Square) -> bool {
        let queens = self.of(color, 4);
        let rooks = self.of(color, 3) | self.of(color, 6) | queens;
        let near = attacks::pawn_attacks(!color, square) & self.of(color, 0)
            | attacks::knight_attacks(square) & self.of(color, 1)
            | attacks::king_attacks(square) & self.of(color, 5);
        near.any()
            || (attacks::bishop_attacks(square, self.occupied) & (self.of(color, 2) | queens)).any()
            || (attacks::rook_attacks(square, self.occupied) & rooks).any()
    }

    /// One king a side, no pawn on a back rank, and the side that just moved not in check.
    pub fn check(&self, turn: Color) -> Result<(), String> {
        let king = |color: Color| {
            let whose = if color.is_white() { "White" } else { "Black" };
            let count = self.kings(color).count();
            self.king(color).ok_or_else(|| format!("{whose} has {count} kings, expected 1"))
        };
        king(turn)?;
        let theirs = king(!turn)?;
        if ((self.of(Color::White, 0) | self.of(Color::Black, 0)) & Bitboard::BACKRANKS).any() {
            return Err("a pawn stands on the first or last rank".to_string());
        }
        if self.attacks(turn, theirs) {
            return Err("the side that just moved is in check".to_string());
        }
        Ok(())
    }

    /// Whether every rook that may castle stands on the back rank of its king, the only one on
    /// its side of him.
    fn castling_is_plain(&self) -> bool {
        Color::ALL.into_iter().all(|color| {
            let rooks = self.of(color, 6);
            if rooks.is_empty() {
                return true;
            }
            let Some(king) = self.of(color, 5).single_square() else { return false };
            let rank = Bitboard::from_rank(color.backrank());
            let right = rooks & Bitboard(u64::MAX << king as u32);
            rank.contains(king)
                && rank.is_superset(rooks)
                && right.count() <= 1
                && (rooks ^ right).count() <= 1
        })
    }
}

/// A sound position with castling rights and en passant square that the board bears out; those
/// that it contradicts are dropped.
pub fn sound(position: Position) -> Result<Position, String> {
    let boards = Boards::new(&position);
    boards.check(position.turn())?;
    if position.ep_square().is_none() && boards.castling_is_plain() {
        return Ok(position);
    }
    let chess = position.to_chess().map_err(|error| error.to_string())?;
    Ok(Position::from_chess(&chess))
}
