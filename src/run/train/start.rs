//! Weights that a net starts from, and evaluations that it is added to.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::grow::{GrowError, grow};
use crate::architecture::Architecture;
use crate::config::Config;
use crate::digest::digest;
use crate::export::{self, Below, Beside, Imported, StartedFrom, WholeNet, floats_path};
use crate::hce::HceWeights;
use crate::input;
use crate::loader::{Sketch, Split};
use crate::model::{Compute, Device};
use crate::net::{Hints, Net};
use crate::progress::Progress;
use crate::run::evaluator::Evaluator;
use crate::run::folder::{BASE, BEST};
use crate::run::path::{FileKind, in_folder, kind_of};
use crate::run::recipe::Recipe;
use crate::train::target::Promise;
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
pub fn open(config: &Config, listener: &dyn Progress) -> Result<Option<Start>> {
    let (Some(name), Some(wanted)) = (config.start(), config.architecture()) else {
        return Ok(None);
    };
    let start = read(Path::new(name), wanted, config, listener);
    start.map(Some).context("`net.start`")
}

fn read(
    given: &Path,
    wanted: &Architecture,
    config: &Config,
    listener: &dyn Progress,
) -> Result<Start> {
    let path = in_folder(given, BEST)?;
    let name = path.display();
    let bytes =
        input::read(&path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    let beside = match kind_of(&bytes) {
        FileKind::Weights => Beside::Nothing,
        _ => export::beside_net(&path, &bytes)?,
    };
    // What other files do not say of themselves is what the config wants.
    let wants = || Hints { net: wanted.clone(), ..Hints::default() };
    let hints = beside.hints().unwrap_or_else(wants);
    let mut source = export::import(&bytes, &hints).with_context(|| name.to_string())?;
    let mut kind = source.kind;
    if source.kind == "quantised net" {
        match floats(&path, &source) {
            Some(floats) => {
                (source.weights, source.architecture) = (floats.weights, floats.architecture);
                kind = "net, from the floats beside it";
            }
            None => kind = "net, from its integers, since its floats are not beside it",
        }
    }
    let (mut found, mut weights) = (source.architecture.clone(), source.weights);
    let (shape, merged) = (found.merged(), wanted.merged());
    if shape != merged {
        let small = export::factorised_as(&weights, &found, &shape);
        let small = small.with_context(|| name.to_string())?;
        let grown = grow(&small, &shape, &merged, config.seed).map_err(|error| match error {
            GrowError::Weights(error) => anyhow!("{name}: {error}"),
            GrowError::Unlike(reason) => anyhow!(
                "{name} is a net of shape {found}, which cannot grow into {wanted}: {reason}; a net \
                 may get more neurons, finer king buckets and finer output buckets than its start"
            ),
        });
        (weights, found) = (grown?, merged);
    }
    let weights = export::factorised_as(&weights, &found, wanted);
    let weights = weights.with_context(|| name.to_string())?;
    if let Some((array, place, value)) = weights.non_finite() {
        bail!("{name}: {array}[{place}] is {value}; start from an earlier checkpoint");
    }
    let recipe = match &beside {
        Beside::Manifest(manifest) => Recipe::of_manifest(&manifest.provenance),
        _ => Recipe::read(&source.facts).with_context(|| name.to_string())?,
    };
    let grown = match source.architecture.merged() == wanted.merged() {
        true => String::new(),
        false => format!("; grown to {wanted}, it says the same until it learns more"),
    };
    listener.remark(&format!("starts from {name}: {}, {kind}{grown}", source.architecture));
    if let Some(then) = recipe.as_ref().map(|recipe| recipe.config.promise)
        && config.needs_scores()
        && then != config.promise
    {
        let words = |Promise { scale, offset }: Promise| match offset {
            0.0 => format!("score_scale {scale}"),
            _ => format!("score_scale {scale} and score_offset {offset}"),
        };
        listener.remark(&format!(
            "note: it learnt with {}, and goes on with {}: its first outputs mean other chances than \
             these scores",
            words(then),
            words(config.promise)
        ));
    }
    let base_name = config.net().and_then(|net| net.base.as_ref());
    let then = recipe.as_ref().and_then(|recipe| recipe.base.as_ref());
    if let (Some(base), None) = (then, base_name) {
        listener.remark(&format!(
            "note: it was a part of a sum, added to {}, and begins without it here; `net.base` names \
             what a net is added to",
            base.name
        ));
    }
    let together = recipe.as_ref().is_some_and(|recipe| recipe.config.tunes_base());
    let own = own_base(&path);
    if let Some(base) = base_name.filter(|base| together && **base != own) {
        listener.remark(&format!(
            "note: it learnt together with terms, which stand in {own} by now, and goes on with {base} \
             here"
        ));
    }
    let doubt = doubt(&path, recipe.as_ref(), config);
    if let Some(doubt) = &doubt {
        listener.remark(&format!("note: {doubt}"));
    }
    let from = StartedFrom { file: name.to_string(), sha256: digest(&bytes), doubt };
    let sketches = recipe.map(|recipe| (recipe.sketch, recipe.validation_sketch));
    let (sketch, validation_sketch) = sketches.unwrap_or_default();
    Ok(Start { weights, sketch, validation_sketch, from })
}

/// The floats beside a net, if they are those that it was made of.
fn floats(net: &Path, source: &Imported) -> Option<Imported> {
    let bytes = input::read(&floats_path(net), input::WEIGHTS).ok()?;
    let Imported { weights, architecture, scales, .. } = source;
    let hints = Hints { net: architecture.clone(), scales: *scales };
    let floats = export::import(&bytes, &hints).ok()?;
    let again = |weights, architecture| export::quantise(weights, architecture, *scales).ok();
    let ours = again(&floats.weights, &floats.architecture)?;
    (ours.numbers() == again(weights, architecture)?.numbers()).then_some(floats)
}

/// Why what a run begins with may know games that it holds out.
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
    let [kept, wanted] = [recipe.config.test.0, config.test.0];
    if kept < wanted {
        return Some(format!(
            "{name} kept a smaller share of its held-out games for the test ({kept}) than this run \
             ({wanted}), so its checkpoint may have been chosen on games of this test"
        ));
    }
    let of_start = recipe.start.as_ref().and_then(|start| start.doubt.clone());
    of_start.or_else(|| recipe.base.as_ref().and_then(|base| base.doubt.clone()))
}

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
pub fn open_base(
    config: &Config,
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<Option<Added>> {
    let Some(name) = config.net().and_then(|net| net.base.as_ref()) else { return Ok(None) };
    read_base(name, config, place, listener).map(Some).context("`net.base`")
}

fn read_base(
    name: &str,
    config: &Config,
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<Added> {
    let (found, recipe, sha256) = match name {
        "material" => (Found::Terms(HceWeights::material()), None, None),
        _ => {
            ensure!(
                Path::new(name).exists(),
                "there is no file or folder {name}; name the folder of a run, which has to be trained \
                 first, a checkpoint, a net, handcrafted terms (JSON), or \"material\""
            );
            let evaluator = Evaluator::open(name, place, listener)?;
            (Found::of(name, &evaluator)?, evaluator.recipe.clone(), evaluator.digest.clone())
        }
    };
    let doubt = match name {
        "material" => None,
        _ => doubt(Path::new(name), recipe.as_ref(), config),
    };
    // Centipawns are added up.
    let scale = config.target.scale.unwrap_or_else(|| found.scale());
    let how = if config.tunes_base() { "learns together with" } else { "added to" };
    listener.remark(&format!("{how} {name}: {found}, at {scale} centipawns of both a logit"));
    if let Some(doubt) = &doubt {
        listener.remark(&format!("note: {doubt}"));
    }
    let sketches =
        recipe.map(|Recipe { sketch, validation_sketch, .. }| (sketch, validation_sketch));
    let (sketch, validation_sketch) = sketches.unwrap_or_default();
    let base = export::Base { name: name.to_string(), sha256, doubt, scale, below: found.whole() };
    Ok(Added { base, sketch, validation_sketch })
}

/// The terms that a run with this name has trained together with its net: of a folder, or of a file in
/// one.
fn own_base(name: &Path) -> String {
    let places = [name.join(BASE), name.with_file_name(BASE)];
    let place = places.iter().find(|place| place.exists()).unwrap_or(&places[0]);
    place.display().to_string()
}

/// What a name turned out to be.
enum Found {
    Terms(HceWeights),
    Net(Net),
}

impl Found {
    /// # Errors
    /// If a net can be added to nothing of the kind.
    fn of(name: &str, evaluator: &Evaluator) -> Result<Self> {
        if let Some(weights) = evaluator.terms() {
            return Ok(Self::Terms(weights.clone()));
        }
        let net = evaluator.net().map_err(|why| {
            anyhow!("{name}: what is added are the integers that an engine has, and {why}")
        })?;
        let Some((net, below)) = net else {
            // What else a file can hold.
            bail!(
                "{name} are terms of another engine, which only its traces tell, and the data of nets \
                 has none; name a net, terms of our own (a config with [terms]), or \"material\""
            );
        };
        if below.is_some() {
            let below = evaluator.recipe.as_ref().and_then(|recipe| recipe.base.as_ref());
            let own = evaluator.recipe.as_ref().is_some_and(|it| it.config.tunes_base());
            let below = match own {
                true => own_base(Path::new(name)),
                false => below.map_or("...".into(), |base| base.name.clone()),
            };
            bail!(
                "{name} is itself a part of a sum, which has two at most; to go on with it, set \
                 net.base = \"{below}\", which it is added to, and net.start = \"{name}\""
            );
        }
        let (bytes, most) = (net.to_bytes().len(), WholeNet::MOST);
        ensure!(
            bytes <= most,
            "{name} has {} MiB, and what a net is added to goes into every checkpoint: {} MiB at \
             most",
            bytes.div_ceil(1 << 20),
            most >> 20
        );
        Ok(Self::Net(net.clone()))
    }

    /// Its centipawns a logit.
    fn scale(&self) -> f64 {
        match self {
            Found::Terms(weights) => weights.scale.round().max(1.0),
            Found::Net(net) => net.scales().scale.into(),
        }
    }

    fn whole(&self) -> Below {
        match self {
            Found::Terms(weights) => Below::Terms(weights.to_json()),
            Found::Net(net) => Below::Net(Box::new(WholeNet::new(net))),
        }
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Found::Terms(_) => f.write_str("handcrafted terms"),
            Found::Net(net) => write!(f, "the net {}, in integers", net.architecture()),
        }
    }
}
