//! `nnuance train`: a config in, a run folder out.

mod data;
mod finish;
mod look;
mod tuning;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};

use super::folder::{self, RunFolder};
use super::out;
use super::place::Place;
use super::progress::{Eyes, Screen, interrupts, short};
use super::recipe::{self, Recipe};
use crate::config::Config;
use crate::model::{Adapter, Compute, Device, Need};
use crate::output;
use crate::train::checkpoint::{Checkpoint, State};
use crate::train::{self, End, Job, Settings};
use data::Data;

/// Train a net, or handcrafted terms, as a config says
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance train configs/quickstart-net.toml --set model.hidden=64 --out runs/net-64
  nnuance train --resume runs/net-64
  nnuance train configs/hce-pst.toml --set 'data.files=[\"positions.epd\"]'

The run folder gets config.toml (complete), log.csv, last.safetensors (to resume), \
best.safetensors (lowest validation loss), and the finished evaluation: net.bin with its manifest \
net.json; or terms.json, what changed in terms.csv, and pictures in terms.svg. report.html shows \
all of it on one page.")]
pub struct Args {
    /// The run's config (TOML)
    #[arg(required_unless_present = "resume")]
    config: Option<PathBuf>,
    /// Change a key of the config, for example schedule.epochs=4; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", conflicts_with = "resume")]
    overrides: Vec<String>,
    /// The run folder [default: runs/ and the config's name]
    #[arg(long, value_name = "FOLDER", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Go on with the run in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "config")]
    resume: Option<PathBuf>,
    /// Begin anew in a folder that holds a run already
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
    /// Draw the losses above the progress line; only where stderr is a terminal
    #[arg(long)]
    chart: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let eyes = Eyes { stop: interrupts(), chart: args.chart, page: true };
    let finished = match (&args.resume, &args.config) {
        (Some(folder), _) => resume(folder, &args.place, eyes)?,
        (None, Some(path)) => {
            let config = Config::read(path, &args.overrides)?;
            let folder = args.out.unwrap_or_else(|| default_folder(path));
            let folder = RunFolder::take(&folder, args.overwrite)?;
            begin(config, &folder, &args.place, eyes)?
        }
        (None, None) => bail!("name a config, or a run folder with --resume"),
    };
    let Some(summary) = finished else { return Ok(ExitCode::from(130)) };
    out::line(summary)?;
    Ok(ExitCode::SUCCESS)
}

fn default_folder(config: &Path) -> PathBuf {
    Path::new("runs").join(config.file_stem().unwrap_or(config.as_os_str()))
}

/// Starts a run; what it leaves, in words, or none if it was interrupted.
pub(super) fn begin(
    mut config: Config,
    folder: &RunFolder,
    place: &Place,
    eyes: Eyes,
) -> Result<Option<String>> {
    let place = place.open(config.model.precision)?;
    let term_list = recipe::term_list(&config)?;
    let (data, weights) = data::open(&mut config, term_list.as_deref(), None, &place)?;
    config.data.window = config.data.window.or(data.window(&config));
    let recipe = Recipe {
        config: config.resolved(),
        data: data.facts.files.clone(),
        sketch: data.facts.sketch.clone(),
        term_list,
    };
    folder.clear()?;
    output::write(&folder.file(folder::CONFIG), recipe.config.to_toml().as_bytes())?;
    let (optimizer, state) = (Vec::new(), State::default());
    let mut facts = recipe.facts()?;
    facts.insert(COMPUTE.into(), how(&place.1));
    facts.insert(POSITIONS.into(), data.facts.train.to_string());
    let checkpoint = Checkpoint { weights, optimizer, state, facts };
    train(&recipe, data, checkpoint, folder, &place, eyes)
}

/// Goes on with a run; what it leaves, or none if it was interrupted again.
pub(super) fn resume(folder: &Path, place: &Place, eyes: Eyes) -> Result<Option<String>> {
    let folder = RunFolder::of_run(folder)?;
    let (checkpoint, recipe) = recipe::open(&folder.file(folder::LAST))?;
    recipe.reachable_data()?;
    let place = place.open(recipe.config.model.precision)?;
    let now = how(&place.1);
    if let Some(begun) = checkpoint.facts.get(COMPUTE).filter(|begun| **begun != now) {
        eprintln!("this run began with {begun} and goes on with {now}: its last bits will differ");
    }
    let mut config = recipe.config.clone();
    let term_list = recipe.term_list.as_deref();
    let (data, _) = data::open(&mut config, term_list, Some(&checkpoint.weights), &place)?;
    for (then, now) in recipe.data.iter().zip(&data.facts.files) {
        ensure!(
            (then.bytes, &then.sha256) == (now.bytes, &now.sha256),
            "{} has changed since the run began; restore it, or begin anew",
            then.path.display()
        );
    }
    train(&recipe, data, checkpoint, &folder, &place, eyes)
}

