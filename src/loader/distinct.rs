//! How many games there are, each counted once.

use std::collections::HashSet;
use std::num::NonZeroU64;

/// Games by their hashes. A file in which games are interleaved comes back to each of them.
#[derive(Debug, Default)]
pub struct Distinct {
    last: Option<NonZeroU64>,
    seen: HashSet<NonZeroU64>,
    /// Games behind the most, which count whenever another begins.
    more: u64,
}

impl Distinct {
    /// Games that are remembered, in some 70 MB.
    const MOST: usize = 1 << 22;

    pub fn add(&mut self, game: Option<NonZeroU64>) {
        let Some(known) = game.filter(|_| game != self.last) else { return };
        self.last = game;
        if self.seen.len() < Self::MOST {
            self.seen.insert(known);
        } else if !self.seen.contains(&known) {
            self.more += 1;
        }
    }

    pub fn count(&self) -> u64 {
        self.seen.len() as u64 + self.more
    }
}
