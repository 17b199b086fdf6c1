//! Data before training: selection, order, and facts that formats lose.

pub mod doctor;
pub mod extract;
mod record;
pub mod shuffle;
pub mod stats;

pub use record::{Record, is_storable, lost_facts};
