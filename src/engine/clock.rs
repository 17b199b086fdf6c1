//! Deadlines and stopwatches: the only clock of the engine module.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub struct Deadline {
    at: Instant,
    /// The whole time limit, in milliseconds.
    pub patience_ms: u64,
}

impl Deadline {
    pub fn after_milliseconds(patience_ms: u64) -> Self {
        // Capped at a hundred years, so that it cannot overflow.
        let capped = Duration::from_millis(patience_ms.min(1 << 42));
        Self { at: Instant::now() + capped, patience_ms }
    }

    /// The time left; zero after the deadline.
    pub fn time_left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

#[derive(Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds so far, rounded up.
    pub fn elapsed_milliseconds(&self) -> u64 {
        (self.0.elapsed().as_micros() as u64).div_ceil(1000)
    }
}

pub struct Alarm(Sender<(Instant, Arc<AtomicBool>)>);

impl Default for Alarm {
    fn default() -> Self {
        let (orders, ordered) = channel();
        thread::spawn(move || watch_alarms(&ordered));
        Self(orders)
    }
}

impl Alarm {
    /// Returns a flag that is raised after `milliseconds`, unless another one is set before.
    pub fn set_alarm(&self, milliseconds: u64) -> Arc<AtomicBool> {
        let flag = Arc::<AtomicBool>::default();
        let at = Instant::now() + Duration::from_millis(milliseconds.min(1 << 42));
        self.0.send((at, flag.clone())).expect("the thread ends after the alarm");
        flag
    }
}

fn watch_alarms(ordered: &Receiver<(Instant, Arc<AtomicBool>)>) {
    let mut next = ordered.recv().ok();
    while let Some((at, flag)) = next {
        next = match ordered.recv_timeout(at.saturating_duration_since(Instant::now())) {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => {
                flag.store(true, Ordering::Relaxed);
                ordered.recv().ok()
            }
            Err(RecvTimeoutError::Disconnected) => None,
        };
    }
}
