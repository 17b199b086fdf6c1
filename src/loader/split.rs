//! Games: which are held out, what for, which of the others are used, and how many there are.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::sample::{Sample, mix};

/// A share of the games, chosen by their content: a game that stands in several files is on the
/// same side in all of them. Where games are unknown, the position stands for the game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// 0 to 1.
    pub share: f64,
    pub seed: u64,
}

impl Split {
    /// Whether the game of a [group](Sample::group) is held out.
    pub fn holds_out(&self, group: u64) -> bool {
        draw(mix(0, self.seed), group) <= self.share && self.share > 0.0
    }
}

/// The share of the held-out games that is kept for the test, 0 to 1; the others validate.
///
/// The choice follows from a game's content alone and is independent of [`Split`] and [`Share`]; a
/// smaller share is a part of every larger one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Test(pub f64);

impl Test {
    /// The default of a config.
    pub const DEFAULT: Self = Self(0.5);

    /// Whether it takes the game of a [group](Sample::group).
    pub fn takes(&self, group: u64) -> bool {
        // Far from any salt of a split, but for one seed in 2^64, and from that of a share.
        const SALT: u64 = 0x7465_7374_2067_616d;
        draw(SALT, group) < self.0
    }
}

/// The share of the games that training takes of those that are not held out, above 0, up to 1.
///
/// The choice follows from a game's content alone and is independent of [`Split`], so the held-out
/// games are the same whatever the share; a smaller share is a part of every larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl Share {
    pub const ALL: Self = Self(1.0);

    /// Whether it takes the game of a [group](Sample::group).
    pub fn takes(&self, group: u64) -> bool {
        // Far from any salt of a split, but for one seed in 2^64.
        const SALT: u64 = 0x7368_6172_6520_6f66;
        draw(SALT, group) < self.0
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::ALL
    }
}

/// An exact number from 0 to below 1, of 53 bits, that a game has with this salt.
fn draw(salt: u64, group: u64) -> f64 {
    (mix(salt, group) >> 11) as f64 / (1u64 << 53) as f64
}

/// The smallest hashes of games (of positions, where games are unknown). Two sets of data that
/// share one game in 500 share some of these almost surely; a smaller share can escape.
///
/// As text: hexadecimal words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sketch(BTreeSet<u64>);

impl Sketch {
    const SIZE: usize = 2048;

    /// Adds the game of a [group](Sample::group).
    pub fn add(&mut self, group: u64) {
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

    /// The number of games in both: few of those that the data share, or none.
    pub fn shared(&self, other: &Sketch) -> usize {
        self.0.intersection(&other.0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, group: u64) -> bool {
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

/// The positions of the games that validate, or of those of the test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldOut {
    /// At most [`HeldOut::MOST`] of them: games drawn from all files.
    pub samples: Vec<Sample>,
    /// The number of all of them.
    pub total: u64,
}

impl HeldOut {
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
    /// Moves the next positions of a file into the draw.
    pub fn add(&self, file: usize, samples: &mut Vec<Sample>) {
        if samples.is_empty() {
            return;
        }
        let mut draw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        draw.total += samples.len() as u64;
        let cut = draw.cut.unwrap_or(u64::MAX);
        let kept = samples.drain(..).filter(|sample| place(sample) <= cut);
        draw.samples.extend(kept.map(|sample| (file, sample)));
        if draw.samples.len() >= 2 * HeldOut::MOST {
            draw.thin();
        }
    }

    /// Returns all positions in the order of the files, or those drawn in the order of the draw.
    pub fn end(self) -> HeldOut {
        let mut draw = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        match draw.total > HeldOut::MOST as u64 {
            true => draw.thin(),
            false => draw.samples.sort_by_key(|(file, _)| *file),
        }
        let samples = draw.samples.into_iter().map(|(_, sample)| sample).collect();
        HeldOut { samples, total: draw.total }
    }
}

impl Draw {
    /// Keeps the games whose hashes come first, in whatever order files are read.
    fn thin(&mut self) {
        self.samples.sort_by_key(|(file, sample)| (place(sample), *file));
        self.samples.truncate(HeldOut::MOST);
        self.cut = self.samples.last().map(|(_, sample)| place(sample));
    }
}
