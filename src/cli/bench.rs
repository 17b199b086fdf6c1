//! `nnuance bench`: speed of the parts of training, on real positions.

mod laps;
mod stages;
mod terms;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, Error, Result, bail, ensure};
use serde::Serialize;

use super::out;
use super::place::Place;
use super::terminal::{bar, interrupts};
use crate::architecture::Architecture;
use crate::batch::{Batch, Inputs};
use crate::config::{BatchSize, Config, Model};
use crate::digits::grouped;
use crate::input;
use crate::loader::{Encoder, LoadError, Plan, Scan, Stream, scan};
use crate::model::{Adapter, Compute, Device, Kind, Need, Precision, initial, is_gpu};
use crate::report::{Align, Table};
use crate::run::{recipe, rounding};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;
use crate::train::ranks::Alone;
use crate::train::schedule::{Span, Stages};
use crate::train::{self, Rounded, Settings, Training};
use crate::weights::Weights;
use laps::{Clock, Cycle, Figure, LAPS, Laps, repeat};

/// Measure the speed of reading, encoding, training steps and whole runs
///
/// Figures are positions per second. A step is loss, gradients and optimiser on batches that are
/// there already; a whole run is what `nnuance train` does with a net, from the files on, without
/// held-out positions. As in training, data that is too large to be kept in memory is read again
/// in each pass, so that encoding and whole runs contain its reading.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance bench --hidden 32,1024 --precision f32 --seconds 6
  nnuance bench --net configs/net-5-deep.toml
  nnuance bench --hidden 256 --json --threads 1 > one-thread.json
  nnuance bench --device auto --hidden 256,512,768,1024,1536 --batch 16384,65536
  nnuance bench --terms configs/hce-full.toml")]
pub struct Args {
    /// Measure the tuning of handcrafted terms as this config has it, on its data
    #[arg(long, value_name = "CONFIG", conflicts_with_all = ["data", "hidden"])]
    terms: Option<PathBuf>,
    /// Change a key of that config
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Files of positions, through the filter of the quickstart as far as they serve it
    #[arg(long, value_name = "FILE", num_args = 1.., default_value = "data/selfplay-sf15.vf")]
    data: Vec<PathBuf>,
    /// Sizes of the hidden layer [default: 32,128,256,512,1024, or that of --net]
    #[arg(long, value_name = "N,...")]
    #[arg(value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: Vec<u32>,
    /// The net of this config, whatever its data, instead of a simple one
    #[arg(long, value_name = "CONFIG", conflicts_with = "terms")]
    net: Option<PathBuf>,
    /// f32, mixed or both [default: f32,mixed; f32 on GPUs and without fused operations]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = precision)]
    precision: Vec<Precision>,
    /// Positions a step
    #[arg(long, value_name = "POSITIONS,...", default_value = "16384")]
    #[arg(value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    batch: Vec<u32>,
    /// Seconds a figure, in three laps, after a warm-up of up to a second
    #[arg(long, default_value = "3", value_parser = seconds)]
    seconds: f64,
    /// The figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

fn precision(text: &str) -> Result<Precision, String> {
    let found = [Precision::F32, Precision::Mixed].into_iter().find(|it| it.name() == text);
    found.ok_or_else(|| "there are f32 and mixed".into())
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.03..=3600.0).contains(&number) => Ok(number),
        _ => Err("a number from 0.03 to 3600".into()),
    }
}

/// The config that the bench changes: its filter, targets and optimiser are the usual ones.
const CONFIG: &str = include_str!("../../configs/quickstart-net.toml");

