//! Progress on the terminal: bars, rows of training, remarks, and Ctrl-C.

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::cluster;
use crate::digits::{grouped, short};
use crate::log::{Row, TrainStep};
use crate::progress::Progress;

/// Time between progress lines if stderr is not a terminal.
const INTERVAL: Duration = Duration::from_secs(60);

/// A progress bar on stderr; nothing if stderr is not a terminal.
pub fn bar(total: Option<u64>, work: &'static str) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{prefix} {bar:24} {human_pos} of {human_len}, {msg}{rate}, {eta} left",
        ),
        None => (ProgressBar::no_length(), "{prefix} {human_pos} {msg}{rate}"),
    };
    let speed = |state: &ProgressState, out: &mut dyn Write| {
        let _ = out.write_str(&rate(state.per_sec()));
    };
    let style = ProgressStyle::with_template(template).expect("a valid template");
    bar.with_style(style.with_key("rate", speed)).with_prefix(work)
}

fn rate(per_second: f64) -> String {
    // Games are slower than one a second.
    if per_second < 10.0 {
        format!("{per_second:.1}/s")
    } else {
        format!("{}/s", short(per_second))
    }
}

/// Flag set by the first Ctrl-C; the second one ends the program at once. All of the process shares
/// it: the quickstart trains several times.
pub fn interrupts() -> Arc<AtomicBool> {
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let listen = || {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let pressed = AtomicBool::new(false);
        // Without a handler Ctrl-C keeps its usual effect.
        let _ = ctrlc::set_handler(move || {
            if pressed.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            // Another rank may have set the flag first.
            if !flag.swap(true, Ordering::SeqCst) && cluster::is_first() {
                eprintln!("\nstopping after this step; press Ctrl-C again to leave at once");
            }
        });
        stop
    };
    STOP.get_or_init(listen).clone()
}

/// Progress of a command on stderr.
pub struct Terminal {
    start: Instant,
    stop: Arc<AtomicBool>,
    /// Whether nothing is printed.
    silent: bool,
    /// Remarks so far, where there are many runs: none is made twice, and tables are left out.
    remarks: Option<Mutex<HashSet<String>>>,
    work: Mutex<Vec<Work>>,
}

/// Work in progress.
struct Work {
    bar: ProgressBar,
    start: Instant,
    /// Items of an earlier run.
    before: u64,
    /// Time of the last update.
    shown: Instant,
    /// The last validation loss.
    validation: Option<f64>,
    has_rows: bool,
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new(Arc::default(), false)
    }
}

impl Terminal {
    fn new(stop: Arc<AtomicBool>, silent: bool) -> Self {
        Self { start: Instant::now(), stop, silent, remarks: None, work: Mutex::default() }
    }

    /// Creates progress for work that Ctrl-C stops in a resumable state.
    pub fn that_stops() -> Self {
        Self::new(interrupts(), false)
    }

    /// Creates the same for many runs.
    pub fn brief() -> Self {
        let mut terminal = Self::that_stops();
        terminal.remarks = Some(Mutex::default());
        terminal
    }

    /// Creates progress for ranks that do not print.
    pub fn silent() -> Self {
        Self::new(interrupts(), true)
    }

    fn work(&self) -> MutexGuard<'_, Vec<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self, show: impl FnOnce(&mut Work)) {
        if let Some(work) = self.work().last_mut() {
            show(work);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.work().drain(..).for_each(|work| work.bar.finish_and_clear());
    }
}

impl Progress for Terminal {
    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn opening(&self, table: &str) {
        if self.remarks.is_none() {
            self.remark(&format!("{table}\n"));
        }
    }

    fn remark(&self, text: &str) {
        let is_old = self.remarks.as_ref().is_some_and(|remarks| {
            !remarks.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_string())
        });
        if self.silent || is_old {
            return;
        }
        match self.work().last() {
            Some(work) => work.bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    fn begin(&self, work: &'static str, total: Option<u64>, done: u64) {
        let bar = if self.silent { ProgressBar::hidden() } else { bar(total, work) };
        bar.set_position(done);
        bar.reset_eta();
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        if done > 0 && work != "training" && !self.silent {
            eprintln!("resumed behind {} {work} of an earlier run", grouped(done));
        }
        let start = Instant::now();
        self.work().push(Work {
            bar,
            start,
            before: done,
            shown: start,
            validation: None,
            has_rows: false,
        });
    }

    fn advance(&self, count: u64) {
        self.shown(|work| {
            work.bar.inc(count);
            let (Some(total), true) = (work.bar.length(), work.bar.is_hidden()) else { return };
            if work.shown.elapsed() >= INTERVAL && !self.silent {
                work.shown = Instant::now();
                let done = work.bar.position();
                let speed = (done - work.before) as f64 / work.start.elapsed().as_secs_f64();
                let left = (total.saturating_sub(done) as f64 / speed) as u64;
                eprintln!(
                    "{} {} of {}, {}, {} left",
                    work.bar.prefix(),
                    grouped(done),
                    grouped(total),
                    rate(speed),
                    HumanDuration(Duration::from_secs(left))
                );
            }
        });
    }

    fn message(&self, text: &str) {
        self.shown(|work| work.bar.set_message(format!("{text}, ")));
    }

    fn end(&self) {
        let ended = self.work().pop();
        if let Some(work) = ended {
            work.bar.finish_and_clear();
        }
    }

    fn step(&self, step: &TrainStep) {
        self.shown(|work| {
            if work.shown.elapsed() > Duration::from_millis(100) {
                work.shown = Instant::now();
                let validation = work.validation;
                let validation =
                    validation.map_or(String::new(), |loss| format!("validation {loss:.6}, "));
                work.bar.set_message(format!("loss {:.6}, {validation}", step.loss));
                work.bar.set_position(step.positions);
            }
        });
    }

    fn row(&self, row: &Row) {
        if self.silent || self.remarks.is_some() {
            return;
        }
        let loss = |loss: Option<f64>| loss.map_or("-".into(), |loss| format!("{loss:.6}"));
        let line = |cells: [String; 7]| {
            let [step, positions, train, validation, result, rate, speed] = cells;
            eprintln!(
                "{step:>8} {positions:>12} {train:>11} {validation:>11} {result:>11} {rate:>9} \
                 {speed:>12}"
            );
        };
        self.shown(|work| {
            let is_first = !std::mem::replace(&mut work.has_rows, true);
            work.bar.suspend(|| {
                if is_first {
                    line(TITLES.map(String::from));
                }
                line([
                    row.step.to_string(),
                    grouped(row.positions),
                    loss(row.train_loss),
                    loss(row.held_out_loss),
                    loss(row.held_out_result_loss),
                    row.learning_rate.map_or("-".into(), |rate| format!("{rate:.2e}")),
                    row.positions_per_second.map_or("-".into(), short),
                ]);
            });
            work.validation = row.held_out_loss;
        });
    }
}

/// Titles of the columns of training progress.
const TITLES: [&str; 7] =
    ["step", "positions", "train loss", "validation", "vs result", "rate", "positions/s"];
