//! A move in 16 bits.

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Move, Position as _, Role, Square};

use super::{Position, ROLES};

/// The move played in a position, in viriformat's 16 bits: from (bits 0-5), to (6-11),
/// promotion to N, B, R, Q (12-13), kind (14-15: normal, en passant, castling as king takes own
/// rook, promotion).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played(pub NonZeroU16);

impl Played {
    pub fn from(self) -> Square {
        Square::new(u32::from(self.0.get() & 63))
    }

    pub fn to(self) -> Square {
        Square::new(u32::from(self.0.get() >> 6 & 63))
    }

    pub fn is_en_passant(self) -> bool {
        self.0.get() >> 14 == 1
    }

    pub fn is_castling(self) -> bool {
        self.0.get() >> 14 == 2
    }

    pub fn promotion(self) -> Option<Role> {
        let role = ROLES[1 + usize::from(self.0.get() >> 12 & 3)];
        (self.0.get() >> 14 == 3).then_some(role)
    }

    /// Whether the move takes a piece of the other side.
    pub fn is_capture(self, position: &Position) -> bool {
        let target = position.occupied >> self.to() as u32 & 1 == 1;
        self.is_en_passant() || target && !self.is_castling()
    }

    /// None for a drop, which chess does not have.
    pub fn from_move(played: &Move) -> Option<Self> {
        let promotion = played.promotion().map_or(0, |role| (role as u16 - 2) << 12 | 3 << 14);
        let (from, to, kind) = match *played {
            Move::Normal { from, to, .. } => (from, to, promotion),
            Move::EnPassant { from, to } => (from, to, 1 << 14),
            Move::Castle { king, rook } => (king, rook, 2 << 14),
            Move::Put { .. } => return None,
        };
        NonZeroU16::new(from as u16 | (to as u16) << 6 | kind).map(Played)
    }

    /// The move in `chess`, if it is legal there.
    pub fn legal_move(self, chess: &Chess) -> Option<Move> {
        let role = chess.board().role_at(self.from())?;
        let played = if self.is_castling() {
            Move::Castle { king: self.from(), rook: self.to() }
        } else if self.is_en_passant() {
            Move::EnPassant { from: self.from(), to: self.to() }
        } else {
            let capture = chess.board().role_at(self.to());
            let (from, to, promotion) = (self.from(), self.to(), self.promotion());
            Move::Normal { role, from, capture, to, promotion }
        };
        chess.is_legal(played).then_some(played)
    }
}
