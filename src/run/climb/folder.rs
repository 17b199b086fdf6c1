//! A climb's folder: its config, a folder for each generation, and that only one process climbs
//! there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::generation::Generation;
use crate::config::{CLIMB_HEADER, Climb, Config, Difference};
use crate::input;
use crate::output;
use crate::run::claim::{Claim, Holds};
use crate::run::folder::{CONFIG, NET};
use crate::run::listener::Listener;

/// A folder that this process alone climbs in.
pub struct ClimbFolder(Claim);

/// How a climb is known again.
const HOLDS: Holds = Holds { what: "climb", file: CONFIG, header: CLIMB_HEADER };

impl ClimbFolder {
    /// The table of generations, for other programs.
    pub const TABLE: &str = "climb.csv";
    /// The climb as a page.
    pub const REPORT: &str = crate::run::folder::REPORT;

    /// Takes a new folder, or one with a climb of the same config, whose number of generations may
    /// be another one now.
    ///
    /// # Errors
    /// If it cannot be written to, holds something else, or a climb of another config.
    pub fn take(path: &Path, config: &Config, listener: &dyn Listener) -> Result<Self> {
        let (claim, text) = Claim::take(path, &HOLDS, listener)?;
        if let Some(text) = text {
            let name = path.join(CONFIG).display().to_string();
            same(&Config::recorded(&text, &name)?, config, path)?;
        }
        Ok(Self(claim))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Writes the config of the climb that begins or goes on here.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn begin(&self, config: &Config) -> Result<()> {
        Ok(output::write(&self.path().join(CONFIG), config.to_toml().as_bytes())?)
    }

    /// Of a generation, from 1 on.
    fn of(&self, number: u64) -> PathBuf {
        self.path().join(format!("{number:03}"))
    }

    /// The file of its games.
    pub fn games(&self, number: u64) -> PathBuf {
        self.of(number).join("games.vf")
    }

    /// The folder of its training.
    pub fn run(&self, number: u64) -> PathBuf {
        self.of(number).join("run")
    }

    /// What plays for it: the net, or the folder of the run that tuned terms.
    pub fn evaluation(&self, number: u64) -> PathBuf {
        let run = self.run(number);
        let net = run.join(NET);
        if net.exists() { net } else { run }
    }

    fn record(&self, number: u64) -> PathBuf {
        self.of(number).join("generation.json")
    }

    /// What is known of a generation; none where it has not begun, or not come to the end of its
    /// games.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub fn generation(&self, number: u64) -> Result<Option<Generation>> {
        let path = self.record(number);
        if !path.exists() {
            return Ok(None);
        }
        let name = path.display();
        let text =
            input::text(&path, input::TEXT).with_context(|| format!("cannot read {name}"))?;
        let read = serde_json::from_str(&text);
        read.map(Some)
            .with_context(|| format!("{name}; remove it, and its matches are played again"))
    }

    /// Writes down what is known of a generation.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, number: u64, generation: &Generation) -> Result<()> {
        let text = serde_json::to_string_pretty(generation)? + "\n";
        Ok(output::write(&self.record(number), text.as_bytes())?)
    }
}

/// An error where two configs differ in more than the number of generations.
fn same(begun: &Config, config: &Config, path: &Path) -> Result<()> {
    let mut config = config.clone();
    if let (Some(now), Some(then)) = (&mut config.climb, &begun.climb) {
        *now = Climb { generations: then.generations, ..now.clone() };
    }
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
    let line = |Difference { key, here, there }: &Difference| {
        format!("\n  {key}: {} here, {} there", said(here), said(there))
    };
    let lines: String = config.differences(begun).iter().map(line).collect();
    if lines.is_empty() {
        return Ok(());
    }
    bail!(
        "{} holds a climb of another config, and a climb goes on as it began:{lines}\nonly \
         climb.generations may change; choose another folder with --out",
        path.display()
    )
}
