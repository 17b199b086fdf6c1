//! Training from a config to an evaluation in a folder.

mod data;
mod finish;
pub mod grow;
mod join;
mod length;
mod resume;
mod start;

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::folder::{self, RunFolder};
use super::objective::{self, Rounds};
use super::place::Place;
use super::recipe::{self, COMPUTE, POSITIONS, Recipe};
use super::summary::{self, Opening};
use super::terms::RunTerms;
use crate::config::Config;
use crate::model::{Adapter, Compute, Device, Precision};
use crate::output;
use crate::progress::Progress;
use crate::train::checkpoint::{Checkpoint, State};
use crate::train::ranks::Ranks;
use crate::train::{self, End, Settings, Training};
use data::Data;
pub use finish::{Finished, Made, NothingLearnt};
pub use join::join;
pub use resume::resume;

/// The remedy for a file that is to train and to validate.
const ONE_LIST: &str = "what validates must not be trained on: take it out of one of the two";

/// How a run is carried out, whatever its config says.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub place: &'a Place,
    pub listener: &'a dyn Progress,
    /// Whether a page is written at the end.
    pub page: bool,
    /// Who else carries it out. This is rank 0.
    pub ranks: &'a dyn Ranks,
}

/// Starts a run; what it leaves, or none if it was interrupted.
pub fn begin(mut config: Config, folder: &RunFolder, means: &Means) -> Result<Option<Finished>> {
    let listener = means.listener;
    let place = means.place.open_for(&config)?;
    let term_list = recipe::term_list(&config)?;
    refuse_twins(&config)?;
    let began = start::open(&config, listener)?;
    let added = start::open_base(&config, &place, listener)?;
    if let Some(added) = &added {
        config = config.with(|file| file.target.scale = Some(added.base.scale))?;
    }
    let (list, below) = (term_list.as_deref(), added.as_ref().map(|added| &added.base));
    join::invite(means.ranks, &config, &folder.path, list, below, &place.1, None)?;
    let (data, mut weights) = data::open(&mut config, list, None, below, &place, listener)?;
    if config.data.window.is_none()
        && let Some(window) = data.window(&config)
    {
        config = config.with(|file| file.data.window = Some(window))?;
    }
    // Found before the folder is cleared.
    length::settings(&config, data.summary.train)?;
    let mut recipe = Recipe {
        config,
        data: data.summary.files.clone(),
        sketch: data.summary.sketch.clone(),
        validation: data.summary.validating.files.clone(),
        validation_sketch: data.summary.validating.sketch.clone(),
        term_list,
        start: None,
        base: None,
    };
    if let Some(began) = began {
        // Terms that learn with a net come from its base.
        weights.0.extend(began.weights.0);
        let known = began.sketch.shared(&recipe.validation_sketch);
        if known > 0 {
            listener.remark(&format!(
                "caution: {} was trained on games of `data.validation` ({known} or more): the \
                 validation loss looks better than it is",
                began.from.file
            ));
        }
        recipe.sketch.join(&began.sketch);
        recipe.validation_sketch.join(&began.validation_sketch);
        recipe.start = Some(began.from);
    }
    if let Some(added) = added {
        recipe.sketch.join(&added.sketch);
        recipe.validation_sketch.join(&added.validation_sketch);
        recipe.base = Some(added.base);
    }
    folder.clear()?;
    output::write(&folder.file(folder::CONFIG), recipe.config.to_toml().as_bytes())?;
    let (optimizer, state) = (Vec::new(), State::default());
    let mut facts = recipe.facts()?;
    facts.insert(COMPUTE.into(), how(&place.1));
    facts.insert(POSITIONS.into(), data.summary.train.to_string());
    let checkpoint = Checkpoint { weights, optimizer, state, facts };
    train(&recipe, data, checkpoint, folder, &place, means)
}

/// What a run comes to with this many positions to train on.
///
/// # Errors
/// Whatever would stop it before its first step and does not hang on what its data hold.
pub fn check(config: &Config, positions: u64, means: &Means) -> Result<Settings> {
    let place = means.place.open_for(config)?;
    RunTerms::of(config, recipe::term_list(config)?.as_deref())?;
    refuse_twins(config)?;
    start::open(config, means.listener)?;
    start::open_base(config, &place, means.listener)?;
    length::settings(config, positions)
}

