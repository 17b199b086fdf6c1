//! Speed of finding and tuning handcrafted terms.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use super::laps::{Figure, LAPS};
use super::{Args, cpu};
use crate::cli::out;
use crate::cli::terminal::Terminal;
use crate::config::Config;
use crate::digits::{grouped, short};
use crate::loader::{Store, scan_terms};
use crate::model::{Aim, Compute, Evaluation as _, Kind, Model};
use crate::run::RunTerms;
use crate::run::recipe;
use crate::train::direct::Direct;
use crate::train::optimizer::Name;
use crate::train::ranks::Alone;

/// Figures of the bench.
#[derive(Serialize)]
struct TermsFigures {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    threads: usize,
    /// In the files.
    positions: u64,
    /// Of these, what the filter keeps.
    kept: u64,
    /// Files to terms in memory.
    load: Figure,
    /// Milliseconds of one gradient over all positions.
    gradient_ms: Vec<f64>,
    /// The same without the gradient.
    loss_ms: Vec<f64>,
    /// Milliseconds of one step of Gauss-Newton over all positions.
    newton_ms: Vec<f64>,
}

/// Measures training with a config of handcrafted terms, all positions at a time.
pub fn run(args: &Args, path: &Path) -> Result<()> {
    let mut config = Config::read(path, &args.overrides)?;
    (config.data.held_out, config.data.validation) = (0.0, Vec::new());
    let (device, compute) = args.place.named().open_for(&config)?;
    let plan = recipe::plan(&config)?;
    let terms = RunTerms::of(&config, None)?
        .context("the config trains a net; name its size with --hidden")?;
    let start = terms.start(config.model.start.as_deref(), &Terminal::default())?;
    let encoder = terms.encoder(&start);

    let (mut laps, mut loaded) = (Vec::new(), None);
    for _ in 0..LAPS {
        drop(loaded.take());
        let clock = Instant::now();
        let mut scan = scan_terms(&plan, u64::MAX, Some(&encoder), &|_| ())?;
        let kept = scan.kept.take().context("all positions are kept")?;
        let store = Store::encode(kept, &encoder);
        laps.push(scan.read as f64 / clock.elapsed().as_secs_f64());
        loaded = Some((scan, store));
    }
    let (scan, mut store) = loaded.context("there are laps")?;
    // As `train` does for passes over all positions.
    if matches!(compute, Compute::Fused { .. }) {
        store.by_term();
    }
    eprintln!("loaded");

    let weights = start.to_weights();
    let kind = Kind::Hce(terms.shape(&config));
    let model = Model::new(&kind, &weights, &device.clone().autodiff(), compute)?;
    let batch = store.all();
    let gradient_ms = milliseconds(args.seconds, || {
        let _ = model.slope(&batch.inputs, Aim::Targets(&batch.results));
        Ok(())
    })?;
    let still = model.clone();
    let loss_ms = milliseconds(args.seconds, || {
        let _ = still.logits(&batch.inputs);
        Ok(())
    })?;
    config.optimizer.name = Some(Name::GaussNewton);
    let settings = config.optimizer();
    let newton_ms = milliseconds(args.seconds, || {
        let mut method = Direct::new(&settings, &[]).map_err(anyhow::Error::msg)?;
        let goal = (&batch.results[..], &[][..], config.loss());
        method.step(&kind, weights.clone(), &batch.inputs, goal, None, &Alone)?;
        Ok(())
    })?;

    let figures = TermsFigures {
        cpu: cpu(),
        threads: rayon::current_num_threads(),
        positions: scan.read,
        kept: scan.train,
        load: Figure::new(laps),
        gradient_ms,
        loss_ms,
        newton_ms,
    };
    match args.json {
        true => out::line(serde_json::to_string_pretty(&figures)?),
        false => out::line(figures),
    }
}

/// The time of each run, at least [`LAPS`] of them.
fn milliseconds(seconds: f64, mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    work()?;
    let (mut times, begin) = (Vec::new(), Instant::now());
    while times.len() < LAPS || begin.elapsed().as_secs_f64() < seconds {
        let clock = Instant::now();
        work()?;
        times.push(1000.0 * clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

impl fmt::Display for TermsFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpu.as_deref().unwrap_or("unknown");
        writeln!(f, "processor  {cpu}: {} threads", self.threads)?;
        let (read, kept) = (grouped(self.positions), grouped(self.kept));
        writeln!(f, "positions  {read}, of which {kept} are kept")?;
        writeln!(f, "load       {} positions/s, files to terms", self.load)?;
        for (name, times) in [
            ("gradient ", &self.gradient_ms),
            ("values   ", &self.loss_ms),
            ("newton   ", &self.newton_ms),
        ] {
            let median = times[times.len() / 2];
            let rate = short(1000.0 * self.kept as f64 / median);
            write!(f, "{name}  {median:.2} ms over all positions (best {:.2}), ", times[0])?;
            writeln!(f, "{rate} positions/s")?;
        }
        write!(f, "Medians of {LAPS} runs or more.")
    }
}
