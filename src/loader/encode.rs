//! Positions to batches.

use rayon::prelude::*;

use super::packed::Packed;
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

/// Some records in some order: a batch has one part, or several where windows meet.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub records: &'a [Packed],
    /// Places in `records`.
    pub order: &'a [u32],
}

/// Positions that a thread encodes at a time.
const PIECE: usize = 256;

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

    /// Whether boards that were turned to the side to move will not do. The handcrafted terms
    /// are the same for both colours, so that a turned board has the same evaluation.
    pub fn needs_colours(self) -> bool {
        matches!(self, Encoder::Features(features) if features.point_of_view == PointOfView::White)
    }

    /// Encodes samples in their order. Scores are left out unless every sample has one.
    pub fn encode(self, samples: &[Sample]) -> Batch {
        let records: Vec<Packed> = samples.iter().map(Packed::from).collect();
        let order: Vec<u32> = (0..records.len() as u32).collect();
        self.encode_parts(&[Part { records: &records, order: &order }])
    }

    /// Encodes the parts, one after the other.
    pub fn encode_parts(self, parts: &[Part]) -> Batch {
        let positions = parts.iter().map(|part| part.order.len()).sum();
        let mut results = vec![0.0; positions];
        let mut scores = vec![0.0; positions];
        let inputs = match self {
            Encoder::Features(features) => {
                Inputs::Active(self.lists(features, parts, &mut results, &mut scores))
            }
            Encoder::Hce => Inputs::Terms(self.terms(parts, &mut results, &mut scores)),
        };
        if scores.iter().any(|score| score.is_nan()) {
            scores.clear();
        }
        Batch { inputs, results, scores, cursor: None }
    }

    fn lists(
        self,
        features: &Features,
        parts: &[Part],
        mut results: &mut [f32],
        mut scores: &mut [f32],
    ) -> Active {
        let Features { inputs, views, .. } = *features;
        let lists = views * MAX_ACTIVE;
        let mut indices = vec![0; results.len() * lists];
        let mut rest = &mut indices[..];
        for Part { records, order } in parts {
            let (here, behind) = rest.split_at_mut(order.len() * lists);
            let (results_here, results_behind) = results.split_at_mut(order.len());
            let (scores_here, scores_behind) = scores.split_at_mut(order.len());
            (rest, results, scores) = (behind, results_behind, scores_behind);
            here.par_chunks_mut(lists * PIECE)
                .zip(order.par_chunks(PIECE))
                .zip(results_here.par_chunks_mut(PIECE))
                .zip(scores_here.par_chunks_mut(PIECE))
                .for_each(|(((indices, order), results), scores)| {
                    // Fetched first, one right after the other: they lie all over the memory, and
                    // the processor can wait for many at once.
                    let near: Vec<Packed> =
                        order.iter().map(|place| records[*place as usize]).collect();
                    let seen = results.iter_mut().zip(scores);
                    for ((record, out), (result, score)) in
                        near.iter().zip(indices.chunks_exact_mut(lists)).zip(seen)
                    {
                        let position = record.position();
                        features.write(&position, out);
                        (*result, *score) = self.seen(record, &position);
                    }
                });
        }
        Active { inputs, views, places: MAX_ACTIVE, indices }
    }

    fn terms(self, parts: &[Part], results: &mut [f32], scores: &mut [f32]) -> Terms {
        let mut terms = Terms::default();
        let records = parts
            .iter()
            .flat_map(|part| part.order.iter().map(|place| &part.records[*place as usize]));
        for (record, (result, score)) in records.zip(results.iter_mut().zip(scores)) {
            let position = record.position();
            hce::encode(&position, &mut terms);
            (*result, *score) = self.seen(record, &position);
        }
        terms
    }

    /// Result and score with the model's eyes; the score is NaN where there is none.
    fn seen(self, record: &Packed, position: &Position) -> (f32, f32) {
        let score = record.score().map_or(f32::NAN, f32::from);
        match self.sign(position) {
            1 => (record.result(), score),
            _ => (1.0 - record.result(), -score),
        }
    }
}