/// The header entry that says how a run computed.
pub(super) const COMPUTE: &str = "compute";

/// The header entry with the number of positions to train on.
pub(super) const POSITIONS: &str = "positions";

fn how(compute: &Compute) -> String {
    match compute {
        Compute::Plain => "plain tensor operations".to_string(),
        Compute::Fused { level, precision } => {
            format!("fused operations ({}, {})", level.name(), precision.name())
        }
        Compute::Gpu { .. } => "fused operations of a GPU".to_string(),
    }
}

fn train(
    recipe: &Recipe,
    data: Data,
    start: Checkpoint,
    folder: &RunFolder,
    (device, compute): &(Device, Compute),
    eyes: Eyes,
) -> Result<Option<String>> {
    let config = &recipe.config;
    let positions = data.facts.train;
    let batch = config.batch().of(positions);
    let steps = config.steps(positions);
    let every = |times: u64| steps.div_ceil(times).max(1);
    let direct = config.optimizer().name.is_direct();
    let settings = Settings {
        steps,
        learning_rate: config.learning_rate(),
        wdl: config.target.wdl.clone(),
        score_scale: config.score_scale(),
        optimizer: config.optimizer(),
        // A direct method has few steps, and no more than it needs.
        validate_every: if direct { 1 } else { every(config.schedule.looks) },
        checkpoint_every: if direct { 1 } else { every(config.schedule.checkpoints) },
        patience: config.schedule.patience,
    };
    match direct {
        true => eprintln!(
            "{} on {} positions, until the loss falls no more, at most {steps} steps",
            settings.optimizer.name.text(),
            short(positions as f64)
        ),
        false => eprintln!("{}", length(config, steps, batch, positions)),
    }
    let model = recipe.architecture()?.map_or("handcrafted terms".into(), |net| net.to_string());
    let threads = rayon::current_num_threads();
    let place = match Adapter::of(device) {
        Some(adapter) => format!("{adapter}, {threads} threads beside it"),
        None => format!("{threads} threads"),
    };
    eprintln!("{model}: {}, {place}", how(compute));

    let kind = recipe.kind()?;
    Need::of(kind, batch as usize, *compute).map_or(Ok(()), |need| need.check(device))?;
    let job = Job {
        kind,
        compute: *compute,
        device,
        settings: &settings,
        folder: &folder.path,
        held_out: &data.validation,
    };
    let batches = data.batches(recipe, &start)?;
    let page = eyes.page;
    let mut screen = Screen::new(steps * batch, start.state.positions, eyes);
    let ended = train::run(&job, start, batches, &mut screen);
    screen.finish();
    let (end, checkpoint) = ended?;
    let step = checkpoint.state.step;
    match end {
        End::Interrupted => {
            eprintln!(
                "stopped at step {step} of {steps}; {} holds everything. Go on with\n  \
                 nnuance train --resume {}",
                folder.file(folder::LAST).display(),
                folder.path.display()
            );
            return Ok(None);
        }
        End::Early => {
            eprintln!("stopped at step {step} of {steps}: the validation loss no longer fell");
        }
        End::Converged => eprintln!("converged at step {step}: no step makes the loss fall"),
        End::Finished if direct => {
            eprintln!("ended at step {step}, as the config says; it has not converged yet");
        }
        End::Finished => {}
    }
    let text = finish::finish(recipe, &data, folder)?;
    let place = (device.clone(), *compute);
    Ok(Some(if page { text + &finish::page(recipe, &data, folder, &place) } else { text }))
}

/// The run's length in all units that people count in.
fn length(config: &Config, steps: u64, batch: u64, positions: u64) -> String {
    let superbatch = config.schedule.batches_per_superbatch * batch;
    format!(
        "{steps} steps of {batch} = {} positions = {:.2} passes over {} positions = {:.3} \
         superbatches; 1 superbatch = {} positions = {:.1} passes",
        short((steps * batch) as f64),
        (steps * batch) as f64 / positions as f64,
        short(positions as f64),
        steps as f64 * batch as f64 / superbatch as f64,
        short(superbatch as f64),
        superbatch as f64 / positions as f64,
    )
}
