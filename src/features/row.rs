//! The number of the row that a piece switches on.
//!
//! Source of the 768: the founding wiki page "Training a Neural Network for Chess" and the engines
//! in use; of king buckets and mirrored views: the engines in use.

use shakmaty::{Color, Square};

use crate::architecture::{Inputs, PIECES};
use crate::sample::Piece;

impl Inputs {
    /// The row that a piece switches on in the view of one colour, whose own king stands on a
    /// square; 0 to `self.rows() - 1`.
    pub fn row(&self, view: Color, king: Square, piece: Piece) -> usize {
        let (turned, bucket) = self.kings.seen(seen(view, king));
        // The square is in the lowest bits.
        PIECES * bucket + (index(view, piece) ^ turned)
    }
}

/// The input that a piece switches on in the view of one colour, 0 to 767, before king buckets and
/// mirroring.
///
/// The one place where the index is computed.
pub const fn index(view: Color, piece: Piece) -> usize {
    let other =
        !matches!((view, piece.color), (Color::White, Color::White) | (Color::Black, Color::Black));
    384 * other as usize + 64 * (piece.role as usize - 1) + seen(view, piece.square)
}

/// A square as the view of a colour has it, a1 = 0.
pub(super) const fn seen(view: Color, square: Square) -> usize {
    square as usize ^ if matches!(view, Color::White) { 0 } else { 56 }
}
