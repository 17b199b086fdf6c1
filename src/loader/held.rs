//! Positions that were held out, for one subset.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

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

    /// The games of those in memory; positions, where games are unknown.
    pub fn groups(&self) -> usize {
        self.samples.iter().map(Sample::group).collect::<HashSet<u64>>().len()
    }
}

/// Where files that are read at the same time leave what is held out of them.
#[derive(Default)]
pub(super) struct Holding(Mutex<HeldOf>);

/// What was held out of some files.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct HeldOf {
    /// Each with the place of its file; those of one file in their order.
    samples: Vec<(u32, Sample)>,
    total: u64,
    /// Beyond this place in the draw nobody is kept any more.
    cut: Option<u64>,
}

/// The place of a position's game in a draw.
fn drawn(sample: &Sample) -> u64 {
    mix(1, sample.group())
}

impl Holding {
    /// The next positions of a file.
    pub fn add(&self, file: usize, samples: &[Sample]) {
        let file = u32::try_from(file).expect("a run has fewer files");
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.total += samples.len() as u64;
        let cut = held.cut.unwrap_or(u64::MAX);
        let kept = samples.iter().filter(|sample| drawn(sample) <= cut);
        held.samples.extend(kept.map(|sample| (file, *sample)));
        if held.samples.len() >= 2 * Held::MOST {
            held.thin();
        }
    }

    pub fn end(self) -> HeldOf {
        let mut held = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        held.thin();
        held
    }
}

impl HeldOf {
    /// Keeps the positions of some games where there are too many: those whose hashes come first,
    /// so that it does not matter which file they lie in, nor which is read first.
    fn thin(&mut self) {
        if self.samples.len() > Held::MOST {
            self.samples.sort_by_key(|(file, sample)| (drawn(sample), *file));
            self.samples.truncate(Held::MOST);
            self.cut = self.samples.last().map(|(_, sample)| drawn(sample));
        }
    }

    /// What was held out of all files: in their order, or drawn.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Held {
        let mut all = Self::default();
        for Self { samples, total, .. } in parts {
            all.samples.extend(samples);
            all.total += total;
        }
        match all.total > Held::MOST as u64 {
            // No more than are kept are so where one part was thinned and the others have none: they
            // stand in the order of the draw.
            true => all.thin(),
            false => all.samples.sort_by_key(|(file, _)| *file),
        }
        let samples = all.samples.into_iter().map(|(_, sample)| sample).collect();
        Held { samples, total: all.total }
    }
}
