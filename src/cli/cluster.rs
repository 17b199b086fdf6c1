//! The processes that `mpirun` started, as ranks of one run.

#[cfg(feature = "mpi")]
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Error, Result, ensure};

use super::progress::interrupts;
use super::terminal::Terminal;
use crate::engine;
use crate::engine::post::Post;
use crate::loader::{Plan, Scan, TraceScan};
use crate::log::Row;
use crate::run::{Counter, Ending, Listener, Opening};
use crate::train::ranks::Ranks;
use crate::train::{Progress, Watch};

/// How many processes were started together, as Open MPI, MPICH and Slurm tell them.
fn crowd() -> usize {
    number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]).unwrap_or(1)
}

/// Whether this process is the one that speaks: rank 0, or the only one.
pub fn speaks() -> bool {
    number(&["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"]).unwrap_or(0) == 0
}

fn number(names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// An error where a command was started several times that is for one process.
pub fn refuse_crowds(spreads: bool) -> Result<()> {
    ensure!(
        crowd() == 1 || cfg!(feature = "mpi"),
        "{} of this program were started together, and it was built without MPI: each would do all \
         of the work; build it with `cargo install --path . --features mpi`, or start one alone",
        crowd()
    );
    ensure!(
        crowd() == 1 || spreads,
        "{} of this command were started together, and only `train`, `match`, `data selfplay`, \
         `data label` and `data resolve` share their work; start one without mpirun",
        crowd()
    );
    Ok(())
}

/// One of these stands in the environment of whoever was started by MPI.
#[cfg(feature = "mpi")]
const STARTED: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"];

/// The ranks of this process's run. It waits for so many seconds for one that is silent.
#[cfg(feature = "mpi")]
pub fn ranks(silence: u16) -> Result<&'static dyn Ranks> {
    match number(&STARTED) {
        None => Ok(&crate::train::ranks::Alone),
        Some(_) => Ok(world::World::join(silence)?),
    }
}

/// The only one.
#[cfg(not(feature = "mpi"))]
pub fn ranks(_: u16) -> Result<&'static dyn Ranks> {
    Ok(&crate::train::ranks::Alone)
}

/// Options of commands that spread games or positions over ranks.
#[derive(clap::Args)]
#[command(next_help_heading = "Several processes")]
pub struct Spread {
    /// Under `mpirun`: the seconds that another process may be silent for before all are given up
    #[arg(long, value_name = "SECONDS", default_value_t = 45)]
    silence: u16,
}

impl Spread {
    /// Where other ranks are; none where this process is alone.
    #[cfg(feature = "mpi")]
    pub fn post(&self) -> Result<Option<Arc<dyn Post>>> {
        let joined = number(&STARTED).map(|_| world::World::join(self.silence)).transpose()?;
        Ok(joined.and_then(world::World::post))
    }

    /// None.
    #[cfg(not(feature = "mpi"))]
    pub fn post(&self) -> Result<Option<Arc<dyn Post>>> {
        let _ = self.silence;
        Ok(None)
    }
}

/// Who hears what this rank does: the terminal, or nobody.
pub fn listener() -> Box<dyn Listener> {
    if speaks() { Box::new(Terminal::default()) } else { Box::new(Hush::that_stops()) }
}

/// What the ranks had to do with each other, on standard error.
pub fn said() {
    #[cfg(feature = "mpi")]
    if let Some(text) = world::World::joined().and_then(|world| world.text()) {
        eprintln!("{text}");
    }
}

/// All ranks have done their work.
pub fn leave() {
    #[cfg(feature = "mpi")]
    if let Some(world) = world::World::joined() {
        world.leave();
    }
}

/// Says why this process failed; with it end all others.
pub fn fail(error: &Error) {
    #[cfg(feature = "mpi")]
    if let Some(world) = world::World::joined() {
        world.fail(&format!("{error:#}"));
    }
    if speaks() {
        eprintln!("error: {error:#}");
    }
}

/// Hears what a rank does that does not speak.
pub struct Hush {
    stop: Arc<AtomicBool>,
}

impl Hush {
    /// One at which a signal stops training after a step.
    pub fn that_stops() -> Self {
        Self { stop: interrupts() }
    }
}

impl Listener for Hush {
    fn remark(&self, _: &str) {}

    fn count(&self, _: Option<u64>, _: &'static str) -> Counter {
        Box::new(|_| {})
    }

    fn scanned(&self, _: &Plan, _: &Scan) {}

    fn traced(&self, _: &Plan, _: &TraceScan) {}

    fn opens(&self, _: &Opening) {}

    fn watch(&self, _: u64, _: u64) -> Box<dyn Watch + '_> {
        Box::new(Ear { start: Instant::now(), stop: &self.stop })
    }

    fn ends(&self, _: &Ending) {}
}

impl engine::Watch for Hush {
    fn progress(&self, _: u64) {}

    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Knows the time, and whether to stop.
struct Ear<'a> {
    start: Instant,
    stop: &'a AtomicBool,
}

impl Watch for Ear<'_> {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn step(&mut self, _: &Progress) {}

    fn row(&mut self, _: &Row) {}
}
