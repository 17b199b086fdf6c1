//! From files to batches.

pub mod chunks;
pub mod first_views;
pub mod held_out;
pub mod pairs;
pub mod passes;
pub mod plans;
pub mod share;
pub mod strips;
