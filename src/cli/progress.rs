//! How a run shows on the terminal: a live line, and a row each time there is something to keep.

pub mod chart;

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::cluster;
use crate::digits::{grouped, short};
use crate::log::Row;
use crate::train::{Progress, Watch};
use chart::chart;

/// The line of a run whose end is known.
const LINE: &str =
    "{prefix} {bar:24} {human_pos} of {human_len} positions, {msg}{per_sec}, {eta} left";

/// A bar over positions, on stderr; nothing where stderr is no terminal.
pub fn bar(length: Option<u64>, what: &str) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (ProgressBar::new(length), LINE),
        None => (ProgressBar::no_length(), "{prefix} {human_pos} positions, {msg}{per_sec}"),
    };
    bar.set_style(style(template));
    bar.set_prefix(what.to_string());
    bar
}

/// A bar over pairs of games, on stderr.
pub fn pairs_bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length);
    bar.set_style(style("{bar:24} {human_pos} of {human_len} pairs, {games}, {eta} left; {msg}"));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("per_sec", |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}/s", short(state.per_sec()));
        })
        .with_key("games", |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{} games a minute", short(120.0 * state.per_sec()));
        })
}

/// Set by the first Ctrl-C; the second one ends the program at once. One flag for the process:
/// the quickstart trains twice.
pub fn interrupts() -> Arc<AtomicBool> {
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let listen = || {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        // The flag may have been set by another rank before.
        let pressed = AtomicBool::new(false);
        // If there can be no handler, Ctrl-C keeps its usual meaning.
        let _ = ctrlc::set_handler(move || {
            if pressed.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            if interrupt(&flag) && cluster::is_first() {
                eprintln!("\nstopping after this step; press Ctrl-C again to leave at once");
            }
        });
        stop
    };
    STOP.get_or_init(listen).clone()
}

/// Sets the flag of [`interrupts`]; returns whether it was not set.
pub fn interrupt(flag: &AtomicBool) -> bool {
    !flag.swap(true, Ordering::SeqCst)
}

/// Shows a training run.
pub struct Screen {
    start: Instant,
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
    held_out: Option<f64>,
    shown: Duration,
    chart: Option<Live>,
}

/// A chart above the bar.
struct Live {
    rows: Vec<Row>,
    total: u64,
    /// The lines as they stand on the terminal; the bar draws them.
    text: Arc<Mutex<String>>,
}

impl Live {
    /// Draws the chart anew, in the width that the terminal has now.
    fn add(&mut self, row: &Row, bar: &ProgressBar) {
        self.rows.push(*row);
        let Some(lines) = chart(&self.rows, self.total, width()) else { return };
        let first = self.text().is_empty();
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = lines.join("\n") + "\n";
        if first {
            let text = self.text.clone();
            let draw = move |_: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&text.lock().unwrap_or_else(PoisonError::into_inner));
            };
            bar.set_style(style(&format!("{{chart}}{LINE}")).with_key("chart", draw));
        }
        bar.tick();
    }

    /// Whole lines; empty before the first chart.
    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Characters a line of the terminal, where it is not too wide for a chart.
fn width() -> usize {
    const WIDEST: u16 = 200;
    let (_, columns) = Term::stderr().size();
    columns.min(WIDEST).into()
}

impl Screen {
    pub fn new(total: u64, done: u64, stop: Arc<AtomicBool>, chart: bool) -> Self {
        let bar = bar(Some(total), "training");
        bar.set_position(done);
        bar.reset_eta();
        eprintln!(
            "{:>8} {:>12} {:>11} {:>11} {:>11} {:>9} {:>12}",
            "step", "positions", "train loss", "validation", "vs result", "rate", "positions/s"
        );
        let (start, held_out, shown) = (Instant::now(), None, Duration::ZERO);
        let drawn = chart && !bar.is_hidden();
        let chart = drawn.then(|| Live { rows: Vec::new(), total, text: Arc::default() });
        Self { start, stop, bar, held_out, shown, chart }
    }
}

impl Drop for Screen {
    /// The bar goes, the chart stays.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some(live) = &self.chart {
            eprintln!("{}", live.text().trim_end());
        }
    }
}

impl Watch for Screen {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn step(&mut self, progress: &Progress) {
        let elapsed = self.start.elapsed();
        if elapsed - self.shown > Duration::from_millis(100) {
            self.shown = elapsed;
            let held_out =
                self.held_out.map_or(String::new(), |loss| format!("validation {loss:.6}, "));
            self.bar.set_message(format!("loss {:.6}, {held_out}", progress.loss));
            self.bar.set_position(progress.positions);
        }
    }

    fn row(&mut self, row: &Row) {
        self.held_out = row.held_out_loss;
        let loss = |loss: Option<f64>| loss.map_or("-".into(), |loss| format!("{loss:.6}"));
        let text = format!(
            "{:>8} {:>12} {:>11} {:>11} {:>11} {:>9} {:>12}",
            row.step,
            grouped(row.positions),
            loss(row.train_loss),
            loss(row.held_out_loss),
            loss(row.held_out_result_loss),
            row.learning_rate.map_or("-".into(), |rate| format!("{rate:.2e}")),
            row.positions_per_second.map_or("-".into(), short),
        );
        self.bar.suspend(|| eprintln!("{text}"));
        if let Some(live) = &mut self.chart {
            live.add(row, &self.bar);
        }
    }
}