/// A file that is named twice would count twice.
fn refuse_twins(config: &Config) -> Result<()> {
    let real = |path: &PathBuf| path.canonicalize().ok();
    let twin = |path: &PathBuf, among: &[PathBuf]| {
        let mut among = among.iter();
        among.find(|it| real(it).is_some() && real(it) == real(path)).cloned()
    };
    let (data, all) = (&config.data, config.data.all_files());
    let key = data.key_of_files();
    for (key, files) in [(key, &all), ("data.validation", &data.validation)] {
        for (i, path) in files.iter().enumerate() {
            if let Some(twin) = twin(path, &files[..i]) {
                let (path, twin) = (path.display(), twin.display());
                bail!("`{key}`: {twin} and {path} are one file; remove one");
            }
        }
    }
    for path in &data.validation {
        if let Some(twin) = twin(path, &all) {
            let (path, twin) = (path.display(), twin.display());
            bail!("`data.validation`: {path} and {twin} of `{key}` are one file; {ONE_LIST}");
        }
    }
    Ok(())
}

fn how(compute: &Compute) -> String {
    match compute {
        Compute::Plain => "plain tensor operations".to_string(),
        Compute::Fused { level, precision } => {
            format!("fused operations ({}, {})", level.name(), precision.name())
        }
        Compute::Gpu { .. } => "fused operations of a GPU".to_string(),
    }
}

fn train(
    recipe: &Recipe,
    mut data: Data,
    mut checkpoint: Checkpoint,
    folder: &RunFolder,
    place: &(Device, Compute),
    &Means { listener, page, ranks, .. }: &Means,
) -> Result<Option<Finished>> {
    let (device, compute) = place;
    if !ranks.is_alone() {
        ranks.broadcast(&mut checkpoint.to_bytes());
    }
    let config = &recipe.config;
    let positions = data.summary.train;
    let span = config.span(positions);
    let (batch, steps) = (span.batch, span.steps);
    let settings = length::settings(config, positions)?;
    let opening = Opening {
        positions,
        span: &span,
        settings: &settings,
        net: recipe.architecture().cloned(),
        adapter: Adapter::of(device),
        compute: format!("{}{}", how(compute), data.planned()),
    };
    listener.remark(opening.table().to_string().trim_end());
    if config.precision() == Precision::Mixed && !compute.is_mixed() {
        listener.remark(
            "this device computes in 32 bits; `net.precision = \"mixed\"` is for the fused \
             operations of the processor",
        );
    }
    if let Some(caution) = data::sameness(config, &data.some) {
        listener.remark(&format!("caution: {caution}"));
    }

    let kind = recipe.kind()?;
    let rounds = Rounds::of(config, &span);
    if let Some(rounds) = &rounds {
        listener.remark(&rounds.sentence());
    }
    let begun = listener.begun("training", Some(steps * batch), checkpoint.state.positions);
    let end = loop {
        let round = rounds.map(|rounds| rounds.enter(&checkpoint, folder)).transpose()?;
        let until = round.as_ref().map_or(u64::MAX, |round| round.until);
        if let Some(mut round) = round
            && let Some(by) = objective::of(recipe, &round.weights)?
        {
            let spread = data.prepare(by, round.spread, config, listener)?;
            round.keep_spread(spread, folder)?;
        }
        let batches = data.batches(recipe, &checkpoint, ranks.which())?;
        let job = Training {
            kind: kind.clone(),
            compute: *compute,
            device,
            settings: &settings,
            folder: &folder.path,
            held_out: &data.validation,
            until,
            ranks,
        };
        let end;
        (end, checkpoint) = train::run(&job, checkpoint, batches, listener)?;
        if end != End::Round {
            break end;
        }
    };
    drop(begun);
    let direct = settings.optimizer.name.is_direct();
    let step = checkpoint.state.step;
    if let Some(text) = summary::ending(end, [step, steps], direct, &folder.path) {
        listener.remark(&text);
    }
    if end == End::Interrupted {
        return Ok(None);
    }
    finish::refuse_untrained(recipe, &checkpoint, folder)?;
    let mut finished = finish::finish(recipe, &data, folder, listener)?;
    finished.page = page.then(|| finish::page(recipe, &data, folder, place, listener));
    Ok(Some(finished))
}
