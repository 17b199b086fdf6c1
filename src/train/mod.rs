//! The training loop: batches in, checkpoints and a log out.
//!
//! It takes any iterator of [`Batch`]es and never asks where they come from; time and the wish to
//! stop reach it through [`Watch`].

mod anchor;
mod average;
pub mod checkpoint;
mod clip;
pub mod direct;
mod error;
mod failure;
pub mod layers;
mod learner;
pub mod leg;
pub mod length;
pub mod log;
mod losses;
pub mod optimizer;
pub mod ranks;
mod rule;
pub mod schedule;
mod settings;
pub mod stages;
mod step;
pub mod target;
mod together;
mod unread;
mod writer;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use burn::tensor::Device;

use crate::batch::Batch;
use crate::log::{BySource, HEADER, Row};
use crate::model::{Compute, Kind, is_gpu};
pub use anchor::{Anchor, Moved};
use checkpoint::{Best, Checkpoint, State};
pub use error::TrainError;
use failure::{one_line, panic_text};
use learner::Learner;
use log::Log;
pub use losses::{Losses, Yardstick, losses, losses_of_all};
use ranks::Ranks;
pub use settings::{Rounded, Settings};
use unread::{Step, Unread};
use writer::{Files, Writer};

/// The folder in that of a run where checkpoints are kept for good.
pub const KEPT: &str = "checkpoints";

/// A run: what to train, where, and the folder that keeps it.
pub struct Training<'a> {
    pub kind: Kind,
    pub compute: Compute,
    pub device: &'a Device,
    pub settings: &'a Settings,
    /// Gets `log.csv`, `last.safetensors` and `best.safetensors`, and [`KEPT`], from rank 0.
    pub folder: &'a Path,
    /// May be empty: then there is no held-out loss, and the last checkpoint is the best.
    pub held_out: &'a [Batch],
    /// The step after which the loop returns [`End::Round`].
    pub until: u64,
    /// Who else takes the steps of this run: then batches are this rank's share of them.
    pub ranks: &'a dyn Ranks,
}

/// The loop's window to the world outside.
pub trait Watch {
    /// Seconds since some fixed moment.
    fn seconds(&self) -> f64;
    /// Whether to write a checkpoint and return.
    fn stop(&self) -> bool;
    /// After each step.
    fn step(&mut self, _progress: &Progress) {}
    /// After each validation.
    fn row(&mut self, _row: &Row) {}
}

/// Where the loop stands after a step.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub step: u64,
    pub positions: u64,
    /// Loss of this step's batch, before the step; on a GPU that of the last batch whose loss was
    /// read back.
    pub loss: f64,
    pub learning_rate: f64,
    /// Whether another step would change nothing.
    pub converged: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Finished,
    /// No step of the method makes the loss fall any more.
    Converged,
    /// The held-out loss no longer fell.
    Early,
    /// [`Watch::stop`] said so; the run can be resumed.
    Interrupted,
    /// The round is over; the run goes on in the next one.
    Round,
}

/// Trains from a checkpoint (a fresh one has step 0) to the end of the run.
///
/// # Errors
/// See [`TrainError`]; whatever happens, `last.safetensors` holds the last good state.
pub fn run<E>(
    job: &Training,
    start: Checkpoint,
    batches: impl IntoIterator<Item = Result<Batch, E>>,
    watch: &mut dyn Watch,
) -> Result<(End, Checkpoint), TrainError>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut trainer = Trainer::new(job, start)?;
    if !is_gpu(job.device) {
        return trainer.run(batches, watch);
    }
    // A device that is lost, or out of memory, shows as a panic somewhere in Burn.
    let run = AssertUnwindSafe(|| trainer.run(batches, watch));
    match catch_unwind(run) {
        Ok(ended) => ended,
        Err(panic) => Err(trainer.failed(&panic_text(&*panic))),
    }
}

struct Trainer<'a> {
    job: &'a Training<'a>,
    learner: Learner<'a>,
    state: State,
    /// None on ranks that write nothing.
    log: Option<Log>,
    by_source: Option<Log>,
    unread: Unread,
    /// Gradients of all ranks on their way.
    sums: Vec<f32>,
    /// The last loss that was read.
    loss: Option<f64>,
    facts: BTreeMap<String, String>,
    writer: Writer,
    clock: Clock,
    /// Whether a rank wished to stop in the last step.
    stop: bool,
}

/// For positions per second between two rows of the log.
struct Clock {
    seconds: f64,
    positions: u64,
}

