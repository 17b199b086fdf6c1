//! Labels of positions: results, scores and weights from the model's point of view.

use std::sync::Arc;

use super::packed::Packed;
use crate::batch::{Batch, BatchInputs};
use crate::point_of_view::PointOfView;

/// Label of a position: result, score, sample weight and source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    /// Result from the model's point of view, like the score.
    result: f32,
    /// NaN without one.
    score: f32,
    /// Sample weight, 0 to 1.
    weight: f32,
    /// The source, from 1; 0 without sources.
    source: u8,
}

impl Label {
    pub fn new(record: &Packed, point_of_view: PointOfView) -> Self {
        let (result, score) = (record.result(), record.score().map_or(f32::NAN, f32::from));
        let (result, score) = match point_of_view.sign_for(record.position().turn()) {
            1 => (result, score),
            _ => (1.0 - result, -score),
        };
        Self { result, score, weight: record.sample_weight(), source: record.source() }
    }
}

/// Makes a batch. Weights that are all 1 and sources that are all 0 are left out, and so are scores
/// that some position lacks, unless there are sources.
pub(super) fn batch_with_labels(inputs: BatchInputs, labels: &[Label]) -> Batch {
    fn collect_values<T>(needed: bool, labels: &[Label], value: impl Fn(&Label) -> T) -> Arc<[T]> {
        labels[..if needed { labels.len() } else { 0 }].iter().map(value).collect()
    }
    let sourced = labels.iter().any(|label| label.source != 0);
    let scored = sourced || !labels.iter().any(|label| label.score.is_nan());
    let weighed = labels.iter().any(|label| label.weight != 1.0);
    let results = collect_values(true, labels, |label| label.result);
    let scores = collect_values(scored, labels, |label| label.score);
    let weights = collect_values(weighed, labels, |label| label.weight);
    let sources = collect_values(sourced, labels, |label| label.source);
    Batch { weights, sources, ..Batch::new(inputs, results, scores) }
}
