//! `nnuance bench`: speed of the stages of training, on real positions.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Serialize;

use super::options::DeviceArgs;
use super::out;
use super::terminal::{catch_interrupts, progress_bar};
use crate::architecture::Architecture;
use crate::batch::Batch;
use crate::config::{BatchSize, Config, Net, Schedule};
use crate::digits::{format_decimal_percent, format_short, group_digits};
use crate::input;
use crate::loader::{
    Encoder, Filter, LoadError, PassOrder, Passes, Scan, Stream, StreamPlan, scan,
};
use crate::log::{LogRow, TrainStep};
use crate::model::{
    Adapter, AdapterKind, Aim, Compute, Copies, Device, KernelStage, LossGradients, Model,
    ModelKind, Precision, initial_weights, is_gpu,
};
use crate::progress::Progress;
use crate::report::TextTable;
use crate::resume_point::ResumePoint;
use crate::run::folder::RunFolder;
use crate::run::train::{RunContext, begin_training};
use crate::run::{DeviceOptions, data_plan};
use crate::train::ranks::SingleRank;
use crate::train::schedule::Stages;

/// Measure the speed of reading, encoding, steps and runs
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance bench --hidden 32,1024 --seconds 6
  nnuance bench --net configs/net-5-deep.toml
  nnuance bench --device auto --hidden 256,1024 --batch 16384,65536")]
#[command(after_help = "\
Figures are positions per second. Stages before training are measured alone.
A step is loss, gradients and optimiser on batches in memory. A run is what
`nnuance train` does, without held-out positions, on data that are kept in
memory and on data that stream by. Files keep the filter of the quickstart if
they have what it needs.")]
pub struct Args {
    /// Files of positions
    #[arg(long, value_name = "FILE", num_args = 1.., default_value = "data/selfplay-sf15.vf")]
    data: Vec<PathBuf>,
    /// Sizes of the hidden layer [default: 32,128,256,512,1024; that of --net]
    #[arg(long, value_name = "N,...")]
    #[arg(value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: Vec<u32>,
    /// Config of the net to measure [default: a simple net]
    #[arg(long, value_name = "CONFIG")]
    net: Option<PathBuf>,
    /// Positions of a step
    #[arg(long, value_name = "POSITIONS,...", default_value = "16384")]
    #[arg(value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    batch: Vec<u32>,
    /// Seconds of a figure, in three laps, after a warm-up of a second at most
    #[arg(long, default_value = "3", value_parser = parse_seconds)]
    seconds: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.03..=3600.0).contains(&number) => Ok(number),
        _ => Err("a number from 0.03 to 3600".into()),
    }
}

/// The base config of the bench, with filter, targets and optimiser.
const CONFIG: &str = include_str!("../../configs/quickstart-net.toml");

