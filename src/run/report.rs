//! A page about runs: how they trained, how they compare, what their nets hold.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use maud::{Markup, html};

use super::evaluator::{Evaluator, each_once};
use super::honest::{Selection, honest};
use super::measure::{self, Measurement, nets};
use super::played::Match;
use super::recipe::{self, COMPUTE, POSITIONS, Recipe};
use super::{folder, inspect, tuned};
use crate::config::Model;
use crate::data_file::DataFile;
use crate::digits::grouped;
use crate::draw::{self, Section};
use crate::export::Given;
use crate::hce::HceWeights;
use crate::inspect::Options as Inspect;
use crate::loader::Plan;
use crate::log;
use crate::model::{Compute, Device};
use crate::output;
use crate::progress::Progress;
use crate::report::Options;
use crate::report::html::{self as page, Run};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;

/// Positions to show of each disagreement.
const BOARDS: usize = 8;

/// A run to show.
pub struct ShownRun {
    pub folder: PathBuf,
    pub recipe: Recipe,
    pub page: Run,
}

/// A page that is still to be written.
pub struct Page {
    title: String,
    lead: Markup,
    pub sections: Vec<Section>,
    /// The files whose positions were measured on.
    pub files: Vec<PathBuf>,
}

/// The contents of a page besides its runs.
pub struct Besides<'a> {
    /// More evaluations.
    pub with: &'a [String],
    /// Positions to compare on; none for those that the first run was trained on.
    pub given: Option<Plan>,
    pub games: Option<Match>,
}

/// Reads the folders of runs, each of which may still be in use.
///
/// # Errors
/// If one is no folder of a run, or named twice.
pub fn read(folders: &[PathBuf]) -> Result<Vec<ShownRun>> {
    let names: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
    let runs = folders.iter().map(|folder| ShownRun::read(folder)).collect::<Result<_>>()?;
    each_once(&names)?;
    Ok(runs)
}

impl Page {
    /// Compares the runs, on the positions of the files, or else of those that the first run was
    /// trained on.
    pub fn of(
        runs: &[ShownRun],
        besides: Besides,
        place: &(Device, Compute),
        listener: &dyn Progress,
    ) -> Result<Self> {
        let mut evaluators = open(runs, besides.with, place, listener)?;
        let plan = measure::plan(besides.given, Some(&runs[0].recipe), &evaluators)?;
        let (samples, doubt) = measure::read(&plan, listener)?;
        add_score(&mut evaluators, &samples, place, listener)?;
        let selection = honest(&evaluators, samples, false, false)?;
        let measured = Measurement::of(&evaluators, selection, doubt, &plan.files, false)?;
        let games = besides.games.as_ref();
        let (lead, sections) =
            sections(runs, &evaluators, measured, games, &Inspect::default(), listener)?;
        Ok(Self { title: title(runs), lead, sections, files: plan.files })
    }

    /// Writes the page; the number of its bytes.
    pub fn write(&self, path: &Path) -> Result<usize> {
        let text = draw::page(&self.title, &self.lead, &self.sections);
        output::write(path, text.as_bytes())?;
        Ok(text.len())
    }
}

