//! `nnuance compare`: which evaluation predicts results better, and how sure that is.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::eval::Shape;
use super::evaluator::{BUILT_IN, Evaluator};
use super::measure::{Measurement, honest, read};
use super::place::Place;
use super::{folder, out};
use crate::loader::{Part, Plan};
use crate::model::Precision;
use crate::report::Options;
use crate::report::bootstrap::Bootstrap;

/// Compare evaluations on the same games: handcrafted terms, checkpoints, nets, references
///
/// Each evaluation gets the scale that fits it best, fitted on one half of the games; the loss is
/// measured on the other half, both ways. Games that an evaluation was trained on are known again
/// by their content and left out, whatever file they lie in.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance compare material runs/quickstart-hce runs/quickstart-net score
  nnuance compare --deep runs/quickstart-net runs/quickstart-net/net.bin")]
pub struct Args {
    /// Run folders, checkpoints, nets, handcrafted weights (JSON); or the built-in constant,
    /// material, score
    #[arg(required = true, value_name = "EVALUATION")]
    evaluations: Vec<String>,
    /// Files of positions with results [default: what the first run was trained on]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Measure on all positions of the files, those seen in training too
    #[arg(long)]
    all: bool,
    /// Fit the scales on the positions that the loss is measured on
    #[arg(long)]
    fit_on_same: bool,
    /// Show, beside the fitted scales, what one scale for all would say
    #[arg(long, value_name = "CP", num_args = 0..=1, default_missing_value = "400")]
    fixed_scale: Option<f64>,
    /// Look deeper: slices by phase, material, score, check, file and result; calibration; the
    /// positions where two disagree most; what quantising cost
    #[arg(long)]
    deep: bool,
    /// With --deep, positions to show of each disagreement
    #[arg(long, default_value = "4", value_name = "N")]
    boards: usize,
    /// The comparison as JSON
    #[arg(long)]
    json: bool,
    /// Resamples of the bootstrap over games
    #[arg(long, default_value = "1000", value_name = "N", value_parser = resamples)]
    resamples: usize,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shape: Shape,
}

fn resamples(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (100..=100_000).contains(&number) => Ok(number),
        _ => Err("expected 100 to 100000".to_string()),
    }
}

pub fn run(args: Args) -> Result<()> {
    let place = args.place.open(Precision::F32)?;
    let evaluators: Vec<Evaluator> = args
        .evaluations
        .iter()
        .map(|name| Evaluator::open(name, &args.shape, &place))
        .collect::<Result<_>>()?;
    let plan = plan(&args, &evaluators)?;
    let measured = honest(&evaluators, read(&plan)?, args.all)?;
    let test = measured.part == Part::Test;
    let measurement = Measurement::of(&evaluators, &args.evaluations, measured, &plan.files)?;
    measurement.notes.iter().for_each(|note| eprintln!("{note}"));
    if test {
        eprintln!("--all measures on every position, those seen in training too");
    }
    let options = Options {
        fit_on_same: args.fit_on_same,
        fixed_scale: args.fixed_scale,
        bootstrap: Bootstrap { resamples: args.resamples, ..Bootstrap::default() },
    };
    if args.deep {
        let gaps = gaps(&args.evaluations, &evaluators);
        let deep = measurement.deep(&options, &gaps, args.boards)?;
        return match args.json {
            true => out::line(serde_json::to_string_pretty(&deep)?),
            false => out::line(deep.text().trim_end()),
        };
    }
    let comparison = measurement.compare(&options)?;
    match args.json {
        true => out::line(serde_json::to_string_pretty(&comparison)?),
        false => out::line(comparison.text().trim_end()),
    }
}

/// All positions of the files that the user names, or of those that the first run was trained on.
fn plan(args: &Args, evaluators: &[Evaluator]) -> Result<Plan> {
    let recipe = evaluators.iter().find_map(|it| it.recipe.as_ref());
    let plan = match (&args.data[..], recipe) {
        ([], None) => bail!("name files of positions with --data (built in are {BUILT_IN})"),
        ([], Some(recipe)) => recipe.measured_again()?,
        (files, _) => Plan::reading(files.to_vec()),
    };
    let needs_colours = evaluators.iter().any(Evaluator::needs_colours);
    let scores = evaluators.iter().any(Evaluator::needs_scores);
    Ok(Plan { scores, colours: needs_colours, ..plan })
}

/// Floats and integers of one net, as places among the evaluations.
pub fn gaps(given: &[String], evaluators: &[Evaluator]) -> Vec<[usize; 2]> {
    let of = |wanted: &dyn Fn(&Evaluator) -> bool, net: &str| {
        let mut places = given.iter().zip(evaluators).enumerate();
        places.find(|(_, (given, it))| wanted(it) && net_of(given) == net).map(|(place, _)| place)
    };
    let nets = given.iter().zip(evaluators).enumerate().filter(|(_, (_, it))| it.is_quantised());
    nets.filter_map(|(place, (given, _))| Some([of(&Evaluator::is_float, &net_of(given))?, place]))
        .collect()
}

/// What floats and integers of one net have in common: the folder of a run, or the name that only
/// differs in its ending.
fn net_of(given: &str) -> String {
    let path = Path::new(given);
    let named = |name: &str| path.file_name().is_some_and(|it| it == name);
    match path.parent() {
        Some(folder) if named(folder::BEST) || named(folder::NET) => {
            folder.to_string_lossy().into_owned()
        }
        _ => path.with_extension("").to_string_lossy().into_owned(),
    }
}
