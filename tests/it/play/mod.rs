//! Engines, searches and matches.

pub mod commands;
pub mod elo;
pub mod games_of_engines;
pub mod kills_of_jobs;
pub mod labels;
pub mod match_games;
pub mod own_data;
pub mod played;
pub mod search_finds;
pub mod search_walks;
pub mod uci;
