//! What became of positions on their way from file to file.

use std::fmt;

use crate::digits::grouped;
use crate::format::Source;

/// What is left out because it was before.
pub const MARKED: &str = "marked so before";

/// What became of positions.
#[derive(Default)]
pub struct Tally {
    pub read: u64,
    pub written: u64,
    /// Why positions, records or games are not there.
    pub left_out: Vec<(String, u64)>,
}

impl Tally {
    pub fn without(&mut self, reason: impl Into<String>, count: u64) {
        if count > 0 {
            self.left_out.push((reason.into(), count));
        }
    }

    /// What the reader of a file passed over.
    pub fn bad(&mut self, source: &Source) {
        let bad = source.bad_records();
        for record in &bad.first {
            eprintln!("{}, {record}; skipped", source.path().display());
        }
        for (reason, count) in [
            ("bad records", bad.count),
            ("games without a result", source.unfinished()),
            (MARKED, source.left_out()),
        ] {
            match self.left_out.iter_mut().find(|(known, _)| known == reason) {
                Some((_, sum)) => *sum += count,
                None => self.without(reason, count),
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} positions read, {} written", grouped(self.read), grouped(self.written))?;
        for (i, (reason, count)) in self.left_out.iter().enumerate() {
            let before = if i == 0 { "; left out: " } else { ", " };
            write!(f, "{before}{reason} {}", grouped(*count))?;
        }
        Ok(())
    }
}
