//! The result of a finished run: a net with its manifest, or tuned terms as tables.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::OpenRun;
use super::data::{BatchSource, draw_games};
use super::term_data::TermData;
use crate::batch::{Batch, BatchInputs};
use crate::data_file::are_few_for_nets;
use crate::hce::HceWeights;
use crate::log;
use crate::loss::Loss;
use crate::net::Net;
use crate::output;
use crate::report::terms::{EffectiveValue, TermResult, effective_values, format_csv};
use crate::run::base::trained_terms;
use crate::run::export::{self, WrittenNet};
use crate::run::folder::{self, RunFolder};
use crate::run::recipe::Recipe;
use crate::run::report;
use crate::terms::TermSelection;
use crate::train::End;
use crate::train::checkpoint::{BestLoss, Checkpoint, RunState};
use crate::train::direct::{self, problem::MAX_TERMS};
use crate::train::optimizer::OptimizerName;
use crate::train::target::blend_targets;

/// Number of steps below which a net may learn nothing at any rate.
const FEW_STEPS: u64 = 200;
/// Largest rate at which nets usually learn with AdamW. Good rates are 0.001 to 0.01.
const HIGH_RATE: f64 = 0.03;
/// Approximate number of validation positions, and of test positions, on which the page compares.
/// More would take longer than a few seconds.
const PAGE_POSITIONS: usize = 100_000;

/// The result of a run: the files in its folder, and how it ended.
pub struct FinishedRun {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Step of the best weights.
    pub best_step: u64,
    /// Last step of the run.
    pub last_step: u64,
    /// Validation loss of the best weights. None without validation positions.
    pub validation_loss: Option<f64>,
    /// Training loss that the log has at the step of the best weights.
    pub training_loss: Option<f64>,
    /// Reason of the end.
    pub end: End,
    /// Trained evaluation.
    pub result: RunResult,
    /// Path of the page about the run. None unless requested.
    pub page: Option<Result<PathBuf>>,
}

impl FinishedRun {
    /// Returns the trained net in integers. None after a run of handcrafted terms.
    pub fn net(&self) -> Option<&Net> {
        match &self.result {
            RunResult::Net { written, .. } => Some(&written.exported.net),
            RunResult::Terms { .. } => None,
        }
    }

    /// Drops the result, and checks that the page was written if it was requested.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the page could not be written.
    pub fn require_page(self) -> Result<()> {
        self.page.transpose().context("the run is complete, but its report cannot be written")?;
        Ok(())
    }
}

/// A trained evaluation, by kind.
pub enum RunResult {
    /// A net.
    Net {
        /// The exported net, with the paths of its files.
        written: Box<WrittenNet>,
        /// Path of the terms that were trained with the net, if any.
        terms: Option<PathBuf>,
    },
    /// Handcrafted terms.
    Terms {
        /// Values of the pieces.
        piece_values: Vec<EffectiveValue>,
        /// Whether the terms are another engine's.
        is_foreign: bool,
    },
}

/// The reason why a run leaves no net.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NothingLearnt(String);

/// Fails if a net from random weights has learnt nothing.
pub fn require_trained(recipe: &Recipe, last: &Checkpoint) -> Result<()> {
    let Some(BestLoss { step: 0, loss }) = last.state.best.filter(|_| last.state.step > 0) else {
        return Ok(());
    };
    let config = &recipe.config;
    let (_, highest_rate) = config.learning_rate.value_range();
    let is_too_fast = config.optimizer.name == OptimizerName::AdamW && highest_rate > HIGH_RATE;
    ensure!(
        config.file.net.as_ref().is_none_or(|net| net.start.is_some()),
        NothingLearnt(format!(
            "nothing was learnt: in {} steps, at rates up to {highest_rate:e}, no validation loss \
             was below the untrained net's, {loss:.6}, and no net is written; {}",
            last.state.step,
            match last.state.step {
                _ if is_too_fast => "the rate is too high: set schedule.learning_rate = 0.005",
                _ if are_few_for_nets(&recipe.data) => {
                    "its games are too few for a net: tune handcrafted terms, or play more"
                }
                ..FEW_STEPS => "so few steps teach little: raise schedule.epochs",
                _ => "set schedule.learning_rate = 0.001",
            }
        ))
    );
    Ok(())
}

/// Writes the trained evaluation from the best weights of a run that ended at `last_step`.
pub fn finish_run(
    run: &OpenRun,
    folder: &RunFolder,
    end: End,
    last_step: u64,
) -> Result<FinishedRun> {
    let best = Checkpoint::read_file(&folder.path.join(folder::BEST))?;
    let result = match &run.data.terms {
        Some(tuned) => RunResult::Terms {
            piece_values: finish_terms(run, tuned, &best, folder)?,
            is_foreign: tuned.terms.engine.is_some(),
        },
        None => finish_net(run, &best, folder)?,
    };
    let RunState { step: best_step, best: best_loss, .. } = best.state;
    let rows = log::read_rows(&folder.path.join(folder::LOG))?;
    let best_row = rows.iter().find(|row| row.step == best_step);
    Ok(FinishedRun {
        folder: folder.path.clone(),
        best_step,
        last_step,
        validation_loss: best_loss.map(|best| best.loss),
        training_loss: best_row.and_then(|row| row.train_loss),
        end,
        result,
        page: None,
    })
}

