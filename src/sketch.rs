//! Sketch of the games of a data set, to detect overlaps.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The smallest hashes of games (of positions, where games are unknown). Two sets of data that
/// share one game in 500 share some of these almost surely; a smaller share can escape. As text:
/// hexadecimal words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sketch(BTreeSet<u64>);

impl Sketch {
    const SIZE: usize = 2048;

    /// Adds the hashes of games.
    pub fn add_hashes(&mut self, hashes: impl IntoIterator<Item = u64>) {
        for hash in hashes {
            if hash <= self.upper_bound() && self.0.insert(hash) && self.0.len() > Self::SIZE {
                self.0.pop_last();
            }
        }
    }

    /// Bound of the sketch: larger hashes are not among the smallest.
    pub fn upper_bound(&self) -> u64 {
        self.0.last().copied().filter(|_| !self.is_whole()).unwrap_or(u64::MAX)
    }

    /// Whether it has all games.
    pub fn is_whole(&self) -> bool {
        self.0.len() < Self::SIZE
    }

    /// The share of some games that are in the data, estimated by those with small hashes.
    pub fn known_share(&self, groups: impl Iterator<Item = u64>) -> f64 {
        let (mut known, mut all) = (0_u64, 0_u64);
        for group in groups.filter(|group| *group <= self.upper_bound()) {
            known += u64::from(self.contains_hash(group));
            all += 1;
        }
        known as f64 / all.max(1) as f64
    }

    pub fn join_sketch(&mut self, other: &Sketch) {
        self.add_hashes(other.0.iter().copied());
    }

    /// The number of games in both sketches: a few of those that the data share, or none.
    pub fn count_shared(&self, other: &Sketch) -> usize {
        self.0.intersection(&other.0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains_hash(&self, group: u64) -> bool {
        self.0.contains(&group)
    }
}

impl From<Sketch> for String {
    fn from(sketch: Sketch) -> Self {
        let words: Vec<String> = sketch.0.iter().map(|hash| format!("{hash:016x}")).collect();
        words.join(" ")
    }
}

impl TryFrom<String> for Sketch {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let hashes = text.split_whitespace().map(|word| u64::from_str_radix(word, 16));
        Ok(Self(hashes.collect::<Result<_, _>>()?))
    }
}
