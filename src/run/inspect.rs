//! Inspection of a run's evaluation.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::export;
use super::recipe::{self, Recipe};
use crate::draw::Section;
use crate::export::ImportedWeights;
use crate::hce::{self, HceWeights};
use crate::inspect::{Inspection, inspect};
use crate::loader::{Plan, Subset};
use crate::progress::{Progress, SilentProgress};
use crate::sample::Sample;

/// Sections of a report about the net of a run, whose name may be left out.
pub fn sections(
    net: &str,
    name: Option<&str>,
    samples: &[Sample],
    explained: usize,
    listener: &dyn Progress,
) -> Result<Vec<Section>> {
    let (source, _) = export::read(Path::new(net))?;
    let counter = listener.count(None, "inspecting");
    let inspection = inspect_net(&source, samples, explained, &SilentProgress)
        .with_context(|| net.to_string())?;
    drop(counter);
    let alone = match recipe::base(&source.facts)? {
        Some(_) => ", without its base",
        None => "",
    };
    let of = name.map_or(String::new(), |name| format!(" of {name}"));
    let mut sections = inspection.pictures();
    sections.iter_mut().for_each(|section| section.title += &format!("{of}{alone}"));
    Ok(sections)
}

/// Inspects a net over these positions; `explained` of them explain it by terms.
pub fn inspect_net(
    source: &ImportedWeights,
    samples: &[Sample],
    explained: usize,
    listener: &dyn Progress,
) -> Result<Inspection> {
    let ImportedWeights { weights, architecture, scales, facts, .. } = source;
    if let Some(base) = recipe::base(facts)? {
        listener.remark(&format!("the net alone is inspected, without its base {}", base.name));
    }
    let hce = HceWeights::of_list(hce::terms::list(), scales.scale.into());
    ensure!(!samples.is_empty(), "no positions to inspect with; name a file of positions");
    let _counter = listener.count(None, "inspecting");
    Ok(inspect(weights, architecture, *scales, samples, explained, &hce)?)
}

/// Positions of the files, or else the run's validation positions.
pub fn positions(
    given: Option<Plan>,
    recipe: Option<&Recipe>,
    net: &Path,
    listener: &dyn Progress,
) -> Result<Vec<Sample>> {
    if let Some(plan) = given {
        return Ok(recipe::collect(&Plan { colours: true, ..plan }, None, listener)?);
    }
    let (net, remedy) = (net.display(), "name files of positions with --data");
    let recipe = recipe.with_context(|| format!("the data of {net} are unknown; {remedy}"))?;
    ensure!(recipe.config.data.validates(), "no game validated {net}; {remedy}");
    recipe::unchanged(recipe.validating())?;
    Ok(recipe::collect(&recipe::plan(&recipe.config), Some(Subset::Validation), listener)?)
}
