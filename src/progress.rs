//! Progress of long work, and the request to stop it. `cli` prints it.

use crate::log::{Row, TrainStep};

/// Callbacks of long work; most do nothing unless they are written.
pub trait Progress: Sync {
    /// Whether to end soon, so that the work can be resumed.
    fn stop(&self) -> bool {
        false
    }
    /// Seconds since some fixed moment.
    fn seconds(&self) -> f64 {
        0.0
    }
    /// A remark, which may have several lines.
    fn remark(&self, _text: &str) {}
    /// Work on `total` items begins, where their number is known; an earlier run did `done` of them.
    fn begin(&self, _work: &'static str, _total: Option<u64>, _done: u64) {}
    /// So many items more are done.
    fn advance(&self, _count: u64) {}
    /// An intermediate result.
    fn message(&self, _text: &str) {}
    /// The work that began last has ended.
    fn end(&self) {}
    /// After each step of training.
    fn step(&self, _step: &TrainStep) {}
    /// After each validation.
    fn row(&self, _row: &Row) {}
}

/// No progress is shown, and nothing stops.
pub struct Silent;

impl Progress for Silent {}

/// Work that has begun; it ends when this is dropped.
pub struct Begun<'a>(&'a dyn Progress);

/// Adds to the items that are done; the work ends when it is dropped.
pub type Counter<'a> = Box<dyn Fn(u64) + Sync + 'a>;

impl dyn Progress + '_ {
    pub fn begun(&self, work: &'static str, total: Option<u64>, done: u64) -> Begun<'_> {
        self.begin(work, total, done);
        Begun(self)
    }

    pub fn count(&self, total: Option<u64>, work: &'static str) -> Counter<'_> {
        let begun = self.begun(work, total, 0);
        Box::new(move |count| begun.advance(count))
    }
}

impl Begun<'_> {
    fn advance(&self, count: u64) {
        self.0.advance(count);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
