//! Positions to handcrafted terms: one evaluation, written once, for engines and for training.
//!
//! [`evaluate`] names every term of a position to a [`Sink`]. [`HceEvaluator`] adds up weights,
//! [`Trace`] counts how often each term applies, for training. The law that ties them: the trace
//! times the weights gives the evaluation.
//!
//! A new term is a row in [`terms::GROUPS`] and a line in its part of the evaluation; names,
//! start values, files and tensors follow from the row.

mod centre;
mod encode;
mod evaluate;
mod evaluator;
mod hold;
mod json;
mod phase;
mod scale;
mod sink;
mod tally;
pub mod terms;
mod trace;
mod tree;
mod weights;

pub use centre::{Moved, wings};
pub use encode::Coding;
pub use evaluate::evaluate;
pub use evaluator::HceEvaluator;
pub use hold::hold;
pub use json::HceFileError;
pub use phase::Phase;
pub use sink::{Only, Sink};
pub use tally::Tally;
pub use terms::{Group, Part, Parts, Term};
pub use trace::Trace;
pub use weights::HceWeights;
