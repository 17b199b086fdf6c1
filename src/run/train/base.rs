//! What a net is added to.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::start::doubt;
use crate::config::Config;
use crate::export::{self, Below, Given, WholeNet};
use crate::hce::HceWeights;
use crate::loader::Sketch;
use crate::model::{Compute, Device};
use crate::net::Net;
use crate::progress::Progress;
use crate::run::evaluator::Evaluator;
use crate::run::folder::BASE;
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
    listener: &dyn Progress,
) -> Result<Option<Added>> {
    let Some(name) = config.net().and_then(|net| net.base.as_ref()) else { return Ok(None) };
    read(name, config, place, listener).map(Some).context("`net.base`")
}

fn read(
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
            let evaluator = Evaluator::open(name, &Given::default(), place, listener)?;
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
pub(super) fn own_base(name: &Path) -> String {
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
