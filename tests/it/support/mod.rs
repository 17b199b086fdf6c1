//! Helpers: the program, positions, nets, what tests need.

pub mod fake_engine;
pub mod games;
pub mod kit;
pub mod largest;
pub mod listed_rows;
pub mod need;
pub mod net_shapes;
pub mod playouts;
pub mod program;
pub mod random_nets;
pub mod term_positions;