pub fn run_command(args: Args) -> Result<()> {
    let base_config = Config::parse_text(CONFIG, "configs/quickstart-net.toml", &[])?;
    let mut hidden = args.hidden;
    let net = args.net.as_ref().map(|path| {
        let net = Config::read_file(path, &[])?.file.net.clone();
        net.with_context(|| format!("{} is no config of a net", path.display()))
    });
    let net = net.transpose()?;
    if hidden.is_empty() {
        let default_sizes = || vec![32, 128, 256, 512, 1024];
        hidden = net.as_ref().map_or_else(default_sizes, |net| vec![net.hidden as u32]);
    }
    // The bench sets targets and scale, which a base or a format would change.
    let net = net.map(|net| Net { start: None, base: None, tune_base: false, format: None, ..net });
    let mut config = base_config.with_changes(|file| {
        file.data.files = args.data;
        (file.data.held_out, file.data.validation) = (0.0, Vec::new());
        file.net = net.or(file.net.take());
    })?;

    let options = args.device.to_options();
    let (device, fused) = options.open_device(Precision::F32)?;
    let has_mixed =
        matches!(fused, Compute::Fused { .. }) && net_architecture(&config)?.fits_mixed_precision();
    let precisions =
        if has_mixed { vec![Precision::F32, Precision::Mixed] } else { vec![Precision::F32] };
    let lap = args.seconds / LAPS as f64;
    let Scan { some: sample, counts, is_whole, .. } = load_data(&mut config)?;
    let fits = is_whole && counts.train <= config.max_positions_in_memory();
    let copied = if is_gpu(&device) { Some(copy_rate(&device)?) } else { None };
    let (mut loading, mut nets) = (None, Vec::new());
    for &batch in &args.batch {
        config = config.with_changes(|file| {
            // Far more steps than the laps have, so that the learning rate stays constant.
            file.schedule = Schedule {
                batch: Some(BatchSize::Positions(batch as usize)),
                positions: Some(u64::from(batch) << 30),
                validations: if is_gpu(&device) { (1 << 30) / GPU_ROWS } else { 1 },
                learning_rate: file.schedule.learning_rate.clone(),
                ..Schedule::default()
            };
        })?;
        let order = data_plan::pass_order(&config, None);
        let mut plan = StreamPlan::new(data_plan::read_plan(&config), order);
        let encoder = Encoder::for_net(net_architecture(&config)?);
        let stream = Stream::new(plan.clone(), encoder.clone(), 0);
        let batches = stream.take(BATCHES).collect::<Result<Vec<Batch>, _>>()?;
        if loading.is_none() {
            let (order, facts) = (&plan.order, &plan.facts);
            plan.layout = data_plan::choose_layout(&config, fused, order, facts, &sample);
            loading = Some(Loading::measure_stages(&plan, encoder, lap)?);
        }
        let (options, device) = (&options, &device);
        let mut bench =
            Bench { config, options, device, batches, positions: counts.train, fits, lap, copied };
        for &hidden in &hidden {
            for &precision in &precisions {
                nets.push(bench.measure_net(hidden as usize, precision)?);
            }
        }
        config = bench.config;
    }
    let net = Architecture { hidden: 0, ..net_architecture(&config)?.clone() };
    let figures = Figures {
        cpu: processor_name(),
        threads: rayon::current_num_threads(),
        simd: match fused {
            Compute::Fused { level, .. } => Some(level.name()),
            Compute::Plain | Compute::Gpu { .. } => None,
        },
        gpu: Adapter::properties_of(&device).map(|adapter| adapter.to_string()),
        copied_per_second: copied,
        files: &config.file.data.files,
        positions: counts.read,
        kept: counts.train,
        net: net.to_string().replace("-> 0", "-> N"),
        loading: loading.context("no batch size is given")?,
        nets,
    };
    out::print_result(args.json, &figures, figures.to_text())
}

#[derive(Serialize)]
struct Figures<'a> {
    cpu: Option<String>,
    threads: usize,
    simd: Option<&'static str>,
    gpu: Option<String>,
    /// Bytes that a GPU reads and writes in a second of copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_per_second: Option<f64>,
    files: &'a [PathBuf],
    /// Positions in the files, and those that the filter keeps.
    positions: u64,
    kept: u64,
    net: String,
    loading: Loading,
    nets: Vec<NetFigures>,
}

impl Figures<'_> {
    fn to_text(&self) -> String {
        let mut facts = TextTable::of_facts();
        let simd = self.simd.map_or(String::new(), |level| format!(", {level}"));
        let cpu = self.cpu.as_deref().unwrap_or("unknown");
        facts.add_row(["processor", &format!("{cpu}: {} threads{simd}", self.threads)]);
        self.gpu.iter().for_each(|gpu| facts.add_row(["GPU", gpu]));
        if let Some(copied) = self.copied_per_second {
            facts.add_row(["", &format!("{:.0} GB/s in copies", copied / 1e9)]);
        }
        let [read, kept] = [self.positions, self.kept].map(group_digits);
        facts.add_row(["positions", &format!("{read}, of which the filter keeps {kept}")]);
        facts.add_row(["net", &self.net]);
        let nets = self
            .nets
            .iter()
            .flat_map(|net| [Some(&net.step), net.kept.as_ref(), Some(&net.streamed)]);
        let all = nets.flatten().chain(self.loading.stage_figures().map(|it| it.1));
        let spread = 100.0 * all.map(Figure::relative_spread).fold(0.0, f64::max);
        let mut stages = TextTable::with_titles(&["<stage", "positions/s", "ns of a thread"]);
        for (stage, figure) in self.loading.stage_figures() {
            let thread = 1e9 * self.threads as f64 / figure.positions_per_second;
            stages.add_row([stage, &figure.to_text(), &format!("{thread:.1}")]);
        }
        let nets = table_of_nets(&self.nets);
        format!(
            "{facts}\n{stages}\n{nets}\nMedians of {LAPS} laps, which differ by {spread:.0} % at most."
        )
    }
}

