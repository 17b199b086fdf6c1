//! Samples to batches.

use rayon::prelude::*;

use crate::batch::{Active, Batch, Inputs, Terms};
use crate::features::{Features, MAX_ACTIVE, PointOfView};
use crate::hce;
use crate::sample::{Position, Sample};

/// What a model wants to see of a position.
#[derive(Clone, Copy, Debug)]
pub enum Encoder {
    Features(&'static Features),
    /// Handcrafted terms.
    Hce,
}

impl Encoder {
    pub fn point_of_view(self) -> PointOfView {
        match self {
            Encoder::Features(features) => features.point_of_view,
            Encoder::Hce => PointOfView::White,
        }
    }

    /// +1, or -1 where the model sees with the other side's eyes than the side to move.
    pub fn sign(self, position: &Position) -> i32 {
        let flips = self.point_of_view() == PointOfView::White && position.turn().is_black();
        if flips { -1 } else { 1 }
    }

    /// Whether boards that were turned to the side to move will do. The handcrafted terms are
    /// the same for both colours, so that a turned board has the same evaluation.
    pub fn needs_colours(self) -> bool {
        matches!(self, Encoder::Features(features) if features.point_of_view == PointOfView::White)
    }

    /// Encodes a batch. Scores are left out unless every sample has one.
    pub fn encode(self, samples: &[Sample]) -> Batch {
        let flips = |sample: &Sample| self.sign(&sample.position) < 0;
        let result =
            |sample: &Sample| if flips(sample) { 1.0 - sample.result } else { sample.result };
        let score = |sample: &Sample| {
            let score = f32::from(sample.score?);
            Some(if flips(sample) { -score } else { score })
        };
        Batch {
            inputs: self.inputs(samples),
            results: samples.iter().map(result).collect(),
            scores: samples.iter().map(score).collect::<Option<_>>().unwrap_or_default(),
            cursor: None,
        }
    }

    fn inputs(self, samples: &[Sample]) -> Inputs {
        match self {
            Encoder::Features(features) => {
                let Features { inputs, views, .. } = *features;
                let lists = views * MAX_ACTIVE;
                let mut indices = vec![0; samples.len() * lists];
                indices.par_chunks_mut(lists * 512).zip(samples.par_chunks(512)).for_each(
                    |(indices, samples)| {
                        for (out, sample) in indices.chunks_exact_mut(lists).zip(samples) {
                            features.write(&sample.position, out);
                        }
                    },
                );
                Inputs::Active(Active { inputs, views, places: MAX_ACTIVE, indices })
            }
            Encoder::Hce => {
                let mut terms = Terms::default();
                for sample in samples {
                    hce::encode(&sample.position, &mut terms);
                }
                Inputs::Terms(terms)
            }
        }
    }
}
