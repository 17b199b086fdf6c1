//! What is inside the net of a run.

use anyhow::Result;

use super::ShownRun;
use crate::draw::Section;
use crate::inspect::Options;
use crate::run::listener::Listener;
use crate::run::{folder, inspect};
use crate::sample::Sample;

/// Nothing for terms, or where the run has not ended yet.
pub fn section(
    run: &ShownRun,
    samples: &[Sample],
    options: Options,
    listener: &dyn Listener,
) -> Result<Vec<Section>> {
    let Some(best) = run.file(folder::BEST).filter(|_| run.recipe.config.is_net()) else {
        return Ok(Vec::new());
    };
    inspect::sections(&best, &run.page.name, samples, options, listener)
}
