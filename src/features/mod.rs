//! Positions to active inputs.
//!
//! A [`Features`] set lists, for each of its views, the indices of the inputs that are one; all
//! others are zero. A new set is one new file and one row in [`ALL`]; the tests loop over it.

pub mod chess768;
mod describe;

pub use describe::men;
use shakmaty::Color;

use crate::sample::Position;

/// No position has more men than this, so no view has more active inputs.
pub const MAX_ACTIVE: usize = 32;

/// Whose eyes the output of a net sees with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointOfView {
    White,
    SideToMove,
}

/// A feature set: how a position becomes one or two lists of active inputs.
#[derive(Debug)]
pub struct Features {
    /// The name in configs and manifests.
    pub name: &'static str,
    /// The convention in words, for manifests and `--help`.
    pub about: &'static str,
    /// Rows of the accumulator's weight matrix.
    pub inputs: usize,
    /// Lists a position: 1, or 2 for a perspective net (side to move first).
    pub views: usize,
    pub point_of_view: PointOfView,
    /// Writes the active inputs of all views, side by side; see [`Features::write`].
    lists: fn(&Position, &mut [u16]),
}

impl Features {
    pub fn named(name: &str) -> Option<&'static Features> {
        ALL.iter().copied().find(|features| features.name == name)
    }

    /// Writes the active inputs of all views, each padded to [`MAX_ACTIVE`] with `self.inputs`. The
    /// i-th place of a list is that of the i-th man.
    ///
    /// # Panics
    /// If `out` has not `views * 32` places.
    pub fn write(&self, position: &Position, out: &mut [u16]) {
        assert_eq!(out.len(), self.views * MAX_ACTIVE, "places for the inputs of {}", self.name);
        out.fill(self.inputs as u16);
        (self.lists)(position, out);
    }

    /// Calls `each` with every active input of one view, `0 <= input < self.inputs`.
    pub fn active(&self, position: &Position, view: usize, each: &mut dyn FnMut(usize)) {
        let mut lists = [0; 2 * MAX_ACTIVE];
        let lists = &mut lists[..self.views * MAX_ACTIVE];
        self.write(position, lists);
        let list = &lists[view * MAX_ACTIVE..][..MAX_ACTIVE];
        list.iter().map(|input| usize::from(*input)).filter(|it| *it < self.inputs).for_each(each);
    }

    /// +1, or -1 where the output of a net sees with the other side's eyes than the side to move.
    pub fn sign(&self, position: &Position) -> i32 {
        match self.point_of_view {
            PointOfView::White if position.turn() == Color::Black => -1,
            _ => 1,
        }
    }
}

/// Every feature set there is.
pub static ALL: [&Features; 3] =
    [&chess768::PLAIN, &chess768::SIDE_TO_MOVE, &chess768::PERSPECTIVE];
