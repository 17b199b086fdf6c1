//! The folder of a run: its files, and its lock for one process.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::config::RUN_HEADER;
use crate::input;
use crate::output::Output;
use crate::progress::Progress;
use crate::train::CHECKPOINT_FOLDER;

/// The resolved config.
pub const CONFIG: &str = "config.toml";
/// Checkpoint for resuming.
pub const LAST: &str = "last.safetensors";
/// Checkpoint with the lowest held-out loss.
pub const BEST: &str = "best.safetensors";
/// Weights with which the quiet ends of the current round were searched.
pub const ROUND: &str = "round.safetensors";
/// The quantised best net; its manifest and floats have the same name.
pub const NET: &str = "net.bin";
/// Handcrafted terms.
pub const TERMS: &str = "terms.json";
/// Terms that were trained with a net.
pub const BASE: &str = "base.json";
/// Changes of each term.
pub const TERMS_CSV: &str = "terms.csv";
/// The config of several stages; [`CONFIG`] is that of the last stage.
pub const STAGES: &str = "stages.toml";
/// The log of validations.
pub const LOG: &str = "log.csv";
/// The page about the run.
pub const REPORT: &str = "report.html";
/// Locked by the process that works in a folder.
const LOCK: &str = ".lock";
/// All files of a run except its config and its lock.
const FILES: [&str; 11] =
    [LAST, BEST, ROUND, NET, TERMS, BASE, TERMS_CSV, "net.json", "net.safetensors", LOG, REPORT];

/// Returns whether a run is complete: its manifest or table of terms exists, and its lock does not.
pub fn is_finished(folder: &Path) -> bool {
    let exists = |name: &&str| folder.join(name).exists();
    !exists(&LOCK) && ["net.json", TERMS_CSV].iter().any(exists)
}

/// Returns whether a folder holds a run, which may have finished only its first stages.
pub fn has_run(folder: &Path) -> bool {
    [LAST, STAGES].iter().any(|name| folder.join(name).exists())
}

/// Returns the folder of an earlier stage, by its number from 1, within that of the last stage.
pub fn stage_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("stage-{number}"))
}

/// A folder locked by this process for training.
pub struct RunFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Lock file; the lock is released when the process ends in any way.
    _lock: File,
}

impl Drop for RunFolder {
    /// Removes the lock, and the folder if a command failed before its run began.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.path.join(LOCK));
        let _ = std::fs::remove_dir(&self.path);
    }
}

impl RunFolder {
    /// Locks a folder for a new run, and makes it if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be written, if a process works in it, if it has a config or other
    /// files of a run but no config that nnuance wrote, and if it holds a run, unless `overwrite`.
    pub fn lock_new(path: &Path, overwrite: bool, listener: &dyn Progress) -> Result<Self> {
        let folder = path.display();
        let config = path.join(CONFIG);
        // Opened and dropped: this creates the folder.
        Output::create_file(&config)?;
        let locked = Self::lock_existing(path, listener)?;
        let ours =
            input::read_text(&config, input::TEXT).is_ok_and(|text| text.starts_with(RUN_HEADER));
        let foreign = config.exists() || FILES.iter().any(|name| path.join(name).exists());
        ensure!(
            ours || !foreign,
            "{folder} holds files that are no run of nnuance; choose another folder with --out"
        );
        ensure!(
            overwrite || !has_run(path),
            "{folder} holds a run already; go on with `nnuance train --resume {folder}`, overwrite it \
             with --overwrite, or choose another folder with --out"
        );
        Ok(locked)
    }

    /// Locks the folder of a run.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no run, if a process works in it, and if its lock cannot be
    /// written.
    pub fn of_run(path: &Path, listener: &dyn Progress) -> Result<Self> {
        ensure!(
            has_run(path),
            "{} holds no checkpoint to go on from, {LAST}; name the folder of a run, or begin one \
             with `nnuance train CONFIG`",
            path.display()
        );
        Self::lock_existing(path, listener)
    }

    fn lock_existing(path: &Path, listener: &dyn Progress) -> Result<Self> {
        let name = path.join(LOCK);
        let lock =
            File::create(&name).with_context(|| format!("cannot write {}", name.display()))?;
        let folder = path.display();
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("a run is under way in {folder}; wait for it, or stop it")
            }
            // Some network drives do not support locks; training without one is better than none.
            Err(TryLockError::Error(error)) => listener.report_remark(&format!(
                "{folder} cannot be locked ({error}): start no second run"
            )),
        }
        Ok(Self { path: path.to_path_buf(), _lock: lock })
    }

    /// Returns the folder to name when resuming: that of all stages, if this is an earlier stage.
    pub fn outer_folder(&self) -> &Path {
        let parent = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        parent.filter(|it| it.join(STAGES).exists()).unwrap_or(&self.path)
    }

    /// Removes the files of a run and of its stages.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be read, or a file cannot be removed.
    pub fn clear_runs(&self) -> Result<()> {
        if self.path.join(STAGES).exists() {
            let stages = (1..).map(|number| stage_folder(&self.path, number));
            for path in stages.take_while(|path| path.exists()) {
                remove_files(&path, |name| [CONFIG, LOCK].contains(&name))?;
                // Dropping it removes the folder.
                Self { path, _lock: self._lock.try_clone()? }.clear_run()?;
            }
            remove_files(&self.path, |name| name == STAGES)?;
        }
        self.clear_run()
    }

    /// Removes the files of a run, but not those of earlier stages.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be read, or a file cannot be removed.
    pub fn clear_run(&self) -> Result<()> {
        remove_files(&self.path, |name| FILES.contains(&name))?;
        let checkpoints = self.path.join(CHECKPOINT_FOLDER);
        remove_files(&checkpoints, |name| name.ends_with(".safetensors"))?;
        // Only an empty folder is removed.
        let _ = std::fs::remove_dir(&checkpoints);
        Ok(())
    }
}

/// Removes files from a folder, if it exists.
fn remove_files(folder: &Path, which: impl Fn(&str) -> bool) -> Result<()> {
    let failed = || format!("cannot clear {}", folder.display());
    let entries = match std::fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        entries => entries.with_context(failed)?,
    };
    for entry in entries {
        let entry = entry.with_context(failed)?;
        if entry.file_name().to_str().is_some_and(&which) {
            std::fs::remove_file(entry.path()).with_context(failed)?;
        }
    }
    Ok(())
}
