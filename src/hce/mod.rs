//! Positions to handcrafted terms: one evaluation, written once, for engines and for training.
//!
//! [`evaluate`] names every term of a position to a [`Sink`]. [`HceEvaluator`] adds up weights,
//! [`Trace`] counts how often each term applies, for training. The law that ties them: the trace
//! times the weights gives the evaluation.
//!
//! A new term is a row in [`terms::GROUPS`] and a line in its part of the evaluation; names,
//! start values, files and tensors follow from the row.

mod encode;
mod evaluate;
mod evaluator;
mod json;
mod phase;
pub mod terms;
mod trace;
mod weights;

pub use encode::{Coding, hold};
pub use evaluate::evaluate;
pub use evaluator::HceEvaluator;
pub use json::HceFileError;
pub use phase::Phase;
pub use terms::{Group, Part, Parts, Term};
pub use trace::{Only, Sink, Tally, Trace};
pub use weights::{HceWeights, Moved, wings};
