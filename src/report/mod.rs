//! Which evaluation is better, and by how much, from numbers alone: [`compare()`] fits to each its
//! own scale and measures losses, [`compare_deeply()`] adds phases, calibration, disagreements and the cost
//! of quantising, [`elo`] rates games.

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
pub use estimate::{MoveComparison, compare_moves};
pub use fit::{MatchError, MatchedScale, match_scale};
pub use fitted::{part_of_group, squared_errors};
pub use table::{NO_BREAK, TextTable, WIDTH, join_lines, wrap_all, wrap_sentence};
