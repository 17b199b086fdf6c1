//! Pages about runs: training, comparison, and contents of nets.

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
use crate::digits::{format_duration, group_digits, positions_of_games};
use crate::draw::{self, Section};
use crate::inspect::list_values;
use crate::loader::{ReadPlan, TestShare};
use crate::log;
use crate::output;
use crate::report::DeepComparison;
use crate::report::html::{self as page, ReportRun};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;

const BOARDS: usize = 8;

#[derive(Clone)]
pub struct ShownRun {
    pub folder: PathBuf,
    pub recipe: Recipe,
    pub page: ReportRun,
}

struct ReportPositions {
    samples: Vec<Sample>,
    /// Reasons why the results name no winner.
    cautions: Vec<String>,
    files: Vec<PathBuf>,
    /// Whether a run's checkpoint was chosen on these positions; None unless it held them out.
    chosen_on: Option<bool>,
}

/// Makes a page that compares runs and other evaluations on the files' positions, or the first
/// run's. Evaluations that played in `games` have Elo.
pub fn compare_runs(
    runs: &[ShownRun],
    with: &[String],
    given: Option<ReadPlan>,
    games: Option<&Match>,
    host: &Host,
) -> Result<String> {
    let evaluators = open_evaluations(runs, with, host)?;
    let plan = measure::plan_positions(given, Some(&runs[0].recipe), &evaluators)?;
    let (samples, cautions) = measure::read_positions(&plan, host.listener)?;
    let positions = ReportPositions { samples, cautions, files: plan.files, chosen_on: None };
    compare_on(runs, evaluators, positions, games, host)
}

/// Compares runs on these positions. Each net competes once, by its integers.
fn compare_on(
    runs: &[ShownRun],
    mut evaluators: Vec<Evaluator>,
    ReportPositions { samples, cautions, files, chosen_on }: ReportPositions,
    games: Option<&Match>,
    host: &Host,
) -> Result<String> {
    ensure!(!samples.is_empty(), "no game was held out");
    let (pages, warnings) = describe_runs(runs, &evaluators);
    if samples.iter().all(|sample| sample.score.is_some())
        && !evaluators.iter().any(Evaluator::needs_scores)
    {
        evaluators.push(Evaluator::open_evaluation("score", host)?);
    }
    // Number of positions from which pieces are removed: about a second at the end of a run.
    let removed = if chosen_on.is_some() { 10_000 } else { 50_000 / runs.len() };
    let mut selection = select_positions(&evaluators, samples, false, false)?;
    if let Some(chosen_on) = chosen_on {
        // The sketch of large data may lack these games.
        selection.is_test = true;
        for (evaluator, cautions) in evaluators.iter().zip(&mut selection.cautions) {
            if chosen_on && evaluator.is_trained() && cautions.is_empty() {
                cautions.push(chosen_on_these(&evaluator.name));
            }
        }
    }
    let mut measured = Measurement::measure_selection(&evaluators, selection, cautions, &files)?;
    games.map(|games| measured.add_match(games, &evaluators)).transpose()?;
    let counter = host.listener.count(None, "comparing");
    let quantising = measured.measure_quantising()?;
    let compared = measured.drop_floats().into_iter().zip(&measured.evaluations);
    let mut names: Vec<(String, String)> = compared
        .map(|(index, it)| (it.name.clone(), evaluators[index].describe_kind().to_string()))
        .collect();
    for (name, what) in names.iter_mut().filter(|_| runs.len() > 1) {
        let run = runs.iter().find(|run| run.page.name == *name);
        let net = run.and_then(|run| run.recipe.config.architecture());
        what.extend(net.map(|net| format!(", {net}")));
    }
    let deep = DeepComparison { quantising, ..measured.compare_deeply(BOARDS)? };
    drop(counter);
    let mut sections = vec![
        page::comparison_section(&deep.comparison, &names),
        page::curves_section(&pages),
        page::phases_section(&deep),
        page::calibration_section(&deep.calibrations, deep.comparison.noun),
        page::disagreements_section(&deep.disagreements),
    ];
    if !deep.quantising.is_empty() {
        sections.push(page::quantising_section(&deep));
    }
    let mut gains = Vec::new();
    for run in runs {
        let Some(best) = run.existing_path(folder::BEST) else { continue };
        let name = Some(&run.page.name[..]).filter(|_| runs.len() > 1);
        let samples = &measured.samples;
        if run.recipe.config.is_net() {
            sections.extend(inspect::net_sections(&best, name, samples, removed, host.listener)?);
        } else if let Some(tuned) = evaluators.iter().find(|it| it.name_or_path == best) {
            let inspection = TermsInspection::new(tuned, Some((&measured, &files)))?;
            gains.extend(inspection.tuning.iter().map(|it| it.gain_sentence()));
            sections.extend(inspection.page_sections(name));
        }
    }
    sections.push(page::settings_section(&pages));
    let facts = page::run_facts(&pages);
    let ranking = html! {
        p { (deep.comparison.head_line()) }
        @for gain in gains { p { (gain) } }
        (page::ranking_chart(&deep.comparison))
    };
    let lead = match runs.len() {
        1 => html! { (made_line(runs, host)) (warnings) (ranking) (facts) },
        _ => {
            sections.insert(1, Section::new("Runs", facts));
            html! { (made_line(runs, host)) (warnings) (ranking) }
        }
    };
    Ok(draw::page(&page_title(runs), &lead, &sections))
}

