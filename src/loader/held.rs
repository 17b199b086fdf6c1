//! Positions that were held out, for one subset.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

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
    /// Positions in memory.
    pub const MOST: usize = 500_000;

    /// The games of those in memory; positions, where games are unknown.
    pub fn groups(&self) -> usize {
        self.samples.iter().map(Sample::group).collect::<HashSet<u64>>().len()
    }
}

/// Held-out positions of files that are read at the same time.
#[derive(Default)]
pub(super) struct Holding(Mutex<Draw>);

#[derive(Default)]
struct Draw {
    /// Each with the place of its file; those of one file in their order.
    samples: Vec<(usize, Sample)>,
    total: u64,
    /// Places in the draw beyond this one are left out.
    cut: Option<u64>,
}

/// The place of a position's game in the draw.
fn place(sample: &Sample) -> u64 {
    mix(1, sample.group())
}

impl Holding {
    /// Adds the next positions of a file.
    pub fn add(&self, file: usize, samples: &[Sample]) {
        let mut draw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        draw.total += samples.len() as u64;
        let cut = draw.cut.unwrap_or(u64::MAX);
        let kept = samples.iter().filter(|sample| place(sample) <= cut);
        draw.samples.extend(kept.map(|sample| (file, *sample)));
        if draw.samples.len() >= 2 * Held::MOST {
            draw.thin();
        }
    }

    /// Returns all positions in the order of the files, or those drawn in the order of the draw.
    pub fn end(self) -> Held {
        let mut draw = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        match draw.total > Held::MOST as u64 {
            true => draw.thin(),
            false => draw.samples.sort_by_key(|(file, _)| *file),
        }
        let samples = draw.samples.into_iter().map(|(_, sample)| sample).collect();
        Held { samples, total: draw.total }
    }
}

impl Draw {
    /// Keeps the games whose hashes come first, whichever file they are in or is read first.
    fn thin(&mut self) {
        self.samples.sort_by_key(|(file, sample)| (place(sample), *file));
        self.samples.truncate(Held::MOST);
        self.cut = self.samples.last().map(|(_, sample)| place(sample));
    }
}
