//! How far a model is off, on average.

use burn::module::Module as _;

use super::ranks::Ranks;
use super::target::{Worth, targets};
use crate::batch::Batch;
use crate::loss::{Loss, sigmoid};
use crate::model::{Model, outputs};

/// Means in f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Of the loss against the training target, weighed as in training; where moves are learnt, of
    /// [what is reported](crate::batch::Choices::reported).
    pub target: f64,
    /// Of the squared error against the result.
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

/// What losses are means of, under way.
#[derive(Default)]
struct Sums {
    target: Mean,
    result: f64,
    /// Of those whose results were looked at.
    positions: f64,
    sources: Vec<Mean>,
}

impl Sums {
    fn of<'a>(
        model: &Model,
        batches: impl Iterator<Item = &'a Batch>,
        Yardstick { wdl, worths, loss }: Yardstick,
    ) -> Self {
        let model = model.valid();
        let sources = vec![Mean::default(); if worths.len() > 1 { worths.len() } else { 0 }];
        let mut sums = Self { sources, ..Self::default() };
        for batch in batches {
            let wanted = targets(batch, wdl, worths);
            let logits = outputs(&model, batch).expect("a device that computes losses");
            if let Some(choices) = &batch.choices {
                let [sum, count] = choices.reported(&logits);
                sums.target.sum += sum;
                sums.target.weights += count;
                for (row, won) in choices.roots().zip(&batch.results[..]) {
                    sums.result += (sigmoid(logits[row].into()) - f64::from(*won)).powi(2);
                }
                sums.positions += batch.len() as f64;
                continue;
            }
            let labels = wanted.iter().zip(&batch.results[..]).enumerate();
            for (logit, (position, (wanted, &won))) in logits.into_iter().zip(labels) {
                let logit = f64::from(logit);
                let weight = batch.weights.get(position).map_or(1.0, |weight| f64::from(*weight));
                let cost = loss.of(logit, f64::from(*wanted));
                sums.target.add(cost, weight);
                let source = batch.sources.get(position).map_or(0, |source| usize::from(*source));
                if let Some(mean) = sums.sources.get_mut(source) {
                    mean.add(cost, weight);
                }
                sums.result += (sigmoid(logit) - f64::from(won)).powi(2);
            }
            sums.positions += batch.len() as f64;
        }
        sums
    }

    /// With those of the other ranks.
    fn of_all(self, ranks: &dyn Ranks) -> Self {
        let Self { target, result, positions, sources } = self;
        let means = [target].into_iter().chain(sources).flat_map(|it| [it.sum, it.weights]);
        let mut numbers: Vec<f64> = [result, positions].into_iter().chain(means).collect();
        ranks.sum(&mut [], &mut numbers);
        let mean = |pair: &[f64]| Mean { sum: pair[0], weights: pair[1] };
        let mut means = numbers[2..].chunks_exact(2).map(mean);
        let target = means.next().expect("it was put there");
        let (result, positions) = (numbers[0], numbers[1]);
        Self { target, result, positions, sources: means.collect() }
    }

    fn losses(self) -> Option<Losses> {
        let target = self.target.value();
        let result = (self.positions > 0.0).then(|| self.result / self.positions);
        let sources = self.sources.into_iter().map(Mean::value).collect();
        Some(Losses { target: target?, result, sources })
    }
}

/// The losses of a model on batches; none where there is nothing to measure on.
pub fn losses(model: &Model, batches: &[Batch], yardstick: Yardstick) -> Option<Losses> {
    Sums::of(model, batches.iter(), yardstick).losses()
}

/// The same of positions, each rank measuring on a share of the batches.
pub fn losses_of_all(
    model: &Model,
    batches: &[Batch],
    yardstick: Yardstick,
    ranks: &dyn Ranks,
) -> Option<Losses> {
    let share = batches.iter().skip(ranks.rank()).step_by(ranks.count());
    Sums::of(model, share, yardstick).of_all(ranks).losses()
}
