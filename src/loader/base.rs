//! What a net is added to.

use std::sync::Arc;

use rayon::prelude::*;

use super::packed::Packed;
use crate::hce::HceEvaluator;
use crate::net::Net;
use crate::point_of_view::PointOfView;
use crate::sample::Position;

/// What evaluates below a net.
#[derive(Clone, Debug)]
pub enum Below {
    Terms(HceEvaluator),
    /// As engines load it.
    Net(Arc<Net>),
}

impl From<HceEvaluator> for Below {
    fn from(terms: HceEvaluator) -> Self {
        Below::Terms(terms)
    }
}

impl From<Net> for Below {
    fn from(net: Net) -> Self {
        Below::Net(Arc::new(net))
    }
}

/// An evaluation whose centipawns are added to those of a net, and that stays as it is.
#[derive(Clone, Debug)]
pub struct Base {
    below: Below,
    /// Centipawns a logit: those of the net.
    scale: f64,
}

impl Base {
    pub fn new(below: impl Into<Below>, scale: f64) -> Self {
        Self { below: below.into(), scale }
    }

    pub fn below(&self) -> &Below {
        &self.below
    }

    /// Whether boards that were turned to the side to move will not do.
    pub fn needs_colours(&self) -> bool {
        match &self.below {
            Below::Terms(_) => false,
            Below::Net(net) => {
                net.architecture().inputs.views.point_of_view() == PointOfView::White
            }
        }
    }

    /// Whole centipawns for the side to move, as searches add them up; of terms halves are rounded
    /// away from zero.
    pub fn value(&self, position: &Position) -> i32 {
        match &self.below {
            Below::Terms(terms) => terms.evaluate(position).round() as i32,
            Below::Net(net) => net.evaluate(position),
        }
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
