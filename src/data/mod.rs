//! Data before training: selection, order, and facts that formats lose.

pub mod doctor;
pub mod extract;
mod record;
pub mod shuffle;
pub mod stats;

pub use record::{PACKED_BYTES, is_storable, lost_facts, pack_sample, unpack_sample};
