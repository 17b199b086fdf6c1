//! Nets in integers, their files and engine code.

pub mod deep_nets;
pub mod engines;
pub mod export;
pub mod export_scales;
pub mod files;
pub mod fixed_point;
pub mod graphs;
pub mod integers;
pub mod merged_kings;
pub mod permute;
pub mod qat;
pub mod set_nets;
pub mod sets;
pub mod snippets;
pub mod stockfish;
