//! Pictures and pages of numbers: charts, boards, neurons, and HTML that stands alone.
//!
//! Knows numbers and words, nothing of chess beyond the names of squares. Everything shows in a
//! light and a dark theme, needs no network, and can be printed.

pub mod board;
pub mod chart;
pub mod colour;
pub mod page;
pub mod sprite;

pub use chart::{Chart, Line};
pub use page::{Section, page};
