//! Training from a config to an evaluation in a folder.

mod data;
mod finish;
pub mod grow;
mod join;
mod live;
mod net_data;
mod resume;
pub mod stages;
mod start;
mod summary;
mod term_data;

use std::path::Path;

use anyhow::{Error, Result, bail};

use super::device::{DeviceOptions, Host};
use super::folder::{self, RunFolder};
use super::objective::{self, Round, round_length};
use super::recipe::{COMPUTE, POSITIONS, Recipe};
use crate::config::Config;
use crate::net::{StoredArray, stored_arrays};
use crate::output;
use crate::progress::Progress;
use crate::report::wrap_all;
use crate::train::checkpoint::{Checkpoint, RunState};
use crate::train::ranks::Ranks;
use crate::train::schedule::{ScheduleError, Span, Stages};
use crate::train::{self, End, KeepRule, Rounding, Training, TrainingSettings};
use crate::weights::Weights;
use data::TrainingData;
pub use finish::{FinishedRun, NothingLearnt, RunResult};
pub use join::join_run;
use live::LivePage;
pub use resume::resume_run;

/// The circumstances of a run that its config does not determine.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct RunContext<'a> {
    pub device: &'a DeviceOptions,
    pub listener: &'a dyn Progress,
    /// Whether a page is written, during training and at the end.
    pub page: bool,
    /// All ranks of the run. This is rank 0, except in [`join_run`].
    pub ranks: &'a dyn Ranks,
}

impl<'a> RunContext<'a> {
    pub(super) fn open_host(&self, config: &Config) -> Result<Host<'a>> {
        self.device.open_for(config, self.listener)
    }
}

/// Starts a run, or the stages of a config. Returns its result, or None if it was interrupted.
///
/// # Errors
///
/// Fails if data or folder cannot be read or written, if the data do not fit the config, and if a net
/// has learnt nothing.
pub fn begin_training(
    config: Config,
    folder: &RunFolder,
    context: &RunContext,
) -> Result<Option<FinishedRun>> {
    match config.has_stages() {
        true => stages::begin_stages(&config, folder, context),
        false => begin_run(config, folder, context, RunFolder::clear_runs),
    }
}

/// Starts a single run; `clear` removes earlier files from the folder.
fn begin_run(
    config: Config,
    folder: &RunFolder,
    context: &RunContext,
    clear: fn(&RunFolder) -> Result<()>,
) -> Result<Option<FinishedRun>> {
    let host = context.open_host(&config)?;
    let (recipe, start) = start::prepare_recipe(config, &host)?;
    join::broadcast_recipe(&recipe, None, &host, context.ranks)?;
    let (mut run, mut weights) = OpenRun::open(recipe, None, host, context)?;
    // Without a state of the optimiser, terms that are trained with a net come from its base.
    weights.0.extend(start.weights.0);
    run.describe_data()?;
    // Checked before the folder is cleared.
    let settings = run.run_settings()?;
    clear(folder)?;
    output::write_file(&folder.path.join(folder::CONFIG), run.recipe.config.to_toml().as_bytes())?;
    let mut facts = run.recipe.header_facts()?;
    facts.insert(COMPUTE.into(), run.host.describe_compute());
    facts.insert(POSITIONS.into(), run.data.scan.counts.train.to_string());
    let state = RunState::default();
    let checkpoint = Checkpoint { weights, optimizer: start.optimizer, state, facts };
    run.train_from(checkpoint, &settings, folder)
}

/// Starts the run of a folder, or resumes it. Returns false if it was interrupted.
///
/// # Errors
///
/// Fails as [`begin_training`] and [`resume_run`] do, and if the page cannot be written.
pub fn begin_or_resume(config: &Config, path: &Path, context: &RunContext) -> Result<bool> {
    let finished = if folder::has_run(path) {
        resume_run(path, &[], context)?
    } else {
        let folder = RunFolder::lock_new(path, false, context.listener)?;
        begin_training(config.clone(), &folder, context)?
    };
    let Some(finished) = finished else { return Ok(false) };
    finished.require_page()?;
    Ok(true)
}

/// Checks a run as far as its config and the number of positions allow.
///
/// # Errors
///
/// Fails if the device or a file that the config names cannot be opened, and if a schedule does not
/// fit the length of the run.
pub fn check_run(
    config: &Config,
    positions: u64,
    context: &RunContext,
) -> Result<TrainingSettings> {
    start::prepare_recipe(config.clone(), &context.open_host(config)?)?;
    run_settings(config, positions)
}

