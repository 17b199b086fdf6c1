//! How far a model is off, on average.

use burn::module::Module as _;

use super::moves::{Fared, Moves};
use super::target::{Worth, targets};
use crate::batch::Batch;
use crate::loss::{Loss, sigmoid};
use crate::model::{Model, outputs};

/// Means in f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Of the loss against the training target, weighed as in training; where moves are learnt, of
    /// theirs.
    pub target: f64,
    /// Of the squared error against the result; none where there are choices alone.
    pub result: Option<f64>,
    /// As `target`, of the positions of none of the run's sources and of each of them; none where
    /// there are no such positions. Empty where nobody counts sources.
    pub sources: Vec<Option<f64>>,
}

/// A weighted mean under way.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    weights: f64,
}

impl Mean {
    fn add(&mut self, loss: f64, weight: f64) {
        self.sum += weight * loss;
        self.weights += weight;
    }

    fn value(self) -> Option<f64> {
        (self.weights > 0.0).then(|| self.sum / self.weights)
    }
}

/// What a loss is measured against.
#[derive(Clone, Copy, Debug)]
pub struct Yardstick<'a> {
    /// Weight of the result in the target.
    pub wdl: f64,
    /// By source, see [`targets`].
    pub worths: &'a [Worth],
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
    let Yardstick { wdl, worths, loss } = yardstick;
    let model = model.valid();
    let (mut target, mut result, mut positions) = (Mean::default(), 0.0, 0);
    let mut sources = vec![Mean::default(); if worths.len() > 1 { worths.len() } else { 0 }];
    let mut fared = Fared::default();
    for batch in batches {
        let wanted = targets(batch, wdl, worths);
        let logits = outputs(&model, batch).expect("a device that computes losses");
        if let Some((moves, choices)) = moves.zip(batch.choices.as_ref()) {
            fared = fared.with(moves.fare(choices, &logits, &wanted));
            continue;
        }
        let labels = wanted.iter().zip(&batch.results[..]).enumerate();
        for (logit, (position, (wanted, &won))) in logits.into_iter().zip(labels) {
            let logit = f64::from(logit);
            let weight = batch.weights.get(position).map_or(1.0, |weight| f64::from(*weight));
            let cost = loss.of(logit, f64::from(*wanted));
            target.add(cost, weight);
            let source = batch.sources.get(position).map_or(0, |source| usize::from(*source));
            if let Some(mean) = sources.get_mut(source) {
                mean.add(cost, weight);
            }
            result += (sigmoid(logit) - f64::from(won)).powi(2);
        }
        positions += batch.len();
    }
    let target = match moves {
        Some(moves) => moves.mean(fared),
        None => target.value(),
    };
    let result = (positions > 0).then(|| result / positions as f64);
    let sources = sources.into_iter().map(Mean::value).collect();
    Some(Losses { target: target?, result, sources })
}
