//! Runs and comparisons as sections of a page.

mod curves;
mod deep;
mod run;
mod settings;
mod table;
mod verdict;

pub use curves::curves;
pub use deep::{calibration, disagreements, gaps, slices};
pub use run::{Row, Run};
pub use settings::settings;
pub use verdict::verdict;
