//! The program as users and their files meet it, and the rules of the tree.

pub mod book;
pub mod config;
pub mod cures;
pub mod eval;
pub mod inputs;
pub mod keys;
pub mod options;
pub mod outputs;
pub mod own_code;
pub mod own_engine;
pub mod own_set;
pub mod reported_faults;
pub mod rows;
pub mod tidy;
