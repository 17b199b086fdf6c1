//! What is inside the evaluation of a run: a net's neurons, or the tables of handcrafted terms.

use anyhow::{Context, Result};
use maud::{PreEscaped, html};

use super::run::RunPage;
use crate::cli::folder;
use crate::cli::inspect;
use crate::draw::Section;
use crate::inspect::Options;
use crate::sample::Sample;

/// Nothing where the run has not ended yet.
pub fn section(run: &RunPage, samples: &[Sample], options: Options) -> Result<Vec<Section>> {
    let name = &run.page.name;
    if let Some(path) = run.file(folder::TERMS_SVG) {
        let picture =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        return Ok(vec![Section::new(
            format!("Terms of {name}"),
            html! { details open { summary { "All tables" } (PreEscaped(picture)) } },
        )]);
    }
    let Some(best) = run.file(folder::BEST).filter(|_| run.recipe.config.is_net()) else {
        return Ok(Vec::new());
    };
    inspect::sections(&best, name, samples, options)
}
