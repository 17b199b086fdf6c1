//! Progress of long work, and requests to stop it. `cli` prints the progress.

use crate::log::{LogRow, TrainStep};

/// Callbacks of long work; most do nothing by default.
pub trait Progress: Sync {
    /// Whether the work should end soon, in a resumable state.
    fn should_stop(&self) -> bool {
        false
    }
    /// Seconds since a fixed moment.
    fn elapsed_seconds(&self) -> f64 {
        0.0
    }
    /// Date and time for pages, if a clock is at hand.
    fn current_date(&self) -> Option<String> {
        None
    }
    /// Reports the facts of a run before its first step.
    fn report_opening(&self, _table: &str) {}
    /// Reports a remark of one or more lines.
    fn report_remark(&self, _text: &str) {}
    /// Starts work on `total` items, if their number is known; an earlier run did `done` of them.
    fn begin_work(&self, _work: &'static str, _total: Option<u64>, _done: u64) {}
    /// Adds `count` finished items.
    fn advance_work(&self, _count: u64) {}
    /// Reports an intermediate result.
    fn report_message(&self, _text: &str) {}
    /// Ends the work that began last.
    fn end_work(&self) {}
    /// Called after each step of training.
    fn report_step(&self, _step: &TrainStep) {}
    /// Called after each validation.
    fn report_validation(&self, _row: &LogRow) {}
}

/// A listener that shows no progress and never stops.
pub struct SilentProgress;

impl Progress for SilentProgress {}

/// Work in progress, which ends when the guard is dropped.
pub struct WorkGuard<'a>(&'a dyn Progress);

/// A function that adds finished items; the work ends when it is dropped.
pub type Counter<'a> = Box<dyn Fn(u64) + Sync + 'a>;

impl dyn Progress + '_ {
    /// Calls [`Progress::begin_work`]; the work ends when the guard is dropped.
    pub fn begin_guarded(
        &self,
        work: &'static str,
        total: Option<u64>,
        done: u64,
    ) -> WorkGuard<'_> {
        self.begin_work(work, total, done);
        WorkGuard(self)
    }

    /// Calls [`Progress::begin_work`] and returns a function that adds finished items.
    pub fn count(&self, total: Option<u64>, work: &'static str) -> Counter<'_> {
        let guard = self.begin_guarded(work, total, 0);
        Box::new(move |count| guard.advance(count))
    }
}

impl WorkGuard<'_> {
    fn advance(&self, count: u64) {
        self.0.advance_work(count);
    }
}

impl Drop for WorkGuard<'_> {
    fn drop(&mut self) {
        self.0.end_work();
    }
}