fn table_of_nets(nets: &[NetFigures]) -> String {
    let titles =
        ["N", "batch", "<operations", "step", "run, in memory", "first pass", "run, streamed"];
    let mut speeds = TextTable::with_titles(&titles);
    let titles = ["N", "batch", "<stage on the GPU", "ms, with the wait", "of copies' rate"];
    let mut stages = TextTable::with_titles(&titles);
    for net in nets {
        let [hidden, batch] = [net.hidden.to_string(), group_digits(net.batch as u64)];
        for (stage, milliseconds, share) in &net.stages {
            let time = format!("{milliseconds:.3}");
            let share = share.map_or("-".into(), |share| format_decimal_percent(share, 0));
            stages.add_row([hidden.clone(), batch.clone(), stage.to_string(), time, share]);
        }
        let [step, streamed] = [&net.step, &net.streamed].map(Figure::to_text);
        let kept = net.kept.as_ref().map_or("-".into(), Figure::to_text);
        let first_pass = net.first_pass.map_or("-".into(), format_short);
        speeds.add_row([hidden, batch, net.compute.to_string(), step, kept, first_pass, streamed]);
    }
    if stages.is_empty() { speeds.to_string() } else { format!("{speeds}\n{stages}") }
}

/// State that all nets of a batch size share.
struct Bench<'a> {
    config: Config,
    options: &'a DeviceOptions,
    device: &'a Device,
    batches: Vec<Batch>,
    /// Positions that the filter keeps, and whether they fit in memory.
    positions: u64,
    fits: bool,
    /// Seconds of a lap.
    lap: f64,
    /// Bytes per second of a GPU's copies.
    copied: Option<f64>,
}

/// Steps between rows of the log on a GPU. A row waits for the GPU, so that laps have finished work.
const GPU_ROWS: u64 = 32;
/// Largest number of positions that are shuffled together if data are streamed.
const MAX_STREAMED: u64 = 1 << 22;

