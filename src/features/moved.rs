//! The pieces that a move adds and removes.

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use crate::sample::Piece;

/// Pieces that a move adds and removes, at most two each ("dirty pieces").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyPieces {
    /// The pieces on their new squares.
    pub added: [Option<Piece>; 2],
    /// The pieces on the squares that they leave, including a captured one.
    pub removed: [Option<Piece>; 2],
    /// Origin and target of the moving side's king, if it moves.
    pub(super) king: Option<[Square; 2]>,
    pub(super) turn: Color,
}

impl DirtyPieces {
    /// Changes by a legal move, castling in Chess960 included.
    pub fn from_move(turn: Color, played: &Move) -> Self {
        let piece = |role, square| Some(Piece { square, color: turn, role, castles: false });
        let other = |role, square| Some(Piece { square, color: !turn, role, castles: false });
        let (removed, added, king) = match *played {
            Move::Normal { role, from, capture, to, promotion } => (
                [piece(role, from), capture.and_then(|captured| other(captured, to))],
                [piece(promotion.unwrap_or(role), to), None],
                (role == Role::King).then_some([from, to]),
            ),
            Move::EnPassant { from, to } => {
                let captured = Square::from_coords(to.file(), from.rank());
                let removed = [piece(Role::Pawn, from), other(Role::Pawn, captured)];
                (removed, [piece(Role::Pawn, to), None], None)
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_queen_side(rook < king);
                let [king_to, rook_to] = [side.king_to_file(), side.rook_to_file()]
                    .map(|file| Square::from_coords(file, king.rank()));
                let removed = [piece(Role::King, king), piece(Role::Rook, rook)];
                let added = [piece(Role::King, king_to), piece(Role::Rook, rook_to)];
                (removed, added, Some([king, king_to]))
            }
            Move::Put { role, to } => ([None; 2], [piece(role, to), None], None),
        };
        Self { added, removed, king, turn }
    }

    /// Whether a side's king crosses between files a to d and e to h.
    pub fn changes_mirror(&self, color: Color) -> bool {
        let is_right = |square: Square| square as usize & 4 != 0;
        self.turn == color && self.king.is_some_and(|[from, to]| is_right(from) != is_right(to))
    }
}
