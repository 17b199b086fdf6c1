//! The progress of a command on files, and how fast it was.

use std::time::Instant;

use anyhow::Result;
use indicatif::ProgressBar;

use super::io::interrupted;
use crate::cli::progress::bar;
use crate::digits::{grouped, short};

/// Progress on stderr.
pub struct Pace {
    what: String,
    start: Instant,
    bar: ProgressBar,
    positions: u64,
}

impl Pace {
    pub fn new(what: &str) -> Self {
        let (what, start) = (what.to_string(), Instant::now());
        Self { bar: bar(None, &what), what, start, positions: 0 }
    }

    /// So many positions more; an error after Ctrl-C, so that what is half written goes away.
    pub fn step(&mut self, positions: u64) -> Result<()> {
        self.positions += positions;
        self.bar.inc(positions);
        interrupted()
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
        let seconds = self.start.elapsed().as_secs_f64();
        eprintln!(
            "{}: {} positions in {seconds:.2} s, {}/s",
            self.what,
            grouped(self.positions),
            short(self.positions as f64 / seconds.max(1e-9))
        );
    }
}
