//! Resuming a run, as it was or longer. The result depends on the last checkpoint alone.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{FinishedRun, OpenRun, RunContext, join, stages};
use crate::config::{Config, EarlierLength};
use crate::run::folder::{self, RunFolder};
use crate::run::recipe;
use crate::train::checkpoint::{Checkpoint, RunState};
use crate::{input, output};

/// Keys that may be set when a run is resumed.
const SETTABLE: [&str; 4] =
    ["schedule.epochs", "schedule.positions", "schedule.superbatches", "schedule.patience"];

/// Name for a config that was edited since its run began.
const EDITED: &str = "config.edited.toml";

/// Resumes a run; `overrides` may change its length and its patience. Returns its result, or None if
/// it was interrupted again.
///
/// # Errors
///
/// Fails if the folder has no run, if a file of the run is missing, if the data are other files, if
/// `overrides` change other keys, or if the run has passed its new length. Fails also as
/// [`begin_training`](super::begin_training) does.
pub fn resume_run(
    path: &Path,
    overrides: &[String],
    context: &RunContext,
) -> Result<Option<FinishedRun>> {
    let folder = RunFolder::of_run(path, context.listener)?;
    let last = folder.path.join(folder::LAST);
    if !last.exists() {
        ensure!(
            overrides.is_empty(),
            "the last stage of {} has not begun, and only this can be made longer; go on without \
             --set",
            path.display()
        );
        let config = Config::read_file(&folder.path.join(folder::STAGES), &[])?;
        return stages::go_on(&config, &folder, context);
    }
    let (mut checkpoint, recipe) = recipe::open_checkpoint(&last)?;
    let longer = lengthen_config(&recipe.config, overrides, &checkpoint.state)?;
    let best_path = folder.path.join(folder::BEST);
    let mut best = Checkpoint::read_file(&best_path)
        .context("a run goes on with its best weights; restore them, or begin a new run")?;
    let host = context.open_host(&recipe.config)?;
    join::broadcast_recipe(&recipe, Some(&checkpoint), &host, context.ranks)?;
    let (mut run, _) = OpenRun::open(recipe, Some(&checkpoint.weights), host, context)?;
    run.require_same_data()?;
    let is_longer = longer.is_some();
    if let Some(config) = longer {
        run.recipe.config = config;
    }
    let settings = run.run_settings()?;
    let done = checkpoint.state.step;
    if is_longer {
        ensure!(
            settings.steps > done,
            "this run has done {done} steps already, and its new length is {}; give a larger one",
            settings.steps
        );
        checkpoint.facts.extend(run.recipe.header_facts()?);
        checkpoint.write_file(&last)?;
    }
    // If a kill left an older file of best weights, it gets the header of the last checkpoint.
    if best.facts != checkpoint.facts {
        best.facts.clone_from(&checkpoint.facts);
        best.write_file(&best_path)?;
    }
    let config = folder.path.join(folder::CONFIG);
    let text = run.recipe.config.to_toml();
    let changed = input::read_text(&config, input::TEXT).is_ok_and(|old| old != text);
    if changed && !is_longer {
        let edited = folder.path.join(EDITED);
        fs::rename(&config, &edited)
            .with_context(|| format!("cannot rename {}", config.display()))?;
        context.listener.report_remark(&format!(
            "a run goes on as it began: its config was changed, and what it became is {} now",
            edited.display()
        ));
    }
    if settings.steps == done {
        context
            .listener
            .report_remark("the run is complete; --set schedule.epochs=N makes it longer");
    }
    output::write_file(&config, text.as_bytes())?;
    run.train_from(checkpoint, &settings, &folder)
}

/// Returns the config of a run that is made longer; None if its length stays.
fn lengthen_config(
    config: &Config,
    overrides: &[String],
    state: &RunState,
) -> Result<Option<Config>> {
    for set in overrides {
        let key = set.split('=').next().unwrap_or_default().trim();
        ensure!(
            SETTABLE.contains(&key),
            "--set {set}: a run that goes on can be made longer and more patient ({}), nothing \
             else; begin a new run, which may start from this one's weights with net.start",
            SETTABLE.join(", ")
        );
    }
    let longer = Config::parse_text(&config.to_toml(), "the run's config", overrides)?;
    if longer.to_toml() == config.to_toml() {
        return Ok(None);
    }
    ensure!(
        !state.converged,
        "this run has converged: no step makes its loss fall, and a longer one would be the same"
    );
    let before = config.file.schedule.total_length();
    let until_step = state.step;
    if longer.file.schedule.total_length() == before {
        return Ok(Some(longer));
    }
    let longer = longer.with_changes(|file| {
        // If it is made longer twice at one step, only the last length counts.
        file.schedule.extended.retain(|earlier| earlier.until_step < until_step);
        if until_step > 0 {
            file.schedule.extended.push(EarlierLength { until_step, ..before });
        }
    })?;
    Ok(Some(longer))
}
