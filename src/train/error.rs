//! Why a run breaks off.

use std::path::PathBuf;

use super::Moved;
use crate::output::OutputError;
use crate::weights::WeightsError;

/// Why a run broke off. The checkpoints written before stand.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    #[error(
        "the loss is {loss} at step {step} (learning rate {learning_rate:e}): training diverged; \
         the last good checkpoint is step {good} in {path}; lower the learning rate"
    )]
    Diverged { loss: f64, step: u64, learning_rate: f64, good: u64, path: PathBuf },
    #[error(
        "{name}[{place}] became {value} before step {step}: training diverged; the last good \
         checkpoint is step {good} in {path}; lower the learning rate"
    )]
    NotFinite { name: String, place: usize, value: f32, step: u64, good: u64, path: PathBuf },
    #[error("the data ended at step {0}, before the run did")]
    OutOfData(u64),
    #[error(transparent)]
    Data(Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("the optimiser's state in the checkpoint cannot be read: {0}")]
    Optimizer(String),
    #[error(
        "the checkpoint of step {0} has no state of the optimiser: it is made for use, not to go \
         on from; resume from last.safetensors"
    )]
    NoOptimizer(u64),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Moved(#[from] Moved),
    #[error(
        "the device failed: {reason}; the last good checkpoint is step {good} in {path}; resume \
         the run, with `--device flex` if it fails again"
    )]
    Device { reason: String, good: u64, path: PathBuf },
    #[error("the device gives no gradients to add up with those of other ranks: {0}")]
    Gradients(String),
    #[error(
        "the weights of rank {rank} are not those of rank 0 at step {step}: its machine computes with \
         other instructions, or its memory fails; use the same program and `--simd` everywhere"
    )]
    Apart { rank: usize, step: u64 },
    #[error("cannot write {path}: {error}")]
    Log { path: PathBuf, error: std::io::Error },
    #[error("cannot read {path}: {error}")]
    LogRead { path: PathBuf, error: std::io::Error },
}
