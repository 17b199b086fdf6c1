//! How far a model is off, on average.

use burn::module::Module as _;

use super::moves::{Fared, Moves};
use super::target::{Promise, targets};
use crate::batch::Batch;
use crate::loss::{Loss, sigmoid};
use crate::model::{Model, outputs};

/// Means in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Of the loss against the training target, weighed as in training; where moves are learnt, of
    /// theirs.
    pub target: f64,
    /// Of the squared error against the result; none where there are choices alone.
    pub result: Option<f64>,
}

/// What a loss is measured against.
#[derive(Clone, Copy, Debug)]
pub struct Yardstick {
    /// Weight of the result in the target.
    pub wdl: f64,
    pub promise: Promise,
    pub loss: Loss,
}

/// The losses of a model on batches; none where there is nothing to measure on. Where moves are
/// learnt, the batches with choices tell what is learnt, and the others how it fits results.
pub fn losses(
    model: &Model,
    batches: &[Batch],
    yardstick: Yardstick,
    moves: Option<&Moves>,
) -> Option<Losses> {
    let Yardstick { wdl, promise, loss } = yardstick;
    let model = model.valid();
    let (mut target, mut weights, mut result, mut positions) = (0.0, 0.0, 0.0, 0);
    let mut fared = Fared::default();
    for batch in batches {
        let wanted = targets(batch, wdl, promise);
        let logits = outputs(&model, batch).expect("a device that computes losses");
        if let Some((moves, choices)) = moves.zip(batch.choices.as_ref()) {
            fared = fared.with(moves.fare(choices, &logits, &wanted));
            continue;
        }
        let labels = wanted.iter().zip(&batch.results[..]).enumerate();
        for (logit, (position, (wanted, &won))) in logits.into_iter().zip(labels) {
            let logit = f64::from(logit);
            let weight = batch.weights.get(position).map_or(1.0, |weight| f64::from(*weight));
            target += weight * loss.of(logit, f64::from(*wanted));
            weights += weight;
            result += (sigmoid(logit) - f64::from(won)).powi(2);
        }
        positions += batch.len();
    }
    let target = match moves {
        Some(moves) => moves.mean(fared),
        None => (weights > 0.0).then(|| target / weights),
    };
    let result = (positions > 0).then(|| result / positions as f64);
    Some(Losses { target: target?, result })
}
