//! The dimensions of groups of terms.

use shakmaty::Square;

/// One dimension of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// a1 = 0 to h8 = 63, seen by White; Black's pieces stand on the square flipped top to bottom.
    Squares,
    /// Named places.
    Words(&'static [&'static str]),
    /// So many whole numbers from the first on, the last standing for all above it too.
    Numbers { first: usize, len: usize },
}

/// Pawn to queen: a king is never off the board, so it has no material value.
pub const WITH_PAWNS: Axis = Axis::Words(&["pawn", "knight", "bishop", "rook", "queen"]);
/// Pawn to king.
pub const ROLES: Axis = Axis::Words(&["pawn", "knight", "bishop", "rook", "queen", "king"]);
/// Knight to queen.
pub const PIECES: Axis = Axis::Words(&["knight", "bishop", "rook", "queen"]);
pub const FILES: Axis = Axis::Words(&["a", "b", "c", "d", "e", "f", "g", "h"]);
/// Files by their distance to the edge: `a` stands for a and h.
pub const EDGES: Axis = Axis::Words(&["a", "b", "c", "d"]);
/// The ranks that pawns stand on, counted from their own side.
pub const RANKS: Axis = Axis::Numbers { first: 2, len: 6 };
/// The rank of the pawn that is nearest, if there is one.
pub const NEAREST: Axis = Axis::Words(&["none", "2", "3", "4", "5", "6", "7"]);

impl Axis {
    /// From zero to the largest, so many places in all.
    pub const fn from_zero(len: usize) -> Axis {
        Axis::Numbers { first: 0, len }
    }

    pub const fn len(self) -> usize {
        match self {
            Axis::Squares => 64,
            Axis::Words(words) => words.len(),
            Axis::Numbers { len, .. } => len,
        }
    }

    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The name of a place on the axis, `place < self.len()`.
    pub fn label(self, place: usize) -> String {
        match self {
            Axis::Squares => Square::new(place as u32).to_string(),
            Axis::Words(words) => words[place].to_string(),
            Axis::Numbers { first, .. } => (first + place).to_string(),
        }
    }
}
