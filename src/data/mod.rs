//! Data before training: selection, order, and losses of a format.

pub mod doctor;
pub mod extract;
mod record;
pub mod shuffle;
pub mod stats;

pub use record::{Record, is_storable, lost_facts};