/// Writes the page of a finished run from its held-out positions, if any. Returns its path.
pub fn write_finished_page(
    path: &Path,
    recipe: &Recipe,
    [validation, test]: [&[Sample]; 2],
    host: &Host,
) -> Result<PathBuf> {
    let runs = [ShownRun { recipe: recipe.clone(), ..ShownRun::read_folder(path)? }];
    let output = path.join(folder::REPORT);
    let compared = || match recipe.config.file.traces {
        // Terms of another engine are only known from traces.
        Some(_) => compare_runs(&runs, &[], None, None, host),
        None => {
            // A run without a test is measured on the games that test other runs.
            let usual_test =
                validation.iter().filter(|it| TestShare::DEFAULT.takes_group(it.split_group()));
            let without_test = test.is_empty();
            let positions = ReportPositions {
                samples: if without_test { usual_test.copied().collect() } else { test.to_vec() },
                cautions: Vec::new(),
                files: Vec::new(),
                chosen_on: Some(without_test),
            };
            compare_on(&runs, open_evaluations(&runs, &[], host)?, positions, None, host)
        }
    };
    let page = compared().unwrap_or_else(|error| {
        let evaluators = open_evaluations(&runs, &[], host).unwrap_or_default();
        let (pages, warnings) = describe_runs(&runs, &evaluators);
        let lead = html! {
            (made_line(&runs, host))
            (warnings)
            (page::run_facts(&pages))
            p { "There is no comparison: " (format!("{error:#}")) "." }
        };
        let sections = vec![page::curves_section(&pages), page::settings_section(&pages)];
        draw::page(&page_title(&runs), &lead, &sections)
    });
    output::write_file(&output, page.as_bytes())?;
    Ok(output)
}

/// Makes the page of a run before its comparison. It reloads itself while the run is `in_progress`.
pub fn render_unfinished_page(run: &ShownRun, in_progress: bool, host: &Host) -> String {
    let runs = std::slice::from_ref(run);
    let pages = [run.page.clone()];
    let lead = html! {
        (made_line(runs, host))
        p {
            @if in_progress { "Training is in progress, and this page reloads itself." }
            @else { "Training has stopped." }
            " The comparison follows when the run is complete."
        }
        (page::run_facts(&pages))
    };
    let sections = [page::curves_section(&pages), page::settings_section(&pages)];
    draw::page::render_document(&page_title(runs), &lead, &sections, in_progress)
}

/// Writes a line with the duration of a single run, the program, date and device.
fn made_line(runs: &[ShownRun], host: &Host) -> Markup {
    let seconds = match runs {
        [run] => run.page.training_seconds(),
        _ => None,
    };
    let trained = seconds.map(|seconds| format!("trained in {}", format_duration(seconds)));
    let program = concat!("nnuance ", env!("CARGO_PKG_VERSION")).to_string();
    let facts = [trained, Some(program), host.listener.current_date(), Some(host.describe_host())];
    page::facts_line(facts.into_iter().flatten())
}

/// Returns runs with the values of pieces in their evaluations, and warnings of worthless ones.
fn describe_runs(runs: &[ShownRun], evaluators: &[Evaluator]) -> (Vec<ReportRun>, Markup) {
    let (mut pages, mut warnings) = (Vec::new(), Vec::new());
    for run in runs {
        let mut page = run.page.clone();
        let file = [folder::NET, folder::BEST].into_iter().find_map(|name| run.existing_path(name));
        let evaluator = evaluators.iter().find(|it| Some(&it.name_or_path) == file.as_ref());
        if let Some(values) = evaluator.and_then(Evaluator::piece_values) {
            page.about.insert(1, ("pieces".to_string(), list_values(&values)));
        }
        let why = evaluator.and_then(Evaluator::explain_untrained);
        warnings.extend(why.map(|why| format!("{}: {why}", page.name)));
        pages.push(page);
    }
    (pages, html! { @for warning in warnings { p { b { (warning) } } } })
}

