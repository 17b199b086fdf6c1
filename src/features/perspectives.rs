//! The perspectives of a net's accumulators.

use serde::{Deserialize, Serialize};

use crate::point_of_view::PointOfView;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Perspectives {
    /// White's perspective: 64 * piece + square, white pawn 0... black king 11, a1 = 0.
    Plain,
    /// The side to move's perspective: own pieces 0..383, enemy 384..767, squares xor 56 for Black.
    SideToMove,
    /// The side to move's perspective, then the other side's, with shared weights.
    Perspective,
}

words!(Perspectives: Plain = "plain", SideToMove = "side-to-move", Perspective = "perspective");

impl Perspectives {
    pub fn count(self) -> usize {
        if self == Perspectives::Perspective { 2 } else { 1 }
    }

    pub fn point_of_view(self) -> PointOfView {
        if self == Perspectives::Plain { PointOfView::White } else { PointOfView::SideToMove }
    }
}
