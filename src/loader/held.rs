//! Positions that were held out, for one subset.

use std::collections::HashSet;

use crate::sample::{Sample, mix};

/// The positions of the games that validate, or of those of the test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// At most [`Held::MOST`] of them: games drawn from all files.
    pub samples: Vec<Sample>,
    /// How many there are.
    pub total: u64,
}

impl Held {
    /// What is kept in memory.
    pub const MOST: usize = 500_000;

    pub(super) fn push(&mut self, sample: &Sample) {
        self.total += 1;
        self.samples.push(*sample);
        if self.samples.len() == 2 * Self::MOST {
            self.thin();
        }
    }

    pub(super) fn join(&mut self, other: Held) {
        self.total += other.total;
        self.samples.extend(other.samples);
        self.thin();
    }

    /// Keeps the positions of some games where there are too many: those whose hashes come first,
    /// so that it does not matter which file they lie in.
    pub(super) fn thin(&mut self) {
        if self.samples.len() > Self::MOST {
            self.samples.sort_by_key(|sample| mix(1, sample.group()));
            self.samples.truncate(Self::MOST);
        }
    }

    /// The games of those in memory; positions, where games are unknown.
    pub fn groups(&self) -> usize {
        self.samples.iter().map(Sample::group).collect::<HashSet<u64>>().len()
    }
}
