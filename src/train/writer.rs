//! Writing of checkpoints while the training continues.

use std::mem::take;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use super::checkpoint::Checkpoint;
use super::{KEPT, TrainError};
use crate::output::OutputError;

/// Writes the checkpoints of a run on a thread of its own, as a disk takes as long as several
/// steps. At most one is under way; dropping the writer waits for it.
pub struct Writer {
    folder: PathBuf,
    under_way: Option<JoinHandle<Result<Checkpoint, OutputError>>>,
    /// The step that `last.safetensors` holds, or will hold when the thread is done.
    pub handed: Option<u64>,
    /// The step that it holds for sure.
    pub saved: Option<u64>,
}

/// The files of a checkpoint.
#[derive(Default)]
pub struct Files {
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
