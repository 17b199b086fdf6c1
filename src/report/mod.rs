//! Which evaluation is better, and by how much. Sees numbers, never models.
//!
//! [`compare()`] takes the centipawns of several evaluations for the same positions, fits to each
//! its own scale, measures the loss, and says how sure the difference is. [`fit`] is the
//! scale, [`estimate`] the intervals, [`Table`] the output. [`deep()`] looks further: at [`slices`],
//! [`calibration`], where evaluations [`disagree`], and what integers cost ([`gap`]).
//! [`seeds`] compares means over seeds, [`elo`] is what the games of a match tell,
//! [`games`] sets that beside the losses.

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
pub mod gap;
pub mod groups;
pub mod html;
pub mod match_scale;
pub mod opinion;
pub mod predictions;
pub mod reach;
pub mod seeds;
mod shards;
pub mod slices;
mod table;
pub mod terms;
mod text;
mod verdict;

pub use compare::{Comparison, compare};
pub use deep::{Deep, Depth, deep};
pub use fitted::{Sums, errors, sums};
pub use found::{Found, found};
pub use games::{Games, Played};
pub use match_scale::{MatchError, Matched, Pairs, match_scale};
pub use opinion::{Opinion, opinions, worths};
pub use predictions::{Options, Predictions, Truth, Values};
pub use slices::Attributes;
pub use table::{Align, Table, cut, signed, tenths};
pub use text::wrap;
