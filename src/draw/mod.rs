//! Pictures and pages of numbers: charts, boards, neurons, and self-contained HTML. Only the names
//! of squares and pieces depend on chess. Pages work in light and dark, offline, and on paper.

pub mod board;
pub mod chart;
pub mod colour;
pub mod page;
pub mod sprite;

pub use chart::{Chart, ChartLine};
pub use page::{Section, page};
