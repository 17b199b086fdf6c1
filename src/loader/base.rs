//! Evaluations that nets correct.

use crate::evaluation::Evaluation;
use crate::sample::Position;

/// An evaluation to whose logits those of a net are added in training. It stays fixed.
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
