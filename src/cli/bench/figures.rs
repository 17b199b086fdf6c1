//! What a bench found, for people and for programs.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::digits::{grouped, short};
use crate::model::Limits;
use crate::report::{Align, Table};

/// A speed.
#[derive(Serialize)]
pub struct Figure {
    /// The median of the laps.
    positions_per_second: f64,
    laps: Vec<f64>,
}

impl Figure {
    /// Milliseconds that so many positions take.
    pub fn milliseconds(&self, positions: usize) -> f64 {
        1000.0 * positions as f64 / self.positions_per_second
    }

    /// From the positions per second of an odd number of laps.
    pub fn new(laps: Vec<f64>) -> Self {
        let mut sorted = laps.clone();
        sorted.sort_by(f64::total_cmp);
        Self { positions_per_second: sorted[sorted.len() / 2], laps }
    }

    /// By how much the laps differ, as a share of the median.
    fn spread(&self) -> f64 {
        let most = self.laps.iter().copied().fold(f64::MIN, f64::max);
        let least = self.laps.iter().copied().fold(f64::MAX, f64::min);
        (most - least) / self.positions_per_second
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short(self.positions_per_second).fmt(f)
    }
}

/// The speed of a net.
#[derive(Serialize)]
pub struct NetFigures {
    pub hidden: usize,
    /// Positions a step.
    pub batch: usize,
    /// `f32` and `mixed` are the fused operations of the CPU, `gpu` those of a GPU.
    pub compute: &'static str,
    /// Loss, gradients and optimiser, on batches that are there already.
    pub step: Figure,
    /// Training as `nnuance train` does it.
    pub whole_run: Figure,
    /// The time line of a step on a GPU that is waited for after each stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageFigure>,
    /// What the processor does for it meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
}

/// Milliseconds that say something of a stage: waits differ by some hundredths.
const LEAST: f64 = 0.02;

/// A stage of a step.
#[derive(Serialize)]
pub struct StageFigure {
    pub stage: &'static str,
    /// The median, with the wait for its end.
    pub milliseconds: f64,
    /// What such a wait takes where there is nothing to wait for.
    pub wait_milliseconds: f64,
    /// Read and written, as far as they grow with the batch.
    pub bytes: usize,
}

impl StageFigure {
    /// What it takes without the wait.
    pub fn by_itself(&self) -> f64 {
        (self.milliseconds - self.wait_milliseconds).max(0.0)
    }
}

/// What a processor does for a step on a GPU, while nobody waits.
#[derive(Serialize)]
pub struct Told {
    pub host: Vec<HostFigure>,
    /// All of them.
    pub host_milliseconds: f64,
    /// A step in training.
    pub step_milliseconds: f64,
    /// What the GPU computes for it, stage by stage, without what waiting takes.
    pub device_milliseconds: f64,
    /// The share of a step in which the GPU has nothing to do, at least.
    pub idle_share: f64,
    /// Kernels of our own, and arrays that are sent to them.
    pub launches: u64,
    pub uploads: u64,
    pub uploaded_bytes_per_position: f64,
    /// How far the first loss and its gradients are from those of the processor, as shares.
    pub loss_apart: f64,
    pub gradients_apart: f64,
}

/// A task of the processor.
#[derive(Serialize)]
pub struct HostFigure {
    pub task: &'static str,
    /// The median.
    pub milliseconds: f64,
}

/// What a GPU is and does by itself. What nobody tells is left out.
#[derive(Serialize)]
pub struct CardFigures {
    pub name: String,
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    pub largest_buffer: u64,
    pub limits: Limits,
    /// An empty launch that is waited for.
    pub round_trip_microseconds: f64,
    /// One of many that are told at once.
    pub launch_microseconds: f64,
    pub sizes: Vec<SizeFigure>,
}

/// The speed of moving so many bytes at a time.
#[derive(Serialize)]
pub struct SizeFigure {
    pub bytes: usize,
    pub upload_gigabytes_per_second: f64,
    /// On the device, read and written.
    pub copy_gigabytes_per_second: f64,
}

