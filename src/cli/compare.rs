//! `nnuance compare`: which evaluation predicts results better, and how sure that is.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};

use super::eval::Shape;
use super::evaluator::{BUILT_IN, Evaluator};
use super::progress::grouped;
use super::recipe::{Recipe, collect, encoder_for};
use crate::loader::{Part, Plan, fingerprint};
use crate::model::Backend;
use crate::report::bootstrap::Bootstrap;
use crate::report::{Options, Truth, compare};
use crate::sample::Sample;
use crate::train::target::sigmoid;

/// Compare evaluations on the same games: handcrafted terms, checkpoints, nets, references
///
/// Each evaluation gets the scale that fits it best, fitted on one half of the games; the loss is
/// measured on the other half. Data that an evaluation was trained on is cut down to the games
/// that its training held out, with the filter of its training.
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
    #[arg(long, default_value_t = 1000, value_name = "N")]
    resamples: usize,
    /// Where to compute checkpoints: flex, ndarray, wgpu or vulkan
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
    #[command(flatten)]
    shape: Shape,
}

pub fn run(args: Args) -> Result<()> {
    let device = Backend::named(&args.device)?.device()?;
    let evaluators: Vec<Evaluator> = args
        .evaluations
        .iter()
        .map(|name| Evaluator::open(name, &args.shape, &device))
        .collect::<Result<_>>()?;
    let (mut plan, part) = plan(&args, &evaluators)?;
    plan.scores = evaluators.iter().any(Evaluator::needs_scores);
    plan.encoder = encoder_for(evaluators.iter().any(Evaluator::needs_colours));
    let samples = collect(&plan, part)?;

    let results: Vec<f64> = samples.iter().map(|sample| sample.result.into()).collect();
    let groups: Vec<u64> = samples.iter().map(Sample::group).collect();
    let targets = targets(&samples, &evaluators);
    let noun = match (samples.iter().all(|sample| sample.game.is_some()), part) {
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
    let evaluations =
        evaluators.iter().map(|it| it.evaluate(&samples)).collect::<Result<Vec<_>>>()?;
    let comparison = compare(&evaluations, &truth, &options)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&comparison)?);
    } else {
        print!("{}", comparison.text());
    }
    Ok(())
}

/// The positions to measure on. Whatever an evaluation has seen in training is left out, unless
/// the user insists.
fn plan(args: &Args, evaluators: &[Evaluator]) -> Result<(Plan, Part)> {
    let recipes: Vec<(&str, &Recipe)> =
        evaluators.iter().filter_map(|it| Some((&it.name[..], it.recipe.as_ref()?))).collect();
    let files = match (&args.data[..], &recipes[..]) {
        ([], []) => bail!("name files of positions with --data (built in are {BUILT_IN})"),
        ([], [(_, first), ..]) => first.unchanged_data()?,
        (files, _) => files.to_vec(),
    };
    if args.all {
        return Ok((Plan::reading(files), Part::All));
    }
    let mut hashes = Vec::new();
    for path in &files {
        // Reading will say what is wrong with a file that cannot be read.
        hashes.extend(fingerprint(path).map(|(_, sha256)| sha256));
    }
    let has_seen = |recipe: &Recipe| recipe.data.iter().any(|it| hashes.contains(&it.sha256));
    let mut seen = recipes.iter().filter(|(_, recipe)| has_seen(recipe));
    let Some((name, recipe)) = seen.next() else {
        return Ok((Plan::reading(files), Part::All));
    };
    for (other, others) in seen {
        ensure!(
            others.split() == recipe.split(),
            "{name} and {other} were trained on these files with different games held out \
             (held_out {} and {}, held_out_seed {} and {}); train them with the same, name other \
             files, or compare on everything with --all",
            recipe.split().share,
            others.split().share,
            recipe.split().seed,
            others.split().seed,
        );
        if others.config.data.filter != recipe.config.data.filter {
            eprintln!("{name} and {other} had different filters; that of {name} is used");
        }
    }
    ensure!(
        recipe.split().share > 0.0,
        "{name} was trained on all games of these files: no loss on them would be honest. Name \
         other files with --data, or measure on them all the same with --all"
    );
    let seed = recipe.split().seed;
    eprintln!(
        "{name} was trained on these files: measured are the {} of games that it held out (seed \
         {seed}), with its filter",
        recipe.split().share
    );
    Ok((Plan { files, ..recipe.plan()? }, Part::HeldOut))
}

/// What training aims at, if all positions have scores; none if they have not, or if the target
/// is the result alone.
fn targets(samples: &[Sample], evaluators: &[Evaluator]) -> Option<Vec<f64>> {
    let config = evaluators
        .iter()
        .filter_map(|it| it.recipe.as_ref())
        .map(|recipe| &recipe.config)
        .find(|config| config.needs_scores());
    let (wdl, scale) = config.map_or((0.0, 400.0), |it| (it.target.wdl.at(1.0), it.score_scale()));
    let target = |sample: &Sample| {
        let expected = sigmoid(f64::from(sample.score?) / scale);
        Some(wdl * f64::from(sample.result) + (1.0 - wdl) * expected)
    };
    let targets = samples.iter().map(target).collect();
    if config.is_some() {
        eprintln!(
            "{} positions; the target is {wdl} * result + {} * sigmoid(score / {scale})",
            grouped(samples.len() as u64),
            1.0 - wdl
        );
    }
    targets
}
