//! What a net is added to.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::start::doubt;
use crate::config::Config;
use crate::export::{self, Given};
use crate::hce::HceWeights;
use crate::loader::Sketch;
use crate::model::{Compute, Device};
use crate::run::evaluator::Evaluator;
use crate::run::listener::Listener;
use crate::run::recipe::Recipe;

/// An evaluation that is added to, and what is known of it.
pub struct Added {
    pub base: export::Base,
    /// The games that it has seen.
    pub sketch: Sketch,
    /// The games of files that its checkpoint was chosen by.
    pub validation_sketch: Sketch,
}

/// The base that a net's config names; none where it names none.
///
/// # Errors
/// If it cannot be read, or is nothing that a net can be added to.
pub fn open(
    config: &Config,
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<Option<Added>> {
    let Some(name) = &config.model.base else { return Ok(None) };
    read(name, config, place, listener).map(Some).context("`model.base`")
}

fn read(
    name: &str,
    config: &Config,
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<Added> {
    let (weights, recipe, sha256) = match name {
        "material" => (HceWeights::material(), None, None),
        _ => {
            ensure!(
                Path::new(name).exists(),
                "there is no file or folder {name}; name the folder of a run of handcrafted terms, \
                 which has to be trained first, their JSON file, or \"material\""
            );
            let evaluator = Evaluator::open(name, &Given::default(), place, listener)?;
            let Some(weights) = evaluator.terms() else {
                bail!(
                    "{name} is no evaluation by handcrafted terms, and a net can be added to nothing \
                     else; name the folder of their run, their JSON file, or \"material\""
                )
            };
            (weights.clone(), evaluator.recipe.clone(), evaluator.digest.clone())
        }
    };
    let doubt = match name {
        "material" => None,
        _ => doubt(Path::new(name), recipe.as_ref(), config),
    };
    // Centipawns are added up.
    let scale = config.target.scale.unwrap_or_else(|| weights.scale.round().max(1.0));
    listener.remark(&format!(
        "added to {name}: handcrafted terms, at {scale} centipawns of both a logit"
    ));
    if let Some(doubt) = &doubt {
        listener.remark(&format!("note: {doubt}"));
    }
    let sketches =
        recipe.map(|Recipe { sketch, validation_sketch, .. }| (sketch, validation_sketch));
    let (sketch, validation_sketch) = sketches.unwrap_or_default();
    let terms = weights.to_json();
    let base = export::Base { name: name.to_string(), sha256, doubt, scale, terms };
    Ok(Added { base, sketch, validation_sketch })
}