pub fn run(args: Args) -> Result<()> {
    if let Some(config) = &args.terms {
        return terms::run(&args, config);
    }
    ensure!(
        args.overrides.is_empty(),
        "--set changes a key of the config that --terms names, and there is none"
    );
    let mut config = Config::parse(CONFIG, "configs/quickstart-net.toml", &[])?;
    config.data.files = args.data;
    // That of each batch size.
    config.data.chunk = None;
    (config.data.held_out, config.data.validation) = (0.0, Vec::new());
    let mut hidden = args.hidden;
    if let Some(path) = &args.net {
        let Config { model, .. } = Config::read(path, &[])?;
        ensure!(model.hidden.is_some(), "{} is no config of a net", path.display());
        hidden.extend(model.hidden.filter(|_| hidden.is_empty()).map(|size| size as u32));
        config.model = Model { start: None, ..model };
    }
    if hidden.is_empty() {
        hidden = vec![32, 128, 256, 512, 1024];
    }

    let (device, fused) = args.place.open(Precision::F32)?;
    let precisions = match &args.precision[..] {
        [] if matches!(fused, Compute::Fused { .. }) => vec![Precision::F32, Precision::Mixed],
        [] => vec![Precision::F32],
        wanted => wanted.to_vec(),
    };
    let computes = precisions.into_iter().map(|precision| Ok(args.place.open(precision)?.1));
    let computes = computes.collect::<Result<Vec<Compute>>>()?;

    let (load, mut scan) = load(&mut config, args.seconds)?;
    let plan = |config: &mut Config, batch: u32| -> Result<Plan> {
        config.schedule.batch = Some(BatchSize::Positions(batch as usize));
        let mut plan = recipe::plan(config)?;
        plan.expected = Some(scan.train);
        plan.window = config.window(scan.train);
        Ok(plan)
    };
    let first = plan(&mut config, args.batch[0])?;
    let (encode, batches) = encode(&first, encoder(&config)?, args.seconds)?;

    let lap = args.seconds / LAPS as f64;
    // From here on there are temporary folders, which an interrupt must not leave behind.
    let interrupt = interrupts();
    let some = std::mem::take(&mut scan.some);
    let mut bench = Bench { config, plan: first, some, device, batches, lap, interrupt };
    let mut nets = Vec::new();
    for (place, &batch) in args.batch.iter().enumerate() {
        if place > 0 {
            bench.plan = plan(&mut bench.config, batch)?;
            bench.batches = some_batches(&bench.plan, encoder(&bench.config)?)?;
        }
        for &hidden in &hidden {
            for &compute in &computes {
                nets.push(bench.net(hidden as usize, compute)?);
            }
        }
    }
    let net = bench.config.architecture()?.context("the bench is for nets")?;
    let Batch { inputs: Inputs::Active(active), results, .. } = &bench.batches[0] else {
        bail!("the net's inputs are no lists; this is a bug of nnuance, please report it");
    };
    let first_views = active.indices.chunks_exact(active.places).step_by(active.views);
    let pieces = first_views.flatten().filter(|input| usize::from(**input) < active.rows).count();
    let figures = Figures {
        cpu: cpu(),
        threads: rayon::current_num_threads(),
        simd: match fused {
            Compute::Fused { level, .. } => Some(level.name()),
            Compute::Plain | Compute::Gpu { .. } => None,
        },
        gpu: Adapter::of(&bench.device).map(|adapter| adapter.to_string()),
        files: bench.config.data.files,
        positions: scan.read,
        kept: scan.train,
        pieces: pieces as f64 / results.len() as f64,
        net: Architecture { hidden: 0, ..net }.to_string().replace("-> 0", "-> N"),
        load,
        encode,
        nets,
        peak_memory_bytes: peak_memory(),
    };
    match args.json {
        true => out::line(serde_json::to_string_pretty(&figures)?),
        false => out::line(figures),
    }
}

/// Common to all nets.
struct Bench {
    config: Config,
    plan: Plan,
    /// Some of the positions.
    some: Vec<Sample>,
    device: Device,
    batches: Vec<Batch>,
    /// Seconds.
    lap: f64,
    interrupt: Arc<AtomicBool>,
}

/// Steps between rows of the log. Held-out positions and checkpoints are left out: a run has 20
/// of each, however long it is.
const ROWS: u64 = 100;

/// The same on a GPU.
const GPU_ROWS: u64 = 32;

impl Bench {
    fn net(&mut self, hidden: usize, compute: Compute) -> Result<NetFigures> {
        self.config.model.hidden = Some(hidden);
        let name = match compute {
            Compute::Plain => "plain",
            Compute::Fused { precision, .. } => precision.name(),
            Compute::Gpu { .. } => "gpu",
        };
        let batch = self.batches[0].len();
        let positions = self.plan.expected.unwrap_or(1);
        let need = Need::of(&self.kind()?, batch, compute, self.config.optimizer().kept());
        let need = need.map(|need| need.with_lists(positions, compute));
        need.map_or(Ok(()), |need| need.check(&self.device))?;
        let step = match is_gpu(&self.device) {
            true => std::thread::scope(|scope| {
                self.train(compute, laps::ahead(scope, &self.batches), &Clock::start())
            })?,
            false => {
                let clock = Clock::start();
                let cycle = Cycle { batches: self.batches.iter().cycle(), clock: &clock };
                self.train(compute, cycle, &clock)?
            }
        };
        let mut plan = self.plan.clone();
        recipe::plan_chunks(&mut plan, &self.config, compute, positions, &self.some);
        let stream = Stream::new(plan, encoder(&self.config)?, 0);
        let whole_run = self.train(compute, stream, &Clock::start())?;
        eprintln!("N = {hidden}, {name}: step {step}, whole run {whole_run} positions/s");
        let stages = match compute {
            Compute::Gpu { .. } => stages::of(self, compute)?,
            _ => Vec::new(),
        };
        Ok(NetFigures { hidden, batch, compute: name, step, whole_run, stages })
    }

