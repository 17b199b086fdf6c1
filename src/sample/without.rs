//! A position with one piece taken off the board: what the piece is worth to an evaluation.

use shakmaty::{Bitboard, Role, Square, attacks};

use super::{NO_EP, Position};

impl Position {
    /// The same position without the piece on a square; None where no piece stands, or a king.
    ///
    /// Side to move and counters stay. A rook takes its castling right with it. The en passant
    /// square stays where the pawn that may be taken and one that may take it are both there. The
    /// result is for evaluations and need not be legal: without the piece that stood between, the
    /// side that just moved may be in check.
    pub fn without(&self, square: Square) -> Option<Self> {
        let piece = self.pieces().find(|piece| piece.square == square)?;
        if piece.role == Role::King {
            return None;
        }
        let bit = 1u64 << square as u32;
        let nibbles = u128::from_le_bytes(self.nibbles);
        let below = (1u128 << (4 * (self.occupied & (bit - 1)).count_ones())) - 1;
        let nibbles = nibbles & below | nibbles >> 4 & !below;
        let (occupied, nibbles) = (self.occupied & !bit, nibbles.to_le_bytes());
        let mut rest = Self { occupied, nibbles, ..*self };
        if rest.ep_square().is_some_and(|target| !rest.takes_en_passant(target)) {
            rest.turn_ep = rest.turn_ep & 128 | NO_EP;
        }
        Some(rest)
    }

    /// Whether a pawn stands in front of an en passant square, and one that attacks the square.
    fn takes_en_passant(&self, target: Square) -> bool {
        let turn = self.turn();
        let [white, black] = self.bitboards().map(|roles| Bitboard(roles[0]));
        let [own, other] = turn.fold_wb([white, black], [black, white]);
        let moved = target.offset(turn.fold_wb(-8, 8));
        moved.is_some_and(|moved| other.contains(moved))
            && (attacks::pawn_attacks(turn.other(), target) & own).any()
    }
}
