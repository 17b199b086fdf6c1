//! A run's folder: what lies in it, and that only one process works there.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::config::RUN_HEADER;
use crate::output::Output;

pub const CONFIG: &str = "config.toml";
/// To resume from.
pub const LAST: &str = "last.safetensors";
/// The lowest held-out loss.
pub const BEST: &str = "best.safetensors";
/// The quantised best; its manifest and floats have the same name.
pub const NET: &str = "net.bin";
/// The best handcrafted terms.
pub const TERMS: &str = "terms.json";
/// What training did to each term.
pub const TERMS_CSV: &str = "terms.csv";
/// Pictures of the terms.
pub const TERMS_SVG: &str = "terms.svg";

/// What training looked like, row by row.
pub const LOG: &str = "log.csv";
/// The run as a page.
pub const REPORT: &str = "report.html";

const LOCK: &str = ".lock";

/// Everything that a run writes, but for its config and its lock.
const FILES: [&str; 10] =
    [LAST, BEST, NET, TERMS, TERMS_CSV, TERMS_SVG, "net.json", "net.safetensors", LOG, REPORT];

/// A folder that this process alone trains in.
pub struct RunFolder {
    pub path: PathBuf,
    /// Released when the process ends, by whatever death.
    _lock: File,
}

/// Whether a run may begin here: an error if the folder cannot be written to, holds something
/// else than a run, or a run that is not to be overwritten.
fn check(path: &Path, overwrite: bool) -> Result<()> {
    let folder = path.display();
    let config = path.join(CONFIG);
    let ours = std::fs::read_to_string(&config).is_ok_and(|text| text.starts_with(RUN_HEADER));
    let foreign = config.exists() || FILES.iter().any(|name| path.join(name).exists());
    ensure!(
        ours || !foreign,
        "{folder} holds files that are no run of nnuance; choose another folder with --out"
    );
    ensure!(
        overwrite || !path.join(LAST).exists(),
        "{folder} holds a run already; go on with `nnuance train --resume {folder}`, begin anew \
         with --overwrite, or choose another folder with --out"
    );
    // Opened and dropped: a folder that cannot be written to is found before the long work.
    Output::create(&config)?;
    Ok(())
}

impl Drop for RunFolder {
    /// A command that failed before its run began leaves nothing.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.file(LOCK));
        // Only an empty folder goes.
        let _ = std::fs::remove_dir(&self.path);
    }
}

impl RunFolder {
    /// Takes a new folder, or one that [`check`] lets pass, for this process.
    pub fn take(path: &Path, overwrite: bool) -> Result<Self> {
        check(path, overwrite)?;
        let folder = Self::open(path)?;
        // Once more, now that nobody else can begin a run here.
        check(path, overwrite)?;
        Ok(folder)
    }

    /// Takes an existing run for this process.
    pub fn of_run(path: &Path) -> Result<Self> {
        let last = path.join(LAST);
        ensure!(last.exists(), "there is no run in {}: {LAST} is missing", path.display());
        Self::open(path)
    }

    fn open(path: &Path) -> Result<Self> {
        let name = path.join(LOCK);
        let lock =
            File::create(&name).with_context(|| format!("cannot write {}", name.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("a run is under way in {}; wait for it, or stop it", path.display())
            }
            // Some network drives know no locks; better no lock than no training.
            Err(TryLockError::Error(error)) => {
                eprintln!("{} cannot be locked ({error}): start no second run", path.display());
            }
        }
        let folder = Self { path: path.to_path_buf(), _lock: lock };
        folder.remove(|name| name.starts_with(".nnuance-") && name.ends_with(".part"))?;
        Ok(folder)
    }

    /// Removes what an earlier run left.
    pub fn clear(&self) -> Result<()> {
        self.remove(|name| FILES.contains(&name))
    }

    fn remove(&self, which: impl Fn(&str) -> bool) -> Result<()> {
        let failed = || format!("cannot clear {}", self.path.display());
        for entry in std::fs::read_dir(&self.path).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            if entry.file_name().to_str().is_some_and(&which) {
                std::fs::remove_file(entry.path()).with_context(failed)?;
            }
        }
        Ok(())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}
