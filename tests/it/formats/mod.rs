//! Files of positions.

pub mod binpack;
pub mod doctor;
pub mod extract;
pub mod fen;
pub mod file_blocks;
pub mod fuzz;
pub mod marlin;
pub mod openings;
pub mod packed;
pub mod pgn;
pub mod planes;
pub mod registry;
pub mod sources;
pub mod text;
pub mod tools;
pub mod trace;
pub mod view;
pub mod whole_games;
