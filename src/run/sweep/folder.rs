//! A sweep's folder: what was asked for, a folder for each run, and that only one process sweeps
//! there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::input;
use crate::output;
use crate::run::folder::{LOCK, REPORT, lock, missing_above, remove_empty, sweep};
use crate::run::listener::Listener;

/// A folder that this process alone sweeps in.
pub struct SweepFolder {
    pub path: PathBuf,
    /// The folders above it that were made for it, the nearest first.
    made: Vec<PathBuf>,
    /// Released when the process ends, by whatever death.
    _lock: File,
}

/// What a sweep was asked for, as its file has it. What else the members' configs say their runs
/// know themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Keys with their values.
    pub over: Vec<String>,
    /// One member in so many goes on.
    pub one_in: u32,
    pub rungs: usize,
}

/// What is known of a run at the end of a rung. Those who have gone on hold other weights, and their
/// folders do not tell it any more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    Loss(f64),
    /// It has none, and why.
    Failed(String),
}

/// By the name of the run, rung after rung.
pub type Marks = BTreeMap<String, Vec<Mark>>;

/// How the file begins.
const HEADER: &str = "# A sweep of nnuance; it goes on with the command that began it.\n";

impl Drop for SweepFolder {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path.join(LOCK));
        remove_empty(&self.path, &self.made);
    }
}

impl SweepFolder {
    const RECORD: &str = "sweep.toml";
    const MARKS: &str = "losses.json";

    /// Takes a new folder, or one with the same sweep. With more seeds it is the same one still.
    ///
    /// # Errors
    /// If it cannot be written to, or holds something else.
    pub fn take(path: &Path, record: &Record, listener: &dyn Listener) -> Result<Self> {
        let name = path.display();
        ensure!(!path.starts_with("-"), "a sweep is a folder; name one with --out");
        let file = path.join(Self::RECORD);
        let foreign =
            || format!("{name} holds files that are no sweep; choose another folder with --out");
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            entries => Some(entries.with_context(|| name.to_string())?),
        };
        let hidden = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with('.');
        let is_empty = entries.is_none_or(|all| all.flatten().all(|it| hidden(&it)));
        ensure!(is_empty || file.exists(), foreign());
        let made = missing_above(path);
        fs::create_dir_all(path).with_context(|| format!("cannot make {name}"))?;
        let folder = Self { path: path.to_path_buf(), made, _lock: lock(path, listener)? };
        sweep(&file).for_each(|removed| listener.remark(&removed));
        if file.exists() {
            let text = input::text(&file, input::TEXT).with_context(foreign)?;
            ensure!(text.starts_with(HEADER), foreign());
            let found: Record =
                toml::from_str(&text).with_context(|| file.display().to_string())?;
            let Record { over, one_in, rungs } = &found;
            ensure!(
                found == *record,
                "{name} holds another sweep (--over {} --one-in {one_in} --rungs {rungs}); give the \
                 same, or choose another folder with --out",
                over.join(" --over ")
            );
        }
        Ok(folder)
    }

    /// Writes down what was asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(&self, record: &Record) -> Result<()> {
        let text = HEADER.to_string() + &toml::to_string(record)?;
        Ok(output::write(&self.path.join(Self::RECORD), text.as_bytes())?)
    }

    /// What is known of each run by its name, rung after rung.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn marks(&self) -> Result<Marks> {
        let path = self.path.join(Self::MARKS);
        if !path.exists() {
            return Ok(Marks::new());
        }
        let name = path.display();
        let text =
            input::text(&path, input::TEXT).with_context(|| format!("cannot read {name}"))?;
        serde_json::from_str(&text).with_context(|| name.to_string())
    }

    /// Writes down what is known of each run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, marks: &Marks) -> Result<()> {
        let text = serde_json::to_string_pretty(marks)? + "\n";
        Ok(output::write(&self.path.join(Self::MARKS), text.as_bytes())?)
    }

    /// The sweep as a page.
    pub fn page(&self) -> PathBuf {
        self.path.join(REPORT)
    }
}
