//! `nnuance train`: a config in, a run folder out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};

use super::folder::{self, RunFolder};
use super::place::Place;
use super::progress::{Screen, bar, grouped, interrupts, short};
use super::recipe::{self, Recipe};
use super::{export, out};
use crate::config::Config;
use crate::hce::HceWeights;
use crate::loader::{Cursor, LoadError, Plan, Scan, Stream, scan};
use crate::model::{Compute, Device, initial};
use crate::output;
use crate::report::fit::fit;
use crate::sample::Sample;
use crate::train::checkpoint::{Best, Checkpoint, State};
use crate::train::{self, End, Job, Settings};
use crate::weights::Weights;

/// Train a net, or handcrafted terms, as a config says
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance train configs/quickstart-net.toml --set model.hidden=64 --out runs/net-64
  nnuance train --resume runs/net-64

The run folder gets config.toml (complete), log.csv, last.safetensors (to resume), \
best.safetensors (lowest held-out loss), and the finished evaluation: net.bin with its manifest \
net.json, or terms.json for handcrafted terms.")]
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
    #[command(flatten)]
    place: Place,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let stop = interrupts();
    let finished = match (&args.resume, &args.config) {
        (Some(folder), _) => resume(folder, &args.place, stop)?,
        (None, Some(path)) => {
            let config = Config::read(path, &args.overrides)?;
            let folder = args.out.unwrap_or_else(|| default_folder(path));
            let folder = RunFolder::take(&folder, args.overwrite)?;
            begin(config, &folder, &args.place, stop)?
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
fn begin(
    mut config: Config,
    folder: &RunFolder,
    place: &Place,
    stop: Arc<AtomicBool>,
) -> Result<Option<String>> {
    let place = place.open(config.model.precision)?;
    let plan = recipe::plan(&config)?;
    let scan = look(&plan)?;
    let start = start(&mut config, &scan)?;
    config.data.window = Some(config.window(scan.train));
    let (data, sketch) = (scan.files.clone(), scan.sketch.clone());
    let recipe = Recipe { config: config.resolved(), data, sketch };
    folder.clear()?;
    output::write(&folder.file(folder::CONFIG), recipe.config.to_toml().as_bytes())?;
    let (optimizer, state) = (Vec::new(), State::default());
    let mut facts = recipe.facts()?;
    facts.insert(COMPUTE.into(), how(&place.1));
    let checkpoint = Checkpoint { weights: start, optimizer, state, facts };
    train(&recipe, plan, &scan, checkpoint, folder, &place, stop)
}

/// Goes on with a run; what it leaves, or none if it was interrupted again.
fn resume(folder: &Path, place: &Place, stop: Arc<AtomicBool>) -> Result<Option<String>> {
    let folder = RunFolder::of_run(folder)?;
    let (checkpoint, recipe) = recipe::open(&folder.file(folder::LAST))?;
    recipe.unchanged_data()?;
    let place = place.open(recipe.config.model.precision)?;
    let now = how(&place.1);
    if let Some(begun) = checkpoint.facts.get(COMPUTE).filter(|begun| **begun != now) {
        eprintln!("this run began with {begun} and goes on with {now}: its last bits will differ");
    }
    let plan = recipe.plan()?;
    let scan = look(&plan)?;
    train(&recipe, plan, &scan, checkpoint, &folder, &place, stop)
}

/// The header entry that says how a run computed.
const COMPUTE: &str = "compute";

fn how(compute: &Compute) -> String {
    match compute {
        Compute::Plain => "plain tensor operations".to_string(),
        Compute::Fused { level, precision } => {
            format!("fused operations ({}, {})", level.name(), precision.name())
        }
    }
}

/// Reads all data once and says what is there.
fn look(plan: &Plan) -> Result<Scan, LoadError> {
    let bar = bar(None, "reading");
    let scan = scan(plan, &|positions| bar.inc(positions));
    bar.finish_and_clear();
    let scan = scan?;
    for file in &scan.files {
        let (path, count) = (file.path.display(), grouped(file.positions));
        eprintln!("{path}: {}, {count} positions, sha256 {}", file.format, &file.sha256[..16]);
        if file.bad_records > 0 {
            eprintln!("{path}: {} bad records left out", file.bad_records);
        }
        if file.games == 0 && plan.split.share > 0.0 {
            eprintln!(
                "{path}: its games are unknown, so positions are held out; where they come from \
                 the same games as those trained on, losses look better than they are"
            );
        }
    }
    for (i, file) in scan.files.iter().enumerate() {
        if let Some(twin) = scan.files[..i].iter().find(|twin| twin.sha256 == file.sha256) {
            let (path, twin) = (file.path.display(), twin.path.display());
            eprintln!("{path} is the same file as {twin}: its positions count twice");
        }
    }
    for (key, count) in scan.rejected.counts() {
        eprintln!("{:>13} turned away by {key}", grouped(count));
    }
    eprintln!("{:>13} to train on", grouped(scan.train));
    let games = match scan.games {
        0 => String::new(),
        games => format!(", by game, of {} games", grouped(games)),
    };
    eprintln!("{:>13} held out{games}", grouped(scan.held_out_total));
    if (scan.held_out.len() as u64) < scan.held_out_total {
        eprintln!("{:>13} of these are looked at", grouped(scan.held_out.len() as u64));
    }
    for Sample { position, score, result, .. } in scan.first.iter().take(3) {
        let score = score.map_or("no score".into(), |score| format!("{score:+} cp"));
        eprintln!("  {}  {score}, result {result} for the side to move", position.fen());
    }
    Ok(scan)
}

/// The starting weights. Handcrafted terms get the scale that fits their start best, unless the
/// config has one.
fn start(config: &mut Config, scan: &Scan) -> Result<Weights> {
    if let Some(net) = config.architecture()? {
        return Ok(initial(net.features.inputs, net.features.views, net.hidden, config.seed));
    }
    let start = HceWeights::default();
    if config.target.scale.is_none() {
        let values: Vec<f64> =
            scan.first.iter().map(|sample| start.evaluate(&sample.position)).collect();
        let results: Vec<f64> = scan.first.iter().map(|sample| sample.result.into()).collect();
        let scale = fit(&values, &results).scale.unwrap_or(config.scale()).round();
        eprintln!("scale {scale}: the centipawns a logit that fit the starting material best");
        config.target.scale = Some(scale);
    }
    Ok(start.to_weights())
}

fn train(
    recipe: &Recipe,
    mut plan: Plan,
    scan: &Scan,
    start: Checkpoint,
    folder: &RunFolder,
    (device, compute): &(Device, Compute),
    stop: Arc<AtomicBool>,
) -> Result<Option<String>> {
    let config = &recipe.config;
    let batch = config.schedule.batch as u64;
    let steps = config.steps(scan.train);
    let every = |times: u64| steps.div_ceil(times).max(1);
    let settings = Settings {
        steps,
        learning_rate: config.schedule.learning_rate.clone(),
        wdl: config.target.wdl.clone(),
        score_scale: config.score_scale(),
        optimizer: config.optimizer(),
        validate_every: every(config.schedule.looks),
        checkpoint_every: every(config.schedule.checkpoints),
        patience: config.schedule.patience,
    };
    let superbatch = config.schedule.batches_per_superbatch * batch;
    eprintln!(
        "{steps} steps of {batch} = {} positions = {:.2} passes over {} positions = {:.3} \
         superbatches; 1 superbatch = {} positions = {:.1} passes",
        short((steps * batch) as f64),
        (steps * batch) as f64 / scan.train as f64,
        short(scan.train as f64),
        steps as f64 * batch as f64 / superbatch as f64,
        short(superbatch as f64),
        superbatch as f64 / scan.train as f64,
    );
    let model = recipe.architecture()?.map_or("handcrafted terms".into(), |net| net.to_string());
    eprintln!("{model}: {}, {} threads", how(compute), rayon::current_num_threads());

    let held_out: Vec<_> =
        scan.held_out.chunks(4096).map(|samples| plan.encoder.encode(samples)).collect();
    let job = Job {
        kind: recipe.kind()?,
        compute: *compute,
        device,
        settings: &settings,
        folder: &folder.path,
        held_out: &held_out,
    };
    let cursor = Cursor::parse(&start.state.cursor)?;
    plan.expected = Some(scan.train);
    plan.window = config.window(scan.train);
    let mut screen = Screen::new(steps * batch, start.state.positions, stop);
    let ended = train::run(&job, start, Stream::new(plan, cursor), &mut screen);
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
            eprintln!("stopped at step {step} of {steps}: the held-out loss no longer fell");
        }
        End::Finished => {}
    }
    finish(recipe, scan, folder).map(Some)
}

/// Writes what an engine loads: the net with its manifest, or the tables of the terms.
fn finish(recipe: &Recipe, scan: &Scan, folder: &RunFolder) -> Result<String> {
    let path = folder.file(folder::BEST);
    let best = Checkpoint::read(&path)?;
    let State { step, best: lowest, .. } = best.state;
    let what = match lowest {
        Some(Best { step, loss }) => format!("best held-out loss {loss:.6}, at step {step}"),
        None => format!("weights of step {step}"),
    };
    let line = format!("{what}: {}", path.display());
    if recipe.architecture()?.is_some() {
        let positions = scan.held_out.iter().map(|sample| sample.position);
        let net = folder.file(folder::NET);
        let text = export::checkpoint(&path, &net, None, recipe.scales(), positions)
            .with_context(|| format!("{} stands, but gives no net", path.display()))?;
        return Ok(format!("{line}\n{text}"));
    }
    let mut terms = HceWeights::from_weights(&best.weights, recipe.config.scale())?.rounded(2);
    terms.source = Some(format!("trained by nnuance: {what}"));
    let tables = folder.file(folder::TERMS);
    output::write(&tables, terms.to_json().as_bytes())?;
    Ok(format!("{line}\ntables   {}", tables.display()))
}
