//! How far a model is off, on average.

use burn::module::Module as _;

use super::target::targets;
use crate::batch::Batch;
use crate::loss::{Loss, sigmoid};
use crate::model::{Evaluation as _, Model, to_host};

/// Means over positions, in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Of the loss against the training target.
    pub target: f64,
    /// Of the squared error against the result.
    pub result: f64,
}

/// The losses of a model on batches; none where there are no positions.
pub fn losses(
    model: &Model,
    batches: &[Batch],
    loss: Loss,
    wdl: f64,
    scale: f64,
) -> Option<Losses> {
    let model = model.valid();
    let (mut target, mut result, mut positions) = (0.0, 0.0, 0);
    for batch in batches {
        let wanted = targets(batch, wdl, scale);
        let logits = to_host(model.logits(&batch.inputs));
        for ((logit, wanted), &won) in logits.into_iter().zip(&wanted[..]).zip(&batch.results[..]) {
            let expected = sigmoid(f64::from(logit));
            target += loss.of(expected - f64::from(*wanted));
            result += (expected - f64::from(won)).powi(2);
        }
        positions += batch.len();
    }
    let mean = |sum: f64| sum / positions as f64;
    (positions > 0).then(|| Losses { target: mean(target), result: mean(result) })
}
