//! Points of view of scores, results and evaluations.

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::Color;

/// The side from whose point of view a value is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointOfView {
    White,
    SideToMove,
}

words!(PointOfView: White = "white", SideToMove = "side-to-move");

impl PointOfView {
    /// The sign that converts a value of the side to move to this point of view.
    pub fn sign_for(self, turn: Color) -> i32 {
        if self == PointOfView::White && turn.is_black() { -1 } else { 1 }
    }

    pub fn opposite(self) -> Self {
        match self {
            PointOfView::White => PointOfView::SideToMove,
            PointOfView::SideToMove => PointOfView::White,
        }
    }
}

impl fmt::Display for PointOfView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PointOfView::White => "White",
            PointOfView::SideToMove => "the side to move",
        })
    }
}
