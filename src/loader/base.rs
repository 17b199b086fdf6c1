//! Evaluations that nets correct.

use crate::evaluation::Evaluation;
use crate::sample::Position;

/// Fixed evaluation whose logits are added to those of a net in training.
#[derive(Clone, Debug)]
pub struct Base {
    pub evaluation: Evaluation,
    /// Centipawns per logit of the net.
    pub scale: f64,
}

impl Base {
    pub fn base_logit(&self, position: &Position) -> f32 {
        (f64::from(self.evaluation.evaluate(position)) / self.scale) as f32
    }
}
