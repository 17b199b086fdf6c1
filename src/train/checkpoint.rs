//! Everything that a run needs to go on as if it had never stopped, in one file.
//!
//! The file is safetensors: the weights by name, readable by any tool; Burn's record of the
//! optimiser as bytes; the rest as text in the header.

use std::collections::BTreeMap;
use std::mem::take;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::{KEPT, TrainError};
use crate::input;
use crate::output::{self, OutputError};
use crate::place::Place;
use crate::weights::{Weights, WeightsError, WeightsFile};

const STATE: &str = "state";

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub step: u64,
    /// Positions trained on, behind which the stream of batches goes on.
    pub positions: u64,
    /// The same place in data that stream by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub best: Option<Best>,
    /// Looks at the held-out positions since the best one.
    pub unimproved: u64,
    /// Rows in the log.
    pub log_rows: u64,
    /// Mean training loss between the last two rows of the log.
    pub train_loss: Option<f64>,
    /// Training losses since the last row of the log.
    pub loss_sum: f64,
    pub loss_steps: u64,
    /// Whether another step would change nothing.
    pub converged: bool,
}

/// The lowest held-out loss so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    pub step: u64,
    pub loss: f64,
}

/// Weights, optimiser and state after a step.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    pub weights: Weights,
    /// Burn's record; empty before the first step.
    pub optimizer: Vec<u8>,
    pub state: State,
    /// Description of the weights: kind of model, config, data.
    pub facts: BTreeMap<String, String>,
}

/// Why a checkpoint cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{path} is no checkpoint: {error}")]
    Weights { path: PathBuf, error: WeightsError },
    #[error("{path} holds weights but no state of a run (header entry `{STATE}`)")]
    NoState { path: PathBuf },
}

impl Checkpoint {
    /// Writes the file atomically.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        output::write(path, &self.to_bytes())
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut facts = self.facts.clone();
        let state = serde_json::to_string(&self.state).expect("numbers and text have a JSON form");
        facts.insert(STATE.into(), state);
        let bytes = self.weights.to_bytes(&facts, &self.optimizer);
        bytes.expect("shapes were checked on insertion")
    }

    /// Reads weights with their state and facts.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let bytes = input::read(path, input::WEIGHTS)
            .map_err(|error| CheckpointError::Read { path: path.to_path_buf(), error })?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads the bytes of a file; `path` is for errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, CheckpointError> {
        let named = || path.to_path_buf();
        let WeightsFile { weights, mut facts, blob } = Weights::from_bytes(bytes)
            .map_err(|error| CheckpointError::Weights { path: named(), error })?;
        let state =
            Self::state(&facts).ok_or_else(|| CheckpointError::NoState { path: named() })?;
        facts.remove(STATE);
        Ok(Self { weights, optimizer: blob, state, facts })
    }

    /// Where the run stood, from a file's header; none in weights from elsewhere.
    pub fn state(facts: &BTreeMap<String, String>) -> Option<State> {
        serde_json::from_str(facts.get(STATE)?).ok()
    }
}

/// Writes the checkpoints of a run on a thread of its own, as a disk takes as long as several
/// steps. At most one is under way; dropping the writer waits for it.
pub(super) struct Writer {
    folder: PathBuf,
    under_way: Option<JoinHandle<Result<Checkpoint, OutputError>>>,
    /// The step that `last.safetensors` holds, or will hold when the thread is done.
    pub handed: Option<u64>,
    /// The step that it holds for sure.
    pub saved: Option<u64>,
}

/// The files of a checkpoint.
#[derive(Default)]
pub(super) struct Files {
    /// `best.safetensors`
    pub best: bool,
    /// The name of one that is kept for good, without its ending.
    pub kept: Option<String>,
    /// `last.safetensors`, the only one with all that resuming needs.
    pub last: bool,
}

impl Writer {
    /// `saved` is the step that `last.safetensors` holds.
    pub fn new(folder: &Path, saved: Option<u64>) -> Self {
        Self { folder: folder.to_path_buf(), under_way: None, handed: saved, saved }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.safetensors"))
    }

    /// Starts to write a checkpoint, after the one before.
    ///
    /// # Errors
    /// Those of the one before.
    pub fn write(&mut self, mut checkpoint: Checkpoint, files: Files) -> Result<(), TrainError> {
        self.settle()?;
        if files.last {
            self.handed = Some(checkpoint.state.step);
        }
        let best = files.best.then(|| self.path("best"));
        let kept = files.kept.map(|name| self.path(&format!("{KEPT}/{name}")));
        let last = files.last.then(|| self.path("last"));
        self.under_way = Some(thread::spawn(move || {
            let optimizer = take(&mut checkpoint.optimizer);
            for path in [best, kept].into_iter().flatten() {
                checkpoint.write(&path)?;
            }
            checkpoint.optimizer = optimizer;
            // The file to resume from comes last: a run that is killed before resumes from the one before.
            last.map_or(Ok(()), |path| checkpoint.write(&path))?;
            Ok(checkpoint)
        }));
        Ok(())
    }

    /// Returns the error of a write that has ended.
    pub fn poll(&mut self) -> Result<(), TrainError> {
        match &self.under_way {
            Some(thread) if thread.is_finished() => self.settle().map(drop),
            _ => Ok(()),
        }
    }

    /// Waits until all is written; returns the checkpoint that was under way.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn settle(&mut self) -> Result<Option<Checkpoint>, TrainError> {
        let Some(thread) = self.under_way.take() else { return Ok(None) };
        let written = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        match &written {
            Ok(_) => self.saved = self.handed,
            Err(_) => self.handed = self.saved,
        }
        Ok(Some(written?))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(thread) = self.under_way.take() {
            // The run has ended with an error of its own.
            let _ = thread.join();
        }
    }
}
