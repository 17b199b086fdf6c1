//! The page of a run while it trains: curves and settings, rewritten after validations.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use crate::log::{self, LogRow, TrainStep};
use crate::output;
use crate::progress::Progress;
use crate::run::Host;
use crate::run::folder::{self, RunFolder};
use crate::run::recipe::Recipe;
use crate::run::report::{ShownRun, render_unfinished_page, unfinished_state};

/// Shortest time between two writes of the page in seconds, so that short runs lose no time.
const INTERVAL: f64 = 1.0;

/// A listener that forwards the events of the training loop and rewrites the page after validations.
/// If it is dropped before the page of the complete run exists, the page stops reloading itself.
pub struct LivePage<'a> {
    host: Host<'a>,
    run: ShownRun,
    steps: u64,
    /// Time of the last write; None before the first one, and after the page of the complete run.
    written: Mutex<Option<f64>>,
}

impl<'a> LivePage<'a> {
    /// Creates the page. `facts` is the header of the run's checkpoints, `steps` its length.
    pub fn new(
        recipe: &Recipe,
        facts: &BTreeMap<String, String>,
        steps: u64,
        folder: &RunFolder,
        host: &Host<'a>,
    ) -> Result<Self> {
        let run = ShownRun::new(&folder.path, recipe.clone(), facts)?;
        Ok(Self { host: host.clone(), run, steps, written: Mutex::default() })
    }

    /// Leaves the page of the complete run as it is.
    pub fn keep_page(self) {
        *self.lock_written() = None;
    }

    fn lock_written(&self) -> MutexGuard<'_, Option<f64>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_page(&self, in_progress: bool) -> Result<()> {
        let mut run = self.run.clone();
        run.page.rows = log::read_rows(&run.folder.join(folder::LOG))?;
        let step = run.page.rows.last().map_or(0, |row| row.step);
        run.page.state = unfinished_state(step, Some(self.steps));
        let page = render_unfinished_page(&run, in_progress, &self.host);
        Ok(output::write_file(&run.folder.join(folder::REPORT), page.as_bytes())?)
    }
}

impl Drop for LivePage<'_> {
    fn drop(&mut self) {
        if self.lock_written().is_some() {
            let _ = self.write_page(false);
        }
    }
}

impl Progress for LivePage<'_> {
    fn should_stop(&self) -> bool {
        self.host.listener.should_stop()
    }

    fn elapsed_seconds(&self) -> f64 {
        self.host.listener.elapsed_seconds()
    }

    fn report_remark(&self, text: &str) {
        self.host.listener.report_remark(text);
    }

    fn report_step(&self, step: &TrainStep) {
        self.host.listener.report_step(step);
    }

    fn report_validation(&self, row: &LogRow) {
        self.host.listener.report_validation(row);
        let now = self.elapsed_seconds();
        let mut written = self.lock_written();
        if written.is_none_or(|then| now - then >= INTERVAL) {
            *written = Some(now);
            // A page that cannot be written is an error at the end only.
            let _ = self.write_page(true);
        }
    }
}
