//! Inspection of a run's evaluation.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::export;
use super::folder::BEST;
use super::recipe::{self, Recipe};
use super::tuned::weights;
use crate::draw::Section;
use crate::export::{Given, Imported};
use crate::hce::{self, HceWeights, Tally};
use crate::inspect::{Inspection, Options, inspect, work};
use crate::loader::{Part, Plan};
use crate::progress::Progress;
use crate::report::terms::{EffectiveValues, TermResult};
use crate::sample::Sample;

/// Sections of a report about the net of a run.
pub fn sections(
    net: &str,
    name: &str,
    samples: &[Sample],
    mut options: Options,
    listener: &dyn Progress,
) -> Result<Vec<Section>> {
    let source = export::read(Path::new(net), &Given::default())?;
    options
        .hce
        .get_or_insert_with(|| HceWeights::of_list(hce::terms::list(), source.scales.scale.into()));
    let inspection = look(&source, samples, &options, listener).with_context(|| net.to_string())?;
    let mut sections = inspection.pictures();
    for section in &mut sections {
        section.title = format!("{} of {name}", section.title);
    }
    Ok(sections)
}

/// Inspects a net over these positions.
pub fn look(
    source: &Imported,
    samples: &[Sample],
    options: &Options,
    listener: &dyn Progress,
) -> Result<Inspection> {
    let Imported { weights, architecture, scales, facts, .. } = source;
    if let Some(base) = recipe::base(facts)? {
        listener.remark(&format!("the net alone is inspected, without its base {}", base.name));
    }
    let counter = listener.count(Some(work(samples.len(), options)), "inspecting");
    Ok(inspect(weights, architecture, *scales, samples, options, &*counter)?)
}

/// Positions of the files, or else those that validated the run.
pub fn positions(
    given: Option<Plan>,
    recipe: Option<&Recipe>,
    net: &Path,
    listener: &dyn Progress,
) -> Result<Vec<Sample>> {
    match (given, recipe) {
        (None, Some(recipe)) if recipe.config.validates() => {
            recipe.unchanged_validation()?;
            Ok(recipe::collect(&recipe.plan(), Part::Validation, listener)?)
        }
        (None, Some(_)) => {
            bail!("no game validated {}; name files of positions with --data", net.display())
        }
        (None, None) => bail!(
            "nothing is known of the data of {}; name files of positions with --data",
            net.display()
        ),
        (Some(plan), _) => {
            let plan = Plan { colours: true, ..plan };
            Ok(recipe::collect(&plan, Part::All, listener)?)
        }
    }
}

/// Effective values of pieces, from the handcrafted terms of a file or a run, in up to `most`
/// positions of the files.
pub fn effective_values(
    terms: &Path,
    given: Option<Plan>,
    most: usize,
    listener: &dyn Progress,
) -> Result<EffectiveValues> {
    let weights = weights(terms)?;
    let best = terms.join(BEST);
    let recipe = match best.exists() {
        true => Some(recipe::open(&best)?.1),
        false => None,
    };
    let mut samples = positions(given, recipe.as_ref(), terms, listener)?;
    samples.truncate(most);
    let tally = Tally::of(&samples);
    let terms = weights.list.terms.iter().zip(&weights.values);
    let results: Vec<TermResult> = terms
        .map(|(term, value)| TermResult {
            name: term.name.clone(),
            kind: term.kind,
            count: None,
            start: term.start,
            tuned: *value,
            error: None,
            held: None,
        })
        .collect();
    let counted = results.iter().zip(tally.times.iter().map(|times| *times as f64));
    Ok(EffectiveValues::of(counted, tally.phase()))
}
