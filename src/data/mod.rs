//! Data before training: what of it to learn from, in which order, and what a format loses of it.

pub mod doctor;
pub mod extract;
mod record;
pub mod shuffle;
pub mod stats;

pub use record::{Record, fits, lost};
