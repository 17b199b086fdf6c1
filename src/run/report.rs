//! A page about runs: how they trained, how they compare, what is inside them.

mod contents;
mod insides;
mod shown;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use maud::{Markup, html};

use super::evaluator::Evaluator;
use super::folder;
use super::honest::Selection;
use super::listener::Listener;
use super::measure::{self, honest};
use super::played::Match;
use super::recipe::Recipe;
use crate::draw::{self, Section};
use crate::inspect;
use crate::loader::Plan;
use crate::model::{Compute, Device};
use crate::output;
use crate::report::html::{curves, settings, trained};
use crate::sample::Sample;
use contents::Contents;
pub use shown::ShownRun;

/// A page that is still to be written.
pub struct Page {
    title: String,
    lead: Markup,
    pub sections: Vec<Section>,
    /// The files whose positions were measured on.
    pub files: Vec<PathBuf>,
}

/// What a page of runs is to show besides them.
pub struct Asked<'a> {
    /// More evaluations.
    pub with: &'a [String],
    /// Files of positions; none for those that the first run was trained on.
    pub files: &'a [PathBuf],
    pub games: Option<Match>,
}

/// Reads the folders of runs, each of which may still be in use.
///
/// # Errors
/// If one is no folder of a run, or named twice.
pub fn read(folders: &[PathBuf]) -> Result<Vec<ShownRun>> {
    let runs: Vec<ShownRun> =
        folders.iter().map(|folder| ShownRun::read(folder)).collect::<Result<_>>()?;
    for (i, run) in runs.iter().enumerate() {
        let twice = runs[..i]
            .iter()
            .any(|other| other.folder.canonicalize().ok() == run.folder.canonicalize().ok());
        ensure!(!twice, "{} is named twice; name each run once", run.folder.display());
    }
    Ok(runs)
}

impl Page {
    /// Compares the runs, on the positions of the files, or else of those that the first run was
    /// trained on.
    pub fn of(
        runs: &[ShownRun],
        asked: &Asked,
        place: &(Device, Compute),
        listener: &dyn Listener,
    ) -> Result<Self> {
        let mut contents = Contents::of(runs, asked.with, place, listener)?;
        contents.games = asked.games.as_ref();
        let plan = plan(&contents.evaluators, &runs[0].recipe, asked.files)?;
        let samples = measure::read(&plan, listener)?;
        contents.add_score(&samples, place, listener)?;
        let measured = honest(&contents.evaluators, samples, false, false)?;
        let sections = contents.sections(runs, measured, &plan.files, listener)?;
        Ok(Self { title: title(runs), lead: contents.lead, sections, files: plan.files })
    }

    /// Writes the page; the number of its bytes.
    pub fn write(&self, path: &Path) -> Result<usize> {
        let text = draw::page(&self.title, &self.lead, &self.sections);
        output::write(path, text.as_bytes())?;
        Ok(text.len())
    }
}

/// The page of a run that has just ended, from positions that it held out, those that validate
/// first; its path. Without any it shows how training went, and no more.
pub fn of_ended(
    path: &Path,
    recipe: &Recipe,
    held_out: [&[Sample]; 2],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<PathBuf> {
    let runs = [ShownRun::of(path, recipe)?];
    let output = path.join(folder::REPORT);
    let (lead, sections) = match compared(&runs, held_out, place, listener) {
        Ok(compared) => compared,
        Err(error) => {
            let pages = [runs[0].page.clone()];
            let why = format!("There is no comparison: {error:#}.");
            let lead = html! { p { (why) } (trained(&pages)) };
            let sections = [curves(&pages)].into_iter();
            (lead, sections.chain([settings(&pages)]).collect())
        }
    };
    Page { title: title(&runs), lead, sections, files: Vec::new() }.write(&output)?;
    Ok(output)
}

/// Sentences and sections of a run from positions that it held out; another engine's terms are
/// read anew, since only traces tell them.
fn compared(
    runs: &[ShownRun],
    [validation, test]: [&[Sample]; 2],
    place: &(Device, Compute),
    listener: &dyn Listener,
) -> Result<(Markup, Vec<Section>)> {
    let mut contents = Contents::of(runs, &[], place, listener)?;
    let recipe = &runs[0].recipe;
    let (measured, files) = match recipe.config.model.inputs == "trace" {
        true => {
            let plan = plan(&contents.evaluators, recipe, &[])?;
            let samples = measure::read(&plan, listener)?;
            (honest(&contents.evaluators, samples, false, false)?, plan.files)
        }
        false => {
            let measured = Selection::of_run(&runs[0].page.name, validation, test);
            ensure!(!measured.samples.is_empty(), "no game was kept for the test");
            // Which of several files a position came from is not known any more.
            (measured, vec![PathBuf::from("all files")])
        }
    };
    // Nobody asked for it: a look that takes a second will do.
    contents.inside = inspect::Options { positions: 10_000, hce: None };
    contents.add_score(&measured.samples, place, listener)?;
    let sections = contents.sections(runs, measured, &files, listener)?;
    Ok((contents.lead, sections))
}

fn plan(evaluators: &[Evaluator], recipe: &Recipe, files: &[PathBuf]) -> Result<Plan> {
    measure::plan(files, Some(recipe), evaluators)?.context("a run has data")
}

fn title(runs: &[ShownRun]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &run.page.name[..]).collect();
    names.join(", ")
}
