//! The terminal, which hears what a run does.

mod look;
mod opening;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::ProgressBar;

use super::events;
use super::progress::{Screen, bar, interrupts};
use crate::events::Events;
use crate::loader::{Plan, Scan, TraceScan};
use crate::run::{Counter, Ending, Listener, Opening, folder};
use crate::train::{End, Watch};

/// Tells on stderr what it hears.
#[derive(Clone, Debug, Default)]
pub struct Terminal {
    stop: Arc<AtomicBool>,
    /// Whether to draw the losses.
    chart: bool,
    /// The folder of the run that leaves events.
    events: Option<PathBuf>,
}

impl Terminal {
    /// One at which Ctrl-C stops training after a step.
    pub fn that_stops(chart: bool) -> Self {
        Self { stop: interrupts(), chart, events: None }
    }

    /// One that also writes down for TensorBoard what the run in this folder tells.
    pub fn writing(self, folder: &Path) -> Self {
        Self { events: Some(folder.to_path_buf()), ..self }
    }

    /// The event file of a run that has so many positions behind it.
    fn opened(&self, done: u64) -> Option<Events> {
        let folder = self.events.as_ref()?;
        let opened = events::rows(folder).and_then(|mut rows| {
            // What a killed run did after its last checkpoint will be done again.
            rows.retain(|(row, _)| row.positions <= done);
            events::open(folder, &rows)
        });
        opened.inspect_err(|error| eprintln!("note: nothing for TensorBoard: {error:#}")).ok()
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

    fn traced(&self, plan: &Plan, scan: &TraceScan) {
        look::traced(plan, scan);
    }

    fn opens(&self, opening: &Opening) {
        opening::opens(opening);
    }

    fn watch(&self, total: u64, done: u64) -> Box<dyn Watch + '_> {
        let screen = Screen::new(total, done, self.stop.clone(), self.chart);
        Box::new(screen.writing(self.opened(done)))
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
        End::Finished => {}
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
