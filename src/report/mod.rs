//! Which evaluation is better, and by how much. Sees numbers, never models.
//!
//! [`compare()`] takes the centipawns of several evaluations for the same positions, fits to each
//! its own scale, measures the loss, and says how sure the difference is. [`fit`] is the
//! scale, [`bootstrap`] the intervals, [`Table`] the output.

pub mod before_after;
pub mod bootstrap;
pub mod compare;
pub mod fit;
mod shards;
pub mod summary;
mod table;
mod text;

pub use compare::{Comparison, Evaluation, Options, Truth, Values, compare};
pub use table::{Align, Table};