impl Bench<'_> {
    fn measure_net(&mut self, hidden: usize, precision: Precision) -> Result<NetFigures> {
        let (_, compute) = self.options.open_device(precision)?;
        self.config = self.config.with_changes(|file| {
            let nets = file.net.iter_mut();
            nets.for_each(|net| (net.hidden, net.precision) = (hidden, Some(precision)));
        })?;
        let name = match compute {
            Compute::Plain => "plain",
            Compute::Fused { precision, .. } => precision.name(),
            Compute::Gpu { .. } => "gpu",
        };
        let batch = self.batches[0].len();
        let step = self.measure_step(compute)?;
        let window = (self.positions / 2).clamp(1, MAX_STREAMED);
        let (streamed, _) = self.whole_run(Some(window as usize))?;
        let (kept, first_pass) = match self.fits {
            true => self.whole_run(None).map(|(kept, first_pass)| (Some(kept), first_pass))?,
            false => (None, None),
        };
        let [steps, runs] = [&step, &streamed].map(Figure::to_text);
        eprintln!("N = {hidden}, {name}: step {steps}, streamed {runs} positions/s");
        let stages = match compute {
            Compute::Gpu { .. } => self.measure_stages(compute)?,
            _ => Vec::new(),
        };
        Ok(NetFigures { hidden, batch, compute: name, step, kept, first_pass, streamed, stages })
    }

    fn build_model(&self, compute: Compute) -> Result<Model> {
        let net = net_architecture(&self.config)?;
        let weights = initial_weights(net, self.config.file.seed);
        let device = self.device.clone().autodiff();
        Ok(Model::new(&ModelKind::Net(net.clone()), &weights, &device, compute)?)
    }

    fn measure_step(&self, compute: Compute) -> Result<Figure> {
        let mut model = Some(self.build_model(compute)?);
        let mut batches = self.batches.iter().cycle();
        let mut optimizer = self.config.optimizer.clone().build_optimizer(compute);
        let steps = if is_gpu(self.device) { GPU_ROWS } else { 1 };
        let mut work = || {
            let mut positions = 0;
            for batch in batches.by_ref().take(steps as usize) {
                let before = model.take().context("a step gives the model back")?;
                let touched = before.touched_rows(&batch.inputs);
                let before = optimizer.catch_up(before, Some(&touched));
                let loss = before.loss_gradients(&batch.inputs, Aim::Targets(&batch.results));
                model = Some(optimizer.step_model(RATE, before, loss.gradients, &loss.touched));
                positions += batch.len() as u64;
            }
            wait_for(self.device)?;
            Ok(positions)
        };
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < self.lap.min(WARM_UP) {
            work()?;
        }
        measure_laps(self.lap, work)
    }

    /// Measures a run that shuffles a window of its data; None: all data are in memory. Also returns
    /// the positions per second of the first pass.
    fn whole_run(&self, window: Option<usize>) -> Result<(Figure, Option<f64>)> {
        let config = self.config.with_changes(|file| file.data.window = window)?;
        let rows = is_gpu(self.device);
        let (marks, passed) = Default::default();
        let pass = self.positions;
        let laps = Laps { start: Instant::now(), lap: self.lap, rows, marks, pass, passed };
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let run_folder = RunFolder::lock_new(folder.path(), false, &laps)?;
        let (device, ranks) = (self.options, &SingleRank);
        let context = RunContext { device, listener: &laps, page: false, ranks };
        begin_training(config, &run_folder, &context)?;
        ensure!(!catch_interrupts().load(Ordering::SeqCst), "interrupted");
        let first_pass = laps.first_pass();
        Ok((laps.median_figure().context("the run ended before its laps")?, first_pass))
    }

    /// Measures the median milliseconds of each stage, which the device finishes before the next. The
    /// share compares the rate at which it reads and writes rows and parameters with that of copies.
    fn measure_stages(&self, compute: Compute) -> Result<Vec<(&'static str, f64, Option<f64>)>> {
        let mut model = self.build_model(compute)?;
        let mut optimizer = self.config.optimizer.clone().build_optimizer(compute);
        let mut times = vec![Vec::new(); STAGES.len()];
        for step in 0..=TIMED {
            let batch = &self.batches[step % self.batches.len()];
            let (clock, lap) = (RefCell::new(Instant::now()), RefCell::new([0.0; STAGES.len()]));
            let end_stage = |stage: usize| {
                let seconds = clock.replace(Instant::now()).elapsed().as_secs_f64();
                lap.borrow_mut()[stage] += 1000.0 * seconds;
            };
            let end_kernel = |stage: KernelStage| end_stage(stage as usize);
            let Model::Net(net) = &model else { bail!("the bench is for nets") };
            let LossGradients { gradients, touched, .. } =
                net.loss_gradients(&batch.inputs, Aim::Targets(&batch.results), Some(&end_kernel));
            wait_for(self.device)?;
            end_stage(4);
            model = optimizer.step_model(RATE, model, gradients, &touched);
            wait_for(self.device)?;
            end_stage(5);
            if step > 0 {
                times.iter_mut().zip(lap.into_inner()).for_each(|(times, time)| times.push(time));
            }
        }
        let stages = STAGES.into_iter().zip(&mut times).map(|(stage, times)| {
            times.sort_by(f64::total_cmp);
            (stage, times[TIMED / 2])
        });
        let net = net_architecture(&self.config)?;
        let lists = self.batches[0].inputs.one_hot().lists();
        let active = lists.indices.iter().filter(|row| *row < lists.rows).count();
        let row = net.column_count() * size_of::<f32>();
        let parameters: usize = net.list_arrays().iter().map(|array| array.len()).sum();
        let bytes = |stage: &str| match stage {
            // Rows, and accumulators or their gradients.
            "forward" => Some((active + lists.len() * net.perspective_count()) * row),
            "backward" => Some((active + net.row_count()) * row),
            // A parameter, two means and the gradient; all but the last are written.
            "optimiser" => Some(7 * parameters * size_of::<f32>()),
            _ => None,
        };
        let share = |stage, milliseconds: f64| {
            let rate = bytes(stage)? as f64 / (milliseconds / 1000.0);
            self.copied.map(|copied| rate / copied)
        };
        Ok(stages.map(|(stage, time)| (stage, time, share(stage, time))).collect())
    }
}

fn wait_for(device: &Device) -> Result<()> {
    device.sync().map_err(|error| anyhow!("the device failed: {error}"))
}

