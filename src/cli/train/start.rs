//! Where a net starts from, if not from chance.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::architecture::Architecture;
use crate::cli::eval::in_folder;
use crate::cli::evaluator::{FileKind, kind_of};
use crate::cli::folder::BEST;
use crate::cli::recipe::Recipe;
use crate::config::Config;
use crate::export::{self, Source, StartedFrom, digest, floats_path, manifest_path};
use crate::input;
use crate::loader::{Sketch, Split};
use crate::net::{Hints, Net};
use crate::weights::Weights;

/// Weights to start from, and what is known of them.
pub struct Start {
    pub weights: Weights,
    /// The games that they have seen.
    pub sketch: Sketch,
    /// The games of files that their checkpoint was chosen by.
    pub validation_sketch: Sketch,
    pub from: StartedFrom,
}

/// The start that a net's config names; none where it names none, and for handcrafted terms, which
/// have their own.
pub fn open(config: &Config) -> Result<Option<Start>> {
    let (Some(name), Some(wanted)) = (&config.model.start, config.architecture()?) else {
        return Ok(None);
    };
    let start = read(Path::new(name), &wanted, config);
    start.map(Some).context("`model.start`")
}

fn read(given: &Path, wanted: &Architecture, config: &Config) -> Result<Start> {
    let path = in_folder(given, BEST)?;
    let name = path.display();
    let bytes =
        input::read(&path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    let is_weights = matches!(kind_of(&bytes), FileKind::Weights);
    let manifest = match !is_weights && manifest_path(&path).exists() {
        true => export::load(&path, &Default::default())?.manifest,
        false => None,
    };
    let hints = match manifest.as_ref().map(export::Manifest::hints).transpose() {
        Ok(Some(hints)) => hints,
        // What other files do not say of themselves is what the config wants.
        Ok(None) => {
            let Architecture { features, activation, .. } = *wanted;
            Hints { features, activation, ..Hints::default() }
        }
        Err(reason) => bail!("{}: {reason}", manifest_path(&path).display()),
    };
    let mut source = export::import(&bytes, &hints).with_context(|| name.to_string())?;
    let mut kind = source.kind;
    if source.kind == "quantised net" {
        match floats(&path, &bytes, &source) {
            Some(weights) => {
                source.weights = weights;
                kind = "net, from the floats beside it";
            }
            None => kind = "net, from its integers, since its floats are not beside it",
        }
    }
    ensure!(
        same(&source.architecture, wanted),
        "{name} is a net of shape {}, and the config asks for {wanted}; give the config the shape \
         of its start",
        source.architecture
    );
    let weights = arrays(&source.weights, wanted).with_context(|| name.to_string())?;
    if let Some((array, place, value)) = weights.non_finite() {
        bail!("{name}: {array}[{place}] is {value}; start from an earlier checkpoint");
    }
    let recipe = match &manifest {
        Some(manifest) => Recipe::of_manifest(&manifest.provenance),
        None => Recipe::read(&source.facts).with_context(|| name.to_string())?,
    };
    eprintln!("starts from {name}: {}, {kind}", source.architecture);
    if let Some(then) = recipe.as_ref().map(|recipe| recipe.config.score_scale())
        && config.needs_scores()
        && then != config.score_scale()
    {
        eprintln!(
            "note: it learnt with score_scale {then}, and goes on with {}: its first outputs mean \
             other chances than these scores",
            config.score_scale()
        );
    }
    let doubt = doubt(&path, recipe.as_ref(), config);
    if let Some(doubt) = &doubt {
        eprintln!("note: {doubt}");
    }
    let from = StartedFrom { file: name.to_string(), sha256: digest(&bytes), doubt };
    let sketches = recipe.map(|recipe| (recipe.sketch, recipe.validation_sketch));
    let (sketch, validation_sketch) = sketches.unwrap_or_default();
    Ok(Start { weights, sketch, validation_sketch, from })
}

fn same(one: &Architecture, other: &Architecture) -> bool {
    let shape = |it: &Architecture| (it.features.name, it.hidden, it.activation);
    shape(one) == shape(other)
}

/// The floats beside a net, if they are those that it was made of.
fn floats(net: &Path, bytes: &[u8], source: &Source) -> Option<Weights> {
    let path: PathBuf = floats_path(net);
    let floats =
        export::import(&input::read(&path, input::WEIGHTS).ok()?, &Hints::default()).ok()?;
    let Source { architecture, scales, .. } = source;
    let again: Net = export::quantise(&floats.weights, architecture, *scales).ok()?;
    (again.to_bytes() == bytes).then_some(floats.weights)
}

/// The arrays of a net, and no others.
fn arrays(weights: &Weights, net: &Architecture) -> Result<Weights> {
    let Architecture { features, hidden, .. } = *net;
    let mut arrays = Weights::default();
    for (name, shape) in [
        ("accumulator.weight", &[features.inputs, hidden][..]),
        ("accumulator.bias", &[hidden]),
        ("output.weight", &[features.views * hidden]),
        ("output.bias", &[1]),
    ] {
        arrays.insert(name, shape, weights.get(name, shape)?.to_vec());
    }
    Ok(arrays)
}

/// Why the start may know games that this run holds out.
fn doubt(path: &Path, recipe: Option<&Recipe>, config: &Config) -> Option<String> {
    let name = path.display();
    let Some(recipe) = recipe else {
        return Some(format!(
            "nothing is known of what {name} was trained on, so the games that are held out here \
             may be known to it"
        ));
    };
    let split = Split { share: config.data.held_out, seed: config.data.held_out_seed };
    let then = recipe.split();
    // A smaller share of the same seed is a part of a larger one.
    if then.seed != split.seed || then.share < split.share {
        return Some(format!(
            "{name} held out other games (held_out {}, held_out_seed {}) than this run ({}, {}), so \
             it may have been trained on those that are held out here",
            then.share, then.seed, split.share, split.seed
        ));
    }
    let [kept, wanted] = [recipe.config.test().0, config.test().0];
    if kept < wanted {
        return Some(format!(
            "{name} kept a smaller share of its held-out games for the test ({kept}) than this run \
             ({wanted}), so its checkpoint may have been chosen on games of this test"
        ));
    }
    recipe.start.as_ref().and_then(|start| start.doubt.clone())
}
