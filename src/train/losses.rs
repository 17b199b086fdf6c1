//! How far a model is off, on average.

use burn::module::Module as _;

use super::moves::{Fared, Moves};
use super::target::targets;
use crate::batch::Batch;
use crate::loss::{Loss, sigmoid};
use crate::model::{Model, outputs};

/// Means in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Of the loss against the training target; where moves are learnt, of theirs.
    pub target: f64,
    /// Of the squared error against the result; none where there are choices alone.
    pub result: Option<f64>,
}

/// The losses of a model on batches; none where there is nothing to measure on. Where moves are
/// learnt, the batches with choices tell what is learnt, and the others how it fits results.
pub fn losses(
    model: &Model,
    batches: &[Batch],
    loss: Loss,
    wdl: f64,
    scale: f64,
    moves: Option<&Moves>,
) -> Option<Losses> {
    let model = model.valid();
    let (mut target, mut result, mut positions) = (0.0, 0.0, 0);
    let mut fared = Fared::default();
    for batch in batches {
        let wanted = targets(batch, wdl, scale);
        let logits = outputs(&model, batch).expect("a device that computes losses");
        if let Some((moves, choices)) = moves.zip(batch.choices.as_ref()) {
            fared = fared.with(moves.fare(choices, &logits, &wanted));
            continue;
        }
        for ((logit, wanted), &won) in logits.into_iter().zip(&wanted[..]).zip(&batch.results[..]) {
            let expected = sigmoid(f64::from(logit));
            target += loss.of(expected - f64::from(*wanted));
            result += (expected - f64::from(won)).powi(2);
        }
        positions += batch.len();
    }
    let mean = |sum: f64| (positions > 0).then(|| sum / positions as f64);
    let target = match moves {
        Some(moves) => moves.mean(fared),
        None => mean(target),
    };
    Some(Losses { target: target?, result: mean(result) })
}
