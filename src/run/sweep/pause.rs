//! A training that pauses behind a step, to be judged by how far it has come.

use crate::loader::{Plan, Scan};
use crate::log::Row;
use crate::run::listener::{Counter, Ending, Listener, Opening};
use crate::train::{Progress, Watch};

/// Hears all that another one hears, and wishes to stop behind a step; as at Ctrl-C, whoever goes
/// on ends with the bits of a run that never stopped.
pub struct Pause<'a> {
    pub listener: &'a dyn Listener,
    pub behind: u64,
}

impl Listener for Pause<'_> {
    fn remark(&self, text: &str) {
        self.listener.remark(text);
    }

    fn count(&self, total: Option<u64>, what: &'static str) -> Counter {
        self.listener.count(total, what)
    }

    fn scanned(&self, plan: &Plan, scan: &Scan) {
        self.listener.scanned(plan, scan);
    }

    fn opens(&self, opening: &Opening) {
        self.listener.opens(opening);
    }

    fn watch(&self, total: u64, done: u64) -> Box<dyn Watch + '_> {
        let watch = self.listener.watch(total, done);
        Box::new(Pausing { watch, behind: self.behind, is_there: false })
    }

    fn ends(&self, ending: &Ending) {
        self.listener.ends(ending);
    }
}

struct Pausing<'a> {
    watch: Box<dyn Watch + 'a>,
    behind: u64,
    is_there: bool,
}

impl Watch for Pausing<'_> {
    fn seconds(&self) -> f64 {
        self.watch.seconds()
    }

    fn stop(&self) -> bool {
        self.is_there || self.watch.stop()
    }

    fn step(&mut self, progress: &Progress) {
        self.is_there = progress.step >= self.behind;
        self.watch.step(progress);
    }

    fn row(&mut self, row: &Row) {
        self.watch.row(row);
    }
}