impl<'a> Trainer<'a> {
    fn new(job: &'a Training, start: Checkpoint) -> Result<Self, TrainError> {
        if start.optimizer.is_empty() && start.state.step > 0 {
            return Err(TrainError::NoOptimizer(start.state.step));
        }
        let learner = Learner::new(job, &start.weights, start.optimizer)?;
        // A run's first look makes its first row, before its first checkpoint.
        let saved = (start.state.log_rows > 0).then_some(start.state.step);
        let writes = job.ranks.is_first();
        let writer =
            if writes { Writer::new(job.folder, saved)? } else { Writer::idle(job.folder, saved) };
        let rows = start.state.log_rows;
        let open = |name, header: &str| Log::open(&job.folder.join(name), header, rows);
        let log = writes.then(|| open("log.csv", HEADER)).transpose()?;
        let sources = &job.settings.sources;
        let by_source = (writes && !sources.is_empty())
            .then(|| open("sources.csv", &BySource::header(sources)));
        let by_source = by_source.transpose()?;
        let clock = Clock { seconds: f64::NAN, positions: start.state.positions };
        let (state, facts) = (start.state, start.facts);
        Ok(Self {
            job,
            learner,
            state,
            log,
            by_source,
            unread: Unread::default(),
            sums: Vec::new(),
            loss: None,
            facts,
            writer,
            clock,
            stop: false,
        })
    }

