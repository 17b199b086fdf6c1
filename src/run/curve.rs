//! A learning curve: runs on shares of the games, with several sizes of a net.

mod measure;
mod member;

pub use measure::{Basis, Curve, MeasuredRun, OverData};
pub use member::{Member, Points, members};
