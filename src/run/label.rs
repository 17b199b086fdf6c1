//! Static labels: positions whose scores are the values of an evaluation, without a search.

use anyhow::{Context, Result, anyhow};

use super::path::evaluated_file;
use super::{Evaluator, Host};
use crate::evaluation::Evaluation;
use crate::sample::{Position, Sample};
use crate::score::Score;

/// Opens an evaluation as engines have it, of a run its net. Fails if it needs more than positions.
pub fn open_static(name: &str, host: &Host) -> Result<Evaluation> {
    let evaluator = Evaluator::open_in_centipawns(&evaluated_file(name), host)?;
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