/// Writes a page about the run and returns its path. The run is complete even without it.
pub fn write_page(run: &OpenRun, folder: &RunFolder) -> Result<PathBuf> {
    let scan = &run.data.scan;
    let validation = draw_games(&scan.validation.samples, PAGE_POSITIONS);
    let test = draw_games(&scan.test.samples, PAGE_POSITIONS);
    report::write_finished_page(&folder.path, &run.recipe, [&validation, &test], &run.host)
}

/// Exports the net of the best weights, and writes the terms that were trained with it.
fn finish_net(run: &OpenRun, best: &Checkpoint, folder: &RunFolder) -> Result<RunResult> {
    let recipe = &run.recipe;
    let best_path = folder.path.join(folder::BEST);
    let net_path = folder.path.join(folder::NET);
    let validation = &run.data.scan.validation.samples;
    let written = export::export_checkpoint(&best_path, &net_path, &recipe.config, validation)
        .with_context(|| {
            let path = best_path.display();
            format!("the run is complete, but no net can be exported from {path}")
        })?;
    let mut terms_path = None;
    if let Some(base) = recipe.base.as_ref().filter(|_| recipe.config.tunes_base()) {
        let terms = trained_terms(base, &best.weights)?;
        let path = folder.path.join(folder::BASE);
        output::write_file(&path, terms.to_json().as_bytes())?;
        terms_path = Some(path);
    }
    Ok(RunResult::Net { written: Box::new(written), terms: terms_path })
}

/// Writes the tuned terms of the best weights as a file and as a table. Returns the values of the
/// pieces.
fn finish_terms(
    run: &OpenRun,
    tuned: &TermData,
    best: &Checkpoint,
    folder: &RunFolder,
) -> Result<Vec<EffectiveValue>> {
    let recipe = &run.recipe;
    let exact = tuned.terms.read_weights(&best.weights, recipe.config.scale, true)?;
    let mut rounded = exact.clone().round_values(2);
    rounded.source = Some(format!("trained by nnuance: {}", describe_weights(&best.state)));
    output::write_file(&folder.path.join(folder::TERMS), rounded.to_json().as_bytes())?;

    let errors = match &run.data.source {
        BatchSource::Store(store) => standard_errors(recipe, &store.whole_batch(), tuned, best)?,
        BatchSource::Prepared { by: Some(by), .. } if by.whole.is_some() => {
            standard_errors(recipe, &by.encode_all(), tuned, best)?
        }
        BatchSource::Files { .. } | BatchSource::Prepared { .. } => Vec::new(),
    };
    let requested = recipe.run_terms()?.context("the run has terms")?.chosen;
    let present = (0..tuned.terms.list.len()).filter(|term| tuned.terms.present.terms[*term]);
    let mut results = Vec::new();
    let mut occurrences = Vec::new();
    for term in present {
        results.push(term_result(term, tuned, &requested, &errors, &exact));
        occurrences.push(tuned.term_counts.times.get(term).copied().unwrap_or(0) as f64);
    }
    output::write_file(&folder.path.join(folder::TERMS_CSV), format_csv(&results).as_bytes())?;
    Ok(effective_values(results.iter().zip(occurrences)))
}

/// Describes how good the best weights of a run are.
fn describe_weights(state: &RunState) -> String {
    match state.best {
        Some(BestLoss { step: 0, loss }) => {
            format!("nothing gained, the weights of the start, validation loss {loss:.6}")
        }
        Some(BestLoss { step, loss }) => format!("best validation loss {loss:.6}, at step {step}"),
        None => format!("weights of step {}", state.step),
    }
}

/// Compares the tuned weights of a term with those of the start. `requested` are the terms that the
/// config tunes, and `errors` the standard errors of all weights by number, or empty.
fn term_result(
    term: usize,
    tuned: &TermData,
    requested: &TermSelection,
    errors: &[Option<f64>],
    weights: &HceWeights,
) -> TermResult {
    let TermData { terms, start, counts, .. } = tuned;
    let entry = &terms.list.terms[term];
    let error = |phase: usize| errors.get(2 * term + phase).copied().flatten();
    TermResult {
        name: entry.name.clone(),
        kind: entry.kind,
        count: counts.as_ref().map(|counts| counts[term]),
        start: start.values[term],
        tuned: weights.values[term],
        error: match (error(0), error(1)) {
            (None, None) => None,
            (mg, eg) => Some([mg.unwrap_or(0.0), eg.unwrap_or(0.0)]),
        },
        held: match (terms.chosen.terms[term], requested.terms[term]) {
            (true, _) => None,
            (false, true) => Some("rare"),
            (false, false) => Some("not chosen"),
        },
    }
}

/// Estimates the standard errors of all weights in centipawns, by number: those of a term are `2 *
/// term` (middlegame) and `2 * term + 1` (endgame). Empty unless the loss is squared and all
/// positions have equal weight, and empty for too many terms.
fn standard_errors(
    recipe: &Recipe,
    all: &Batch,
    tuned: &TermData,
    best: &Checkpoint,
) -> Result<Vec<Option<f64>>> {
    let config = &recipe.config;
    let shape = tuned.terms.hce_shape(config);
    let BatchInputs::Terms(pieces) = &all.inputs else { return Ok(Vec::new()) };
    if config.loss != Loss::SQUARED
        || !all.weights.is_empty()
        || all.choices.is_some()
        || shape.terms > MAX_TERMS
    {
        return Ok(Vec::new());
    }
    let targets = blend_targets(all, config.final_wdl(), &config.source_targets());
    let optimizer = &config.optimizer;
    let prior = (optimizer.name == OptimizerName::GaussNewton).then_some(optimizer.prior);
    Ok(direct::standard_errors(shape, &best.weights, pieces, &targets, config.loss, prior)?)
}
