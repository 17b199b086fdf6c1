//! How far a run has come that is one of many: of a curve, of a sweep.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::{folder, recipe};
use crate::config::Config;
use crate::loader::Scan;

/// How far a run of many has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    New,
    Begun,
    Finished,
}

impl Stage {
    /// What lies in the folder of a run of this config. An error ends with what may be done about
    /// it, the `cure`.
    ///
    /// # Errors
    /// If it is a run of another config, or of data that has changed.
    pub fn of(config: &Config, path: &Path, scan: &Scan, cure: &str) -> Result<Self> {
        let last = path.join(folder::LAST);
        if !last.exists() {
            return Ok(Stage::New);
        }
        let (_, recipe) = recipe::open(&last)?;
        let found = &recipe.config;
        ensure!(
            becomes(config, found) && recipe.term_list == recipe::term_list(config)?,
            "{} holds a run of another config than the one asked for; {cure}",
            path.display()
        );
        if let Some(changed) = recipe.changed([&scan.files, &scan.validating.files]) {
            bail!(
                "{} has changed since {} was trained; restore it, or {cure}",
                changed.display(),
                path.display()
            );
        }
        // The last thing that a run writes, or nearly so: then its training has ended.
        let result = if found.is_net() { folder::NET } else { folder::TERMS_CSV };
        match path.join(result).try_exists().with_context(|| path.display().to_string())? {
            true => Ok(Stage::Finished),
            false => Ok(Stage::Begun),
        }
    }
}

/// Whether a config is what the wanted one becomes once the data is known.
fn becomes(wanted: &Config, found: &Config) -> bool {
    let mut wanted = wanted.clone();
    wanted.data.window = wanted.data.window.or(found.data.window);
    wanted.target.scale = wanted.target.scale.or(found.target.scale);
    wanted.resolved() == *found
}
