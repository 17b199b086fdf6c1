//! What a bench found, for people and for programs.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::digits::{grouped, short};
use crate::report::{Align, Table};

/// A speed.
#[derive(Serialize)]
pub struct Figure {
    /// The median of the laps.
    positions_per_second: f64,
    laps: Vec<f64>,
}

impl Figure {
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
}

/// A stage of a step.
#[derive(Serialize)]
pub struct StageFigure {
    pub stage: &'static str,
    /// The median.
    pub milliseconds: f64,
    /// Read and written, as far as they grow with the batch.
    pub bytes: usize,
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
            for StageFigure { stage, milliseconds, bytes } in stages {
                table.row([
                    hidden.to_string(),
                    grouped(*batch as u64),
                    stage.to_string(),
                    format!("{milliseconds:.3}"),
                    format!("{:.0}", *bytes as f64 / *batch as f64),
                    format!("{:.1}", *bytes as f64 / milliseconds / 1e6),
                ]);
            }
        }
        table
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
        if self.gpu.is_some() {
            writeln!(f, "{}", self.stages())?;
        }

        let of_nets = self.nets.iter().flat_map(|net| [&net.step, &net.whole_run]);
        let spreads = [&self.load, &self.encode].into_iter().chain(of_nets).map(Figure::spread);
        let spread = 100.0 * spreads.fold(0.0, f64::max);
        write!(f, "Medians of {} laps, which differ by {spread:.0} % at most.", super::LAPS)
    }
}
