//! The scales of an export: the best pair that an engine bears, and the units of an old net.

use std::path::Path;

use anyhow::{Result, ensure};

use super::SCALED_ON;
use crate::cli::eval::Shape;
use crate::cli::evaluator::Evaluator;
use crate::export::{self, Bound, Limits, Margins, MatchedTo, Source, digest};
use crate::input;
use crate::model::{Compute, Device};
use crate::report::{Matched, Pairs, Values, match_scale};
use crate::sample::{Position, Sample, games_known};

/// What an engine's integers must hold, by its name on the command line.
pub fn bound(name: &str) -> Result<Bound, String> {
    match name {
        "sums" => Ok(Bound::I16Sums),
        "products" => Ok(Bound::NarrowProducts),
        _ => Err("expected sums, or products for engines that multiply in 16 bits".to_string()),
    }
}

/// Sets QA and QB to those with the smallest error; what was tried, in words.
pub fn choose(source: &mut Source, limits: Limits, samples: &[Sample]) -> Result<String> {
    ensure!(!samples.is_empty(), "the best scales are measured: name positions with --data");
    let positions: Vec<Position> =
        samples.iter().take(SCALED_ON).map(|sample| sample.position).collect();
    let Source { weights, architecture, scales, .. } = source;
    let choice = export::choose(weights, architecture, scales.scale, &positions, limits)?;
    *scales = choice.scales;
    Ok(format!("{}\nchosen: {}", choice.table(), choice.scales))
}

/// Sets SCALE so that centipawns mean what they mean in an old evaluation.
pub fn matched(
    source: &mut Source,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
) -> Result<(MatchedTo, String)> {
    let (name, matched) = compared(source, old, samples, place)?;
    source.scales.scale = matched.scale_after;
    let sha256 =
        input::read(Path::new(old), input::WEIGHTS).map(|bytes| digest(&bytes)).unwrap_or_default();
    let between = between(matched.interval, samples);
    let first = format!(
        "matched to {name}: SCALE {} times {:.3}{between} is {}; a search's margins stay",
        matched.scale_before, matched.factor, matched.scale_after
    );
    let text = [vec![first], basis(&matched)].concat().join("\n");
    Ok((MatchedTo { sha256, factor: matched.factor }, text))
}

/// By what factor the margins of a search change that was tuned for another evaluation.
pub fn margins(
    source: &Source,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
) -> Result<(Margins, String)> {
    let (of, matched) = compared(source, old, samples, place)?;
    let factor = 1.0 / matched.factor;
    let between = between(matched.interval.map(|[low, high]| [1.0 / high, 1.0 / low]), samples);
    let first = format!(
        "margins of a search that were tuned for {of} change by a factor of {factor:.3}{between}: \
         100 cp there are {:.0} cp here; --match-scale {old} sets SCALE so that they stay",
        100.0 * factor
    );
    let text = [vec![first], basis(&matched)].concat().join("\n");
    Ok((Margins { of, factor }, text))
}

/// The name of an old evaluation, and what brings the new one's centipawns to its own.
fn compared(
    source: &Source,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
) -> Result<(String, Matched)> {
    ensure!(
        !samples.is_empty(),
        "scales are matched on positions: name some with results with --data"
    );
    let evaluator = Evaluator::open(old, &Shape::default(), place)?;
    let Values::Cp(old_cp) = evaluator.evaluate(samples, &[])?.values else {
        anyhow::bail!("{old} gives no centipawns to match");
    };
    let net = export::quantise(&source.weights, &source.architecture, source.scales)?;
    let new: Vec<f64> =
        samples.iter().map(|sample| f64::from(net.evaluate(&sample.position))).collect();
    let results: Vec<f64> = samples.iter().map(|sample| f64::from(sample.result)).collect();
    let groups: Vec<u64> = samples.iter().map(Sample::group).collect();
    let pairs = Pairs { old: &old_cp, new: &new, results: Some(&results), groups: &groups };
    let matched = match_scale(&pairs, source.scales.scale)?;
    Ok((evaluator.name, matched))
}

/// An interval in brackets; a lower bound where positions of one game count as if they were
/// independent, since games are unknown.
fn between(interval: Option<[f64; 2]>, samples: &[Sample]) -> String {
    let least = if games_known(samples) { "" } else { "at least " };
    let text = |[low, high]: [f64; 2]| format!(" (95 % interval {least}{low:.3} to {high:.3})");
    interval.map_or(String::new(), text)
}

/// What a factor rests on, line by line.
fn basis(matched: &Matched) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(old), Some(new)) = (matched.fitted_old, matched.fitted_new) {
        lines
            .push(format!("equal chances: fitted scales {old:.0} of the old, {new:.0} of the new"));
    }
    lines.extend(matched.warnings.iter().map(|warning| format!("note: {warning}")));
    lines
}
