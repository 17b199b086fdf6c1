//! Taking part in a run that rank 0 begins or resumes.
//!
//! Rank 0 alone reads and writes the run folder. Before it reads the data it broadcasts a [`Draft`], so
//! that all ranks read at the same time; and a checkpoint after that, from which all of them train.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Means, data, how, length};
use crate::config::{BatchSize, Config, Learn};
use crate::export;
use crate::model::Compute;
use crate::run::recipe::Recipe;
use crate::train::checkpoint::Checkpoint;
use crate::train::optimizer::Name;
use crate::train::ranks::Ranks;
use crate::train::{self, End, Training};

/// Facts that ranks need to read the data of a run.
#[derive(Serialize, Deserialize)]
struct Draft {
    config: String,
    folder: PathBuf,
    term_list: Option<String>,
    base: Option<export::Base>,
    /// How rank 0 computes, in words.
    compute: String,
    /// Whether the checkpoint follows that the run is resumed from.
    resumes: bool,
}

/// Broadcasts the facts of a run from rank 0, where there are others.
pub fn invite(
    ranks: &dyn Ranks,
    config: &Config,
    folder: &Path,
    term_list: Option<&str>,
    base: Option<&export::Base>,
    compute: &Compute,
    begun: Option<&Checkpoint>,
) -> Result<()> {
    require_shareable(config, ranks)?;
    if ranks.is_alone() {
        return Ok(());
    }
    let draft = Draft {
        config: config.to_toml(),
        folder: folder.to_path_buf(),
        term_list: term_list.map(String::from),
        base: base.cloned(),
        compute: how(compute),
        resumes: begun.is_some(),
    };
    ranks.broadcast(&mut serde_json::to_vec(&draft)?);
    if let Some(begun) = begun {
        ranks.broadcast(&mut begun.to_bytes());
    }
    Ok(())
}

/// An error where several ranks cannot do what a config asks for.
fn require_shareable(config: &Config, ranks: &dyn Ranks) -> Result<()> {
    if ranks.is_alone() {
        return Ok(());
    }
    let name = config.optimizer.name;
    let uneven = name.is_direct() && !config.target.weights.is_level();
    for (is_alone, what) in [
        (config.target.learn != Learn::Values, "`target.learn` with searches"),
        (name == Name::LocalSearch, "`local-search`"),
        (uneven, "`gauss-newton` with `target.weights`"),
    ] {
        ensure!(!is_alone, "{what} runs in one process; start it without mpirun");
    }
    if let BatchSize::Positions(batch) = config.batch {
        let count = ranks.count();
        ensure!(
            batch >= count,
            "`schedule.batch`: {batch} positions are too few for {count} ranks"
        );
    }
    Ok(())
}

/// Takes part in the run of rank 0, as another rank; returns how it ended.
pub fn join(means: &Means) -> Result<End> {
    let Means { listener, ranks, .. } = *means;
    let received = || {
        let mut bytes = Vec::new();
        ranks.broadcast(&mut bytes);
        bytes
    };
    let read = |bytes: &[u8]| Checkpoint::from_bytes(bytes, Path::new("the checkpoint of rank 0"));
    let Draft { config, folder, term_list, base, compute, resumes } =
        serde_json::from_slice(&received()).context("rank 0 runs another version of nnuance")?;
    let begun = resumes.then(|| read(&received())).transpose()?;
    let mut config = Config::parse(&config, "the config of rank 0", &[])?;
    let place = means.place.open_for(&config)?;
    let own = how(&place.1);
    ensure!(
        own == compute,
        "this machine computes with {own}, that of rank 0 with {compute}: their weights would drift \
         apart; name what both have with --simd"
    );
    let begun = begun.as_ref().map(|begun| &begun.weights);
    let list = term_list.as_deref();
    let (mut data, _) = data::open(&mut config, list, begun, base.as_ref(), &place, listener)?;
    let checkpoint = read(&received())?;
    let recipe = Recipe::read(&checkpoint.facts)?.context("rank 0 sends a config")?;
    if let Some(path) = recipe.changed([&data.summary.files, &data.summary.validating.files]) {
        bail!("{} is another file on this machine than on that of rank 0", path.display());
    }
    let settings = length::settings(&recipe.config, data.summary.train)?;
    let batches = data.batches(&recipe, &checkpoint, ranks.which())?;
    let job = Training {
        kind: recipe.kind()?,
        compute: place.1,
        device: &place.0,
        settings: &settings,
        folder: &folder,
        held_out: &data.validation,
        until: u64::MAX,
        ranks,
    };
    let (end, _) = train::run(&job, checkpoint, batches, listener)?;
    Ok(end)
}
