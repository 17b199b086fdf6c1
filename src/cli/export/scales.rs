//! The scales of an export in words, and their options.

use anyhow::Result;

use crate::export::{Bound, Imported, Limits, Margins, MatchedTo};
use crate::model::{Compute, Device};
use crate::report::Matched;
use crate::run::Listener;
use crate::run::export::scales;
use crate::sample::{Sample, games_known};

/// What an engine's integers must hold, by its name on the command line.
pub fn bound(name: &str) -> Result<Bound, String> {
    match name {
        "sums" => Ok(Bound::I16Sums),
        "products" => Ok(Bound::NarrowProducts),
        _ => Err("expected sums, or products for engines that multiply in 16 bits".to_string()),
    }
}

/// Sets QA and QB to those with the smallest error; what was tried, in words.
pub fn choose(source: &mut Imported, limits: Limits, samples: &[Sample]) -> Result<String> {
    let choice = scales::choose(source, limits, samples)?;
    Ok(format!("{}\nchosen: {}", choice.table(), choice.scales))
}

/// Sets SCALE so that centipawns mean what they mean in an old evaluation.
pub fn matched(
    source: &mut Imported,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<(MatchedTo, String)> {
    let (to, name, matched) = scales::matched(source, old, samples, place, listener)?;
    let between = between(matched.interval, samples);
    let first = format!(
        "matched to {name}: SCALE {} times {:.3}{between} is {}; a search's margins stay",
        matched.scale_before, matched.factor, matched.scale_after
    );
    Ok((to, [vec![first], basis(&matched)].concat().join("\n")))
}

/// By what factor the margins of a search change that was tuned for another evaluation.
pub fn margins(
    source: &Imported,
    old: &str,
    samples: &[Sample],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<(Margins, String)> {
    let (margins, matched) = scales::margins(source, old, samples, place, listener)?;
    let between = between(matched.interval.map(|[low, high]| [1.0 / high, 1.0 / low]), samples);
    let first = format!(
        "margins of a search that were tuned for {} change by a factor of {:.3}{between}: \
         100 cp there are {:.0} cp here; --match-scale {old} sets SCALE so that they stay",
        margins.of,
        margins.factor,
        100.0 * margins.factor
    );
    Ok((margins, [vec![first], basis(&matched)].concat().join("\n")))
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
