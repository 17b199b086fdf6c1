//! Training targets, `wdl * result + (1 - wdl) * win_rate(score)`, and the losses against them.

use std::borrow::Cow;
use std::sync::Arc;

use burn::module::Module as _;
use rayon::prelude::*;

use super::TrainingSettings;
use super::ranks::Ranks;
use crate::batch::Batch;
use crate::loss::sigmoid;
use crate::model::{Model, host_outputs};

/// Win-rate model of scores: a win has probability `sigmoid((score - offset) / scale)`, a loss
/// `sigmoid((-score - offset) / scale)`, a draw the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WinRateModel {
    /// Centipawns per logit.
    pub scale: f64,
    /// Centipawns at which a win has probability one half; 0 without draws.
    pub offset: f64,
    /// Centipawns to which larger scores are clamped; infinite: none are.
    pub clamp: f64,
}

impl WinRateModel {
    /// Returns the expected result of a score in centipawns, 0 to 1.
    pub fn expected_result(self, score: f64) -> f64 {
        let Self { scale, offset, clamp } = self;
        let score = score.clamp(-clamp, clamp);
        match offset {
            0.0 => sigmoid(score / scale),
            _ => {
                let [win, loss] = [score, -score].map(|score| sigmoid((score - offset) / scale));
                0.5 * (1.0 + win - loss)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct SourceTarget {
    pub(crate) win_rate: WinRateModel,
    /// Weight of the result in the target; None: the run's.
    pub(crate) wdl: Option<f64>,
    /// Expected results of centipawns from `-NEAR` to `NEAR`, which saves small nets a tenth.
    near: Arc<[f64]>,
}

/// Bound of scores in a quiet game, in centipawns.
const NEAR: i32 = 4096;

impl SourceTarget {
    pub fn new(win_rate: WinRateModel, wdl: Option<f64>) -> Self {
        let near = (-NEAR..=NEAR).map(|score| win_rate.expected_result(score.into())).collect();
        Self { win_rate, wdl, near }
    }

    /// Returns the expected result of a score in centipawns, 0 to 1.
    fn expected_result(&self, score: f32) -> f64 {
        let whole = score as i32;
        match self.near.get(whole.saturating_add(NEAR) as usize) {
            Some(&expected) if whole as f32 == score => expected,
            _ => self.win_rate.expected_result(score.into()),
        }
    }
}

const LEAST: usize = 1 << 11;

/// Computes the targets of a batch, 0 to 1, from the point of view of its results. `wdl` is the
/// weight of results in the run. `source_targets` has an entry for positions without a source, then
/// one per source. Positions without a score have their results as targets.
pub fn blend_targets<'a>(
    batch: &'a Batch,
    wdl: f64,
    source_targets: &[SourceTarget],
) -> Cow<'a, [f32]> {
    let Batch { results, scores, sources, .. } = batch;
    if scores.is_empty() || sources.is_empty() && wdl == 1.0 {
        return Cow::Borrowed(results);
    }
    let blend = |(position, (&result, &score)): (usize, (&f32, &f32))| {
        let source = sources.get(position).map_or(0, |source| usize::from(*source));
        let target = &source_targets[source];
        let wdl = target.wdl.unwrap_or(wdl);
        match wdl == 1.0 || score.is_nan() && !sources.is_empty() {
            true => result,
            false => (wdl * f64::from(result) + (1.0 - wdl) * target.expected_result(score)) as f32,
        }
    };
    let positions = results.par_iter().zip(&scores[..]).with_min_len(LEAST);
    positions.enumerate().map(blend).collect::<Vec<f32>>().into()
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValidationLosses {
    /// The loss against the target at the end of the run, weighted as in training; for moves the
    /// [reported loss](crate::batch::Choices::sum_losses).
    pub target: f64,
    /// The squared error against the result.
    pub result: Option<f64>,
}

/// Measures a model on batches, each rank on a share of them; None without positions.
pub(super) fn measure_losses(
    model: &Model,
    batches: &[Batch],
    settings: &TrainingSettings,
    ranks: &dyn Ranks,
) -> Option<ValidationLosses> {
    let model = model.valid();
    // The same target throughout the run.
    let (wdl, source_targets) = (settings.wdl.value_at(1.0), &settings.source_targets);
    // Sums and weights: results and targets.
    let mut sums = [[0.0; 2]; 2];
    for batch in batches.iter().skip(ranks.rank()).step_by(ranks.count()) {
        let logits = host_outputs(&model, batch).expect("a device that computes losses");
        let error = |logit: f32, won: f32| (sigmoid(logit.into()) - f64::from(won)).powi(2);
        if let Some(choices) = &batch.choices {
            let [sum, count] = choices.sum_losses(&logits);
            sums[1] = [sums[1][0] + sum, sums[1][1] + count];
            for (row, won) in choices.root_rows().zip(&batch.results[..]) {
                sums[0][0] += error(logits[row], *won);
            }
        } else {
            let targets = blend_targets(batch, wdl, source_targets);
            let labels = logits.into_iter().zip(&targets[..]).zip(&batch.results[..]);
            for (position, ((logit, target), won)) in labels.enumerate() {
                let weight = batch.weights.get(position).map_or(1.0, |weight| f64::from(*weight));
                let cost = settings.loss.value_at(logit.into(), f64::from(*target));
                sums[1] = [sums[1][0] + weight * cost, sums[1][1] + weight];
                sums[0][0] += error(logit, *won);
            }
        }
        sums[0][1] += batch.len() as f64;
    }
    ranks.sum_over_ranks(&mut [], sums.as_flattened_mut());
    let mean = |[sum, weights]: &[f64; 2]| (*weights > 0.0).then(|| sum / weights);
    Some(ValidationLosses { target: mean(&sums[1])?, result: mean(&sums[0]) })
}
