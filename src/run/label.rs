//! Static labels: positions whose scores are the values of an evaluation, without a search.

use anyhow::{Context, Result, anyhow};

use super::Evaluator;
use super::path::evaluated_file;
use crate::evaluation::Evaluation;
use crate::model::{Compute, Device};
use crate::progress::Progress;
use crate::sample::{Position, Sample};
use crate::score::Score;

/// Opens an evaluation as engines have it, of a run its net. Fails if it needs more than positions.
pub fn open_static(
    name: &str,
    device: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<Evaluation> {
    let evaluator = Evaluator::open_in_centipawns(&evaluated_file(name), device, listener)?;
    evaluator.ensure_needs_only_position()?;
    let evaluation = evaluator.engine_evaluation().map_err(|why| anyhow!("{name}: {why}"))?;
    Ok(evaluation.context("it evaluates positions alone")?.clone())
}

/// Replaces the scores of positions by their values, on all cores.
pub fn label_statically(evaluation: &Evaluation, samples: &mut [Sample]) {
    let positions: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
    let values = evaluation.evaluate_all(&positions);
    for (sample, value) in samples.iter_mut().zip(values) {
        sample.score = Some(Score::Centipawns(value).to_centipawns());
    }
}
