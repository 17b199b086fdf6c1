//! What the folder of a run says.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::digits::grouped;
use crate::input;
use crate::log::BySource;
use crate::report::html::Run;
use crate::run::folder;
use crate::run::recipe::{self, COMPUTE, POSITIONS, Recipe};
use crate::train::checkpoint::{Checkpoint, State};
use crate::train::log;

/// A run to show.
pub struct ShownRun {
    pub folder: PathBuf,
    pub recipe: Recipe,
    pub page: Run,
}

impl ShownRun {
    /// Reads a folder that may still be in use.
    pub fn read(folder: &Path) -> Result<Self> {
        let (checkpoint, recipe) = recipe_of(folder)?;
        Self::with(folder, recipe, &checkpoint)
    }

    /// The same of a run whose recipe is at hand.
    pub fn of(folder: &Path, recipe: &Recipe) -> Result<Self> {
        let (checkpoint, _) = recipe_of(folder)?;
        Self::with(folder, recipe.clone(), &checkpoint)
    }

    fn with(folder: &Path, recipe: Recipe, checkpoint: &Checkpoint) -> Result<Self> {
        let Checkpoint { state, facts, .. } = checkpoint;
        let compute = facts.get(COMPUTE).map(String::as_str);
        let positions = facts.get(POSITIONS).and_then(|text| text.parse().ok());
        let rows = log::read(&folder.join(folder::LOG))?;
        let config: toml::Value =
            toml::from_str(&recipe.config.to_toml()).context("the run's config")?;
        let mut settings = Vec::new();
        flatten("", &config, &mut settings);
        settings.sort();
        let page = Run {
            name: name(folder),
            folder: folder.display().to_string(),
            about: about(&recipe, compute)?,
            settings,
            rows,
            sources: sources(folder),
            state: stands(folder, &recipe, state, positions),
        };
        Ok(Self { folder: folder.to_path_buf(), recipe, page })
    }

    /// A file of the run, if it is there, as commands name it.
    pub fn file(&self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        path.exists().then(|| path.to_string_lossy().into_owned())
    }
}

/// Its validation loss by source; nothing where it has no sources.
fn sources(folder: &Path) -> BySource {
    let text = input::text(&folder.join(folder::SOURCES), input::TEXT).unwrap_or_default();
    BySource::parse(&text).unwrap_or_default()
}

/// How a run has ended, or how far it has come.
fn stands(folder: &Path, recipe: &Recipe, state: &State, positions: Option<u64>) -> String {
    if [folder::NET, folder::TERMS].iter().any(|name| folder.join(name).exists()) {
        return if state.converged { "converged".to_string() } else { String::new() };
    }
    let of = positions.map(|positions| format!(" of {}", grouped(recipe.config.steps(positions))));
    format!("not ended: at step {}{}", grouped(state.step), of.unwrap_or_default())
}

fn name(folder: &Path) -> String {
    // `runs/..` and `.` have no last name.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

fn about(recipe: &Recipe, compute: Option<&str>) -> Result<Vec<(String, String)>> {
    let model = match recipe.architecture()? {
        Some(net) => net.to_string(),
        None => {
            let terms = recipe.terms()?.context("no net, so terms")?;
            let count = |chosen: &[bool]| chosen.iter().filter(|it| **it).count();
            format!(
                "{} handcrafted terms, {} of them to be tuned; those that fewer than {} positions \
                 have stay",
                count(&terms.present.terms),
                count(&terms.chosen.terms),
                recipe.config.rare()
            )
        }
    };
    let mut about = vec![("model".to_string(), model)];
    let files = recipe.data.iter().map(|file| ("data", file));
    let own = recipe.validation.iter().map(|file| ("validation", file));
    for (what, file) in files.chain(own) {
        let games = match file.games {
            0 => "games unknown".to_string(),
            games => format!("{} games", grouped(games)),
        };
        let read = match (&file.format, file.positions) {
            (Some(format), Some(positions)) => {
                format!("{format}, {} positions, ", grouped(positions))
            }
            _ => String::new(),
        };
        about.push((
            what.to_string(),
            format!(
                "{}: {}{games}, SHA-256 {}…",
                file.path.display(),
                read,
                file.sha256.get(..12).unwrap_or(&file.sha256)
            ),
        ));
    }
    let games = recipe.data.iter().all(|file| file.games > 0);
    let of = if games { "games" } else { "positions" };
    let (held_out, test) = (recipe.split().share, recipe.config.test().0);
    // Nine digits hide what multiplication rounds.
    let share = |of: f64| (held_out * of * 1e9).round() / 1e9;
    if recipe.validation.is_empty() {
        about.push(("validation".to_string(), format!("{} of the {of}", share(1.0 - test))));
    }
    about.push(("test".to_string(), format!("{} of the {of}", share(test))));
    about.extend(compute.map(|compute| ("computed by".to_string(), compute.to_string())));
    Ok(about)
}

/// Tables as dotted keys.
fn flatten(prefix: &str, value: &toml::Value, into: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, into);
            }
        }
        toml::Value::String(text) => into.push((prefix.to_string(), text.clone())),
        other => into.push((prefix.to_string(), other.to_string())),
    }
}

/// The run's recipe, from the checkpoint to resume from.
fn recipe_of(folder: &Path) -> Result<(Checkpoint, Recipe)> {
    let last = folder.join(folder::LAST);
    let name = folder.display();
    ensure!(folder.is_dir(), "{name} is no folder; name the folder of a run");
    let runs = || -> Vec<String> {
        let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let runs = inside.map(|entry| entry.path()).filter(|it| it.join(folder::LAST).exists());
        let mut runs: Vec<String> = runs.map(|it| it.display().to_string()).collect();
        runs.sort();
        runs
    };
    if !last.exists() {
        match &runs()[..] {
            [] => bail!("{name} is no folder of a run: {} is missing", folder::LAST),
            runs => bail!("{name} is no folder of a run, but holds some; name {}", runs.join(" ")),
        }
    }
    recipe::open(&last)
}
