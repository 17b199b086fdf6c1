//! Which evaluation is better, and by how much, from numbers alone.
//!
//! [`compare()`] takes the centipawns of several evaluations for the same positions, fits to each
//! its own scale, measures the loss, and says how sure the difference is. [`fit`] is the scale,
//! [`estimate`] the intervals, [`Table`] the output. [`deep()`] adds losses by phase, calibration,
//! disagreements and the cost of quantising. [`seeds`] compares over seeds of training, [`elo`]
//! rates the games of a match, [`games`] sets Elo beside the losses.

pub mod board;
pub mod calibration;
pub mod chance;
pub mod compare;
pub mod deep;
pub mod disagree;
pub mod elo;
pub mod estimate;
pub mod fit;
mod fitted;
pub mod found;
pub mod games;
pub mod html;
pub mod seeds;
mod table;
pub mod terms;

pub use compare::{Comparison, compare};
pub use compare::{Options, Predictions, Truth, Values};
pub use deep::{Deep, Depth, deep};
pub use fit::{MatchError, Matched, Pairs, match_scale};
pub use fitted::{Sums, part, sums};
pub use found::{Found, found};
pub use games::{Games, Played};
pub use table::{Align, Table};
pub use table::{cut, signed, tenths, wrap};