fn page_title(runs: &[ShownRun]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &run.page.name[..]).collect();
    names.join(", ")
}

/// Opens the evaluations of the runs, others, and material. Integers have the name of their run.
fn open_evaluations(runs: &[ShownRun], with: &[String], host: &Host) -> Result<Vec<Evaluator>> {
    let open = |name: &str| Evaluator::open_evaluation(name, host);
    let mut evaluators = Vec::new();
    for run in runs {
        let files = [folder::NET, folder::BEST].map(|name| run.existing_path(name));
        for (i, file) in files.iter().flatten().enumerate() {
            let mut evaluator = open(file)?;
            if i == 0 {
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
    let given: Vec<String> = evaluators.iter().map(|it| it.name_or_path.clone()).collect();
    require_distinct_evaluations(&given)?;
    make_names_distinct(&mut evaluators);
    Ok(evaluators)
}

impl ShownRun {
    /// Reads the folder of a run, which may be in use.
    pub fn read_folder(folder: &Path) -> Result<Self> {
        let name = folder.display();
        ensure!(folder.is_dir(), "{name} is no folder; name the folder of a run");
        let last = folder.join(folder::LAST);
        ensure!(last.exists(), "{name} is no folder of a run: {} is missing", folder::LAST);
        let (Checkpoint { state, facts, .. }, recipe) = recipe::open_checkpoint(&last)?;
        let mut run = Self::new(folder, recipe, &facts)?;
        run.page.rows = log::read_rows(&folder.join(folder::LOG))?;
        let ended = [folder::NET, folder::TERMS].iter().any(|name| folder.join(name).exists());
        run.page.state = match (ended, state.converged) {
            (true, true) => "converged".to_string(),
            (true, false) => String::new(),
            (false, _) => {
                let positions = facts.get(POSITIONS).and_then(|text| text.parse().ok());
                let span = positions.map(|positions| run.recipe.config.run_span(positions));
                unfinished_state(state.step, span.map(|span| span.steps))
            }
        };
        Ok(run)
    }

    /// Creates a run from its recipe and the header of its checkpoints, without its log.
    pub fn new(folder: &Path, recipe: Recipe, facts: &BTreeMap<String, String>) -> Result<Self> {
        let mut settings = Vec::new();
        flatten_keys("", &toml::from_str(&recipe.config.to_toml())?, &mut settings);
        settings.sort();
        // `runs/..` and `.` have no last name.
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let page = ReportRun {
            name: whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
            about: run_facts(&recipe, facts.get(COMPUTE))?,
            settings,
            ..ReportRun::default()
        };
        Ok(Self { folder: folder.to_path_buf(), recipe, page })
    }

    /// Returns the path of the run's file, if it exists, as commands name it.
    fn existing_path(&self, name: &str) -> Option<String> {
        let path = self.folder.join(name);
        path.exists().then(|| path.to_string_lossy().into_owned())
    }
}

/// Describes the state of a run that has not ended, at a step out of `steps`, if they are known.
pub fn unfinished_state(step: u64, steps: Option<u64>) -> String {
    let steps = steps.map_or(String::new(), |steps| format!(" of {}", group_digits(steps)));
    format!("not ended: at step {}{steps}", group_digits(step))
}

/// Lists facts about model and data of a run, each a name and a value.
fn run_facts(recipe: &Recipe, compute: Option<&String>) -> Result<Vec<(String, String)>> {
    let model = match recipe.config.architecture() {
        Some(net) => net.to_string(),
        None => {
            let terms = recipe.run_terms()?.context("no net, so terms")?;
            let count = |chosen: &[bool]| chosen.iter().filter(|it| **it).count();
            let [present, chosen] = [&terms.present.terms, &terms.chosen.terms].map(|it| count(it));
            format!("{present} handcrafted terms, {chosen} of them tuned unless they are rare")
        }
    };
    let file = |what: &str, file: &DataFile| {
        let games = match file.games {
            0 => "games unknown".to_string(),
            games if file.gameless == 0 => format!("{} games", group_digits(games)),
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

fn flatten_keys(prefix: &str, value: &toml::Value, into: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten_keys(&name, value, into);
            }
        }
        toml::Value::String(text) => into.push((prefix.to_string(), text.clone())),
        value => into.push((prefix.to_string(), value.to_string())),
    }
}
