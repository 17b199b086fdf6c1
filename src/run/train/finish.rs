//! Results of a finished run: the net with its manifest, or the tuned terms as tables.

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
use crate::train::End;
use crate::train::checkpoint::{BestLoss, Checkpoint, RunState};
use crate::train::direct::{self, problem::MAX_TERMS};
use crate::train::optimizer::OptimizerName;
use crate::train::target::blend_targets;

/// Approximate number of test positions in the report.
const SHOWN: usize = 100_000;

/// The result of a run: the files in its folder, and how it ended.
pub struct FinishedRun {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Step of the best weights, and last step.
    pub steps: [u64; 2],
    /// Validation loss of the best weights, if any position validates.
    pub validation_loss: Option<f64>,
    /// Training loss logged at their step.
    pub training_loss: Option<f64>,
    /// Reason of the end.
    pub end: End,
    /// Trained evaluation.
    pub made: RunResult,
    /// Path of the page about the run; None unless requested.
    pub page: Option<Result<PathBuf>>,
}

impl FinishedRun {
    /// Returns the trained net in integers; None after a run of handcrafted terms.
    pub fn net(&self) -> Option<&Net> {
        match &self.made {
            RunResult::Net(written, _) => Some(&written.exported.net),
            RunResult::Terms(..) => None,
        }
    }

    /// Fails if the page could not be written.
    pub fn require_page(self) -> Result<()> {
        self.page.transpose().context("the run is complete, but its report cannot be written")?;
        Ok(())
    }
}

/// A trained evaluation, by kind.
pub enum RunResult {
    /// A net, and the file with the terms that were trained with it.
    Net(Box<WrittenNet>, Option<PathBuf>),
    /// Terms, with the values of pieces, and whether they are another engine's.
    Terms(Vec<EffectiveValue>, bool),
}