    fn kind(&self) -> Result<Kind> {
        Ok(Kind::Net(self.config.architecture()?.context("the bench is for nets")?))
    }

    fn weights(&self) -> Result<Weights> {
        let net = self.config.architecture()?.context("the bench is for nets")?;
        Ok(initial(&net, self.config.seed))
    }

    fn train<E>(
        &self,
        compute: Compute,
        batches: impl Iterator<Item = Result<Batch, E>>,
        clock: &Clock,
    ) -> Result<Figure>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let config = &self.config;
        // A GPU is waited for at each row, so that its laps are those of what it has done.
        let rows = is_gpu(&self.device);
        // Far more steps than the laps have, so that the rates stay as they begin.
        let positions = self.plan.expected.unwrap_or(1);
        let span = Span { steps: 1 << 40, ..config.span(positions) };
        let over = |stages: Stages| stages.over(&span).map_err(Error::msg);
        let settings = Settings {
            steps: span.steps,
            learning_rate: over(config.learning_rate())?,
            wdl: over(config.target.wdl.clone())?,
            worths: config.worths(),
            sources: Vec::new(),
            loss: config.loss(),
            optimizer: config.optimizer(),
            // As at the end of the run.
            rounded: rounding::of_run(config)?.map(|rounding| Rounded { rounding, after: 0 }),
            validate_every: if rows { GPU_ROWS } else { ROWS },
            checkpoint_every: u64::MAX,
            patience: None,
            keep: None,
            earlier: Vec::new(),
        };
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let job = Training {
            kind: self.kind()?,
            compute,
            device: &self.device,
            settings: &settings,
            folder: folder.path(),
            held_out: &[],
            until: u64::MAX,
            ranks: &Alone,
        };
        let start = Checkpoint { weights: self.weights()?, ..Checkpoint::default() };
        let interrupt = self.interrupt.clone();
        let laps = Laps { clock, lap: self.lap, rows, interrupt, marks: Mutex::default() };
        train::run(&job, start, batches, &laps)?;
        ensure!(!self.interrupt.load(Ordering::SeqCst), "interrupted");
        laps.figure().context("the run ended before its laps")
    }
}

/// Batches that the steps repeat: more positions than the caches of most processors hold.
const BATCHES: usize = 4;

/// Reads the files as before each run. Keys of the filter that they do not serve are removed from
/// the config.
fn load(config: &mut Config, seconds: f64) -> Result<(Figure, Scan)> {
    let start = Instant::now();
    let found = read(config)?;
    let first = start.elapsed().as_secs_f64();
    // Large data is its own warm-up.
    let figure = match first > seconds {
        true => Figure::new(vec![found.read as f64 / first]),
        false => repeat(seconds, || Ok(read(config)?.read))?,
    };
    eprintln!("read {} files: {figure} positions/s", found.files.len());
    Ok((figure, found))
}

fn read(config: &mut Config) -> Result<Scan> {
    let bar = bar(None, "reading");
    loop {
        let scan = scan(&recipe::plan(config)?, 0, &|positions| bar.inc(positions));
        let filter = &mut config.data.filter;
        match &scan {
            Err(LoadError::Unknown { key: "min_ply", .. }) => filter.min_ply = None,
            Err(LoadError::Unknown { key: "max_score", .. }) => filter.max_score = None,
            Err(LoadError::Unknown { key: "skip_captures", .. }) => filter.skip_captures = false,
            Err(LoadError::Unknown { key: "skip_promotions", .. }) => {
                filter.skip_promotions = false;
            }
            Err(LoadError::NoScore { .. }) => config.target.wdl = Stages::constant(1.0),
            _ => {
                bar.finish_and_clear();
                return Ok(scan?);
            }
        }
    }
}

fn encoder(config: &Config) -> Result<Encoder> {
    let net = config.architecture()?.context("the bench is for nets")?;
    Ok(Encoder::net(&net))
}

/// Speed of the loader where nothing else works, and some of its batches.
fn encode(plan: &Plan, encoder: Encoder, seconds: f64) -> Result<(Figure, Vec<Batch>)> {
    let mut stream = Stream::new(plan.clone(), encoder, 0);
    let mut next = || stream.next().context("the loader ended")?.map_err(anyhow::Error::from);
    let batches = (0..BATCHES).map(|_| next()).collect::<Result<Vec<Batch>>>()?;
    // Batches that the loader has prepared meanwhile must not count.
    (0..2 * BATCHES).try_for_each(|_| next().map(drop))?;
    let figure = repeat(seconds, || Ok(next()?.len() as u64))?;
    eprintln!("encode: {figure} positions/s");
    Ok((figure, batches))
}

