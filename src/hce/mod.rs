//! Handcrafted terms of positions. `evaluate` passes every term to a [`TermSink`]: [`HceEvaluator`]
//! adds up weights, [`Trace`] counts. The evaluation is trace times weights. A new term is a row in
//! [`terms::GROUPS`] and a line in its part of the evaluation.

mod encode;
mod evaluate;
mod evaluator;
mod json;
mod phase;
pub mod terms;
mod trace;
mod weights;

pub use encode::{Coding, freeze_terms};
pub use evaluate::{EvaluationPart, evaluate_terms};
pub use evaluator::HceEvaluator;
pub use json::HceFileError;
pub use phase::{Phase, count_phase_material};
pub use terms::Term;
pub use trace::{TermCounts, TermSink, Trace};
pub use weights::HceWeights;
