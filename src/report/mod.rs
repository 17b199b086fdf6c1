//! Comparison of evaluations from numbers alone: which one is better, and by how much.
//! [`compare()`] fits a scale to each and measures losses. [`compare_deeply()`] adds phases,
//! calibration, disagreements and the cost of quantising. [`elo`] rates games.

pub mod chance;
pub mod compare;
pub mod deep;
pub mod elo;
pub mod estimate;
pub mod fit;
mod fitted;
pub mod html;
pub mod seeds;
mod table;
pub mod terms;

pub use compare::{Comparison, PlayedGames, PositionFacts, Predictions, compare};
pub use deep::{DeepComparison, compare_deeply};
pub use fit::{MatchError, MatchedScale, match_scale};
pub use fitted::{part_of_group, squared_errors};
pub use table::{NO_BREAK, TextTable, WIDTH, join_lines, wrap_all, wrap_sentence};
