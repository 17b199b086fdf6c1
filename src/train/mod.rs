//! The training loop: batches in, checkpoints and a log out. It takes any iterator of [`Batch`]es;
//! clock and requests to stop come through [`Progress`].

#[doc(hidden)]
pub mod checkpoint;
#[doc(hidden)]
pub mod direct;
mod gradients;
mod learner;
#[doc(hidden)]
pub mod optimizer;
pub mod ranks;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
mod settings;
#[doc(hidden)]
pub mod target;

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, Transaction};

use crate::batch::{Batch, MoveChoices};
use crate::log::{Log, LogRow, TrainStep};
use crate::model::{
    Aim, Compute, DeviceError, LossGradients, LossInputs, ModelKind, host_outputs, is_gpu,
};
use crate::output::OutputError;
use crate::progress::Progress;
use crate::resume_point::ResumePoint;
use crate::weights::WeightsError;
use checkpoint::{BestLoss, Checkpoint, CheckpointFiles, CheckpointWriter, RunState};
use gradients::{BatchGradients, combine_ranks};
use learner::Learner;
use optimizer::StateError;
use ranks::Ranks;
pub use settings::{KeepRule, Rounding, TrainingSettings};
use target::{blend_targets, measure_losses};

/// Folder of permanent checkpoints in a run's folder.
pub const CHECKPOINT_FOLDER: &str = "checkpoints";

#[doc(hidden)]
pub struct Training<'a> {
    pub kind: ModelKind,
    pub compute: Compute,
    pub device: &'a Device,
    pub settings: &'a TrainingSettings,
    /// Rank 0 writes `log.csv`, `{last,best}.safetensors` and [`CHECKPOINT_FOLDER`] here.
    pub folder: &'a Path,
    /// Validation batches; without any there is no held-out loss, and the last checkpoint is the
    /// best.
    pub held_out: &'a [Batch],
    /// Step after which the loop returns [`End::RoundComplete`].
    pub until: u64,
    /// All ranks of this run; batches are this rank's share of them.
    pub ranks: &'a dyn Ranks,
}

/// Reason why training ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps were taken.
    Finished,
    /// No step of the method lowers the loss.
    Converged,
    /// The held-out loss stopped falling.
    StoppedEarly,
    /// [`Progress::should_stop`] returned true; the run can be resumed.
    Interrupted,
    /// The round is over; the run continues in the next one.
    RoundComplete,
}

/// Reason why a run failed. Earlier checkpoints remain.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum TrainError {
    #[error(
        "{what}: training diverged; the last good checkpoint is step {good} in {path}; lower the \
         learning rate"
    )]
    Diverged { what: String, step: u64, good: u64, path: PathBuf },
    #[error("the data ended at step {0}, before the run did")]
    OutOfData(u64),
    #[error(transparent)]
    Data(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("the optimiser's state in the checkpoint cannot be read: {0}")]
    Optimizer(StateError),
    #[error(
        "the checkpoint of step {0} has no state of the optimiser; resume from last.safetensors"
    )]
    NoOptimizer(u64),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(
        "the device failed: {reason}; the last good checkpoint is step {good} in {path}; resume \
         the run, with `--device flex` if it fails again"
    )]
    Device { reason: String, good: u64, path: PathBuf },
    #[error(
        "the weights of rank {rank} differ from those of rank 0 at step {step}: its machine uses \
         other instructions, or its memory is faulty; use the same program and `--simd` everywhere"
    )]
    RanksDiffer { rank: usize, step: u64 },
}

