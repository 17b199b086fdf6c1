//! Positions to handcrafted terms: one evaluation, written once, for engines and for training.
//!
//! [`evaluate`] names every term of a position to a [`Sink`]. [`Score`] adds up integer weights
//! as an engine does, [`Trace`] counts how often each term applies, for training. The law that
//! ties them: the trace times the weights gives the score.
//!
//! A new term is a row in [`terms::GROUPS`] and a line in [`evaluate`]; names, start values,
//! files and tensors follow from the row.

mod encode;
mod evaluate;
mod fast;
mod json;
mod phase;
mod sink;
pub mod terms;
mod weights;

pub use encode::encode;
pub use evaluate::evaluate;
pub use fast::Evaluator;
pub use json::HceFileError;
pub use phase::Phase;
pub use sink::{Score, Sink, Trace};
pub use terms::{Group, Kind, Term};
pub use weights::HceWeights;
