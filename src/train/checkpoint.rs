//! Complete state of a run in one safetensors file, from which it resumes as if it had never
//! stopped: the weights by name, readable by any tool; the record of the optimiser as bytes; the
//! rest as text in the header.

use std::collections::BTreeMap;
use std::mem::take;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::{CHECKPOINT_FOLDER, TrainError};
use crate::input;
use crate::output::{self, OutputError};
use crate::resume_point::ResumePoint;
use crate::weights::{Weights, WeightsError, WeightsFile};

const STATE: &str = "state";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub step: u64,
    /// Positions trained on, after which the stream of batches continues.
    pub positions: u64,
    /// Resume point in streamed data.
    #[serde(rename = "place", default, skip_serializing_if = "Option::is_none")]
    pub resume_point: Option<ResumePoint>,
    pub best: Option<BestLoss>,
    pub unimproved: u64,
    pub log_rows: u64,
    /// Mean training loss between the last two rows of the log.
    pub train_loss: Option<f64>,
    /// Sum of training losses since the last row of the log.
    pub loss_sum: f64,
    pub loss_steps: u64,
    /// Whether another step would change nothing.
    pub converged: bool,
}

/// The lowest held-out loss so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestLoss {
    pub step: u64,
    pub loss: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    pub weights: Weights,
    /// Burn's record; empty before the first step.
    pub optimizer: Vec<u8>,
    pub state: RunState,
    /// Description of the weights: kind of model, config, data.
    pub facts: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{path} is not a checkpoint: {error}")]
    Weights { path: PathBuf, error: WeightsError },
    #[error("{path} has weights but no state of a run (header entry `{STATE}`)")]
    NoState { path: PathBuf },
}

impl Checkpoint {
    /// Writes the file, which appears only once it is complete.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written; an earlier file of this name then remains.
    pub fn write_file(&self, path: &Path) -> Result<(), OutputError> {
        output::write_file(path, &self.to_bytes())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut facts = self.facts.clone();
        let state = serde_json::to_string(&self.state).expect("numbers and text have a JSON form");
        facts.insert(STATE.into(), state);
        let bytes = self.weights.to_bytes(&facts, &self.optimizer);
        bytes.expect("shapes were checked on insertion")
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Fails with [`CheckpointError::Read`] if the file cannot be read, and as
    /// [`Checkpoint::from_bytes`] does.
    pub fn read_file(path: &Path) -> Result<Self, CheckpointError> {
        let bytes = input::read_bytes(path, input::WEIGHTS)
            .map_err(|error| CheckpointError::Read { path: path.to_path_buf(), error })?;
        Self::from_bytes(&bytes, path)
    }

    /// Parses the bytes of a file; `path` is for errors.
    ///
    /// # Errors
    ///
    /// Fails with [`CheckpointError::Weights`] as [`Weights::from_bytes`] does, and with
    /// [`CheckpointError::NoState`] for weights without the state of a run.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, CheckpointError> {
        let path = || path.to_path_buf();
        let WeightsFile { weights, mut facts, blob } = Weights::from_bytes(bytes)
            .map_err(|error| CheckpointError::Weights { path: path(), error })?;
        let state =
            Self::read_state(&facts).ok_or_else(|| CheckpointError::NoState { path: path() })?;
        facts.remove(STATE);
        Ok(Self { weights, optimizer: blob, state, facts })
    }

    /// Reads the state in a file's header; None in weights of other programs.
    pub fn read_state(facts: &BTreeMap<String, String>) -> Option<RunState> {
        serde_json::from_str(facts.get(STATE)?).ok()
    }
}

/// Writer of checkpoints on a thread, as disks are slow, one at a time. Dropping it waits.
pub(super) struct CheckpointWriter {
    folder: PathBuf,
    under_way: Option<JoinHandle<Result<Checkpoint, OutputError>>>,
    /// Step of `last.safetensors` after the thread has finished.
    pub handed: Option<u64>,
    /// Step of `last.safetensors` on disk.
    pub saved: Option<u64>,
}

#[derive(Default)]
pub(super) struct CheckpointFiles {
    pub best: bool,
    /// Name of a permanent checkpoint, without its extension.
    pub kept: Option<String>,
    /// `last.safetensors`, the only complete one for resuming.
    pub last: bool,
}

impl CheckpointWriter {
    /// Creates a writer; `saved` is the step of `last.safetensors`.
    pub fn new(folder: &Path, saved: Option<u64>) -> Self {
        Self { folder: folder.to_path_buf(), under_way: None, handed: saved, saved }
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.safetensors"))
    }

    /// Starts to write a checkpoint, after [`CheckpointWriter::finish_write`].
    pub fn start_writing(&mut self, mut checkpoint: Checkpoint, files: CheckpointFiles) {
        if files.last {
            self.handed = Some(checkpoint.state.step);
        }
        let best = files.best.then(|| self.path_of("best"));
        let permanent = files.kept.map(|name| self.path_of(&format!("{CHECKPOINT_FOLDER}/{name}")));
        let last = files.last.then(|| self.path_of("last"));
        self.under_way = Some(thread::spawn(move || {
            let optimizer = take(&mut checkpoint.optimizer);
            for path in [best, permanent].into_iter().flatten() {
                checkpoint.write_file(&path)?;
            }
            checkpoint.optimizer = optimizer;
            // The file for resuming is written last, in case the run is killed meanwhile.
            last.map_or(Ok(()), |path| checkpoint.write_file(&path))?;
            Ok(checkpoint)
        }));
    }

    pub fn check_writing(&mut self) -> Result<(), TrainError> {
        match &self.under_way {
            Some(thread) if thread.is_finished() => self.finish_write().map(drop),
            _ => Ok(()),
        }
    }

    /// Waits until the checkpoint in progress is written; returns it, or its error.
    pub fn finish_write(&mut self) -> Result<Option<Checkpoint>, TrainError> {
        let Some(thread) = self.under_way.take() else { return Ok(None) };
        let written = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        match &written {
            Ok(_) => self.saved = self.handed,
            Err(_) => self.handed = self.saved,
        }
        Ok(Some(written?))
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if let Some(thread) = self.under_way.take() {
            // The run has ended with another error.
            let _ = thread.join();
        }
    }
}