/// Trains from a checkpoint (a fresh one has step 0) to the end of the run. After an error, too,
/// `last.safetensors` has the last good state.
///
/// # Errors
///
/// Fails with [`TrainError::Diverged`] if a loss or a weight is not finite, with
/// [`TrainError::Data`] if a batch fails or does not fit a direct method, with
/// [`TrainError::OutOfData`] if the batches end before the run, with [`TrainError::Output`] if a
/// file cannot be written, with [`TrainError::Weights`], [`TrainError::Optimizer`] or
/// [`TrainError::NoOptimizer`] if the checkpoint cannot be resumed, and with [`TrainError::Device`]
/// or [`TrainError::RanksDiffer`] if a machine fails.
pub fn train_model<E>(
    job: &Training,
    start: Checkpoint,
    batches: impl IntoIterator<Item = Result<Batch, E>>,
    progress: &dyn Progress,
) -> Result<(End, Checkpoint), TrainError>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let batches = batches.into_iter();
    let batches = &mut batches.map(|batch| batch.map_err(|error| TrainError::Data(error.into())));
    let mut trainer = Trainer::new(job, start)?;
    if !is_gpu(job.device) {
        return trainer.train_steps(batches, progress);
    }
    // A lost device, or one out of memory, causes a panic somewhere in Burn.
    let run = AssertUnwindSafe(|| trainer.train_steps(batches, progress));
    catch_unwind(run).unwrap_or_else(|panic| Err(trainer.device_error(panic_message(&*panic))))
}

struct Trainer<'a> {
    job: &'a Training<'a>,
    learner: Learner<'a>,
    state: RunState,
    /// None on ranks other than 0.
    log: Option<Log>,
    /// Losses on the device. Reading a value from a GPU blocks until its queue is empty.
    unread: Vec<(PendingStep, Tensor<1>)>,
    /// Buffer for the gradients of all ranks.
    sums: Vec<f32>,
    loss: Option<f64>,
    facts: BTreeMap<String, String>,
    writer: CheckpointWriter,
    /// Seconds and positions at the last row of the log, for positions per second.
    last_log_row: (f64, u64),
    /// Whether a rank requested a stop in the last step.
    stop: bool,
}

/// Number of a step, from 1, and its learning rate.
#[derive(Clone, Copy)]
struct PendingStep {
    number: u64,
    learning_rate: f64,
}

impl<'a> Trainer<'a> {
    fn new(job: &'a Training, start: Checkpoint) -> Result<Self, TrainError> {
        let Checkpoint { weights, optimizer, state, facts } = start;
        if optimizer.is_empty() && state.step > 0 {
            return Err(TrainError::NoOptimizer(state.step));
        }
        let learner = Learner::new(job, &weights, optimizer)?;
        // The first validation writes the first row, before the first checkpoint.
        let saved = (state.log_rows > 0).then_some(state.step);
        let open = || Log::open_truncated(&job.folder.join("log.csv"), state.log_rows);
        let log = job.ranks.is_first().then(open).transpose()?;
        Ok(Self {
            job,
            learner,
            log,
            unread: Vec::new(),
            sums: Vec::new(),
            loss: None,
            facts,
            writer: CheckpointWriter::new(job.folder, saved),
            last_log_row: (f64::NAN, state.positions),
            stop: false,
            state,
        })
    }

    fn train_steps(
        &mut self,
        batches: &mut dyn Iterator<Item = Result<Batch, TrainError>>,
        progress: &dyn Progress,
    ) -> Result<(End, Checkpoint), TrainError> {
        let settings = self.job.settings;
        self.last_log_row = (progress.elapsed_seconds(), self.state.positions);
        if self.writer.handed.is_none() {
            let best = self.validate_model(progress)?;
            let files = CheckpointFiles { best, last: true, ..CheckpointFiles::default() };
            self.write_checkpoint(files)?;
        }
        let end = loop {
            let RunState { step, converged, unimproved, .. } = self.state;
            if converged {
                break End::Converged;
            } else if step >= settings.steps {
                break End::Finished;
            } else if self.stop || self.job.ranks.is_alone() && progress.should_stop() {
                break End::Interrupted;
            } else if step >= self.job.until {
                break End::RoundComplete;
            }
            // Patience restarts at the step from which the run was extended.
            let is_seam = settings.is_seam(step);
            if !is_seam && settings.patience.is_some_and(|patience| unimproved >= patience) {
                break End::StoppedEarly;
            }
            let batch = batches.next().ok_or(TrainError::OutOfData(step))??;
            // Sent to the other ranks with this step's gradients.
            let stop = progress.should_stop();
            // Parallel loops block a thread outside of the pool. A GPU has a queue per thread.
            let train_step = if is_gpu(self.job.device) {
                self.take_step(&batch, stop)?
            } else {
                rayon::scope(|_| self.take_step(&batch, stop))?
            };
            self.set_resume_point(batch.resume_point.as_ref(), progress);
            progress.report_step(&train_step);
            let (phase, until) = settings.phase_after(train_step.step - 1);
            self.writer.check_writing()?;
            let last = train_step.step == phase.steps || train_step.converged;
            let due = |every: u64| last || train_step.step.is_multiple_of(every);
            let best = due(phase.validate_every) && self.validate_model(progress)?;
            let kept = phase.keep.and_then(|keep| keep.checkpoint_name(train_step.step));
            let last = due(phase.checkpoint_every) || train_step.step == until;
            self.write_checkpoint(CheckpointFiles { best, kept, last })?;
        };
        self.write_checkpoint(CheckpointFiles { last: true, ..CheckpointFiles::default() })?;
        let written = self.writer.finish_write()?;
        Ok((end, written.map_or_else(|| self.make_checkpoint(true), Ok)?))
    }

