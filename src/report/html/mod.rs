//! Runs and comparisons as sections of a page.

mod cast;
mod curves;
mod deep;
mod games;
mod lead;
mod run;
mod settings;
mod table;
mod verdict;

pub use cast::Cast;
pub use curves::curves;
pub use deep::{calibration, disagreements, gaps, slices};
pub use games::games;
pub use lead::{lead, trained};
pub use run::Run;
pub use settings::settings;
pub use verdict::verdict;
