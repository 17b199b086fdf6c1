//! Deadlines and stopwatches: the only clock of the engine module.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub struct Deadline {
    end: Instant,
    /// Whole time limit in milliseconds.
    pub patience_ms: u64,
}

impl Deadline {
    pub fn after_milliseconds(patience_ms: u64) -> Self {
        // Capped at a hundred years, so that it cannot overflow.
        let capped = Duration::from_millis(patience_ms.min(1 << 42));
        Self { end: Instant::now() + capped, patience_ms }
    }

    /// Returns the time left; zero after the deadline.
    pub fn time_left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

#[derive(Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the milliseconds so far, rounded up.
    pub fn elapsed_milliseconds(&self) -> u64 {
        (self.0.elapsed().as_micros() as u64).div_ceil(1000)
    }
}

pub struct Alarm(Sender<(Instant, Arc<AtomicBool>)>);

impl Default for Alarm {
    fn default() -> Self {
        let (sender, alarms) = channel();
        thread::spawn(move || watch_alarms(&alarms));
        Self(sender)
    }
}

impl Alarm {
    /// Returns a flag that is raised after `milliseconds`, unless another one is set before.
    pub fn set_alarm(&self, milliseconds: u64) -> Arc<AtomicBool> {
        let flag = Arc::<AtomicBool>::default();
        let time = Instant::now() + Duration::from_millis(milliseconds.min(1 << 42));
        self.0.send((time, flag.clone())).expect("the thread ends after the alarm");
        flag
    }
}

fn watch_alarms(alarms: &Receiver<(Instant, Arc<AtomicBool>)>) {
    let mut next = alarms.recv().ok();
    while let Some((time, flag)) = next {
        next = match alarms.recv_timeout(time.saturating_duration_since(Instant::now())) {
            Ok(alarm) => Some(alarm),
            Err(RecvTimeoutError::Timeout) => {
                flag.store(true, Ordering::Relaxed);
                alarms.recv().ok()
            }
            Err(RecvTimeoutError::Disconnected) => None,
        };
    }
}
