//! Which evaluation is better, and by how much, from numbers alone: [`compare()`] fits to each its
//! own scale and measures losses, [`deep()`] adds phases, calibration, disagreements and the cost
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
pub use deep::{DeepComparison, deep};
pub use estimate::{MoveComparison, compare_moves};
pub use fit::{MatchError, MatchedScale, match_scale};
pub use fitted::{part, sums};
pub use table::{NO_BREAK, Table, WIDTH, lines, wrap, wrap_all};