    /// Sets the resume point in streamed data, and reports facts once all data were read.
    fn set_resume_point(&mut self, resume_point: Option<&ResumePoint>, progress: &dyn Progress) {
        if let (Some(now), Some(before)) = (resume_point, &self.state.resume_point)
            && now.read.is_complete
            && !before.read.is_complete
        {
            progress.report_remark(&now.read.to_summary());
        }
        self.state.resume_point = resume_point.cloned();
    }

    /// Returns the settings of the next step, and the progress of the run.
    fn settings_and_progress(&self) -> (&'a TrainingSettings, f64) {
        let (phase, _) = self.job.settings.phase_after(self.state.step);
        (phase, self.state.step as f64 / phase.steps as f64)
    }

    fn batch_targets<'b>(&self, batch: &'b Batch) -> Cow<'b, [f32]> {
        let (phase, done) = self.settings_and_progress();
        blend_targets(batch, phase.wdl.value_at(done), &self.job.settings.source_targets)
    }

    fn take_step(&mut self, batch: &Batch, stop: bool) -> Result<TrainStep, TrainError> {
        if self.job.settings.is_seam(self.state.step) {
            self.state.unimproved = 0;
        }
        let (phase, done) = self.settings_and_progress();
        let learning_rate = phase.learning_rate.value_at(done);
        let step = PendingStep { number: self.state.step + 1, learning_rate };
        let (positions, converged) = if self.learner.uses_gradients() {
            (self.take_gradient_step(batch, step, stop)?, false)
        } else {
            let (sample_weights, targets) = (batch.normalised_weights(), self.batch_targets(batch));
            let (inputs, choices) = (&batch.inputs, batch.choices.as_deref());
            let stepped = self.learner.step_directly(inputs, &targets, &sample_weights, choices)?;
            self.record_loss(step, stepped.loss)?;
            (batch.len() as u64, stepped.converged)
        };
        self.state.converged = converged;
        self.state.step += 1;
        self.state.positions += positions;
        let RunState { step, positions, .. } = self.state;
        let loss = self.loss.unwrap_or(f64::NAN);
        Ok(TrainStep { step, positions, loss, learning_rate, converged })
    }

    /// Takes a step along the gradients of a batch. Returns the number of positions of all ranks.
    fn take_gradient_step(
        &mut self,
        batch: &Batch,
        step: PendingStep,
        stop: bool,
    ) -> Result<u64, TrainError> {
        let mut positions = batch.len() as u64;
        self.learner.catch_up(Some(&batch.inputs));
        let (gradients, touched) = if let Some(choices) = &batch.choices {
            let results = self.move_gradients(batch, choices);
            let (loss, gradients) = results.map_err(|lost| self.device_error(&lost.to_string()))?;
            self.record_loss(step, loss)?;
            (gradients.gradients, gradients.touched)
        } else {
            let (sample_weights, targets) = (batch.normalised_weights(), self.batch_targets(batch));
            let (base, weights) = (&batch.base[..], &sample_weights[..]);
            let (loss, sparsity) = (self.job.settings.loss, self.job.settings.sparsity as f32);
            let aim = Aim::Losses(LossInputs { targets: &targets, base, weights, loss, sparsity });
            let (model, is_alone) = (self.learner.model(), self.job.ranks.is_alone());
            let rounding = self.job.settings.phase_after(step.number - 1).0.rounding.as_ref();
            let rounding = rounding.filter(|rounding| step.number >= rounding.from);
            let results = match rounding {
                Some(Rounding { units, .. }) => {
                    model.round_weights(units).loss_gradients(&batch.inputs, aim)
                }
                None => model.loss_gradients(&batch.inputs, aim),
            };
            // Ranks touch different rows.
            let results = if is_alone { results } else { results.expand_rows(model) };
            let LossGradients { loss, gradients, touched } = results;
            self.unread.push((step, loss));
            if is_alone {
                let waits = is_gpu(self.job.device) && self.loss.is_some();
                if !waits || self.unread.len() >= steps_ahead(batch.len()) {
                    self.read_losses()?;
                }
                (gradients, touched)
            } else {
                let loss = self.unread_losses()?.last().map_or(f64::NAN, |(_, loss)| *loss);
                let weight = if batch.weights.is_empty() {
                    batch.len() as f64
                } else {
                    batch.weights.iter().map(|weight| f64::from(*weight)).sum()
                };
                let rank_gradients = BatchGradients { loss, gradients, weight, positions, stop };
                let (ranks, model) = (self.job.ranks, self.learner.model());
                let all = combine_ranks(ranks, rank_gradients, model, &mut self.sums);
                (positions, self.stop) = (all.positions, all.stop);
                self.record_loss(step, all.loss)?;
                (all.gradients, touched)
            }
        };
        self.learner.step_along(step.number, step.learning_rate, gradients, &touched);
        Ok(positions)
    }

    fn move_gradients(
        &self,
        batch: &Batch,
        choices: &MoveChoices,
    ) -> Result<(f64, LossGradients), DeviceError> {
        let model = self.learner.model();
        let logits = host_outputs(model, batch)?;
        let [sum, count] = choices.sum_losses(&logits);
        let upstream = choices.logit_gradients(&logits);
        let loss = if count > 0.0 { sum / count } else { 0.0 };
        Ok((loss, model.loss_gradients(&batch.inputs, Aim::Upstream(&upstream))))
    }

    fn unread_losses(&mut self) -> Result<Vec<(PendingStep, f64)>, TrainError> {
        let (steps, losses): (Vec<PendingStep>, Vec<Tensor<1>>) = self.unread.drain(..).unzip();
        let read = losses.into_iter().fold(Transaction::default(), Transaction::register);
        let read = read.try_execute().map_err(|error| self.device_error(&error.to_string()))?;
        let value = |data: burn::tensor::TensorData| {
            data.try_into_vec::<f32>().map_or(f64::NAN, |values| values[0].into())
        };
        Ok(steps.into_iter().zip(read.into_iter().map(value)).collect())
    }

    fn read_losses(&mut self) -> Result<(), TrainError> {
        self.unread_losses()?.into_iter().try_for_each(|(step, loss)| self.record_loss(step, loss))
    }

    /// Adds a step's loss to the next row of the log.
    fn record_loss(&mut self, step: PendingStep, loss: f64) -> Result<(), TrainError> {
        let PendingStep { number: step, learning_rate } = step;
        if !loss.is_finite() {
            self.writer.finish_write()?;
            let (good, path) = self.last_good();
            let what =
                format!("the loss is {loss} at step {step} (learning rate {learning_rate:e})");
            return Err(TrainError::Diverged { what, step, good, path });
        }
        self.loss = Some(loss);
        self.state.loss_sum += loss;
        self.state.loss_steps += 1;
        Ok(())
    }

    /// Returns the step of `last.safetensors`, 0 if there is none yet, and its path.
    fn last_good(&self) -> (u64, PathBuf) {
        (self.writer.saved.unwrap_or(0), self.writer.path_of("last"))
    }

    fn device_error(&mut self, causes: &str) -> TrainError {
        if let Err(error) = self.writer.finish_write() {
            return error;
        }
        let (good, path) = self.last_good();
        TrainError::Device { reason: one_line(causes), good, path }
    }

    /// Measures the held-out loss and adds a row to the log; returns whether it is the lowest.
    fn validate_model(&mut self, progress: &dyn Progress) -> Result<bool, TrainError> {
        self.read_losses()?;
        let settings = self.job.settings;
        let step = self.state.step;
        // The phase that ends here, not the one that begins.
        let (phase, _) = settings.phase_after(step.saturating_sub(1));
        let done = step as f64 / phase.steps as f64;
        let model = self.learner.learnt_model();
        let held_out = measure_losses(model, self.job.held_out, settings, self.job.ranks);
        self.compare_ranks()?;
        let elapsed = progress.elapsed_seconds() - self.last_log_row.0;
        let positions_since = self.state.positions - self.last_log_row.1;
        let row = LogRow {
            step,
            positions: self.state.positions,
            train_loss: (self.state.loss_steps > 0)
                .then(|| self.state.loss_sum / self.state.loss_steps as f64),
            held_out_loss: held_out.as_ref().map(|losses| losses.target),
            held_out_result_loss: held_out.as_ref().and_then(|losses| losses.result),
            learning_rate: self
                .learner
                .uses_gradients()
                .then(|| phase.learning_rate.value_at(done)),
            wdl: phase.wdl.value_at(done),
            positions_per_second: (elapsed > 0.0 && positions_since > 0)
                .then(|| positions_since as f64 / elapsed),
        };
        self.state.train_loss = row.train_loss;
        self.state.loss_sum = 0.0;
        self.state.loss_steps = 0;
        self.state.log_rows = match &mut self.log {
            Some(log) => log.add(&row.to_line())?,
            None => self.state.log_rows + 1,
        };
        let mut is_best = false;
        if let Some(losses) = held_out {
            is_best = self.state.best.is_none_or(|best| losses.target < best.loss);
            self.state.unimproved = if is_best { 0 } else { self.state.unimproved + 1 };
            if is_best {
                self.state.best = Some(BestLoss { step, loss: losses.target });
            }
        }
        progress.report_validation(&row);
        // Validation does not count as training time.
        self.last_log_row = (progress.elapsed_seconds(), self.state.positions);
        Ok(is_best)
    }

    fn compare_ranks(&self) -> Result<(), TrainError> {
        let (ranks, step) = (self.job.ranks, self.state.step);
        if ranks.is_alone() {
            return Ok(());
        }
        match ranks.first_different(self.learner.model().to_weights().hash()) {
            None => Ok(()),
            Some(rank) => Err(TrainError::RanksDiffer { rank, step }),
        }
    }

    /// Makes a checkpoint, with the optimiser's record if it is for resuming.
    fn make_checkpoint(&mut self, resumable: bool) -> Result<Checkpoint, TrainError> {
        let weights = self.learner.learnt_model().to_weights();
        if let Some((name, index, value)) = weights.non_finite() {
            let ((good, path), step) = (self.last_good(), self.state.step + 1);
            let what = format!("{name}[{index}] became {value} before step {step}");
            return Err(TrainError::Diverged { what, step, good, path });
        }
        let optimizer = if resumable { self.learner.record_optimizer()? } else { Vec::new() };
        Ok(Checkpoint { weights, optimizer, state: self.state.clone(), facts: self.facts.clone() })
    }

    /// Writes the weights to these files, unless they are written already.
    fn write_checkpoint(&mut self, mut files: CheckpointFiles) -> Result<(), TrainError> {
        files.last &= self.writer.handed != Some(self.state.step);
        // Even without validation positions.
        files.best |= files.last && self.state.best.is_none();
        if !(files.best || files.last || files.kept.is_some()) {
            return Ok(());
        }
        self.read_losses()?;
        self.writer.finish_write()?;
        if self.job.ranks.is_first() {
            let checkpoint = self.make_checkpoint(files.last)?;
            self.writer.start_writing(checkpoint, files);
        } else if files.last {
            // Rank 0 writes it.
            (self.writer.handed, self.writer.saved) =
                (Some(self.state.step), Some(self.state.step));
        }
        Ok(())
    }
}

/// Returns how many steps of `batch` positions the CPU may be ahead of a GPU: lists take memory.
fn steps_ahead(batch: usize) -> usize {
    ((1 << 19) / batch.max(1)).clamp(1, 64)
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

/// Joins a chain of causes in one line, without backtraces.
fn one_line(causes: &str) -> String {
    let lines = causes.lines().map(str::trim).take_while(|line| *line != "Asked at:");
    let lines: Vec<&str> = lines.filter(|it| !it.is_empty() && *it != "Caused by:").collect();
    lines.join(": ").trim_end_matches('.').to_string()
}