    fn run<E>(
        &mut self,
        batches: impl IntoIterator<Item = Result<Batch, E>>,
        watch: &mut dyn Watch,
    ) -> Result<(End, Checkpoint), TrainError>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.clock = Clock { seconds: watch.seconds(), positions: self.state.positions };
        if self.writer.handed().is_none() {
            let best = self.look(watch)?;
            self.write(Files { best, last: true, ..Files::default() })?;
        }
        let mut batches = batches.into_iter();
        let mut end = End::Finished;
        while self.state.step < self.job.settings.steps {
            if self.state.converged {
                break;
            }
            if self.stop || self.job.ranks.is_alone() && watch.stop() {
                end = End::Interrupted;
                break;
            }
            if self.state.step >= self.job.until {
                end = End::Round;
                break;
            }
            // A run that is made longer gets its patience anew.
            if !self.job.settings.is_seam(self.state.step)
                && let Some(patience) = self.job.settings.patience
                && self.state.unimproved >= patience
            {
                end = End::Early;
                break;
            }
            let batch = batches.next().ok_or(TrainError::OutOfData(self.state.step))?;
            let batch = batch.map_err(|error| TrainError::Data(error.into()))?;
            // What a rank wishes the others hear with this step's gradients.
            let wish = watch.stop();
            let progress = self.on_pool(|it| it.step(&batch, wish))?;
            watch.step(&progress);
            let leg = self.job.settings.leg(progress.step - 1);
            self.writer.poll()?;
            let last = progress.step == leg.steps || progress.converged;
            let due = |every: u64| last || progress.step.is_multiple_of(every);
            let best = due(leg.validate_every) && self.look(watch)?;
            let kept = leg.keep.and_then(|keep| keep.name(progress.step));
            let last = due(leg.checkpoint_every) || progress.step == leg.until;
            self.write(Files { best, kept, last })?;
        }
        if self.state.converged {
            end = End::Converged;
        }
        self.write(Files { last: true, ..Files::default() })?;
        let written = self.writer.settle()?;
        Ok((end, written.map_or_else(|| self.checkpoint(), Ok)?))
    }

    /// Looks at the losses that are still unread.
    fn read(&mut self) -> Result<(), TrainError> {
        let read = self.unread.read().map_err(|causes| self.failed(&causes))?;
        read.into_iter().try_for_each(|(taken, loss)| self.count(taken, loss))
    }

    /// Counts a step's loss for the next row of the log.
    fn count(&mut self, step: Step, loss: f64) -> Result<(), TrainError> {
        let Step { number: step, learning_rate } = step;
        if !loss.is_finite() {
            self.writer.settle()?;
            let (good, path) = (self.writer.good(), self.writer.path("last"));
            return Err(TrainError::Diverged { loss, step, learning_rate, good, path });
        }
        self.loss = Some(loss);
        self.state.loss_sum += loss;
        self.state.loss_steps += 1;
        Ok(())
    }

    fn failed(&mut self, causes: &str) -> TrainError {
        if let Err(error) = self.writer.settle() {
            return error;
        }
        let reason = one_line(causes);
        let (good, path) = (self.writer.good(), self.writer.path("last"));
        TrainError::Device { reason, good, path }
    }

    /// Measures the held-out loss and adds a row to the log; whether the weights are the best.
    fn look(&mut self, watch: &mut dyn Watch) -> Result<bool, TrainError> {
        self.read()?;
        self.writer.check()?;
        let settings = self.job.settings;
        // What led here, not what begins here.
        let leg = settings.leg(self.state.step.saturating_sub(1));
        let done = self.state.step as f64 / leg.steps as f64;
        let wdl = leg.wdl.at(done);
        // Against the target of the run's end: one yardstick, whatever the target is by now.
        let Settings { ref worths, loss, .. } = *settings;
        let yardstick = Yardstick { wdl: settings.wdl.at(1.0), worths, loss };
        let measured = self.learner.measured(self.state.step)?;
        let held_out = losses_of_all(&measured, self.job.held_out, yardstick, self.job.ranks);
        self.compare()?;
        let seconds = watch.seconds();
        let elapsed = seconds - self.clock.seconds;
        let moved = self.state.positions - self.clock.positions;
        let row = Row {
            step: self.state.step,
            positions: self.state.positions,
            train_loss: (self.state.loss_steps > 0)
                .then(|| self.state.loss_sum / self.state.loss_steps as f64),
            held_out_loss: held_out.as_ref().map(|losses| losses.target),
            held_out_result_loss: held_out.as_ref().and_then(|losses| losses.result),
            learning_rate: self.learner.follows().then(|| leg.learning_rate.at(done)),
            wdl,
            positions_per_second: (elapsed > 0.0 && moved > 0).then(|| moved as f64 / elapsed),
        };
        self.state.train_loss = row.train_loss;
        self.state.loss_sum = 0.0;
        self.state.loss_steps = 0;
        if let Some(by_source) = &mut self.by_source {
            let of = |source| held_out.as_ref()?.sources.get(source).copied().flatten();
            // Behind those that come from none of them.
            let losses: Vec<Option<f64>> = (1..=settings.sources.len()).map(of).collect();
            by_source.add(&BySource::line(row.step, &losses))?;
        }
        self.state.log_rows = match &mut self.log {
            Some(log) => log.add(&row.line())?,
            None => self.state.log_rows + 1,
        };
        let mut is_best = false;
        if let Some(losses) = held_out {
            if self.state.best.is_none_or(|best| losses.target < best.loss) {
                self.state.best = Some(Best { step: self.state.step, loss: losses.target });
                self.state.unimproved = 0;
                is_best = true;
            } else {
                self.state.unimproved += 1;
            }
        }
        watch.row(&row);
        // The look itself does not count as training time.
        self.clock = Clock { seconds: watch.seconds(), positions: self.state.positions };
        Ok(is_best)
    }

    /// Whether all ranks have the same weights.
    fn compare(&self) -> Result<(), TrainError> {
        let (ranks, step) = (self.job.ranks, self.state.step);
        if ranks.is_alone() {
            return Ok(());
        }
        match ranks.first_different(self.learner.model().weights().hash()) {
            None => Ok(()),
            Some(rank) => Err(TrainError::Apart { rank, step }),
        }
    }

    fn checkpoint(&self) -> Result<Checkpoint, TrainError> {
        let bare = self.bare_checkpoint()?;
        let optimizer = self.learner.record()?;
        Ok(Checkpoint { optimizer, ..bare })
    }

    /// A checkpoint without what only resuming needs.
    fn bare_checkpoint(&self) -> Result<Checkpoint, TrainError> {
        let weights = self.learner.learnt(self.state.step).weights();
        if let Some((name, place, value)) = weights.non_finite() {
            return Err(TrainError::NotFinite {
                name: name.to_string(),
                place,
                value,
                step: self.state.step + 1,
                good: self.writer.good(),
                path: self.writer.path("last"),
            });
        }
        let (state, facts) = (self.state.clone(), self.facts.clone());
        Ok(Checkpoint { weights, optimizer: Vec::new(), state, facts })
    }

    /// Has what the weights are now written to these files, if any and not there already.
    fn write(&mut self, mut files: Files) -> Result<(), TrainError> {
        files.last &= self.writer.handed() != Some(self.state.step);
        // Also where none of the positions that validate could be measured on.
        files.best |= files.last && self.state.best.is_none();
        if !(files.best || files.last || files.kept.is_some()) {
            return Ok(());
        }
        self.writer.check()?;
        self.read()?;
        self.writer.settle()?;
        if self.writer.is_idle() {
            self.writer.pass(self.state.step, &files);
            return Ok(());
        }
        let checkpoint = if files.last { self.checkpoint()? } else { self.bare_checkpoint()? };
        self.writer.write(checkpoint, files)
    }
}
