//! `nnuance train`: a config in, a run folder out.

mod data;
mod finish;
pub(super) mod judge;
mod length;
mod look;
mod resume;
mod start;
mod tuning;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

use super::folder::{self, RunFolder};
use super::out;
use super::place::Place;
use super::progress::{Eyes, Screen, interrupts, short};
use super::recipe::{self, Recipe};
use crate::config::{Config, ONE_LIST};
use crate::model::{Adapter, Compute, Device, Need};
use crate::output;
use crate::train::checkpoint::{Checkpoint, State};
use crate::train::{self, End, Job};
use data::Data;
pub(super) use resume::resume;

/// Train a net, or handcrafted terms, as a config says
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance train configs/quickstart-net.toml --set model.hidden=64 --out runs/net-64
  nnuance train --resume runs/net-64
  nnuance train --resume runs/net-64 --set schedule.epochs=20
  nnuance train configs/hce-pst.toml --set 'data.files=[\"positions.epd\"]'

The run folder gets config.toml (complete), log.csv, last.safetensors (to resume), \
best.safetensors (lowest validation loss), and the finished evaluation: net.bin with its manifest \
net.json; or terms.json, what changed in terms.csv, and pictures in terms.svg. judgement.json \
says whether it has overfitted, and what is odd about terms. report.html shows all of it on one \
page.")]
pub struct Args {
    /// The run's config (TOML)
    #[arg(required_unless_present = "resume")]
    config: Option<PathBuf>,
    /// Change a key of the config, for example schedule.epochs=4; may be repeated. With --resume
    /// only the length, which makes the run longer, and schedule.patience
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// The run folder [default: runs/ and the config's name]
    #[arg(short, long, alias = "output", value_name = "FOLDER", conflicts_with = "resume")]
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
        (Some(folder), _) => resume(folder, &args.overrides, &args.place, eyes)?,
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
    refuse_twins(&config)?;
    let began = start::open(&config)?;
    let (data, mut weights) = data::open(&mut config, term_list.as_deref(), None, &place)?;
    config.data.window = config.data.window.or(data.window(&config));
    // Found before the folder is cleared.
    length::settings(&config, data.facts.train)?;
    let mut recipe = Recipe {
        config: config.resolved(),
        data: data.facts.files.clone(),
        sketch: data.facts.sketch.clone(),
        validation: data.facts.validating.files.clone(),
        validation_sketch: data.facts.validating.sketch.clone(),
        term_list,
        start: None,
    };
    if let Some(began) = began {
        weights = began.weights;
        let known = began.sketch.shared(&recipe.validation_sketch);
        if known > 0 {
            eprintln!(
                "caution: {} was trained on games of `data.validation` ({known} or more): the \
                 validation loss looks better than it is",
                began.from.file
            );
        }
        recipe.sketch.join(&began.sketch);
        recipe.validation_sketch.join(&began.validation_sketch);
        recipe.start = Some(began.from);
    }
    folder.clear()?;
    output::write(&folder.file(folder::CONFIG), recipe.config.to_toml().as_bytes())?;
    let (optimizer, state) = (Vec::new(), State::default());
    let mut facts = recipe.facts()?;
    facts.insert(COMPUTE.into(), how(&place.1));
    facts.insert(POSITIONS.into(), data.facts.train.to_string());
    let checkpoint = Checkpoint { weights, optimizer, state, facts };
    train(&recipe, data, checkpoint, folder, &place, eyes)
}

/// A file that is named twice would count twice.
fn refuse_twins(config: &Config) -> Result<()> {
    let real = |path: &PathBuf| path.canonicalize().ok();
    let twin = |path: &PathBuf, among: &[PathBuf]| {
        let mut among = among.iter();
        among.find(|it| real(it).is_some() && real(it) == real(path)).cloned()
    };
    let data = &config.data;
    for (key, files) in [("data.files", &data.files), ("data.validation", &data.validation)] {
        for (i, path) in files.iter().enumerate() {
            if let Some(twin) = twin(path, &files[..i]) {
                let (path, twin) = (path.display(), twin.display());
                bail!("`{key}`: {twin} and {path} are one file; remove one");
            }
        }
    }
    for path in &data.validation {
        if let Some(twin) = twin(path, &data.files) {
            let (path, twin) = (path.display(), twin.display());
            bail!("`data.validation`: {path} and {twin} of `data.files` are one file; {ONE_LIST}");
        }
    }
    Ok(())
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
    let span = config.span(positions);
    let (batch, steps) = (span.batch, span.steps);
    let direct = config.optimizer().name.is_direct();
    let settings = length::settings(config, positions)?;
    match direct {
        true => eprintln!(
            "{} on {} positions, until the loss falls no more, at most {steps} steps",
            settings.optimizer.name.text(),
            short(positions as f64)
        ),
        false => eprintln!("{}\n{}", length::length(&span), length::rates(&settings)),
    }
    let model = recipe.architecture()?.map_or("handcrafted terms".into(), |net| net.to_string());
    let threads = rayon::current_num_threads();
    let place = match Adapter::of(device) {
        Some(adapter) => format!("{adapter}, {threads} threads beside it"),
        None => format!("{threads} threads"),
    };
    eprintln!("{model}: {}, {place}", how(compute));

    if let Some(caution) = judge::caution(recipe, &data)? {
        eprintln!("caution: {caution}");
    }

    let kind = recipe.kind()?;
    Need::of(&kind, batch as usize, *compute).map_or(Ok(()), |need| need.check(device))?;
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
    finish::refuse_untrained(recipe, &checkpoint, folder)?;
    folder.check()?;
    let place = (device.clone(), *compute);
    let text = finish::finish(recipe, &data, folder, &place)?;
    Ok(Some(if page { text + &finish::page(recipe, &data, folder, &place) } else { text }))
}
