//! Page about runs: training, comparison, and contents of nets.

use std::collections::BTreeMap;
use std::iter::successors;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use maud::{Markup, html};

use super::evaluation_names::{make_names_distinct, require_distinct_evaluations};
use super::evaluator::Evaluator;
use super::honest::{chosen_on_these, select_positions};
use super::inspect::TermsInspection;
use super::measure::{self, Measurement};
use super::played::Match;
use super::recipe::{self, COMPUTE, POSITIONS, Recipe};
use super::{Host, folder, inspect};
use crate::data_file::DataFile;
use crate::digits::{duration, grouped, positions_of_games};
use crate::draw::{self, Section};
use crate::inspect::listed;
use crate::loader::{ReadPlan, TestShare};
use crate::log;
use crate::output;
use crate::report::DeepComparison;
use crate::report::html::{self as page, Run};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;

const BOARDS: usize = 8;

#[derive(Clone)]
pub struct ShownRun {
    pub folder: PathBuf,
    pub recipe: Recipe,
    pub page: Run,
}

struct Positions {
    samples: Vec<Sample>,
    /// Reasons why their results name no winner.
    cautions: Vec<String>,
    files: Vec<PathBuf>,
    /// For held-out positions of a run: whether its checkpoint was chosen on them, too.
    chosen_on: Option<bool>,
}

/// Page that compares runs and other evaluations on the files' positions, or the first run's; with
/// Elo of those that played in `games`.
pub fn compare(
    runs: &[ShownRun],
    with: &[String],
    given: Option<ReadPlan>,
    games: Option<&Match>,
    host: &Host,
) -> Result<String> {
    let evaluators = open(runs, with, host)?;
    let plan = measure::plan(given, Some(&runs[0].recipe), &evaluators)?;
    let (samples, cautions) = measure::read(&plan, host.listener)?;
    let positions = Positions { samples, cautions, files: plan.files, chosen_on: None };
    compare_on(runs, evaluators, positions, games, host)
}

/// Compares runs on these positions; each net competes once, by its integers.
fn compare_on(
    runs: &[ShownRun],
    mut evaluators: Vec<Evaluator>,
    Positions { samples, cautions, files, chosen_on }: Positions,
    games: Option<&Match>,
    host: &Host,
) -> Result<String> {
    ensure!(!samples.is_empty(), "no game was held out");
    let (pages, warnings) = described(runs, &evaluators);
    if samples.iter().all(|sample| sample.score.is_some())
        && !evaluators.iter().any(Evaluator::needs_scores)
    {
        evaluators.push(Evaluator::open("score", &host.device, host.listener)?);
    }
    // Positions from which pieces are removed; at the end of a run for about a second.
    let removed = if chosen_on.is_some() { 10_000 } else { 50_000 / runs.len() };
    let mut selection = select_positions(&evaluators, samples, false, false)?;
    if let Some(chosen_on) = chosen_on {
        // The sketch of large data may lack these games.
        selection.is_test = true;
        for (place, evaluator) in evaluators.iter().enumerate() {
            let cautions = &mut selection.cautions[place];
            if chosen_on && evaluator.is_trained() && cautions.is_empty() {
                cautions.push(chosen_on_these(&evaluator.name));
            }
        }
    }
    let mut measured = Measurement::of(&evaluators, selection, cautions, &files)?;
    games.map(|games| measured.play(games, &evaluators)).transpose()?;
    let counter = host.listener.count(None, "comparing");
    let quantising = measured.quantising()?;
    let left = measured.drop_floats().into_iter().zip(&measured.evaluations);
    let mut names: Vec<(String, String)> =
        left.map(|(at, one)| (one.name.clone(), evaluators[at].describe().to_string())).collect();
    for (name, what) in names.iter_mut().filter(|_| runs.len() > 1) {
        let run = runs.iter().find(|run| run.page.name == *name);
        let net = run.and_then(|run| run.recipe.config.architecture());
        what.extend(net.map(|net| format!(", {net}")));
    }
    let deep = DeepComparison { quantising, ..measured.deep(BOARDS)? };
    drop(counter);
    let mut sections = vec![
        page::comparison(&deep.comparison, &names),
        page::curves(&pages),
        page::phases(&deep),
        page::calibration(&deep.calibrations, deep.comparison.noun),
        page::disagreements(&deep.disagreements),
    ];
    if !deep.quantising.is_empty() {
        sections.push(page::quantising(&deep));
    }
    let mut gains = Vec::new();
    for run in runs {
        let Some(best) = run.file(folder::BEST) else { continue };
        let name = Some(&run.page.name[..]).filter(|_| runs.len() > 1);
        let samples = &measured.samples;
        if run.recipe.config.is_net() {
            sections.extend(inspect::sections(&best, name, samples, removed, host.listener)?);
        } else if let Some(tuned) = evaluators.iter().find(|it| it.given == best) {
            let found = TermsInspection::new(tuned, Some((&measured, &files)))?;
            gains.extend(found.tuning.iter().map(|it| it.gain()));
            sections.extend(found.sections(name));
        }
    }
    sections.push(page::settings(&pages));
    let facts = page::facts(&pages);
    let ranking = html! {
        p { (deep.comparison.head()) }
        @for gain in gains { p { (gain) } }
        (page::ranking(&deep.comparison))
    };
    let lead = match runs.len() {
        1 => html! { (made(runs, host)) (warnings) (ranking) (facts) },
        _ => {
            sections.insert(1, Section::new("Runs", facts));
            html! { (made(runs, host)) (warnings) (ranking) }
        }
    };
    Ok(draw::page(&title(runs), &lead, &sections))
}

