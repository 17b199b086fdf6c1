//! `nnuance report`: runs as one page that stands alone.

mod contents;
mod data;
mod insides;
mod run;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use maud::{Markup, html};

use super::evaluator::Evaluator;
use super::honest::Measured;
use super::measure::{honest, read};
use super::place::Place;
use super::recipe::{self, Recipe};
use super::{folder, out};
use crate::draw::{Section, page};
use crate::inspect as look;
use crate::loader::Plan;
use crate::model::{Compute, Device, Precision};
use crate::output;
use crate::report::html::{curves, settings, trained};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;
use contents::Contents;
pub use run::RunPage;

/// Show runs on one page: curves, settings, comparison, what is inside the nets, data
///
/// The page is one HTML file that needs no network. `train` leaves one of its own run in its
/// folder; this one takes several runs, and examines their data as the doctor does.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance report runs/quickstart-net runs/quickstart-hce -o report.html")]
pub struct Args {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The page to write
    #[arg(
        short,
        long = "out",
        alias = "output",
        default_value = "report.html",
        value_name = "FILE"
    )]
    output: PathBuf,
    /// More evaluations to compare with: nets, handcrafted weights, checkpoints
    #[arg(long, value_name = "EVALUATION", num_args = 1..)]
    with: Vec<String>,
    /// Files of positions to compare on [default: what the first run was trained on]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Leave out the pages of the data
    #[arg(long)]
    no_data: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: Args) -> Result<()> {
    out::may_be_page(&args.output)?;
    let place = args.place.open(Precision::F32)?;
    let runs: Vec<RunPage> =
        args.runs.iter().map(|folder| RunPage::read(folder)).collect::<Result<_>>()?;
    for (i, run) in runs.iter().enumerate() {
        let twice = runs[..i]
            .iter()
            .any(|other| other.folder.canonicalize().ok() == run.folder.canonicalize().ok());
        ensure!(!twice, "{} is named twice; name each run once", run.folder.display());
    }
    let mut contents = Contents::of(&runs, &args.with, &place)?;
    let plan = plan(&contents.evaluators, &runs[0].recipe, &args.data)?;
    let samples = read(&plan)?;
    contents.add_score(&samples, &place)?;
    let measured = honest(&contents.evaluators, samples, false, false)?;
    let mut sections = contents.sections(&runs, measured, &plan.files)?;
    if !args.no_data {
        sections.push(data::section(&plan.files)?);
    }
    let size = write(&args.output, &title(&runs), &contents.lead, &sections)?;
    out::line(format!("report   {}, {size}", args.output.display()))
}

/// The page of a run that has just ended, from positions that it held out, those that validate
/// first; its path. Without any it shows how training went, and no more.
pub fn of_ended(
    path: &Path,
    recipe: &Recipe,
    held_out: [&[Sample]; 2],
    place: &(Device, Compute),
) -> Result<PathBuf> {
    let runs = [RunPage::of(path, recipe)?];
    let output = path.join(folder::REPORT);
    let (lead, sections) = match compared(&runs, held_out, place) {
        Ok(compared) => compared,
        Err(error) => {
            let pages = [runs[0].page.clone()];
            let why = format!("There is no comparison: {error:#}.");
            let lead = html! { p { (why) } (trained(&pages)) };
            (lead, vec![curves(&pages), settings(&pages)])
        }
    };
    write(&output, &title(&runs), &lead, &sections)?;
    Ok(output)
}

/// Sentences and sections of a run from positions that it held out; another engine's terms are
/// read anew, since only traces tell them.
fn compared(
    runs: &[RunPage],
    [validation, test]: [&[Sample]; 2],
    place: &(Device, Compute),
) -> Result<(Markup, Vec<Section>)> {
    let mut contents = Contents::of(runs, &[], place)?;
    let recipe = &runs[0].recipe;
    let (measured, files) = match recipe.config.model.inputs == "trace" {
        true => {
            let plan = plan(&contents.evaluators, recipe, &[])?;
            (honest(&contents.evaluators, read(&plan)?, false, false)?, plan.files)
        }
        false => {
            let measured = Measured::of_run(&runs[0].page.name, validation, test);
            ensure!(!measured.samples.is_empty(), "no game was kept for the test");
            // Which of several files a position came from is not known any more.
            (measured, vec![PathBuf::from("all files")])
        }
    };
    // Nobody asked for it: a look that takes a second will do.
    contents.look = look::Options { pieces: 10_000, terms: 10_000, ..look::Options::default() };
    contents.add_score(&measured.samples, place)?;
    let sections = contents.sections(runs, measured, &files)?;
    Ok((contents.lead, sections))
}

/// All positions of the files that the user names, or else those that a run was made of.
pub fn plan(evaluators: &[Evaluator], recipe: &Recipe, files: &[PathBuf]) -> Result<Plan> {
    let plan = match files {
        [] => recipe.measured_again()?,
        files => Plan::reading(files.to_vec()),
    };
    Ok(Plan { colours: evaluators.iter().any(Evaluator::needs_colours), ..plan })
}

fn title(runs: &[RunPage]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &run.page.name[..]).collect();
    names.join(", ")
}

fn write(path: &Path, title: &str, lead: &Markup, sections: &[Section]) -> Result<String> {
    let text = page(title, lead, sections);
    output::write(path, text.as_bytes())?;
    Ok(format!("{:.1} MB", text.len() as f64 / 1e6))
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
