//! Taking part in a run that rank 0 begins or goes on with.
//!
//! Rank 0 alone knows of folders and files of the run. Before it reads the data it hands a [`Draft`]
//! on, so that all ranks read at the same time; and a checkpoint behind that, from which all of them
//! train.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Means, how, length, open};
use crate::config::{BatchSize, Config, Judged};
use crate::export;
use crate::model::{Compute, Device};
use crate::run::folder::LAST;
use crate::run::recipe::Recipe;
use crate::train::checkpoint::Checkpoint;
use crate::train::optimizer::Name;
use crate::train::ranks::Ranks;
use crate::train::{self, End, Training};

/// What ranks must know of a run to read its data.
#[derive(Serialize, Deserialize)]
pub struct Draft {
    config: String,
    folder: PathBuf,
    term_list: Option<String>,
    base: Option<export::Base>,
    /// How rank 0 computes, in words.
    compute: String,
    /// Whether a checkpoint follows that the run goes on from.
    goes_on: bool,
}

/// What checkpoints that rank 0 hands on are called in errors.
const HANDED: &str = "the checkpoint of rank 0";

impl Draft {
    pub fn new(config: &Config, folder: &Path, term_list: Option<&str>) -> Self {
        Self {
            config: config.to_toml(),
            folder: folder.to_path_buf(),
            term_list: term_list.map(String::from),
            base: None,
            compute: String::new(),
            goes_on: false,
        }
    }

    /// The same of a net that is added to something.
    pub fn base(self, base: Option<&export::Base>) -> Self {
        Self { base: base.cloned(), ..self }
    }

    /// Tells the other ranks.
    ///
    /// # Errors
    /// If one of them is silent.
    pub fn hand_on(
        self,
        begun: Option<&Checkpoint>,
        (_, compute): &(Device, Compute),
        ranks: &dyn Ranks,
    ) -> Result<()> {
        if ranks.is_alone() {
            return Ok(());
        }
        let draft = Self { compute: how(compute), goes_on: begun.is_some(), ..self };
        ranks.hand_on(serde_json::to_vec(&draft)?)?;
        begun.map_or(Ok(()), |begun| ranks.hand_on(begun.to_bytes()).map(|_| ()))?;
        Ok(())
    }
}

/// An error where several ranks cannot do what a config asks for.
pub fn refuse_alone(config: &Config, ranks: &dyn Ranks) -> Result<()> {
    if ranks.is_alone() {
        return Ok(());
    }
    const ALONE: &str = "start it without mpirun, or with `-n 1`";
    ensure!(config.moves().is_none(), "moves are learnt by one process: {ALONE}");
    ensure!(
        config.target.position != Judged::Quiescence,
        "quiet ends (`target.position`) are looked for by one process: {ALONE}"
    );
    let name = config.optimizer().name;
    ensure!(
        name != Name::LocalSearch,
        "`local-search` goes by all positions in one process: {ALONE}"
    );
    ensure!(
        !name.is_direct() || config.weighing().is_level(),
        "`gauss-newton` on several ranks takes all positions to count alike; leave \
         `target.weights` out, or {ALONE}"
    );
    if let BatchSize::Positions(batch) = config.batch() {
        ensure!(
            batch >= ranks.size(),
            "`schedule.batch`: {batch} positions cannot be shared by {} ranks",
            ranks.size()
        );
    }
    Ok(())
}

/// Takes part in the run of rank 0, as another rank; how it ended.
pub fn join(means: &Means) -> Result<End> {
    let Means { listener, ranks, .. } = *means;
    let draft = ranks.hand_on(Vec::new())?;
    let Draft { config, folder, term_list, base, compute, goes_on } =
        serde_json::from_slice(&draft).context("rank 0 has another version of this program")?;
    let handed = || -> Result<Checkpoint> {
        Ok(Checkpoint::from_bytes(&ranks.hand_on(Vec::new())?, Path::new(HANDED))?)
    };
    let begun = goes_on.then(handed).transpose()?;
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
    let opened = open::open(&mut config, list, begun, base.as_ref(), &place, listener);
    let (mut data, _) = opened?;
    let checkpoint = handed()?;
    let recipe = Recipe::read(&checkpoint.facts)?.context("rank 0 hands a config on")?;
    // Traces are read by each rank.
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
        oracle: None,
        ranks,
    };
    let mut watch = listener.watch(0, 0);
    ranks.steps_begin();
    let (end, _) = train::run(&job, checkpoint, batches, &mut *watch)
        .with_context(|| format!("the run of {}", folder.join(LAST).display()))?;
    Ok(end)
}
