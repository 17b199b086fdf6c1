//! Fixed evaluations to which a net is added.

use std::sync::Arc;

use crate::hce::HceEvaluator;
use crate::net::Net;
use crate::point_of_view::PointOfView;
use crate::sample::Position;

#[derive(Clone, Debug)]
pub enum BaseEvaluation {
    Terms(HceEvaluator),
    Net(Arc<Net>),
}

/// Base evaluation whose centipawns are added to a net's, and which stays fixed.
#[derive(Clone, Debug)]
pub struct Base {
    pub below: BaseEvaluation,
    /// Centipawns per logit of the net.
    pub scale: f64,
}

impl Base {
    /// Whether it needs the colours of the pieces: boards flipped to the side to move will not do.
    pub fn needs_colours(&self) -> bool {
        match &self.below {
            BaseEvaluation::Terms(_) => false,
            BaseEvaluation::Net(net) => {
                net.architecture().inputs.views.point_of_view() == PointOfView::White
            }
        }
    }

    /// Integer centipawns for the side to move, as in searches; halves are rounded away from 0.
    pub fn value(&self, position: &Position) -> i32 {
        match &self.below {
            BaseEvaluation::Terms(terms) => terms.evaluate(position).round() as i32,
            BaseEvaluation::Net(net) => net.evaluate(position),
        }
    }

    pub fn logit(&self, position: &Position) -> f32 {
        (f64::from(self.value(position)) / self.scale) as f32
    }
}
