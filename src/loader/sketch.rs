//! A sample of the games in some data, by which the same games are known again anywhere.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::sample::Sample;

/// The smallest hashes of games (of positions, where games are unknown). Two sets of data that
/// share one game in 500 share some of these almost surely; a smaller share can escape.
///
/// As text: hexadecimal words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sketch(BTreeSet<u64>);

impl Sketch {
    const SIZE: usize = 2048;

    pub fn add(&mut self, sample: &Sample) {
        self.add_group(sample.group());
    }

    pub(super) fn add_group(&mut self, group: u64) {
        if self.0.len() < Self::SIZE {
            self.0.insert(group);
        } else if self.0.last().is_some_and(|last| group < *last) && self.0.insert(group) {
            self.0.pop_last();
        }
    }

    /// Both together.
    pub fn join(&mut self, other: &Sketch) {
        self.0.extend(&other.0);
        while self.0.len() > Self::SIZE {
            self.0.pop_last();
        }
    }

    /// How many games are in both: few of those that the data share, or none.
    pub fn shared(&self, other: &Sketch) -> usize {
        self.0.intersection(&other.0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, sample: &Sample) -> bool {
        self.0.contains(&sample.group())
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
        text.split_whitespace().map(|word| u64::from_str_radix(word, 16)).collect::<Result<_, _>>()
    }
}

impl FromIterator<u64> for Sketch {
    fn from_iter<I: IntoIterator<Item = u64>>(hashes: I) -> Self {
        Self(hashes.into_iter().collect())
    }
}
