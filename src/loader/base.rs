//! What a net is added to.

use rayon::prelude::*;

use super::packed::Packed;
use crate::hce::HceEvaluator;
use crate::sample::Position;

/// An evaluation whose centipawns are added to those of a net, and that stays as it is.
#[derive(Clone, Debug)]
pub struct Base {
    evaluator: HceEvaluator,
    /// Centipawns a logit: those of the net.
    scale: f64,
}

impl Base {
    pub fn new(evaluator: HceEvaluator, scale: f64) -> Self {
        Self { evaluator, scale }
    }

    pub fn evaluator(&self) -> &HceEvaluator {
        &self.evaluator
    }

    /// Whole centipawns for the side to move, as searches add them up; halves are rounded away from
    /// zero.
    pub fn value(&self, position: &Position) -> i32 {
        self.evaluator.evaluate(position).round() as i32
    }

    /// The same as a logit.
    pub fn logit(&self, position: &Position) -> f32 {
        (f64::from(self.value(position)) / self.scale) as f32
    }

    /// Those of records.
    pub(super) fn logits(&self, records: &[Packed]) -> Vec<f32> {
        records.par_iter().with_min_len(64).map(|it| self.logit(&it.position())).collect()
    }
}
