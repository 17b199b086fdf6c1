//! The terminal, which hears what a run does.

mod look;
mod opening;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::ProgressBar;

use super::progress::{Screen, bar, interrupts};
use crate::loader::{Plan, Scan};
use crate::run::{Counter, Ending, Listener, Opening, folder};
use crate::train::{End, Watch};

/// Tells on stderr what it hears.
#[derive(Clone, Debug, Default)]
pub struct Terminal {
    stop: Arc<AtomicBool>,
    /// Whether to draw the losses.
    chart: bool,
}

impl Terminal {
    /// One at which Ctrl-C stops training after a step.
    pub fn that_stops(chart: bool) -> Self {
        Self { stop: interrupts(), chart }
    }
}

impl Listener for Terminal {
    fn remark(&self, text: &str) {
        eprintln!("{text}");
    }

    fn count(&self, total: Option<u64>, what: &'static str) -> Counter {
        let bar = bar(total, what);
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let bar = Cleared(bar);
        Box::new(move |count| bar.add(count))
    }

    fn scanned(&self, plan: &Plan, scan: &Scan) {
        look::scanned(plan, scan);
    }

    fn opens(&self, opening: &Opening) {
        opening::opens(opening);
    }

    fn watch(&self, total: u64, done: u64) -> Box<dyn Watch + '_> {
        Box::new(Screen::new(total, done, self.stop.clone(), self.chart))
    }

    fn ends(&self, ending: &Ending) {
        ends(ending);
    }
}

/// Says how training ended.
fn ends(ending: &Ending) {
    let Ending { end, step, steps, direct, folder } = *ending;
    match end {
        End::Interrupted => eprintln!(
            "stopped at step {step} of {steps}; {} holds everything. Go on with\n  \
             nnuance train --resume {}",
            folder.join(folder::LAST).display(),
            folder.display()
        ),
        End::Early => {
            eprintln!("stopped at step {step} of {steps}: the validation loss no longer fell");
        }
        End::Converged => eprintln!("converged at step {step}: no step makes the loss fall"),
        End::Finished if direct => {
            eprintln!("ended at step {step}, as the config says; it has not converged yet");
        }
        End::Finished | End::Round => {}
    }
}

/// A bar that goes with its work.
struct Cleared(ProgressBar);

impl Cleared {
    fn add(&self, count: u64) {
        self.0.inc(count);
    }
}

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
