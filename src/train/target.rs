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

/// Bound of tabulated scores in centipawns. Few scores of a quiet game are larger.
const MAX_TABULATED: i32 = 4096;
/// Minimum number of positions per task of the thread pool.
const MIN_TASK: usize = 1 << 11;

/// Win-rate model of scores: a win has probability `sigmoid((score - offset) / scale)`, a loss
/// `sigmoid((-score - offset) / scale)`, a draw the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WinRateModel {
    /// Centipawns per logit.
    pub scale: f64,
    /// Centipawns at which a win has probability one half; 0 in a model without draws.
    pub offset: f64,
    /// Centipawns to which larger scores are clamped, or infinity.
    pub clamp: f64,
}

impl WinRateModel {
    /// Returns the expected result of a score in centipawns, 0 to 1.
    pub fn expected_result(self, score: f64) -> f64 {
        let Self { scale, offset, clamp } = self;
        let score = score.clamp(-clamp, clamp);
        if offset == 0.0 {
            return sigmoid(score / scale);
        }
        let win = sigmoid((score - offset) / scale);
        let loss = sigmoid((-score - offset) / scale);
        0.5 * (1.0 + win - loss)
    }
}

/// The targets of the positions of a source.
#[derive(Clone, Debug)]
pub struct SourceTarget {
    pub(crate) win_rate: WinRateModel,
    /// Weight of the result in the target. None: the weight of the run.
    pub(crate) wdl: Option<f64>,
    /// Expected results of whole centipawns, from `-MAX_TABULATED` to `MAX_TABULATED`. The table
    /// saves a tenth of the time of small nets.
    table: Arc<[f64]>,
}

impl SourceTarget {
    pub fn new(win_rate: WinRateModel, wdl: Option<f64>) -> Self {
        let scores = -MAX_TABULATED..=MAX_TABULATED;
        let table = scores.map(|score| win_rate.expected_result(score.into())).collect();
        Self { win_rate, wdl, table }
    }

    /// Returns the expected result of a score in centipawns, 0 to 1.
    fn expected_result(&self, score: f32) -> f64 {
        let whole = score as i32;
        // A negative index becomes a large one, which is not in the table.
        match self.table.get(whole.saturating_add(MAX_TABULATED) as usize) {
            Some(&expected) if whole as f32 == score => expected,
            _ => self.win_rate.expected_result(score.into()),
        }
    }
}

/// Computes the targets of a batch, `[batch]`, 0 to 1, from the point of view of its results. A
/// position without a score has its result as target.
///
/// `wdl` is the weight of results in the run. `source_targets` has an entry for positions without a
/// source, then one per source. Only batches with sources may mix positions with and without
/// scores.
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
        if wdl == 1.0 || score.is_nan() && !sources.is_empty() {
            return result;
        }
        (wdl * f64::from(result) + (1.0 - wdl) * target.expected_result(score)) as f32
    };
    let positions = results.par_iter().zip(&scores[..]).with_min_len(MIN_TASK);
    positions.enumerate().map(blend).collect::<Vec<f32>>().into()
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValidationLosses {
    /// The loss against the target at the end of the run, weighted as in training; for moves the
    /// [reported loss](crate::batch::MoveChoices::sum_losses).
    pub target: f64,
    /// The squared error against the result.
    pub result: Option<f64>,
}

/// Measures a model on batches, each rank on a share of them. None without positions.
pub(super) fn measure_losses(
    model: &Model,
    batches: &[Batch],
    settings: &TrainingSettings,
    ranks: &dyn Ranks,
) -> Option<ValidationLosses> {
    let model = model.valid();
    // The losses of all steps are comparable, as they use the target at the end of the run.
    let wdl = settings.wdl.value_at(1.0);
    // Sums of losses, and of their weights.
    let mut result_sums = [0.0; 2];
    let mut target_sums = [0.0; 2];
    for batch in batches.iter().skip(ranks.rank()).step_by(ranks.count()) {
        let logits = host_outputs(&model, batch).expect("a device that computes losses");
        if let Some(choices) = &batch.choices {
            let [loss, count] = choices.sum_losses(&logits);
            target_sums = [target_sums[0] + loss, target_sums[1] + count];
            for (row, result) in choices.root_rows().zip(&batch.results[..]) {
                result_sums[0] += squared_error(logits[row], *result);
            }
        } else {
            let targets = blend_targets(batch, wdl, &settings.source_targets);
            for (position, logit) in logits.into_iter().enumerate() {
                let weight = batch.weights.get(position).map_or(1.0, |weight| f64::from(*weight));
                let loss = settings.loss.value_at(logit.into(), f64::from(targets[position]));
                target_sums = [target_sums[0] + weight * loss, target_sums[1] + weight];
                result_sums[0] += squared_error(logit, batch.results[position]);
            }
        }
        result_sums[1] += batch.len() as f64;
    }
    let mut sums = [result_sums, target_sums];
    ranks.sum_over_ranks(&mut [], sums.as_flattened_mut());
    let [result, target] = sums.map(|[sum, weights]| (weights > 0.0).then(|| sum / weights));
    Some(ValidationLosses { target: target?, result })
}

/// Returns the squared error of a logit against a result, 0 to 1.
fn squared_error(logit: f32, result: f32) -> f64 {
    (sigmoid(logit.into()) - f64::from(result)).powi(2)
}