/// Measures the bytes that a GPU reads and writes in a second.
fn copy_rate(device: &Device) -> Result<f64> {
    const COPIES: usize = 8;
    let is_software = AdapterKind::kind_of(device) == Some(AdapterKind::Software);
    let numbers = if is_software { 1 << 18 } else { 1 << 27 };
    let mut copies = Copies::new(numbers, device);
    let mut start = Instant::now();
    for copy in 0..=COPIES {
        copies.count_copy();
        if copy == 0 {
            wait_for(device)?;
            start = Instant::now();
        }
    }
    wait_for(device)?;
    Ok((2 * COPIES * numbers * size_of::<f32>()) as f64 / start.elapsed().as_secs_f64())
}

/// Number of timed steps, after one that compiles the kernels. An odd number has a median.
const TIMED: usize = 9;
/// Learning rate; no figure depends on it.
const RATE: f64 = 1e-3;
/// All stages in order: each [`KernelStage`], then the two that follow the kernels.
const STAGES: [&str; 6] =
    ["upload of positions", "forward", "index", "backward", "gradients handed on", "optimiser"];

/// Number of batches that the steps repeat: more positions than most caches hold.
const BATCHES: usize = 4;

/// Reads the files as a run does. The config drops filter and scores if the files lack them.
fn load_data(config: &mut Config) -> Result<Scan> {
    let scan = read_data(config);
    if let Err(LoadError::Unknown { .. } | LoadError::NoScore { .. }) = scan {
        *config = config.with_changes(|file| {
            file.data.filter = Filter::default();
            file.target.wdl = Stages::constant(1.0);
        })?;
        return Ok(read_data(config)?);
    }
    Ok(scan?)
}

fn read_data(config: &Config) -> Result<Scan, LoadError> {
    let bar = progress_bar(None, "reading");
    scan(&data_plan::read_plan(config), config.max_positions_in_memory(), &|positions| {
        bar.inc(positions)
    })
}

fn net_architecture(config: &Config) -> Result<&Architecture> {
    config.architecture().context("the bench is for nets")
}

/// Speed of the stages before training, for streamed data, with nothing else running.
#[derive(Serialize)]
struct Loading {
    /// Reading, filtering and splitting.
    read: Figure,
    /// The same with shuffling.
    shuffled: Figure,
    /// The same with encoding.
    encoded: Figure,
}

/// Number of positions in memory while these stages are measured.
const WINDOW: usize = 1 << 20;

impl Loading {
    fn measure_stages(plan: &StreamPlan, encoder: Encoder, lap: f64) -> Result<Self> {
        let order = PassOrder { window: WINDOW, ..plan.order };
        let plan = StreamPlan { order, ..plan.clone() };
        let mut passes = Passes::new(&plan, &ResumePoint::default())?;
        let read = measure_laps(lap, || Ok(passes.skim_block()?))?;
        let mut passes = Passes::new(&plan, &ResumePoint::default())?;
        let shuffled = repeat_filled(lap, || Ok(passes.take_bin()?.0.len() as u64))?;
        let mut stream = Stream::new(plan, encoder, 0);
        let next = || Ok(stream.next().context("the loader ended")??.len() as u64);
        Ok(Self { read, shuffled, encoded: repeat_filled(lap, next)? })
    }

    fn stage_figures(&self) -> [(&'static str, &Figure); 3] {
        [
            ("read, filtered, split", &self.read),
            ("the same and shuffled", &self.shuffled),
            ("the same and encoded", &self.encoded),
        ]
    }
}

#[derive(Serialize)]
struct NetFigures {
    hidden: usize,
    /// Positions of a step.
    batch: usize,
    /// Operations: `f32` and `mixed` are those of the CPU, `gpu` those of a GPU.
    compute: &'static str,
    /// Speed of loss, gradients and optimiser, on batches in memory.
    step: Figure,
    /// Speed of `nnuance train` with data in memory, and, below, with streamed data.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Figure>,
    /// Positions per second of the first pass over data in memory, in which chunks are encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_pass: Option<f64>,
    streamed: Figure,
    /// Milliseconds of each stage on a GPU, waits included, and its share of the rate of copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<(&'static str, f64, Option<f64>)>,
}

/// Returns the name of the processor, on Linux.
fn processor_name() -> Option<String> {
    let text = input::read_text(Path::new("/proc/cpuinfo"), input::TEXT).ok()?;
    let mut entries = text.lines().filter_map(|line| line.split_once(':'));
    entries.find(|(key, _)| key.trim() == "model name").map(|(_, name)| name.trim().to_string())
}

/// Number of laps of a figure. Their median ignores one disturbance.
const LAPS: usize = 3;
/// Longest warm-up in seconds. It uses up batches that were encoded ahead.
const WARM_UP: f64 = 1.0;

#[derive(Serialize)]
struct Figure {
    positions_per_second: f64,
    laps: Vec<f64>,
}

impl Figure {
    /// Creates a figure from the positions per second of an odd number of laps.
    fn new(laps: Vec<f64>) -> Self {
        let mut sorted = laps.clone();
        sorted.sort_by(f64::total_cmp);
        Self { positions_per_second: sorted[sorted.len() / 2], laps }
    }

