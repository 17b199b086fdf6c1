//! A sketch of the games of a data set, to detect overlaps.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The smallest hashes of games, or of positions if games are unknown; hexadecimal words as text. Two
/// data sets that share one game in 500 almost surely share some hashes; a smaller share can escape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sketch(BTreeSet<u64>);

impl Sketch {
    const SIZE: usize = 2048;
    pub fn add_hashes(&mut self, hashes: impl IntoIterator<Item = u64>) {
        for hash in hashes {
            if hash <= self.upper_bound() && self.0.insert(hash) && self.0.len() > Self::SIZE {
                self.0.pop_last();
            }
        }
    }

    /// The upper bound of the hashes in the sketch.
    pub fn upper_bound(&self) -> u64 {
        self.0.last().copied().filter(|_| !self.is_whole()).unwrap_or(u64::MAX)
    }

    /// Whether the sketch has all games.
    pub fn is_whole(&self) -> bool {
        self.0.len() < Self::SIZE
    }

    /// Estimates the share of the given games that are in the data, by the games with small hashes.
    pub fn known_share(&self, games: impl Iterator<Item = u64>) -> f64 {
        let [mut known, mut total] = [0_u64; 2];
        for game in games.filter(|game| *game <= self.upper_bound()) {
            known += u64::from(self.contains_hash(game));
            total += 1;
        }
        known as f64 / total.max(1) as f64
    }

    pub fn join_sketch(&mut self, other: &Sketch) {
        self.add_hashes(other.0.iter().copied());
    }

    /// Counts the games in both sketches: a small part of the games that the data share.
    pub fn count_shared(&self, other: &Sketch) -> usize {
        self.0.intersection(&other.0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains_hash(&self, hash: u64) -> bool {
        self.0.contains(&hash)
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
