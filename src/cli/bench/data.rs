//! The speed of data on its way to training.

use std::time::Instant;

use anyhow::{Context, Result};

use super::figures::Figure;
use super::laps::LAPS;
use crate::batch::Batch;
use crate::cli::progress::bar;
use crate::config::Config;
use crate::loader::{Encoder, LoadError, Plan, Scan, Stream, scan};
use crate::run::recipe;
use crate::train::stages::Stages;

/// Batches that the steps go round: more positions than the caches of most processors hold.
const BATCHES: usize = 4;

/// Reads the files as before each run. The config loses what they cannot serve.
pub fn load(config: &mut Config, seconds: f64) -> Result<(Figure, Scan)> {
    let start = Instant::now();
    let found = look(config)?;
    let first = start.elapsed().as_secs_f64();
    // Large data is its own warm-up.
    let figure = match first > seconds {
        true => Figure::new(vec![found.read as f64 / first]),
        false => repeat(seconds, || Ok(look(config)?.read))?,
    };
    eprintln!("read {} files: {figure} positions/s", found.files.len());
    Ok((figure, found))
}

fn look(config: &mut Config) -> Result<Scan> {
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
        if let Err(LoadError::Unknown { path, key, .. }) = scan {
            eprintln!("{} does not serve the filter's `{key}`, so it is off", path.display());
        }
    }
}

/// What a net sees.
pub fn encoder(config: &Config) -> Result<Encoder> {
    let net = config.architecture()?.context("the bench is for nets")?;
    Ok(Encoder::net(&net))
}

/// What the loader yields where nothing else works, and some of its batches.
pub fn encode(plan: &Plan, encoder: Encoder, seconds: f64) -> Result<(Figure, Vec<Batch>)> {
    let mut stream = Stream::new(plan.clone(), encoder, 0);
    let mut next = || stream.next().context("the loader ended")?.map_err(anyhow::Error::from);
    let batches = (0..BATCHES).map(|_| next()).collect::<Result<Vec<Batch>>>()?;
    // What the loader has prepared meanwhile must not count.
    (0..2 * BATCHES).try_for_each(|_| next().map(drop))?;
    let figure = repeat(seconds, || Ok(next()?.len() as u64))?;
    eprintln!("encode: {figure} positions/s");
    Ok((figure, batches))
}

/// Some batches of the loader.
pub fn batches(plan: &Plan, encoder: Encoder) -> Result<Vec<Batch>> {
    let stream = Stream::new(plan.clone(), encoder, 0);
    stream.take(BATCHES).map(|batch| Ok(batch?)).collect()
}

/// Works for three laps; `work` returns how many positions it went through.
fn repeat(seconds: f64, mut work: impl FnMut() -> Result<u64>) -> Result<Figure> {
    let mut laps = Vec::new();
    while laps.len() < LAPS {
        let (start, mut positions) = (Instant::now(), 0);
        while start.elapsed().as_secs_f64() < seconds / LAPS as f64 {
            positions += work()?;
        }
        laps.push(positions as f64 / start.elapsed().as_secs_f64());
    }
    Ok(Figure::new(laps))
}