/// Number of steps below which a net may learn nothing at any rate.
const FEW_STEPS: u64 = 200;
/// Largest rate at which nets usually learn with AdamW. Good rates are 0.001 to 0.01.
const HIGH_RATE: f64 = 0.03;

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
    let is_too_fast = config.optimizer.name == OptimizerName::AdamW
        && config.learning_rate.value_range().1 > HIGH_RATE;
    ensure!(
        config.file.net.as_ref().is_none_or(|net| net.start.is_some()),
        NothingLearnt(format!(
            "nothing was learnt: in {} steps, at rates up to {:e}, no validation loss was below the \
             untrained net's, {loss:.6}, and no net is written; {}",
            last.state.step,
            config.learning_rate.value_range().1,
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

pub fn finish_run(run: &OpenRun, folder: &RunFolder, end: End, last: u64) -> Result<FinishedRun> {
    let recipe = &run.recipe;
    let path = folder.path.join(folder::BEST);
    let best = Checkpoint::read_file(&path)?;
    let RunState { step, best: lowest, .. } = best.state;
    let made = match &run.data.terms {
        Some(tuned) => {
            let values = finish_terms(run, tuned, &best, folder)?;
            RunResult::Terms(values, tuned.terms.engine.is_some())
        }
        None => {
            let net = folder.path.join(folder::NET);
            let validating = &run.data.scan.validation.samples;
            let written = export::export_checkpoint(&path, &net, &recipe.config, validating)
                .with_context(|| format!("{} stands, but gives no net", path.display()))?;
            let base = recipe.base.as_ref().filter(|_| recipe.config.tunes_base());
            let terms = base.map(|base| -> Result<PathBuf> {
                let terms = trained_terms(base, &best.weights)?;
                let path = folder.path.join(folder::BASE);
                output::write_file(&path, terms.to_json().as_bytes())?;
                Ok(path)
            });
            RunResult::Net(Box::new(written), terms.transpose()?)
        }
    };
    let rows = log::read_rows(&folder.path.join(folder::LOG))?;
    let training_loss = rows.iter().find(|row| row.step == step).and_then(|row| row.train_loss);
    let validation_loss = lowest.map(|best| best.loss);
    let (folder, steps) = (folder.path.clone(), [step, last]);
    Ok(FinishedRun { folder, steps, validation_loss, training_loss, end, made, page: None })
}

/// Writes a page about the run and returns its path. The run is complete even without it.
pub fn write_page(run: &OpenRun, folder: &RunFolder) -> Result<PathBuf> {
    let scan = &run.data.scan;
    // Fewer games, so that the page takes no longer than a few seconds.
    let [validating, test] =
        [&scan.validation, &scan.test].map(|held| draw_games(&held.samples, SHOWN));
    report::of_ended(&folder.path, &run.recipe, [&validating, &test], &run.host)
}

fn finish_terms(
    run: &OpenRun,
    tuned: &TermData,
    best: &Checkpoint,
    folder: &RunFolder,
) -> Result<Vec<EffectiveValue>> {
    let recipe = &run.recipe;
    let exact = tuned.terms.read_weights(&best.weights, recipe.config.scale, true)?;
    let mut weights = exact.clone().round_values(2);
    let what = match best.state.best {
        Some(BestLoss { step: 0, loss }) => {
            format!("nothing gained, the weights of the start, validation loss {loss:.6}")
        }
        Some(BestLoss { step, loss }) => format!("best validation loss {loss:.6}, at step {step}"),
        None => format!("weights of step {}", best.state.step),
    };
    weights.source = Some(format!("trained by nnuance: {what}"));
    let write =
        |name: &str, text: String| output::write_file(&folder.path.join(name), text.as_bytes());
    write(folder::TERMS, weights.to_json())?;

    let errors = match &run.data.source {
        BatchSource::Store(store) => standard_errors(recipe, &store.whole_batch(), tuned, best)?,
        BatchSource::Prepared { by: Some(by), .. } if by.whole.is_some() => {
            standard_errors(recipe, &by.encode_all(), tuned, best)?
        }
        BatchSource::Files { .. } | BatchSource::Prepared { .. } => Vec::new(),
    };
    let (results, times): (Vec<_>, Vec<_>) =
        term_results(recipe, tuned, &errors, &exact)?.into_iter().unzip();
    write(folder::TERMS_CSV, format_csv(&results))?;
    Ok(effective_values(results.iter().zip(times)))
}

/// Returns result and number of occurrences of each term that the evaluation has.
fn term_results(
    recipe: &Recipe,
    tuned: &TermData,
    errors: &[Option<f64>],
    weights: &HceWeights,
) -> Result<Vec<(TermResult, f64)>> {
    let TermData { terms, start, counts, term_counts } = tuned;
    let requested = recipe.run_terms()?.context("the run has terms")?.chosen;
    let results = (0..terms.list.len()).filter(|i| terms.present.terms[*i]).map(|i| {
        let entry = &terms.list.terms[i];
        let error = |phase: usize| errors.get(2 * i + phase).copied().flatten();
        let times = term_counts.times.get(i).copied().unwrap_or(0) as f64;
        let result = TermResult {
            name: entry.name.clone(),
            kind: entry.kind,
            count: counts.as_ref().map(|counts| counts[i]),
            start: start.values[i],
            tuned: weights.values[i],
            error: match (error(0), error(1)) {
                (None, None) => None,
                (mg, eg) => Some([mg.unwrap_or(0.0), eg.unwrap_or(0.0)]),
            },
            held: match (terms.chosen.terms[i], requested.terms[i]) {
                (true, _) => None,
                (false, true) => Some("rare"),
                (false, false) => Some("not chosen"),
            },
        };
        (result, times)
    });
    Ok(results.collect())
}

/// Estimates standard errors of the weights, by number. Empty unless the loss is squared and all
/// positions have equal weight.
fn standard_errors(
    recipe: &Recipe,
    all: &Batch,
    tuned: &TermData,
    best: &Checkpoint,
) -> Result<Vec<Option<f64>>> {
    let config = &recipe.config;
    let loss = config.loss;
    let BatchInputs::Terms(pieces) = &all.inputs else { return Ok(Vec::new()) };
    if loss != Loss::SQUARED || !all.weights.is_empty() || all.choices.is_some() {
        return Ok(Vec::new());
    }
    let targets = blend_targets(all, config.final_wdl(), &config.source_targets());
    let optimizer = &config.optimizer;
    let prior = (optimizer.name == OptimizerName::GaussNewton).then_some(optimizer.prior);
    let shape = tuned.terms.hce_shape(config);
    if shape.terms > MAX_TERMS {
        return Ok(Vec::new());
    }
    Ok(direct::standard_errors(shape, &best.weights, pieces, &targets, loss, prior)?)
}
