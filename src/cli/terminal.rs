//! Progress on the terminal: bars, rows of training, remarks, and Ctrl-C.

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::{INTERRUPTED, cluster};
use crate::digits::{format_short, group_digits};
use crate::log::{LogRow, TrainStep};
use crate::progress::Progress;

/// Time between progress lines if stderr is not a terminal.
const INTERVAL: Duration = Duration::from_secs(60);
/// All bars of the process, one under the other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Writes to stderr above the bars. A line after a bar would keep it on the screen.
pub fn write_above_bars(write: impl FnOnce()) {
    // `suspend` panics if the terminal is gone.
    match BARS.clear() {
        Ok(()) => BARS.suspend(write),
        Err(_) => write(),
    }
}

/// Clears all bars and ends the program.
pub fn exit_with(code: i32) -> ! {
    let _ = BARS.clear();
    std::process::exit(code)
}

/// Shows a progress bar on stderr until it is dropped, unless stderr is not a terminal. It fits the
/// width of the terminal, and shows speed and time left when they are known.
pub fn progress_bar(total: Option<u64>, work: &'static str) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{prefix} {wide_bar} {done}{msg}{rate}{left}"),
        None => (ProgressBar::no_length(), "{prefix} {done}{msg}{rate}{left}"),
    };
    let style = ProgressStyle::with_template(template).expect("a valid template");
    let style = style.with_key("done", write_done).with_key("rate", write_rate);
    let bar = bar.with_style(style.with_key("left", write_time_left)).with_prefix(work);
    if bar.is_hidden() { bar } else { BARS.add(bar) }
}

fn write_done(state: &ProgressState, out: &mut dyn Write) {
    let done = format_short(state.pos() as f64);
    let _ = match state.len() {
        Some(total) => write!(out, "{done} of {}", format_short(total as f64)),
        None => write!(out, "{done}"),
    };
}

fn write_rate(state: &ProgressState, out: &mut dyn Write) {
    if let Some(rate) = format_rate(state.per_sec()) {
        let _ = write!(out, ", {rate}");
    }
}

fn write_time_left(state: &ProgressState, out: &mut dyn Write) {
    let left = state.eta();
    if state.len().is_some() && state.per_sec() > 0.0 && !left.is_zero() {
        let _ = write!(out, ", {:#} left", HumanDuration(left));
    }
}

/// Sets the expected total of a bar from the share of the input that was read, 0 to 1.
pub fn estimate_total(bar: &ProgressBar, share: f64) {
    if share > 0.0 && share < 1.0 {
        bar.set_length((bar.position() as f64 / share) as u64);
    }
}

/// Formats seconds since 1970 as "2026-11-28 09:30 UTC". The calendar arithmetic is from
/// H. Hinnant's `civil_from_days`.
pub fn format_utc(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400 + 719_468, seconds / 60);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * march + 2) / 5 + 1, (march + 2) % 12 + 1);
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Formats the items per second, if there are any.
fn format_rate(per_second: f64) -> Option<String> {
    // Less than one game may be played per second.
    let rate = if per_second < 10.0 {
        format!("{per_second:.1}/s")
    } else {
        format!("{}/s", format_short(per_second))
    };
    (per_second >= 0.05).then_some(rate)
}