/// Returns steps, rates and intervals of a config, for `positions` positions to train on.
fn run_settings(config: &Config, positions: u64) -> Result<TrainingSettings> {
    let direct = config.optimizer.name.is_direct();
    let settings_for = |span: &Span| -> Result<TrainingSettings> {
        let wrong =
            |key: &'static str| move |error: ScheduleError| Error::msg(format!("`{key}`: {error}"));
        let fit = |key, stages: &Stages| stages.fit_to_span(span).map_err(wrong(key));
        let learning_rate = fit("schedule.learning_rate", &config.learning_rate)?;
        let wdl = fit("target.wdl", &config.file.target.wdl)?;
        let (low, high) = wdl.value_range();
        if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) {
            bail!("`target.wdl`: lies between 0 and 1, and would go from {low} to {high}");
        }
        let keep = config.file.schedule.keep_every.map(|every| KeepRule::new(every, span));
        let every = |times: u64| span.steps.div_ceil(times).max(1);
        Ok(TrainingSettings {
            steps: span.steps,
            learning_rate,
            wdl,
            source_targets: config.source_targets(),
            loss: config.loss,
            sparsity: config.file.target.sparsity.unwrap_or(0.0),
            rounding: weight_rounding(config, span.steps),
            optimizer: config.optimizer.clone(),
            // A direct method takes few steps.
            validate_every: if direct { 1 } else { every(config.file.schedule.validations) },
            checkpoint_every: if direct { 1 } else { every(config.file.schedule.checkpoints) },
            patience: config.file.schedule.patience,
            keep: keep.transpose().map_err(wrong("schedule.keep_every"))?,
            earlier: Vec::new(),
        })
    };
    let earlier = config.earlier_spans(positions);
    let earlier = earlier.iter().map(|(span, until)| Ok((*until, settings_for(span)?)));
    Ok(TrainingSettings {
        earlier: earlier.collect::<Result<_>>()?,
        ..settings_for(&config.run_span(positions))?
    })
}

/// Returns the rounding of a run's weights to the integers of its net.
fn weight_rounding(config: &Config, steps: u64) -> Option<Rounding> {
    let (net, share) = config.architecture().zip(config.file.net.as_ref()?.qat)?;
    let arrays = stored_arrays(&net.without_factoriser(), config.scales).into_iter();
    let arrays = arrays.filter(|array| !array.factors.is_empty());
    let units = |array: StoredArray| {
        (array.array.kind, array.factors.iter().map(|factor| *factor as f32).collect())
    };
    let from = (share * steps as f64).floor() as u64 + 1;
    Some(Rounding { from, units: arrays.map(units).collect() })
}

struct OpenRun<'a> {
    recipe: Recipe,
    data: TrainingData,
    host: Host<'a>,
    context: &'a RunContext<'a>,
}

impl<'a> OpenRun<'a> {
    /// Reads the data and starting weights of a run; `resumed` are those of a resumed run.
    fn open(
        mut recipe: Recipe,
        resumed: Option<&Weights>,
        host: Host<'a>,
        context: &'a RunContext,
    ) -> Result<(Self, Weights)> {
        let (data, weights) = data::open_data(&mut recipe, resumed, &host)?;
        Ok((Self { recipe, data, host, context }, weights))
    }

    /// Records the data of a new run in its recipe.
    fn describe_data(&mut self) -> Result<()> {
        let (scan, recipe) = (&self.data.scan, &mut self.recipe);
        let shared = recipe.sketch.count_shared(&scan.validating.sketch);
        if shared > 0 {
            self.context.listener.report_remark(&format!(
                "caution: games of `data.validation` ({shared} or more) have trained what this run \
                 begins with: the validation loss looks better than it is"
            ));
        }
        recipe.data = scan.files.clone();
        recipe.sketch.join_sketch(&scan.sketch);
        recipe.validation = scan.validating.files.clone();
        recipe.validation_sketch.join_sketch(&scan.validating.sketch);
        if let Some(window) = self.data.shuffle_window(&recipe.config) {
            let positions = (!scan.is_whole).then_some(scan.counts.train);
            recipe.config = recipe.config.with_changes(|file| {
                (file.data.window, file.data.positions) = (Some(window), positions);
            })?;
        }
        Ok(())
    }