    /// Returns the range of the laps, as a share of the median.
    fn relative_spread(&self) -> f64 {
        let fastest = self.laps.iter().copied().fold(f64::MIN, f64::max);
        let slowest = self.laps.iter().copied().fold(f64::MAX, f64::min);
        (fastest - slowest) / self.positions_per_second
    }

    fn to_text(&self) -> String {
        format_short(self.positions_per_second)
    }
}

/// Measures laps after `work` has filled the memory, which must not count.
fn repeat_filled(lap: f64, mut work: impl FnMut() -> Result<u64>) -> Result<Figure> {
    let mut passed = 0;
    while passed < 2 * WINDOW as u64 {
        passed += work()?;
    }
    measure_laps(lap, work)
}

/// Runs `work` for three laps of `lap` seconds. It returns the number of processed positions.
fn measure_laps(lap: f64, mut work: impl FnMut() -> Result<u64>) -> Result<Figure> {
    let mut laps = Vec::new();
    while laps.len() < LAPS {
        let (start, mut positions) = (Instant::now(), 0);
        while start.elapsed().as_secs_f64() < lap {
            positions += work()?;
            ensure!(!catch_interrupts().load(Ordering::SeqCst), "interrupted");
        }
        laps.push(positions as f64 / start.elapsed().as_secs_f64());
    }
    Ok(Figure::new(laps))
}

/// Progress of a training run that stops after a warm-up and [`LAPS`] laps.
struct Laps {
    start: Instant,
    /// Shortest lap in seconds; a lap ends with a step.
    lap: f64,
    /// Whether laps end with rows of the log instead of steps: a GPU may be far behind.
    rows: bool,
    /// Seconds and positions at the first step, at the end of the warm-up, and of each lap.
    marks: Mutex<Vec<(f64, u64)>>,
    /// Positions of a pass, and below seconds and positions at the end of the first one.
    pass: u64,
    passed: OnceLock<(f64, u64)>,
}

impl Laps {
    fn lock_marks(&self) -> std::sync::MutexGuard<'_, Vec<(f64, u64)>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the positions per second between the first step and the end of the first pass.
    fn first_pass(&self) -> Option<f64> {
        let (end, positions) = *self.passed.get()?;
        let (start, before) = *self.lock_marks().first()?;
        (positions > before).then(|| (positions - before) as f64 / (end - start))
    }

    /// Returns the figure; None if the run was interrupted before the last lap ended.
    fn median_figure(&self) -> Option<Figure> {
        let marks = self.lock_marks();
        let laps = marks.windows(2).skip(1);
        let speeds = laps.map(|ends| (ends[1].1 - ends[0].1) as f64 / (ends[1].0 - ends[0].0));
        (marks.len() == 2 + LAPS).then(|| Figure::new(speeds.collect()))
    }

    fn record_mark(&self, positions: u64) {
        let now = self.elapsed_seconds();
        let mut marks = self.lock_marks();
        if positions >= self.pass {
            self.passed.get_or_init(|| (now, positions));
        }
        let due = match marks[..] {
            // The first step waits until the data are read.
            [] => now,
            [(first, _)] => first + self.lap.min(WARM_UP),
            [.., (last, _)] => last + self.lap,
        };
        if now >= due {
            marks.push((now, positions));
        }
    }
}

impl Progress for Laps {
    fn elapsed_seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn should_stop(&self) -> bool {
        self.lock_marks().len() == 2 + LAPS || catch_interrupts().load(Ordering::SeqCst)
    }

    fn report_step(&self, step: &TrainStep) {
        if !self.rows {
            self.record_mark(step.positions);
        }
    }

    fn report_validation(&self, row: &LogRow) {
        if self.rows && row.step > 0 {
            self.record_mark(row.positions);
        }
    }
}