/// Writes the page of a finished run, from its held-out positions, if any; returns its path.
pub fn of_ended(
    path: &Path,
    recipe: &Recipe,
    [validation, test]: [&[Sample]; 2],
    host: &Host,
) -> Result<PathBuf> {
    let runs = [ShownRun { recipe: recipe.clone(), ..ShownRun::read(path)? }];
    let output = path.join(folder::REPORT);
    let compared = || match recipe.config.file.traces {
        // Terms of another engine are known from traces only.
        Some(_) => compare(&runs, &[], None, None, host),
        None => {
            // A run without a test is measured on the games on which others are.
            let others = validation.iter().filter(|it| TestShare::DEFAULT.takes(it.group()));
            let chosen_on = test.is_empty();
            let samples = if chosen_on { others.copied().collect() } else { test.to_vec() };
            let (files, chosen_on) = (Vec::new(), Some(chosen_on));
            let positions = Positions { samples, cautions: Vec::new(), files, chosen_on };
            compare_on(&runs, open(&runs, &[], host)?, positions, None, host)
        }
    };
    let page = compared().unwrap_or_else(|error| {
        let evaluators = open(&runs, &[], host).unwrap_or_default();
        let (pages, warnings) = described(&runs, &evaluators);
        let lead = html! {
            (made(&runs, host))
            (warnings)
            (page::facts(&pages))
            p { "There is no comparison: " (format!("{error:#}")) "." }
        };
        let sections = vec![page::curves(&pages), page::settings(&pages)];
        draw::page(&title(&runs), &lead, &sections)
    });
    output::write(&output, page.as_bytes())?;
    Ok(output)
}

/// Page of a run before its comparison; it reloads itself while the run is `in_progress`.
pub fn of_unfinished(run: &ShownRun, in_progress: bool, host: &Host) -> String {
    let runs = std::slice::from_ref(run);
    let pages = [run.page.clone()];
    let lead = html! {
        (made(runs, host))
        p {
            @if in_progress { "Training is in progress, and this page reloads itself." }
            @else { "Training has stopped." }
            " The comparison follows when the run is complete."
        }
        (page::facts(&pages))
    };
    let sections = [page::curves(&pages), page::settings(&pages)];
    draw::page::document(&title(runs), &lead, &sections, in_progress)
}

/// Line with the duration of a single run, the program, date and device.
fn made(runs: &[ShownRun], host: &Host) -> Markup {
    let seconds = match runs {
        [run] => run.page.seconds(),
        _ => None,
    };
    let trained = seconds.map(|seconds| format!("trained in {}", duration(seconds)));
    let program = concat!("nnuance ", env!("CARGO_PKG_VERSION")).to_string();
    let facts = [trained, Some(program), host.listener.date(), Some(host.name())];
    page::made(facts.into_iter().flatten())
}

/// Runs with the values of pieces in their evaluations, and warnings why one is worthless.
fn described(runs: &[ShownRun], evaluators: &[Evaluator]) -> (Vec<Run>, Markup) {
    let (mut pages, mut warnings) = (Vec::new(), Vec::new());
    for run in runs {
        let mut page = run.page.clone();
        let file = [folder::NET, folder::BEST].into_iter().find_map(|name| run.file(name));
        let evaluator = evaluators.iter().find(|it| Some(&it.given) == file.as_ref());
        if let Some(values) = evaluator.and_then(Evaluator::piece_values) {
            page.about.insert(1, ("pieces".to_string(), listed(&values)));
        }
        let why = evaluator.and_then(Evaluator::unlearnt);
        warnings.extend(why.map(|why| format!("{}: {why}", page.name)));
        pages.push(page);
    }
    (pages, html! { @for warning in warnings { p { b { (warning) } } } })
}