/// Some batches of the loader.
fn some_batches(plan: &Plan, encoder: Encoder) -> Result<Vec<Batch>> {
    let stream = Stream::new(plan.clone(), encoder, 0);
    stream.take(BATCHES).map(|batch| Ok(batch?)).collect()
}

/// The speed of a net.
#[derive(Serialize)]
struct NetFigures {
    hidden: usize,
    /// Positions a step.
    batch: usize,
    /// `f32` and `mixed` are the fused operations of the CPU, `gpu` those of a GPU.
    compute: &'static str,
    /// Loss, gradients and optimiser, on batches that are in memory already.
    step: Figure,
    /// Training as `nnuance train` does it.
    whole_run: Figure,
    /// Milliseconds of each stage on a GPU, waits included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<(&'static str, f64)>,
}

/// All figures. Those that this machine does not provide are left out.
#[derive(Serialize)]
struct Figures {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    threads: usize,
    /// None without fused operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    simd: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    files: Vec<PathBuf>,
    /// In the files.
    positions: u64,
    /// Positions that pass the filter.
    kept: u64,
    /// Kings included, on average.
    pieces: f64,
    /// The net in shorthand, with N for its size.
    net: String,
    /// Positions read, whether the filter keeps them or not.
    load: Figure,
    encode: Figure,
    nets: Vec<NetFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_bytes: Option<u64>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpu.as_deref().unwrap_or("unknown");
        let simd = self.simd.map_or(String::new(), |level| format!(", {level}"));
        writeln!(f, "processor  {cpu}: {} threads{simd}", self.threads)?;
        if let Some(gpu) = &self.gpu {
            writeln!(f, "GPU        {gpu}")?;
        }
        let (read, kept, pieces) = (grouped(self.positions), grouped(self.kept), self.pieces);
        writeln!(f, "positions  {read}, of which the filter keeps {kept}; {pieces:.1} pieces")?;
        if let Some(peak) = self.peak_memory_bytes {
            writeln!(f, "memory     {:.0} MiB at most", peak as f64 / f64::from(1 << 20))?;
        }
        writeln!(f, "load       {} positions/s, filtered and hashed", self.load)?;
        writeln!(f, "encode     {} positions/s, shuffled and encoded", self.encode)?;
        let mut nets = Table::new(&[
            (&format!("{}, N =", self.net), Align::Right),
            ("batch", Align::Right),
            ("operations", Align::Left),
            ("step, positions/s", Align::Right),
            ("whole run, positions/s", Align::Right),
        ]);
        let mut stages = Table::new(&[
            ("N", Align::Right),
            ("batch", Align::Right),
            ("stage on the GPU", Align::Left),
            ("ms, with the wait", Align::Right),
        ]);
        for net in &self.nets {
            let [hidden, batch] = [net.hidden.to_string(), grouped(net.batch as u64)];
            for (stage, milliseconds) in &net.stages {
                let time = format!("{milliseconds:.3}");
                stages.row([hidden.clone(), batch.clone(), stage.to_string(), time]);
            }
            let [step, whole_run] = [&net.step, &net.whole_run].map(Figure::to_string);
            nets.row([hidden, batch, net.compute.to_string(), step, whole_run]);
        }
        writeln!(f, "\n{nets}")?;
        if self.gpu.is_some() {
            writeln!(f, "{stages}")?;
        }
        let of_nets = self.nets.iter().flat_map(|net| [&net.step, &net.whole_run]);
        let spreads = [&self.load, &self.encode].into_iter().chain(of_nets).map(Figure::spread);
        let spread = 100.0 * spreads.fold(0.0, f64::max);
        write!(f, "Medians of {LAPS} laps, which differ by {spread:.0} % at most.")
    }
}

/// Name of the processor, on Linux.
fn cpu() -> Option<String> {
    entry("/proc/cpuinfo", "model name")
}

/// Peak memory of this process, on Linux.
fn peak_memory() -> Option<u64> {
    let kibibytes: u64 = entry("/proc/self/status", "VmHWM")?.split(' ').next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// The first entry of this name in a file of `name: value` lines.
fn entry(path: &str, name: &str) -> Option<String> {
    let text = input::text(Path::new(path), input::TEXT).ok()?;
    let mut entries = text.lines().filter_map(|line| line.split_once(':'));
    entries.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_string())
}
