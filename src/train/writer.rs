//! Checkpoints on their way to the disk, while the training goes on.

use std::mem::take;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::anchor::{Anchor, Moved};
use super::checkpoint::Checkpoint;
use super::{KEPT, TrainError};
use crate::output::OutputError;

/// Writes the checkpoints of a run on a thread of its own, as a disk takes as long as several
/// steps. One is under way at most; whoever drops the writer waits for it.
pub struct Writer {
    folder: PathBuf,
    /// The folder, which must not be made anew where somebody moves it; none on ranks that write
    /// nothing.
    anchor: Option<Arc<Anchor>>,
    under_way: Option<JoinHandle<Result<Checkpoint, TrainError>>>,
    /// The step that `last.safetensors` holds, or will hold when the thread is done.
    handed: Option<u64>,
    /// The step that it holds for sure.
    saved: Option<u64>,
}

/// Which files a checkpoint becomes.
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
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn new(folder: &Path, saved: Option<u64>) -> Result<Self, OutputError> {
        let anchor = Anchor::of(folder).map_err(|error| OutputError::new(folder, error))?;
        let mut writer = Self::idle(folder, saved);
        writer.anchor = Some(Arc::new(anchor));
        Ok(writer)
    }

    /// One that knows what another rank writes, and writes nothing.
    pub fn idle(folder: &Path, saved: Option<u64>) -> Self {
        let folder = folder.to_path_buf();
        Self { folder, anchor: None, under_way: None, handed: saved, saved }
    }

    pub fn is_idle(&self) -> bool {
        self.anchor.is_none()
    }

    /// Another rank writes these files.
    pub fn pass(&mut self, step: u64, files: &Files) {
        if files.last {
            (self.handed, self.saved) = (Some(step), Some(step));
        }
    }

    /// An error if the folder's name means another one now, or none.
    pub fn check(&self) -> Result<(), Moved> {
        self.anchor.as_ref().map_or(Ok(()), |anchor| anchor.check())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.safetensors"))
    }

    /// The step that `last.safetensors` will hold once all that was handed over is written.
    pub fn handed(&self) -> Option<u64> {
        self.handed
    }

    /// The step that `last.safetensors` holds for sure, 0 where there is none yet.
    pub fn good(&self) -> u64 {
        self.saved.unwrap_or(0)
    }

    /// Begins to write a checkpoint, after the one before.
    ///
    /// # Errors
    /// Those of the one before.
    pub fn write(&mut self, checkpoint: Checkpoint, files: Files) -> Result<(), TrainError> {
        self.settle()?;
        if files.last {
            self.handed = Some(checkpoint.state.step);
        }
        let best = files.best.then(|| self.path("best"));
        let kept = files.kept.map(|name| Path::new(KEPT).join(name));
        let kept = kept.map(|name| self.path(&name.to_string_lossy()));
        let last = files.last.then(|| self.path("last"));
        let Some(anchor) = self.anchor.clone() else { return Ok(()) };
        self.under_way = Some(thread::spawn(move || {
            let write = |checkpoint: &Checkpoint, path: PathBuf| {
                anchor.check()?;
                checkpoint.write(&path).or_else(|error| {
                    anchor.check()?;
                    Err(TrainError::Output(error))
                })
            };
            let mut checkpoint = checkpoint;
            let optimizer = take(&mut checkpoint.optimizer);
            for path in [best, kept].into_iter().flatten() {
                write(&checkpoint, path)?;
            }
            checkpoint.optimizer = optimizer;
            // What a run goes on from comes last: one that is killed before goes on from before.
            last.map_or(Ok(()), |path| write(&checkpoint, path))?;
            Ok(checkpoint)
        }));
        Ok(())
    }

    /// Learns how the writing ended, if it has.
    ///
    /// # Errors
    /// Its own.
    pub fn poll(&mut self) -> Result<(), TrainError> {
        match &self.under_way {
            Some(thread) if thread.is_finished() => self.settle().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Waits until all is written; the checkpoint that was under way.
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
        written.map(Some)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(thread) = self.under_way.take() {
            // Whoever drops it has an error of its own.
            let _ = thread.join();
        }
    }
}