/// Writes the page of a run that has just ended, from positions that it held out, those that
/// validate first; its path. Without any it shows how training went, and no more.
pub fn of_ended(
    path: &Path,
    recipe: &Recipe,
    held_out: [&[Sample]; 2],
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<PathBuf> {
    let runs = [ShownRun { recipe: recipe.clone(), ..ShownRun::read(path)? }];
    let output = path.join(folder::REPORT);
    let (lead, sections) = match of_run(&runs, held_out, place, listener) {
        Ok(compared) => compared,
        Err(error) => {
            let pages = [runs[0].page.clone()];
            let lead = html! { p { "There is no comparison: " (format!("{error:#}")) "." } };
            (lead, vec![page::curves(&pages), page::settings(&pages)])
        }
    };
    Page { title: title(&runs), lead, sections, files: Vec::new() }.write(&output)?;
    Ok(output)
}

/// Lead and sections of a run from positions that it held out; positions of another engine's terms
/// are read again, since only traces hold these.
fn of_run(
    runs: &[ShownRun],
    [validation, test]: [&[Sample]; 2],
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<(Markup, Vec<Section>)> {
    let mut evaluators = open(runs, &[], place, listener)?;
    let recipe = &runs[0].recipe;
    let (mut files, mut doubt) = (Vec::new(), None);
    let samples = match matches!(recipe.config.model, Model::Traces(_)) {
        true => {
            let plan = measure::plan(None, Some(recipe), &evaluators)?;
            files.clone_from(&plan.files);
            let read = measure::read(&plan, listener)?;
            doubt = read.1;
            read.0
        }
        false => [validation, test].concat(),
    };
    add_score(&mut evaluators, &samples, place, listener)?;
    let selection = match files.is_empty() {
        true => Selection::of_run(&evaluators, validation, test),
        false => honest(&evaluators, samples, false, false)?,
    };
    ensure!(!selection.samples.is_empty(), "no game was kept for the test");
    let measured = Measurement::of(&evaluators, selection, doubt, &files, false)?;
    // A look that takes a second.
    let inside = Inspect { positions: 10_000, hce: None };
    sections(runs, &evaluators, measured, None, &inside, listener)
}

fn title(runs: &[ShownRun]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &run.page.name[..]).collect();
    names.join(", ")
}

/// The evaluations of the runs, floats and integers, and material beside them.
fn open(
    runs: &[ShownRun],
    with: &[String],
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<Vec<Evaluator>> {
    let files = |run: &ShownRun| [folder::BEST, folder::NET].map(|name| run.file(name));
    let mut given: Vec<String> = runs.iter().flat_map(files).flatten().collect();
    given.extend(with.iter().cloned());
    if !given.iter().any(|name| name == "material") {
        given.push("material".to_string());
    }
    each_once(&given)?;
    given.iter().map(|name| Evaluator::open(name, &Given::default(), place, listener)).collect()
}

/// Adds the data's own scores, where all positions have one.
fn add_score(
    evaluators: &mut Vec<Evaluator>,
    samples: &[Sample],
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<()> {
    let there = evaluators.iter().any(Evaluator::needs_scores) || samples.is_empty();
    if !there && samples.iter().all(|sample| sample.score.is_some()) {
        evaluators.push(Evaluator::open("score", &Given::default(), place, listener)?);
    }
    Ok(())
}

/// Lead and sections; each net competes once, by its integers.
fn sections(
    runs: &[ShownRun],
    evaluators: &[Evaluator],
    mut measured: Measurement,
    games: Option<&Match>,
    inside: &Inspect,
    listener: &dyn Progress,
) -> Result<(Markup, Vec<Section>)> {
    let counter = listener.count(None, "comparing");
    let options = Options::default();
    if let Some(games) = games {
        measured.play(games, evaluators)?;
    }
    let nets = nets(evaluators);
    let quantised = measured.quantising(&nets, &options)?;
    measured.drop_floats(&nets);
    let left = evaluators.iter().enumerate().filter(|(i, _)| nets.iter().all(|it| it[0] != *i));
    let mut names = Vec::new();
    for ((_, evaluator), evaluation) in left.zip(&mut measured.evaluations) {
        let of = |run: &&ShownRun| {
            let files = [folder::BEST, folder::NET].map(|name| run.file(name));
            files.iter().flatten().any(|file| *file == evaluator.given)
        };
        let alone = |name: &str| runs.iter().filter(|run| run.page.name == name).count() == 1;
        if let Some(run) = runs.iter().find(of).filter(|run| alone(&run.page.name)) {
            evaluation.name.clone_from(&run.page.name);
        }
        names.push((evaluation.name.clone(), evaluator.describe()));
    }
    let deep = measured.deep(&options, BOARDS)?;
    drop(counter);
    let pages: Vec<Run> = runs.iter().map(|run| run.page.clone()).collect();
    let lead = html! { @for sentence in &deep.comparison.sentences { p { (sentence) } } };
    let mut sections = vec![page::comparison(&deep.comparison, &names, &measured.notes)];
    sections.extend(page::games(&deep.comparison));
    sections.push(page::curves(&pages));
    sections.push(page::phases(&deep.phases));
    sections.push(page::calibration(&deep.calibrations, &deep.comparison.noun));
    sections.push(page::disagreements(&deep.disagreements));
    if !quantised.is_empty() {
        sections.push(page::quantising(&quantised));
    }
    for run in runs.iter().filter(|run| run.recipe.config.is_net()) {
        if let Some(best) = run.file(folder::BEST) {
            let options = Inspect { hce: of_terms(runs)?, ..inside.clone() };
            let (name, samples) = (&run.page.name, &measured.samples);
            sections.extend(inspect::sections(&best, name, samples, options, listener)?);
        }
    }
    sections.push(page::settings(&pages));
    Ok((lead, sections))
}

/// The handcrafted weights of the first run that has some, to hold nets against.
fn of_terms(runs: &[ShownRun]) -> Result<Option<HceWeights>> {
    let mut ours = runs.iter().filter(|run| matches!(run.recipe.config.model, Model::Terms(_)));
    let path = ours.find_map(|run| run.file(folder::TERMS));
    path.map(|path| tuned::weights(Path::new(&path))).transpose()
}

impl ShownRun {
    /// Reads a folder that may still be in use.
    fn read(folder: &Path) -> Result<Self> {
        let name = folder.display();
        ensure!(folder.is_dir(), "{name} is no folder; name the folder of a run");
        let last = folder.join(folder::LAST);
        ensure!(last.exists(), "{name} is no folder of a run: {} is missing", folder::LAST);
        let (Checkpoint { state, facts, .. }, recipe) = recipe::open(&last)?;
        let mut settings = Vec::new();
        flatten("", &toml::from_str(&recipe.config.to_toml())?, &mut settings);
        settings.sort();
        let ended = [folder::NET, folder::TERMS].iter().any(|name| folder.join(name).exists());
        let positions = facts.get(POSITIONS).and_then(|text| text.parse().ok());
        let steps = positions.map(|it| format!(" of {}", grouped(recipe.config.steps(it))));
        // `runs/..` and `.` have no last name.
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let page = Run {
            name: whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
            about: about(&recipe, facts.get(COMPUTE))?,
            settings,
            rows: log::read(&folder.join(folder::LOG))?,
            state: match (ended, state.converged) {
                (true, true) => "converged".to_string(),
                (true, false) => String::new(),
                (false, _) => {
                    let of = steps.unwrap_or_default();
                    format!("not ended: at step {}{of}", grouped(state.step))
                }
            },
        };
        Ok(Self { folder: folder.to_path_buf(), recipe, page })
    }

    /// A file of the run, if it is there, as commands name it.
    fn file(&self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        path.exists().then(|| path.to_string_lossy().into_owned())
    }
}

/// Model and data of a run, a fact and its value.
fn about(recipe: &Recipe, compute: Option<&String>) -> Result<Vec<(String, String)>> {
    let model = match recipe.architecture() {
        Some(net) => net.to_string(),
        None => {
            let terms = recipe.terms()?.context("no net, so terms")?;
            let count = |chosen: &[bool]| chosen.iter().filter(|it| **it).count();
            let [present, chosen] = [&terms.present.terms, &terms.chosen.terms].map(|it| count(it));
            format!("{present} handcrafted terms, {chosen} of them tuned unless they are rare")
        }
    };
    let file = |what: &str, file: &DataFile| {
        let games = match file.games {
            0 => "games unknown".to_string(),
            games => format!("{} games", grouped(games)),
        };
        let sha256 = file.sha256.get(..12).unwrap_or(&file.sha256);
        (what.to_string(), format!("{}: {games}, SHA-256 {sha256}…", file.path.display()))
    };
    let mut about = vec![("model".to_string(), model)];
    about.extend(recipe.data.iter().map(|it| file("data", it)));
    about.extend(recipe.validation.iter().map(|it| file("validation", it)));
    let (held_out, test) = (recipe.split().share, recipe.config.test.0);
    let shares = format!("{held_out} of the data, {test} of these for the test");
    about.push(("held out".to_string(), shares));
    about.extend(compute.map(|compute| ("computed by".to_string(), compute.clone())));
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
