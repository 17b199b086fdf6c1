//! A bounded draw of samples, spread evenly over a file.

use crate::sample::{Sample, mix};

/// At most so many samples are kept.
const ROOM: usize = 1 << 17;

/// Samples drawn by a hash of their place, in the order of the file: each is kept with the same
/// chance, which halves whenever there are too many.
pub struct Draw {
    kept: Vec<(u64, Sample)>,
    seen: u64,
    level: u32,
}

impl Draw {
    pub fn new() -> Self {
        Self { kept: Vec::new(), seen: 0, level: 0 }
    }

    pub fn add(&mut self, sample: &Sample) {
        // Every second sample would be White to move in a game: the draw has to be irregular.
        let lot = mix(0, self.seen);
        self.seen += 1;
        if lot.leading_zeros() < self.level {
            return;
        }
        self.kept.push((lot, *sample));
        if self.kept.len() > ROOM {
            self.level += 1;
            let level = self.level;
            self.kept.retain(|(lot, _)| lot.leading_zeros() >= level);
        }
    }

    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.kept.iter().map(|(_, sample)| sample)
    }
}
