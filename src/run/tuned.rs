//! Handcrafted weights of a run or a file.

use std::path::Path;

use anyhow::{Context, Result};

use super::folder::BEST;
use super::path::{FileKind, kind_of};
use super::recipe::{self, Recipe};
use crate::hce::HceWeights;
use crate::input;

/// The weights of a JSON file or a run, and an engine's phase and scale factor where its list is
/// there.
pub fn with_tapering(path: &Path) -> Result<(HceWeights, Option<[f64; 2]>)> {
    let best = path.join(BEST);
    let path = if path.is_dir() { &best } else { path };
    let bytes = input::read(path, input::WEIGHTS)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if let FileKind::Json = kind_of(&bytes) {
        let text = std::str::from_utf8(&bytes).context("not UTF-8 text")?;
        return Ok((HceWeights::from_json(text)?, None));
    }
    let (checkpoint, recipe) = recipe::open(path)?;
    let terms = recipe.terms()?.context("these weights belong to a net")?;
    let mut weights = terms.trained(&checkpoint.weights, recipe.config.scale)?;
    let Recipe { data, .. } = &recipe;
    let files: Vec<String> = data.iter().map(|file| file.path.display().to_string()).collect();
    weights.source = Some(format!("trained by nnuance on {}", files.join(", ")));
    Ok((weights, terms.own.map(|own| [own.phase, own.scale])))
}
