//! A learning curve: runs on shares of the games, with several sizes of a net.

mod measure;
mod member;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::{folder, recipe};
use crate::loader::Scan;
pub use measure::{Basis, Curve, MeasuredRun, OverData};
pub use member::{Member, Points, members};

/// How far a run of the curve has come.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    New,
    Begun,
    Finished,
}

impl Stage {
    /// What lies in the folder of a run, unless that is to be overwritten.
    ///
    /// # Errors
    /// If it is a run of another config, or of data that has changed.
    pub fn of(member: &Member, path: &Path, overwrite: bool, scan: &Scan) -> Result<Self> {
        let last = path.join(folder::LAST);
        if overwrite || !last.exists() {
            return Ok(Stage::New);
        }
        let (_, recipe) = recipe::open(&last)?;
        let config = &recipe.config;
        let same = member.becomes(config) && recipe.term_list == recipe::term_list(&member.config)?;
        ensure!(
            same,
            "{} holds a run of another config than this curve's; choose another folder with --out, or \
         begin anew with --overwrite",
            path.display()
        );
        if let Some(changed) = recipe.changed([&scan.files, &scan.validating.files]) {
            bail!(
                "{} has changed since {} was trained; restore it, or begin anew with --overwrite",
                changed.display(),
                path.display()
            );
        }
        // The last thing that a run writes, or nearly so: then its training has ended.
        let result = if config.is_net() { folder::NET } else { folder::TERMS_SVG };
        match path.join(result).try_exists().with_context(|| path.display().to_string())? {
            true => Ok(Stage::Finished),
            false => Ok(Stage::Begun),
        }
    }
}
