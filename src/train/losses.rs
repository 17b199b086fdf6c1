//! The mean losses of a model.

use burn::module::Module as _;

use super::Settings;
use super::ranks::Ranks;
use super::target::targets;
use crate::batch::Batch;
use crate::loss::sigmoid;
use crate::model::{Model, outputs};

/// Means in f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// The loss against the target at the end of the run, weighed as in training; where moves are
    /// learnt, the [reported loss](crate::batch::Choices::reported).
    pub target: f64,
    /// The squared error against the result.
    pub result: Option<f64>,
    /// As `target`, of the positions of none of the run's sources and of each of them; none where
    /// there are no such positions. Empty without sources.
    pub sources: Vec<Option<f64>>,
}

/// Measures a model on batches, each rank on a share of them; none without positions.
pub fn losses(
    model: &Model,
    batches: &[Batch],
    settings: &Settings,
    ranks: &dyn Ranks,
) -> Option<Losses> {
    let model = model.valid();
    // The same target throughout the run.
    let (wdl, worths) = (settings.wdl.at(1.0), &settings.worths);
    // Sums and weights: results, targets, and targets by source.
    let mut sums = vec![[0.0; 2]; 2 + if worths.len() > 1 { worths.len() } else { 0 }];
    for batch in batches.iter().skip(ranks.rank()).step_by(ranks.count()) {
        let logits = outputs(&model, batch).expect("a device that computes losses");
        let error = |logit: f32, won: f32| (sigmoid(logit.into()) - f64::from(won)).powi(2);
        if let Some(choices) = &batch.choices {
            let [sum, count] = choices.reported(&logits);
            sums[1] = [sums[1][0] + sum, sums[1][1] + count];
            for (row, won) in choices.roots().zip(&batch.results[..]) {
                sums[0][0] += error(logits[row], *won);
            }
        } else {
            let wanted = targets(batch, wdl, worths);
            let labels = logits.into_iter().zip(&wanted[..]).zip(&batch.results[..]);
            for (position, ((logit, wanted), won)) in labels.enumerate() {
                let weight = batch.weights.get(position).map_or(1.0, |weight| f64::from(*weight));
                let cost = settings.loss.of(logit.into(), f64::from(*wanted));
                let source = batch.sources.get(position).map_or(0, |source| usize::from(*source));
                for place in [1, 2 + source] {
                    if let Some([sum, weights]) = sums.get_mut(place) {
                        *sum += weight * cost;
                        *weights += weight;
                    }
                }
                sums[0][0] += error(logit, *won);
            }
        }
        sums[0][1] += batch.len() as f64;
    }
    ranks.sum(&mut [], sums.as_flattened_mut());
    let mean = |[sum, weights]: &[f64; 2]| (*weights > 0.0).then(|| sum / weights);
    let sources = sums[2..].iter().map(mean).collect();
    Some(Losses { target: mean(&sums[1])?, result: mean(&sums[0]), sources })
}