    /// Fails if the data are other files than those of the recipe.
    fn require_same_data(&self) -> Result<()> {
        let scan = &self.data.scan;
        let Some(path) = self.recipe.changed_file([&scan.files, &scan.validating.files]) else {
            return Ok(());
        };
        bail!(
            "{} is another file here than when the run began; restore it, or begin a new run",
            path.display()
        )
    }

    fn run_settings(&self) -> Result<TrainingSettings> {
        run_settings(&self.recipe.config, self.data.scan.counts.train)
    }

    /// Trains from a checkpoint to the end. Returns the result, or None if it was interrupted.
    fn train_from(
        mut self,
        checkpoint: Checkpoint,
        settings: &TrainingSettings,
        folder: &RunFolder,
    ) -> Result<Option<FinishedRun>> {
        let &RunContext { listener, page, ranks, .. } = self.context;
        if !ranks.is_alone() {
            ranks.broadcast_bytes(&mut checkpoint.to_bytes());
        }
        let (config, scan) = (&self.recipe.config, &self.data.scan);
        let page_path = page.then(|| folder.path.join(folder::REPORT));
        let opening = summary::opening_table(&self, settings, page_path.as_deref())?;
        listener.report_opening(opening.to_string().trim_end());
        let doubts = summary::list_doubts(config, scan).into_iter();
        let doubts = wrap_all(doubts.map(|doubt| format!("caution: {doubt}")));
        if !doubts.is_empty() {
            listener.report_remark(&doubts);
        }
        // A direct method ends long before its last step.
        let total = settings.steps * config.run_span(scan.counts.train).batch;
        let total = (!settings.optimizer.name.is_direct()).then_some(total);
        let progress = listener.begin_guarded("training", total, checkpoint.state.positions);
        let open_page =
            || LivePage::new(&self.recipe, &checkpoint.facts, settings.steps, folder, &self.host);
        let live = page.then(open_page).transpose()?;
        let watch = live.as_ref().map_or(listener, |live| live as &dyn Progress);
        let (end, checkpoint) = self.take_steps(checkpoint, settings, &folder.path, watch)?;
        drop(progress);
        if end == End::Interrupted {
            listener.report_remark(&format!(
                "stopped at step {} of {}; go on with\n  nnuance train --resume {}",
                checkpoint.state.step,
                settings.steps,
                folder.outer_folder().display()
            ));
            return Ok(None);
        }
        finish::require_trained(&self.recipe, &checkpoint)?;
        let mut finished = finish::finish_run(&self, folder, end, checkpoint.state.step)?;
        finished.page = live.map(|live| {
            let path = finish::write_page(&self, folder);
            live.keep_page();
            if path.is_err() {
                // The page without a comparison would be taken for that of the complete run.
                let _ = std::fs::remove_file(folder.path.join(folder::REPORT));
            }
            path
        });
        Ok(Some(finished))
    }

    /// Takes the steps after a checkpoint, in rounds if rows depend on the weights.
    fn take_steps(
        &mut self,
        mut checkpoint: Checkpoint,
        settings: &TrainingSettings,
        folder: &Path,
        watch: &dyn Progress,
    ) -> Result<(End, Checkpoint)> {
        let Self { recipe, data, host: Host { device, compute, .. }, context } = self;
        let &RunContext { listener, ranks, .. } = *context;
        let config = &recipe.config;
        let kind = recipe.model_kind()?;
        let round_length = round_length(config, &config.run_span(data.scan.counts.train));
        loop {
            let mut until = u64::MAX;
            if let Some(length) = round_length {
                let round = Round::enter_round(length, &checkpoint, folder)?;
                let by = objective::preparation_for(recipe, &round.weights)?;
                let spread = data.prepare_round(by, round.spread, config, listener)?;
                round.write_round(spread, folder)?;
                until = round.until;
            }
            let batches = data.stream_batches(config, &checkpoint, ranks.own_share())?;
            let job = Training {
                kind: kind.clone(),
                compute: *compute,
                device,
                settings,
                folder,
                held_out: &data.validation,
                until,
                ranks,
            };
            let end;
            (end, checkpoint) = train::train_model(&job, checkpoint, batches, watch)?;
            if end != End::RoundComplete {
                return Ok((end, checkpoint));
            }
        }
    }
}
