//! Everything that a run needs to go on as if it had never stopped, in one file.
//!
//! The file is safetensors: the weights by name, readable by any tool; Burn's record of the
//! optimiser as bytes; the rest as text in the header.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::input;
use crate::output::{self, OutputError};
use crate::weights::{Weights, WeightsError, WeightsFile};

const STATE: &str = "state";

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub step: u64,
    /// Positions trained on, behind which the stream of batches goes on.
    pub positions: u64,
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
    #[serde(default)]
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
    /// What the weights are: the kind of model, the config, the data.
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

    /// The same of a file's bytes; errors call it by this name.
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
