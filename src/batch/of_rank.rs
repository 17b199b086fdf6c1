//! Which part of a batch falls to one of several ranks.

use std::ops::Range;

/// Which of several ranks somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfRank {
    /// From 0.
    pub rank: usize,
    /// How many there are, 1 or more.
    pub size: usize,
}

impl OfRank {
    /// The only one.
    pub const ALL: Self = Self { rank: 0, size: 1 };

    /// Its part of `count` things in a row.
    pub fn range(self, count: usize) -> Range<usize> {
        let cut = |rank: usize| (count as u128 * rank as u128 / self.size as u128) as usize;
        cut(self.rank)..cut(self.rank + 1)
    }
}
