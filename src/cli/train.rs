//! `nnuance train`: a config in, a run folder out.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use super::export;
use super::progress::{Screen, bar, grouped, interrupts, short};
use super::recipe::{self, Recipe};
use crate::config::Config;
use crate::hce::HceWeights;
use crate::loader::{Cursor, LoadError, Plan, Scan, Stream, scan};
use crate::model::{Backend, initial};
use crate::output::{self, Output};
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
best.safetensors (lowest held-out loss), and the finished evaluation: NAME.bin with NAME.json \
for a net, NAME.json for handcrafted terms.")]
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
    #[arg(long)]
    overwrite: bool,
    /// Where to compute: flex, ndarray, wgpu or vulkan
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let device = Backend::named(&args.device)?;
    let finished = match (&args.resume, &args.config) {
        (Some(folder), _) => resume(folder, device)?,
        (None, Some(path)) => {
            let config = Config::read(path, &args.overrides)?;
            let folder = args.out.unwrap_or_else(|| default_folder(path));
            begin(config, &folder, device, args.overwrite)?
        }
        (None, None) => bail!("name a config, or a run folder with --resume"),
    };
    match finished {
        Some(finished) => {
            println!("{}", finished.summary);
            Ok(ExitCode::SUCCESS)
        }
        None => Ok(ExitCode::from(130)),
    }
}

/// What a run leaves, in words.
pub struct Finished {
    pub summary: String,
}

fn default_folder(config: &Path) -> PathBuf {
    Path::new("runs").join(config.file_stem().unwrap_or(config.as_os_str()))
}

/// Starts a run; none if it was interrupted.
pub fn begin(
    mut config: Config,
    folder: &Path,
    backend: Backend,
    overwrite: bool,
) -> Result<Option<Finished>> {
    let last = folder.join("last.safetensors");
    if last.exists() && !overwrite {
        let folder = folder.display();
        bail!(
            "{folder} holds a run already; go on with `nnuance train --resume {folder}`, \
             begin anew with --overwrite, or choose another folder with --out"
        );
    }
    // Opened before the long work, so that a folder that cannot be written to is found now.
    let mut saved = Output::create(&folder.join("config.toml"))?;
    let device = backend.device()?;
    let plan = recipe::plan(&config)?;
    let scan = look(&plan)?;
    let start = start(&mut config, &scan)?;
    let config = config.resolved();
    let recipe = Recipe { config, data: scan.files.clone() };
    for stale in ["last.safetensors", "best.safetensors", "log.csv"] {
        let path = folder.join(stale);
        if path.exists() {
            std::fs::remove_file(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    saved.write_all(recipe.config.to_toml().as_bytes()).map_err(|error| saved.failed(error))?;
    saved.finish()?;
    let (optimizer, state) = (Vec::new(), State::default());
    let checkpoint = Checkpoint { weights: start, optimizer, state, facts: recipe.facts()? };
    train(&recipe, plan, &scan, checkpoint, folder, &device)
}

/// Goes on with a run; none if it was interrupted again.
fn resume(folder: &Path, backend: Backend) -> Result<Option<Finished>> {
    ensure!(folder.is_dir(), "there is no run folder {}", folder.display());
    let (checkpoint, recipe) = recipe::open(&folder.join("last.safetensors"))?;
    recipe.unchanged_data()?;
    let device = backend.device()?;
    let plan = recipe.plan()?;
    let scan = look(&plan)?;
    train(&recipe, plan, &scan, checkpoint, folder, &device)
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
    }
    for (key, count) in scan.rejected.counts() {
        eprintln!("{:>13} turned away by {key}", grouped(count));
    }
    eprintln!("{:>13} to train on", grouped(scan.train));
    eprintln!(
        "{:>13} held out{}",
        grouped(scan.held_out_total),
        if scan.games > 0 {
            format!(", by game, of {} games", grouped(scan.games))
        } else {
            "".into()
        }
    );
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
    plan: Plan,
    scan: &Scan,
    start: Checkpoint,
    folder: &Path,
    device: &crate::model::Device,
) -> Result<Option<Finished>> {
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
    eprintln!("{model}, {} threads", rayon::current_num_threads());

    let held_out: Vec<_> =
        scan.held_out.chunks(4096).map(|samples| plan.encoder.encode(samples)).collect();
    let job =
        Job { kind: recipe.kind()?, device, settings: &settings, folder, held_out: &held_out };
    let cursor = Cursor::parse(&start.state.cursor)?;
    let mut screen = Screen::new(steps * batch, start.state.positions, interrupts());
    let ended = train::run(&job, start, Stream::new(plan, cursor), &mut screen);
    screen.finish();
    let (end, checkpoint) = ended?;
    let State { step, .. } = checkpoint.state;
    let path = folder.join("last.safetensors");
    if end == End::Interrupted {
        eprintln!(
            "stopped at step {step} of {steps}; {} holds everything. Go on with\n  \
             nnuance train --resume {}",
            path.display(),
            folder.display()
        );
        return Ok(None);
    }
    if end == End::Early {
        eprintln!("stopped at step {step} of {steps}: the held-out loss no longer fell");
    }
    finish(recipe, scan, folder).map(Some)
}

/// Writes what an engine loads: the net with its manifest, or the tables of the terms.
fn finish(recipe: &Recipe, scan: &Scan, folder: &Path) -> Result<Finished> {
    let path = folder.join("best.safetensors");
    let best = Checkpoint::read(&path)?;
    let name = folder.file_name().unwrap_or("evaluation".as_ref());
    let mut lines = Vec::new();
    if let Some(Best { step, loss }) = best.state.best {
        lines.push(format!("best held-out loss {loss:.6}, at step {step}: {}", path.display()));
    } else {
        lines.push(format!("last weights: {}", path.display()));
    }
    if recipe.architecture()?.is_some() {
        let net = folder.join(name).with_extension("bin");
        let positions = scan.held_out.iter().map(|sample| sample.position);
        match export::checkpoint(&path, &net, None, recipe.scales(), positions) {
            Ok(text) => lines.push(text),
            // The floats stand; only the engine's file is missing.
            Err(error) => eprintln!("no net was exported: {error:#}"),
        }
    } else {
        let mut terms = HceWeights::from_weights(&best.weights, recipe.config.scale())?.rounded(2);
        let losses = best
            .state
            .best
            .map_or(String::new(), |best| format!(", held-out loss {:.6}", best.loss));
        terms.source = Some(format!("trained by nnuance, step {}{losses}", best.state.step));
        let tables = folder.join(name).with_extension("json");
        output::write(&tables, terms.to_json().as_bytes())?;
        lines.push(format!("tables   {}", tables.display()));
    }
    Ok(Finished { summary: lines.join("\n") })
}
