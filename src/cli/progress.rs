//! How a run shows on the terminal: a live line, and a row each time there is something to keep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::train::log::Row;
use crate::train::{Progress, Watch};

/// A bar over positions, on stderr; nothing where stderr is no terminal.
pub fn bar(length: Option<u64>, what: &str) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (
            ProgressBar::new(length),
            "{prefix} {bar:24} {human_pos} of {human_len} positions, {msg}{per_sec}, {eta} left",
        ),
        None => (ProgressBar::no_length(), "{prefix} {human_pos} positions, {msg}{per_sec}"),
    };
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("per_sec", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{}/s", short(state.per_sec()));
        });
    bar.set_style(style);
    bar.set_prefix(what.to_string());
    bar
}

/// 1234567 as "1.23 M".
pub fn short(number: f64) -> String {
    match number.abs() {
        n if n >= 1e9 => format!("{:.2} G", number / 1e9),
        n if n >= 1e6 => format!("{:.2} M", number / 1e6),
        n if n >= 1e4 => format!("{:.1} k", number / 1e3),
        _ => format!("{number:.0}"),
    }
}

/// 1234567 as "1,234,567".
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Set by the first Ctrl-C; the second one ends the program at once. One flag for the process:
/// the quickstart trains twice.
pub fn interrupts() -> Arc<AtomicBool> {
    static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let listen = || {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        // If there can be no handler, Ctrl-C keeps its usual meaning.
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            eprintln!("\nstopping after this step; press Ctrl-C again to leave at once");
        });
        stop
    };
    STOP.get_or_init(listen).clone()
}

/// Shows a training run.
pub struct Screen {
    start: Instant,
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
    held_out: Option<f64>,
    shown: Duration,
}

impl Screen {
    pub fn new(total: u64, done: u64, stop: Arc<AtomicBool>) -> Self {
        let bar = bar(Some(total), "training");
        bar.set_position(done);
        bar.reset_eta();
        eprintln!(
            "{:>8} {:>12} {:>11} {:>11} {:>11} {:>9} {:>12}",
            "step", "positions", "train loss", "held out", "vs result", "rate", "positions/s"
        );
        let (start, held_out, shown) = (Instant::now(), None, Duration::ZERO);
        Self { start, stop, bar, held_out, shown }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
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
                self.held_out.map_or(String::new(), |loss| format!("held out {loss:.6}, "));
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
    }
}
