//! Evaluations of engines for single positions: handcrafted terms, the integers of a net, or a net
//! that corrects another evaluation. `search` updates the same values along moves.

use std::sync::Arc;

use rayon::prelude::*;

use crate::hce::{HceEvaluator, HceWeights};
use crate::net::{Net, PositionEvaluator};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};
use crate::score::Score;

/// An evaluation of positions, cheap to clone.
#[derive(Clone, Debug)]
pub enum Evaluation {
    Terms(Arc<HceEvaluator>),
    Net(Arc<Net>),
    /// A net and its base evaluation, to which its centipawns are added.
    Sum(Arc<Net>, Arc<Evaluation>),
}

/// The number of positions that a thread evaluates at a time.
const BLOCK: usize = 128;

impl Evaluation {
    /// Makes an evaluation of weights in centipawns.
    ///
    /// # Panics
    ///
    /// Panics for terms of another engine: see [`HceWeights::is_ours`].
    pub fn from_terms(weights: &HceWeights) -> Self {
        Self::Terms(Arc::new(HceEvaluator::new(weights)))
    }

    /// An evaluation by a net, added to a base evaluation if there is one.
    pub fn from_net(net: Net, base: Option<Evaluation>) -> Self {
        match base {
            None => Self::Net(Arc::new(net)),
            Some(base) => Self::Sum(Arc::new(net), Arc::new(base)),
        }
    }

    /// Evaluates for the side to move in centipawns; terms are rounded half away from 0, sums saturate.
    pub fn evaluate(&self, position: &Position) -> i32 {
        match self {
            Self::Terms(terms) => terms.evaluate(position).round() as i32,
            Self::Net(net) => net.evaluate(position),
            Self::Sum(net, base) => net.evaluate(position).saturating_add(base.evaluate(position)),
        }
    }

    /// Evaluates as [`Evaluation::evaluate`] does, but does not round values of terms alone.
    pub fn evaluate_exactly(&self, position: &Position) -> f64 {
        match self {
            Self::Terms(terms) => terms.evaluate(position),
            _ => self.evaluate(position).into(),
        }
    }

    /// Calls [`Evaluation::evaluate`] for many positions, in their order, on all cores.
    pub fn evaluate_all(&self, positions: &[Position]) -> Vec<i32> {
        let blocks = positions.par_chunks(BLOCK);
        blocks
            .map_init(
                || self.to_evaluator(),
                |evaluate, block| block.iter().map(&mut *evaluate).collect::<Vec<i32>>(),
            )
            .flatten_iter()
            .collect()
    }

    /// Replaces the scores of samples by their values, on all cores.
    pub fn label_samples(&self, samples: &mut [Sample]) {
        let positions: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
        for (sample, value) in samples.iter_mut().zip(self.evaluate_all(&positions)) {
            sample.score = Some(Score::Centipawns(value).to_centipawns());
        }
    }

    /// Returns a function for successive positions; nets reuse the accumulators of earlier ones.
    fn to_evaluator(&self) -> Box<dyn FnMut(&Position) -> i32 + '_> {
        match self {
            Self::Terms(_) => Box::new(|position| self.evaluate(position)),
            Self::Net(net) => {
                let mut net = PositionEvaluator::new(net);
                Box::new(move |position| net.evaluate(position))
            }
            Self::Sum(net, base) => {
                let mut net = PositionEvaluator::new(net);
                let mut base = base.to_evaluator();
                Box::new(move |position| net.evaluate(position).saturating_add(base(position)))
            }
        }
    }

    /// Whether the colours of the pieces are needed, and not boards flipped to the side to move.
    pub fn needs_colours(&self) -> bool {
        let is_white = |net: &Net| {
            net.architecture().inputs.perspectives.point_of_view() == PointOfView::White
        };
        match self {
            Self::Terms(_) => false,
            Self::Net(net) => is_white(net),
            Self::Sum(net, base) => is_white(net) || base.needs_colours(),
        }
    }
}