/// Bytes that a position takes.
#[derive(Serialize)]
pub struct Bytes {
    pub on_disk: f64,
    pub in_window: usize,
    pub in_batch: f64,
}

/// Everything. What this machine does not tell is left out.
#[derive(Serialize)]
pub struct Figures {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    pub threads: usize,
    /// None without fused operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simd: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<CardFigures>,
    pub files: Vec<PathBuf>,
    /// In the files.
    pub positions: u64,
    /// Of these, what passes the filter.
    pub kept: u64,
    /// Kings included, on average.
    pub pieces: f64,
    pub bytes_per_position: Bytes,
    /// The net, in the shorthand that it is written in, with N for its size.
    pub net: String,
    /// Positions read, whether the filter keeps them or not.
    pub load: Figure,
    pub encode: Figure,
    pub nets: Vec<NetFigures>,
    /// Of the whole program before it came to the plain operations of `--plain-too`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

impl Figures {
    /// The time lines of a step of all nets.
    fn stages(&self) -> Table {
        let mut table = Table::new(&[
            ("N", Align::Right),
            ("batch", Align::Right),
            ("stage", Align::Left),
            ("ms", Align::Right),
            ("bytes a position", Align::Right),
            ("GB/s", Align::Right),
        ]);
        for NetFigures { hidden, batch, stages, .. } in &self.nets {
            for stage in stages {
                let (milliseconds, bytes) = (stage.by_itself(), stage.bytes);
                table.row([
                    hidden.to_string(),
                    grouped(*batch as u64),
                    stage.stage.to_string(),
                    format!("{milliseconds:.3}"),
                    format!("{:.0}", bytes as f64 / *batch as f64),
                    // What a wait is off by leaves nothing of some stages.
                    match milliseconds > LEAST {
                        true => format!("{:.1}", bytes as f64 / milliseconds / 1e6),
                        false => "-".to_string(),
                    },
                ]);
            }
        }
        table
    }
}

impl Figures {
    /// What the processor does for a step of each net, and how busy the GPU is.
    fn told(&self) -> [Table; 2] {
        let mut tasks = Table::new(&[
            ("N", Align::Right),
            ("batch", Align::Right),
            ("processor, a step", Align::Left),
            ("ms", Align::Right),
        ]);
        let mut steps = Table::new(&[
            ("N", Align::Right),
            ("batch", Align::Right),
            ("step, ms", Align::Right),
            ("processor", Align::Right),
            ("GPU", Align::Right),
            ("GPU idle", Align::Right),
            ("launches", Align::Right),
            ("uploads", Align::Right),
            ("bytes a position", Align::Right),
            ("loss, gradients apart from flex", Align::Right),
        ]);
        for NetFigures { hidden, batch, told, .. } in &self.nets {
            let Some(told) = told else { continue };
            let net = [hidden.to_string(), grouped(*batch as u64)];
            for HostFigure { task, milliseconds } in &told.host {
                let [hidden, batch] = net.clone();
                tasks.row([hidden, batch, task.to_string(), format!("{milliseconds:.3}")]);
            }
            let [hidden, batch] = net;
            steps.row([
                hidden,
                batch,
                format!("{:.3}", told.step_milliseconds),
                format!("{:.3}", told.host_milliseconds),
                format!("{:.3}", told.device_milliseconds),
                format!("{:.0} %", 100.0 * told.idle_share),
                told.launches.to_string(),
                told.uploads.to_string(),
                format!("{:.0}", told.uploaded_bytes_per_position),
                format!("{:.0e}, {:.0e}", told.loss_apart, told.gradients_apart),
            ]);
        }
        [tasks, steps]
    }
}

impl fmt::Display for CardFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { units, shared_memory, buffers, planes, cache, processors, target } =
            &self.limits;
        let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
        let told = |bytes: Option<u64>| bytes.map_or("not told".into(), mebibytes);
        let count = processors.map_or("not told".into(), |count| count.to_string());
        writeln!(f, "{}: {}, {target}", self.name, self.kind)?;
        writeln!(f, "driver     {}", self.driver.as_deref().unwrap_or("not told"))?;
        writeln!(
            f,
            "memory     {}, cache {}, a buffer {} at most",
            told(self.memory),
            told(cache.map(|bytes| bytes as u64)),
            mebibytes(self.largest_buffer)
        )?;
        writeln!(
            f,
            "limits     {units} units a cube, {shared_memory} bytes shared, {buffers} buffers, \
             planes of {} to {}, processors {count}",
            planes[0], planes[1]
        )?;
        let (alone, many) = (self.round_trip_microseconds, self.launch_microseconds);
        writeln!(f, "launch     {many:.1} us of many, {alone:.0} us waited for")?;
        let mut table = Table::new(&[
            ("bytes", Align::Right),
            ("upload, GB/s", Align::Right),
            ("copy on the GPU, GB/s", Align::Right),
        ]);
        for size in &self.sizes {
            table.row([
                grouped(size.bytes as u64),
                format!("{:.2}", size.upload_gigabytes_per_second),
                format!("{:.2}", size.copy_gigabytes_per_second),
            ]);
        }
        write!(f, "\n{table}")
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bytes { on_disk, in_window, in_batch } = &self.bytes_per_position;
        let cpu = self.cpu.as_deref().unwrap_or("unknown");
        let simd = self.simd.map_or(String::new(), |level| format!(", {level}"));
        writeln!(f, "processor  {cpu}: {} threads{simd}", self.threads)?;
        if let Some(gpu) = &self.gpu {
            writeln!(f, "GPU        {gpu}")?;
        }
        let files: Vec<String> = self.files.iter().map(|it| it.display().to_string()).collect();
        let (read, kept) = (grouped(self.positions), grouped(self.kept));
        writeln!(f, "data       {}", files.join(", "))?;
        writeln!(
            f,
            "positions  {read}, of which the filter keeps {kept}; {:.1} pieces",
            self.pieces
        )?;
        write!(f, "bytes      a position has {on_disk:.1} on disk, {in_window} in the window, ")?;
        writeln!(f, "{in_batch:.0} in a batch")?;
        if let Some(peak) = self.peak_memory_bytes {
            writeln!(f, "memory     {:.0} MiB at most", peak as f64 / f64::from(1 << 20))?;
        }

