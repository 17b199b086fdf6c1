//! Some samples of a stream, spread evenly over it, in bounded memory.

use super::{Sample, mix};

/// Samples drawn by a hash of their place, in the order of the stream: each is kept with the same
/// chance, which halves whenever there are too many.
pub struct Spread {
    kept: Vec<(u64, Sample)>,
    most: usize,
    seen: u64,
    level: u32,
}

impl Spread {
    /// Keeps at most so many; of a stream that has more, at least about half of that.
    pub fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, seen: 0, level: 0 }
    }

    pub fn add(&mut self, sample: &Sample) {
        // Every second sample would be White to move in a game: the draw has to be irregular.
        let lot = mix(0, self.seen);
        self.seen += 1;
        if lot.leading_zeros() < self.level {
            return;
        }
        self.kept.push((lot, *sample));
        if self.kept.len() > self.most {
            self.level += 1;
            let level = self.level;
            self.kept.retain(|(lot, _)| lot.leading_zeros() >= level);
        }
    }

    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.kept.iter().map(|(_, sample)| sample)
    }
}
