//! Progress callbacks of a run. `cli` decides how to print them.

use std::path::Path;

use crate::architecture::Architecture;
use crate::loader::{Plan, Scan};
use crate::model::Adapter;
use crate::train::schedule::Span;
use crate::train::{End, Settings, Watch};

/// Told of so many positions more; the work is over when it is dropped.
pub type Counter = Box<dyn Fn(u64) + Sync>;

/// Progress callbacks of a run; most do nothing unless they are written.
pub trait Listener {
    /// A remark, which may have several lines.
    fn remark(&self, _text: &str) {}
    /// Positions will be gone through, so many of them where that is known; `what` is the verb.
    fn count(&self, _total: Option<u64>, _what: &'static str) -> Counter {
        Box::new(|_| {})
    }
    /// All data was read once.
    fn scanned(&self, _plan: &Plan, _scan: &Scan) {}
    /// Training is about to begin.
    fn opens(&self, _opening: &Opening) {}
    /// Training begins, `done` of `total` positions behind it.
    fn watch(&self, total: u64, done: u64) -> Box<dyn Watch + '_>;
    /// Training has ended.
    fn ends(&self, _ending: &Ending) {}
}

/// A run before its first step.
pub struct Opening<'a> {
    /// To train on.
    pub positions: u64,
    pub span: &'a Span,
    pub settings: &'a Settings,
    /// None where handcrafted terms are tuned.
    pub net: Option<Architecture>,
    /// None where the processor computes alone.
    pub adapter: Option<Adapter>,
    /// How it computes, in words.
    pub compute: String,
}

/// A run behind its last step.
pub struct Ending<'a> {
    pub end: End,
    pub step: u64,
    /// Those that it was to make.
    pub steps: u64,
    /// Whether its method ends by itself.
    pub direct: bool,
    pub folder: &'a Path,
}
