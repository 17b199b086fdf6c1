//! A sweep's folder: what was asked for, a folder for each run, and that only one process sweeps
//! there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::input;
use crate::output;
use crate::run::claim::{Claim, Holds};
use crate::run::folder::REPORT;
use crate::run::listener::Listener;

/// A folder that this process alone sweeps in.
pub struct SweepFolder(Claim);

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

/// How a sweep is known again.
const HOLDS: Holds = Holds {
    what: "sweep",
    file: "sweep.toml",
    header: "# A sweep of nnuance; it goes on with the command that began it.\n",
};

impl SweepFolder {
    const MARKS: &str = "losses.json";

    /// Takes a new folder, or one with the same sweep. With more seeds it is the same one still.
    ///
    /// # Errors
    /// If it cannot be written to, or holds something else.
    pub fn take(path: &Path, record: &Record, listener: &dyn Listener) -> Result<Self> {
        let (claim, text) = Claim::take(path, &HOLDS, listener)?;
        if let Some(text) = text {
            let file = path.join(HOLDS.file);
            let found: Record =
                toml::from_str(&text).with_context(|| file.display().to_string())?;
            let Record { over, one_in, rungs } = &found;
            ensure!(
                found == *record,
                "{} holds another sweep (--over {} --one-in {one_in} --rungs {rungs}); give the \
                 same, or choose another folder with --out",
                path.display(),
                over.join(" --over ")
            );
        }
        Ok(Self(claim))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Writes down what was asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(&self, record: &Record) -> Result<()> {
        let text = HOLDS.header.to_string() + &toml::to_string(record)?;
        Ok(output::write(&self.path().join(HOLDS.file), text.as_bytes())?)
    }

    /// What is known of each run by its name, rung after rung.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn marks(&self) -> Result<Marks> {
        let path = self.path().join(Self::MARKS);
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
        Ok(output::write(&self.path().join(Self::MARKS), text.as_bytes())?)
    }

    /// The sweep as a page.
    pub fn page(&self) -> PathBuf {
        self.path().join(REPORT)
    }
}
