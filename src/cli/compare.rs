//! `nnuance compare`: which evaluation predicts results better, and how sure that is.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::eval::Shape;
use super::evaluator::{BUILT_IN, Evaluator};
use super::honest::{Measured, measured};
use super::out;
use super::place::Place;
use super::recipe::collect;
use crate::loader::{Part, Plan};
use crate::model::Precision;
use crate::report::bootstrap::Bootstrap;
use crate::report::{Options, Truth, compare};
use crate::sample::Sample;
use crate::train::target::sigmoid;

/// Compare evaluations on the same games: handcrafted terms, checkpoints, nets, references
///
/// Each evaluation gets the scale that fits it best, fitted on one half of the games; the loss is
/// measured on the other half, both ways. Games that an evaluation was trained on are known again
/// by their content and left out, whatever file they lie in.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance compare material runs/quickstart-hce runs/quickstart-net score")]
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
    let samples = collect(&plan, Part::All)?;
    let Measured { samples, part, notes } = match args.all {
        true => Measured { samples, part: Part::All, notes: Vec::new() },
        false => {
            let origins: Vec<_> =
                evaluators.iter().filter(|it| it.is_trained()).map(Evaluator::origin).collect();
            measured(&origins, samples)?
        }
    };
    notes.iter().for_each(|note| eprintln!("{note}"));

    let results: Vec<f64> = samples.iter().map(|sample| sample.result.into()).collect();
    let groups: Vec<u64> = samples.iter().map(Sample::group).collect();
    let targets = targets(&samples, &evaluators);
    let games = samples.iter().all(|sample| sample.game.is_some());
    if !games {
        eprintln!(
            "games are unknown: each position counts as one, so intervals are too narrow where \
             several come from one game"
        );
    }
    let noun = match (games, part) {
        (true, Part::HeldOut) => "held-out games",
        (true, Part::All) => "games",
        (false, Part::HeldOut) => "held-out positions",
        (false, Part::All) => "positions",
    };
    let truth = Truth { results: &results, targets: targets.as_deref(), groups: &groups, noun };
    let options = Options {
        fit_on_same: args.fit_on_same,
        fixed_scale: args.fixed_scale,
        bootstrap: Bootstrap { resamples: args.resamples, ..Bootstrap::default() },
    };
    let mut evaluations = evaluators
        .iter()
        .map(|it| it.evaluate(&samples, &plan.files))
        .collect::<Result<Vec<_>>>()?;
    for (evaluation, given) in evaluations.iter_mut().zip(&args.evaluations) {
        // Two files of one name in different folders need their folders.
        let twins = evaluators.iter().filter(|other| other.name == evaluation.name).count();
        if twins > 1 {
            evaluation.name.clone_from(given);
        }
    }
    let comparison = compare(&evaluations, &truth, &options)?;
    match args.json {
        true => out::line(serde_json::to_string_pretty(&comparison)?),
        false => out::line(comparison.text().trim_end()),
    }
}

/// All positions of the files that the user names, or of those that the first run was trained on.
fn plan(args: &Args, evaluators: &[Evaluator]) -> Result<Plan> {
    let recipe = evaluators.iter().find_map(|it| it.recipe.as_ref());
    let files = match (&args.data[..], recipe) {
        ([], None) => bail!("name files of positions with --data (built in are {BUILT_IN})"),
        ([], Some(recipe)) => recipe.unchanged_data()?,
        (files, _) => files.to_vec(),
    };
    let needs_colours = evaluators.iter().any(Evaluator::needs_colours);
    let scores = evaluators.iter().any(Evaluator::needs_scores);
    Ok(Plan { scores, colours: needs_colours, ..Plan::reading(files) })
}

/// What the first run that uses scores aims at, if all positions have one.
fn targets(samples: &[Sample], evaluators: &[Evaluator]) -> Option<Vec<f64>> {
    let configs = evaluators.iter().filter_map(|it| Some(&it.recipe.as_ref()?.config));
    let config = configs.into_iter().find(|config| config.needs_scores())?;
    let (wdl, scale) = (config.target.wdl.at(1.0), config.score_scale());
    let target = |sample: &Sample| {
        let expected = sigmoid(f64::from(sample.score?) / scale);
        Some(wdl * f64::from(sample.result) + (1.0 - wdl) * expected)
    };
    let targets = samples.iter().map(target).collect::<Option<_>>()?;
    let rest = ((1.0 - wdl) * 1e6).round() / 1e6;
    eprintln!("the target is {wdl} * result + {rest} * sigmoid(score / {scale})");
    Some(targets)
}