        let mut data = Table::new(&[("data", Align::Left), ("positions/s", Align::Right)]);
        data.row(["files, filtered and hashed".to_string(), self.load.to_string()]);
        data.row(["batches, shuffled and encoded".to_string(), self.encode.to_string()]);
        writeln!(f, "\n{data}")?;

        let mut nets = Table::new(&[
            (&format!("{}, N =", self.net), Align::Right),
            ("batch", Align::Right),
            ("operations", Align::Left),
            ("step, positions/s", Align::Right),
            ("whole run, positions/s", Align::Right),
        ]);
        for NetFigures { hidden, batch, compute, step, whole_run, .. } in &self.nets {
            let (step, whole_run) = (step.to_string(), whole_run.to_string());
            let batch = grouped(*batch as u64);
            nets.row([hidden.to_string(), batch, compute.to_string(), step, whole_run]);
        }
        writeln!(f, "{nets}")?;
        if let Some(card) = &self.card {
            let [tasks, steps] = self.told();
            writeln!(f, "{}\n{tasks}\n{steps}\n{card}", self.stages())?;
        }

        let of_nets = self.nets.iter().flat_map(|net| [&net.step, &net.whole_run]);
        let spreads = [&self.load, &self.encode].into_iter().chain(of_nets).map(Figure::spread);
        let spread = 100.0 * spreads.fold(0.0, f64::max);
        write!(f, "Medians of {} laps, which differ by {spread:.0} % at most.", super::LAPS)
    }
}
