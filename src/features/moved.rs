//! The pieces that a move adds and removes.

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use crate::sample::Piece;

/// Pieces that a move adds and removes, at most two each ("dirty pieces").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyPieces {
    added: [Piece; 2],
    /// Number of pieces in `added`, 1 or 2.
    adds: usize,
    removed: [Piece; 2],
    /// Number of pieces in `removed`, 1 or 2.
    removes: usize,
    /// Target and origin of the moving side's king, if it moves.
    pub(super) king: Option<[Square; 2]>,
    pub(super) turn: Color,
}

impl DirtyPieces {
    /// Changes by a legal move, castling in Chess960 included.
    pub fn of(turn: Color, played: &Move) -> Self {
        let piece = |role, square| Piece { square, color: turn, role, castles: false };
        let other = |role, square| Piece { square, color: !turn, role, castles: false };
        let none = piece(Role::Pawn, Square::A1);
        let mut moved =
            Self { added: [none; 2], adds: 0, removed: [none; 2], removes: 0, king: None, turn };
        match *played {
            Move::Normal { role, from, capture, to, promotion } => {
                moved.remove(piece(role, from));
                if let Some(captured) = capture {
                    moved.remove(other(captured, to));
                }
                moved.add(piece(promotion.unwrap_or(role), to));
                moved.king = (role == Role::King).then_some([from, to]);
            }
            Move::EnPassant { from, to } => {
                moved.remove(piece(Role::Pawn, from));
                moved.remove(other(Role::Pawn, Square::from_coords(to.file(), from.rank())));
                moved.add(piece(Role::Pawn, to));
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_queen_side(rook < king);
                let (king_to, rook_to) = (
                    Square::from_coords(side.king_to_file(), king.rank()),
                    Square::from_coords(side.rook_to_file(), rook.rank()),
                );
                moved.remove(piece(Role::King, king));
                moved.remove(piece(Role::Rook, rook));
                moved.add(piece(Role::King, king_to));
                moved.add(piece(Role::Rook, rook_to));
                moved.king = Some([king, king_to]);
            }
            Move::Put { role, to } => moved.add(piece(role, to)),
        }
        moved
    }

    fn add(&mut self, piece: Piece) {
        self.added[self.adds] = piece;
        self.adds += 1;
    }

    fn remove(&mut self, piece: Piece) {
        self.removed[self.removes] = piece;
        self.removes += 1;
    }

    /// Whether a side's king crosses between files a to d and e to h.
    pub fn mirrors(&self, color: Color) -> bool {
        let is_right = |square: Square| square as usize & 4 != 0;
        self.turn == color && self.king.is_some_and(|[from, to]| is_right(from) != is_right(to))
    }

    /// The pieces on their new squares.
    pub fn added(&self) -> &[Piece] {
        &self.added[..self.adds]
    }

    /// The pieces on the squares that they leave, including a captured one.
    pub fn removed(&self) -> &[Piece] {
        &self.removed[..self.removes]
    }
}