/// Returns a flag that the first Ctrl-C sets. The second one ends the program at once. The whole
/// process shares the flag: the quickstart trains several times.
pub fn catch_interrupts() -> Arc<AtomicBool> {
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let listen = || {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let pressed = AtomicBool::new(false);
        // Without a handler Ctrl-C keeps its usual effect.
        let _ = ctrlc::set_handler(move || {
            if pressed.swap(true, Ordering::SeqCst) {
                exit_with(INTERRUPTED.into());
            }
            // Another rank may have set the flag first.
            if !flag.swap(true, Ordering::SeqCst) && cluster::is_first() {
                eprintln!("stopping after this step; press Ctrl-C again to leave at once");
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
    silent: bool,
    /// Remarks so far, if there are many runs. None is printed twice, and tables are not printed.
    remarks: Option<Mutex<HashSet<String>>>,
    work: Mutex<Vec<Work>>,
}

struct Work {
    bar: ProgressBar,
    /// Time of the last update.
    last_update: Instant,
    /// Last validation loss.
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

    /// Creates a terminal whose work Ctrl-C stops in a resumable state.
    pub fn stoppable() -> Self {
        Self::new(catch_interrupts(), false)
    }

    /// Creates progress for many runs, which Ctrl-C stops in a resumable state.
    pub fn for_many_runs() -> Self {
        let mut terminal = Self::stoppable();
        terminal.remarks = Some(Mutex::default());
        terminal
    }

    /// Creates progress for ranks that do not print.
    pub fn silent() -> Self {
        Self::new(catch_interrupts(), true)
    }

    fn update_bar(&self, update: impl FnOnce(&mut Work)) {
        if let Some(work) = self.work.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            update(work);
        }
    }
}

impl Progress for Terminal {
    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn elapsed_seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn current_date(&self) -> Option<String> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(format_utc(since.as_secs()))
    }

    fn report_opening(&self, table: &str) {
        if self.remarks.is_none() {
            self.report_remark(&format!("{table}\n"));
        }
    }

    fn report_remark(&self, text: &str) {
        let is_repeated = self.remarks.as_ref().is_some_and(|remarks| {
            !remarks.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_string())
        });
        if !self.silent && !is_repeated {
            eprintln!("{text}");
        }
    }

    fn begin_work(&self, work: &'static str, total: Option<u64>, done: u64) {
        if done > 0 && work != "training" && !self.silent {
            eprintln!("resumed behind {} {work} of an earlier run", group_digits(done));
        }
        let bar = if self.silent { ProgressBar::hidden() } else { progress_bar(total, work) };
        bar.set_position(done);
        bar.reset_eta();
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let work = Work { bar, last_update: Instant::now(), validation: None, has_rows: false };
        self.work.lock().unwrap_or_else(PoisonError::into_inner).push(work);
    }

    fn advance_work(&self, count: u64) {
        self.update_bar(|work| {
            work.bar.inc(count);
            let (Some(total), true) = (work.bar.length(), work.bar.is_hidden()) else { return };
            if work.last_update.elapsed() >= INTERVAL && !self.silent {
                work.last_update = Instant::now();
                let [done, total] = [work.bar.position(), total].map(group_digits);
                let what = work.bar.prefix();
                let Some(speed) = format_rate(work.bar.per_sec()) else { return };
                let left = HumanDuration(work.bar.eta());
                eprintln!("{what} {done} of {total}, {speed}, {left} left");
            }
        });
    }

    fn report_message(&self, text: &str) {
        self.update_bar(|work| work.bar.set_message(format!(", {text}")));
    }

    fn end_work(&self) {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).pop();
    }

    fn report_step(&self, step: &TrainStep) {
        self.update_bar(|work| {
            if work.last_update.elapsed() > Duration::from_millis(100) {
                work.last_update = Instant::now();
                let validation = work.validation;
                let validation =
                    validation.map_or(String::new(), |loss| format!(", validation {loss:.5}"));
                work.bar.set_message(format!(", loss {:.5}{validation}", step.loss));
                work.bar.set_position(step.positions);
            }
        });
    }

    fn report_validation(&self, row: &LogRow) {
        if self.silent || self.remarks.is_some() {
            return;
        }
        let format_loss = |loss: Option<f64>| loss.map_or("-".into(), |loss| format!("{loss:.6}"));
        let columns = [
            ("step", 8, group_digits(row.step)),
            ("positions", 12, group_digits(row.positions)),
            ("train loss", 11, format_loss(row.train_loss)),
            ("validation", 11, format_loss(row.held_out_loss)),
            ("vs result", 11, format_loss(row.held_out_result_loss)),
            ("rate", 9, row.learning_rate.map_or("-".into(), |rate| format!("{rate:.2e}"))),
            ("positions/s", 12, row.positions_per_second.map_or("-".into(), format_short)),
        ];
        self.update_bar(|work| {
            work.validation = row.held_out_loss;
            if !std::mem::replace(&mut work.has_rows, true) {
                let titles = columns.each_ref().map(|(title, width, _)| format!("{title:>width$}"));
                eprintln!("{}", titles.join(" "));
            }
            eprintln!("{}", columns.map(|(_, width, value)| format!("{value:>width$}")).join(" "));
        });
    }
}
