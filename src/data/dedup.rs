//! Positions that come more than once.
//!
//! Positions are the same if pieces, side to move, castling rights and en passant square are; the
//! counters do not matter. They are known again by a hash of 64 bits: among a thousand million
//! positions, a chance of one in 37 that two different ones are taken for the same.
//!
//! A hash takes 9 bytes in a table that is between 44 and 88 % full: 10 to 21 bytes a position
//! that differs from all others, half as much again while the table grows.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use shakmaty::Color;

use crate::sample::{Sample, mix};

/// Hashes of positions are random as they are.
#[derive(Default)]
pub struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, &byte| mix(hash, byte.into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

type AsIsBuilder = BuildHasherDefault<AsIs>;

/// What is the same for the same positions.
pub fn key(sample: &Sample) -> u64 {
    // The key of a position is that of its mirror image with colours swapped, too.
    match sample.position.turn() {
        Color::White => sample.position.key(),
        Color::Black => mix(sample.position.key(), 1),
    }
}

/// The positions seen so far.
#[derive(Default)]
pub struct Seen(HashSet<u64, AsIsBuilder>);

impl Seen {
    /// Whether a position comes for the first time.
    pub fn first(&mut self, sample: &Sample) -> bool {
        self.0.insert(key(sample))
    }
}

/// Sums over the positions that come more than once.
#[derive(Default)]
pub struct Averages(HashMap<u64, Sum, AsIsBuilder>);

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u32,
    scored: u32,
    score: i64,
    result: f64,
}

impl Averages {
    /// This position comes more than once.
    pub fn expect(&mut self, sample: &Sample) {
        self.0.entry(key(sample)).or_default();
    }

    /// Counts a position in, if it is one of those that come more than once.
    pub fn add(&mut self, sample: &Sample) {
        if let Some(sum) = self.0.get_mut(&key(sample)) {
            sum.count += 1;
            sum.result += f64::from(sample.result);
            sum.scored += u32::from(sample.score.is_some());
            sum.score += i64::from(sample.score.unwrap_or(0));
        }
    }

    /// The sample with the average of results, and of the scores that are known, rounded to whole
    /// centipawns; as it is where it comes once.
    pub fn averaged(&self, sample: &Sample) -> Sample {
        let Some(sum) = self.0.get(&key(sample)).filter(|sum| sum.count > 0) else {
            return *sample;
        };
        let mean = sum.score as f64 / f64::from(sum.scored.max(1));
        Sample {
            result: (sum.result / f64::from(sum.count)) as f32,
            score: (sum.scored > 0).then_some(mean.round() as i16),
            ..*sample
        }
    }
}
