//! Positions to the rows that their pieces switch on.
//!
//! For each view of a net, [`Inputs::write`] lists the rows of the accumulator's weights whose
//! input is one; all others are zero. [`Inputs::row`] is the one place where the number of a row is
//! computed, and [`Inputs::refreshes`] says which moves leave no row of a view as it was.

mod describe;
mod lists;
mod moved;
mod row;

pub use describe::pieces;
pub use moved::Moved;
pub use row::index;
use row::seen;

use shakmaty::{Color, Square};

use crate::architecture::{Architecture, Inputs, Views};
use crate::point_of_view::PointOfView;
use crate::sample::Position;

/// No position has more pieces than this, so no view has more active inputs.
pub const MAX_ACTIVE: usize = 32;

impl Inputs {
    /// The colours whose views these inputs are, in their order.
    pub fn views_of(&self, position: &Position) -> impl Iterator<Item = Color> {
        let turn = position.turn();
        let (first, second) = match self.views {
            Views::Plain => (Color::White, None),
            Views::SideToMove => (turn, None),
            Views::Perspective => (turn, Some(!turn)),
        };
        [Some(first), second].into_iter().flatten()
    }

    /// Which king buckets the views of a position have, as one number: positions with the same number
    /// have the same; below [`Kings::MOST`](crate::architecture::Kings::MOST) squared.
    pub fn kings_of(&self, position: &Position) -> usize {
        let buckets =
            self.views_of(position).map(|view| self.kings.seen(seen(view, king(position, view))).1);
        buckets.fold(0, |all, bucket| all * self.kings.count() + bucket)
    }

    /// Calls `each` with every active row of one view, `0 <= row < self.rows()`, straight from
    /// [`Inputs::row`].
    pub fn active(&self, position: &Position, view: usize, each: &mut dyn FnMut(usize)) {
        let color = self.views_of(position).nth(view).expect("these inputs have the view");
        let king = king(position, color);
        position.pieces().for_each(|piece| each(self.row(color, king, piece)));
    }

    /// +1, or -1 where the output of a net is the other side's advantage than that of the side to
    /// move.
    pub fn sign(&self, position: &Position) -> i32 {
        match self.views.point_of_view() {
            PointOfView::White if position.turn() == Color::Black => -1,
            _ => 1,
        }
    }
}

impl Architecture {
    /// The set of layers that judges a position.
    pub fn bucket_of(&self, position: &Position) -> usize {
        self.bucket(position.count())
    }
}

/// Where the king of a colour stands; a board without one counts as a1.
pub(crate) fn king(position: &Position, color: Color) -> Square {
    position.king(color).unwrap_or(Square::A1)
}
