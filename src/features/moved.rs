//! The pieces that a move adds and removes.

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use crate::sample::Piece;

/// The pieces that a move adds and removes, at most two each ("dirty pieces").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyPieces {
    /// The pieces on their new squares.
    pub added: [Option<Piece>; 2],
    /// The pieces on the squares that they leave, including a captured piece.
    pub removed: [Option<Piece>; 2],
    /// The origin and target of the moving side's king, if it moves.
    pub(super) king: Option<[Square; 2]>,
    pub(super) turn: Color,
}

impl DirtyPieces {
    /// The changes by a legal move, castling in Chess960 included.
    pub fn from_move(turn: Color, played: &Move) -> Self {
        let own_piece = |role, square| Some(Piece { square, color: turn, role, castles: false });
        let enemy_piece = |role, square| Some(Piece { square, color: !turn, role, castles: false });
        let (removed, added, king) = match *played {
            Move::Normal { role, from, capture, to, promotion } => (
                [own_piece(role, from), capture.and_then(|captured| enemy_piece(captured, to))],
                [own_piece(promotion.unwrap_or(role), to), None],
                (role == Role::King).then_some([from, to]),
            ),
            Move::EnPassant { from, to } => {
                let captured = Square::from_coords(to.file(), from.rank());
                let removed = [own_piece(Role::Pawn, from), enemy_piece(Role::Pawn, captured)];
                (removed, [own_piece(Role::Pawn, to), None], None)
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_queen_side(rook < king);
                let [king_to, rook_to] = [side.king_to_file(), side.rook_to_file()]
                    .map(|file| Square::from_coords(file, king.rank()));
                let removed = [own_piece(Role::King, king), own_piece(Role::Rook, rook)];
                let added = [own_piece(Role::King, king_to), own_piece(Role::Rook, rook_to)];
                (removed, added, Some([king, king_to]))
            }
            Move::Put { role, to } => ([None; 2], [own_piece(role, to), None], None),
        };
        Self { added, removed, king, turn }
    }

    /// Whether a side's king crosses between files a to d and e to h.
    pub fn changes_mirror(&self, color: Color) -> bool {
        let is_right = |square: Square| square as usize & 4 != 0;
        self.turn == color && self.king.is_some_and(|[from, to]| is_right(from) != is_right(to))
    }
}
