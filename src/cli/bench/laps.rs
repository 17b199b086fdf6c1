//! Laps of a training run on a clock that can stand still.

use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use crate::batch::Batch;
use crate::digits::short;
use crate::log::{Row, TrainStep};
use crate::progress::Progress;

/// Laps of a figure: their median ignores one disturbance.
pub const LAPS: usize = 3;

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

    /// The difference of the laps, as a share of the median.
    pub fn spread(&self) -> f64 {
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

/// Works for three laps; `work` returns how many positions it went through.
pub fn repeat(seconds: f64, mut work: impl FnMut() -> Result<u64>) -> Result<Figure> {
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

/// Batches that are copied ahead, as many as the loader has ready.
const AHEAD: usize = 4;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time since its start, without what was left out.
pub struct Clock {
    start: Instant,
    left_out: Mutex<Duration>,
}

impl Clock {
    pub fn start() -> Self {
        Self { start: Instant::now(), left_out: Mutex::default() }
    }

    fn seconds(&self) -> f64 {
        (self.start.elapsed() - *lock(&self.left_out)).as_secs_f64()
    }

    /// Does something while the clock stands still.
    fn leave_out<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        *lock(&self.left_out) += start.elapsed();
        result
    }
}

/// The same batches over and over. Training wants its own; the time to copy them does not count.
pub struct Cycle<'a> {
    pub batches: std::iter::Cycle<std::slice::Iter<'a, Batch>>,
    pub clock: &'a Clock,
}

impl Iterator for Cycle<'_> {
    type Item = std::result::Result<Batch, Infallible>;

    fn next(&mut self) -> Option<Self::Item> {
        self.clock.leave_out(|| self.batches.next().cloned()).map(Ok)
    }
}

/// The same, copied ahead by a thread: a GPU would go on computing while the clock stands still. It
/// ends when nobody takes them any more.
pub fn ahead<'a>(
    scope: &'a Scope<'a, '_>,
    batches: &'a [Batch],
) -> impl Iterator<Item = std::result::Result<Batch, Infallible>> + use<'a> {
    let (sender, ahead) = sync_channel(AHEAD);
    scope.spawn(move || {
        let copies = batches.iter().cycle().cloned();
        copies.map(Ok).map_while(|batch| sender.send(batch).ok()).for_each(drop);
    });
    ahead.into_iter()
}

/// Watches a training run for a warm-up and [`LAPS`] laps, and then stops it.
pub struct Laps<'a> {
    pub clock: &'a Clock,
    /// Seconds of a lap, at least; a lap ends with a step.
    pub lap: f64,
    /// Whether laps end with rows of the log rather than with steps: a GPU may be far behind the
    /// steps that it was told of.
    pub rows: bool,
    pub interrupt: Arc<AtomicBool>,
    /// Seconds and positions at the first step, at the end of the warm-up, and of each lap.
    pub marks: Mutex<Vec<(f64, u64)>>,
}

/// The longest warm-up in seconds: caches fill and threads wake up within milliseconds, but
/// batches that were encoded ahead have to be used up.
const WARM_UP: f64 = 1.0;

impl Laps<'_> {
    /// None if the run was interrupted before the last lap ended.
    pub fn figure(&self) -> Option<Figure> {
        let marks = lock(&self.marks);
        let laps = marks.windows(2).skip(1);
        let speeds = laps.map(|ends| (ends[1].1 - ends[0].1) as f64 / (ends[1].0 - ends[0].0));
        (marks.len() == 2 + LAPS).then(|| Figure::new(speeds.collect()))
    }
}

impl Progress for Laps<'_> {
    fn seconds(&self) -> f64 {
        self.clock.seconds()
    }

    fn stop(&self) -> bool {
        lock(&self.marks).len() == 2 + LAPS || self.interrupt.load(Ordering::SeqCst)
    }

    fn step(&self, step: &TrainStep) {
        if !self.rows {
            self.mark(step.positions);
        }
    }

    fn row(&self, row: &Row) {
        if self.rows && row.step > 0 {
            self.mark(row.positions);
        }
    }
}

impl Laps<'_> {
    fn mark(&self, positions: u64) {
        let now = self.clock.seconds();
        let mut marks = lock(&self.marks);
        let due = match marks[..] {
            // The first step waits until the data is read.
            [] => now,
            [(first, _)] => first + self.lap.min(WARM_UP),
            [.., (last, _)] => last + self.lap,
        };
        if now >= due {
            marks.push((now, positions));
        }
    }
}
