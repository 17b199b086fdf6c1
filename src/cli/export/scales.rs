//! The scales of an export: the best pair that an engine bears, and the units of an old net.

use anyhow::{Result, ensure};

use super::SCALED_ON;
use crate::cli::eval::Shape;
use crate::cli::evaluator::Evaluator;
use crate::export::{self, Bound, Limits, MatchedTo, Source, digest};
use crate::model::{Compute, Device};
use crate::report::{Pairs, Values, match_scale};
use crate::sample::{Position, Sample};

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
    source.scales.scale = matched.scale_after;
    let sha256 = std::fs::read(old).map(|bytes| digest(&bytes)).unwrap_or_default();
    // Where games are unknown, positions of one game count as if they were independent.
    let least = if samples.iter().all(|sample| sample.game.is_some()) { "" } else { "at least " };
    let between = |[low, high]: [f64; 2]| format!(" (95 % interval {least}{low:.3} to {high:.3})");
    let between = matched.interval.map_or(String::new(), between);
    let mut lines = vec![format!(
        "matched to {}: SCALE {} times {:.3}{between} is {}",
        evaluator.name, matched.scale_before, matched.factor, matched.scale_after
    )];
    if let (Some(old), Some(new)) = (matched.fitted_old, matched.fitted_new) {
        lines
            .push(format!("equal chances: fitted scales {old:.0} of the old, {new:.0} of the new"));
    }
    lines.extend(matched.warnings.iter().map(|warning| format!("note: {warning}")));
    Ok((MatchedTo { sha256, factor: matched.factor }, lines.join("\n")))
}
