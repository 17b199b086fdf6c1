//! The scales of an export: the best pair that an engine bears, and the units of an old net.

use std::path::Path;

use anyhow::{Result, ensure};

use super::SCALED_ON;
use crate::digest::digest;
use crate::export::{self, Choice, Given, Imported, Limits, Margins, MatchedTo};
use crate::input;
use crate::model::{Compute, Device};
use crate::report::{Matched, Pairs, Values, match_scale};
use crate::run::evaluator::{Evaluator, sum};
use crate::run::listener::Listener;
use crate::run::recipe;
use crate::sample::{Position, Sample};

/// Sets QA and QB to those with the smallest error; what was tried.
pub fn choose(source: &mut Imported, limits: Limits, samples: &[Sample]) -> Result<Choice> {
    ensure!(!samples.is_empty(), "the best scales are measured: name positions with --data");
    let positions: Vec<Position> =
        samples.iter().take(SCALED_ON).map(|sample| sample.position).collect();
    let Imported { weights, architecture, scales, .. } = source;
    let choice = export::choose(weights, architecture, scales.scale, &positions, limits)?;
    *scales = choice.scales;
    Ok(choice)
}

/// Sets SCALE so that centipawns mean what they mean in an old evaluation; its name, and what came
/// of it.
pub fn matched(
    source: &mut Imported,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<(MatchedTo, String, Matched)> {
    let (name, matched) = compared(source, old, samples, place, listener)?;
    source.scales.scale = matched.scale_after;
    let sha256 =
        input::read(Path::new(old), input::WEIGHTS).map(|bytes| digest(&bytes)).unwrap_or_default();
    Ok((MatchedTo { sha256, factor: matched.factor }, name, matched))
}

/// By what factor the margins of a search change that was tuned for another evaluation.
pub fn margins(
    source: &Imported,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<(Margins, Matched)> {
    let (of, matched) = compared(source, old, samples, place, listener)?;
    Ok((Margins { of, factor: 1.0 / matched.factor }, matched))
}

/// The name of an old evaluation, and what brings the new one's centipawns to its own.
fn compared(
    source: &Imported,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<(String, Matched)> {
    ensure!(
        !samples.is_empty(),
        "scales are matched on positions: name some with results with --data"
    );
    let evaluator = Evaluator::open(old, &Given::default(), place, listener)?;
    let Values::Cp(old_cp) = evaluator.evaluate(samples, &[])?.values else {
        anyhow::bail!("{old} gives no centipawns to match");
    };
    let net = export::quantise(&source.weights, &source.architecture, source.scales)?;
    let base = recipe::base(&source.facts)?;
    let base = base.as_ref().map(recipe::added).transpose()?;
    let value = |it: &Sample| f64::from(sum(&net, base.as_ref(), &it.position));
    let new: Vec<f64> = samples.iter().map(value).collect();
    let results: Vec<f64> = samples.iter().map(|sample| f64::from(sample.result)).collect();
    let groups: Vec<u64> = samples.iter().map(Sample::group).collect();
    let pairs = Pairs { old: &old_cp, new: &new, results: Some(&results), groups: &groups };
    let matched = match_scale(&pairs, source.scales.scale)?;
    Ok((evaluator.name, matched))
}