fn title(runs: &[ShownRun]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &run.page.name[..]).collect();
    names.join(", ")
}

/// The evaluations of the runs, others, and material. Integers have the name of their run.
fn open(runs: &[ShownRun], with: &[String], host: &Host) -> Result<Vec<Evaluator>> {
    let open = |name: &str| Evaluator::open(name, &host.device, host.listener);
    let mut evaluators = Vec::new();
    for run in runs {
        let files = [folder::NET, folder::BEST].map(|name| run.file(name));
        for (place, file) in files.iter().flatten().enumerate() {
            let mut evaluator = open(file)?;
            if place == 0 {
                evaluator.name.clone_from(&run.page.name);
            }
            evaluators.push(evaluator);
        }
    }
    for name in with {
        evaluators.push(open(name)?);
    }
    if !with.iter().any(|name| name == "material") {
        evaluators.push(open("material")?);
    }
    let given: Vec<String> = evaluators.iter().map(|it| it.given.clone()).collect();
    require_distinct_evaluations(&given)?;
    make_names_distinct(&mut evaluators);
    Ok(evaluators)
}

impl ShownRun {
    /// Reads the folder of a run, which may be in use.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder.display();
        ensure!(folder.is_dir(), "{name} is no folder; name the folder of a run");
        let last = folder.join(folder::LAST);
        ensure!(last.exists(), "{name} is no folder of a run: {} is missing", folder::LAST);
        let (Checkpoint { state, facts, .. }, recipe) = recipe::open(&last)?;
        let mut run = Self::new(folder, recipe, &facts)?;
        run.page.rows = log::read(&folder.join(folder::LOG))?;
        let ended = [folder::NET, folder::TERMS].iter().any(|name| folder.join(name).exists());
        run.page.state = match (ended, state.converged) {
            (true, true) => "converged".to_string(),
            (true, false) => String::new(),
            (false, _) => {
                let positions = facts.get(POSITIONS).and_then(|text| text.parse().ok());
                unfinished(state.step, positions.map(|it| run.recipe.config.steps(it)))
            }
        };
        Ok(run)
    }

    /// Creates a run from its recipe and the header of its checkpoints, without its log.
    pub fn new(folder: &Path, recipe: Recipe, facts: &BTreeMap<String, String>) -> Result<Self> {
        let mut settings = Vec::new();
        flatten("", &toml::from_str(&recipe.config.to_toml())?, &mut settings);
        settings.sort();
        // `runs/..` and `.` have no last name.
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let page = Run {
            name: whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
            about: about(&recipe, facts.get(COMPUTE))?,
            settings,
            ..Run::default()
        };
        Ok(Self { folder: folder.to_path_buf(), recipe, page })
    }

    /// Path of the run's file, if it exists, as commands name it.
    fn file(&self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        path.exists().then(|| path.to_string_lossy().into_owned())
    }
}

/// State of a run that has not ended, at a step of so many, if their number is known.
pub fn unfinished(step: u64, steps: Option<u64>) -> String {
    let steps = steps.map_or(String::new(), |steps| format!(" of {}", grouped(steps)));
    format!("not ended: at step {}{steps}", grouped(step))
}

/// Model and data of a run: name and value of each fact.
fn about(recipe: &Recipe, compute: Option<&String>) -> Result<Vec<(String, String)>> {
    let model = match recipe.config.architecture() {
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
            games if file.gameless == 0 => format!("{} games", grouped(games)),
            games => positions_of_games(file.positions.unwrap_or(0), games, file.gameless),
        };
        let sha256 = file.sha256.get(..12).unwrap_or(&file.sha256);
        (what.to_string(), format!("{}: {games}, SHA-256 {sha256}…", file.path.display()))
    };
    let mut about = vec![("model".to_string(), model)];
    about.extend(recipe.data.iter().map(|it| file("data", it)));
    about.extend(recipe.validation.iter().map(|it| file("validation", it)));
    for start in successors(recipe.start.as_ref(), |start| start.start.as_deref()) {
        about.push(("started from".to_string(), start.file.clone()));
        about.extend(start.data.iter().map(|it| file("its data", it)));
    }
    let (held_out, test) = (recipe.config.file.data.held_out, recipe.config.test_share.0);
    let shares = match held_out {
        0.0 => "nothing".to_string(),
        _ => format!("{held_out} of the data, {test} of these for the test"),
    };
    about.push(("held out".to_string(), shares));
    about.extend(compute.map(|compute| ("computed by".to_string(), compute.clone())));
    Ok(about)
}

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
