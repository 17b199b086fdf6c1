//! Positions that come more than once, counters aside, by a hash of 64 bits: among a thousand
//! million positions, a chance of one in 37 of a collision. A table takes 11 to 21 bytes a
//! position.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use shakmaty::Color;

use crate::prefetch::prefetch;
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

pub fn key(sample: &Sample) -> u64 {
    // The key of a position is that of its mirror image with colours swapped, too.
    match sample.position.turn() {
        Color::White => sample.position.key(),
        Color::Black => mix(sample.position.key(), 1),
    }
}

pub struct Seen {
    /// A key stands where its highest bits say, or in the next free place behind that; 0 is no key.
    places: Vec<u64>,
    /// Keys in `places`.
    count: usize,
    /// Whether the key 0 was seen.
    zero: bool,
    keys: Vec<u64>,
}

/// Places of a new table; a power of two, as ever.
const PLACES: usize = 1 << 10;

/// So many positions ahead of use a place is fetched: most lie far from each other in memory.
const AHEAD: usize = 24;

impl Default for Seen {
    fn default() -> Self {
        Self { places: vec![0; PLACES], count: 0, zero: false, keys: Vec::new() }
    }
}

impl Seen {
    /// Whether each position of a block comes for the first time.
    pub fn firsts(&mut self, block: &[Sample], firsts: &mut Vec<bool>) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(block.iter().map(key));
        firsts.clear();
        for (i, &key) in keys.iter().enumerate() {
            if let Some(&later) = keys.get(i + AHEAD) {
                prefetch(&self.places, self.place(later));
            }
            firsts.push(self.insert(key));
        }
        self.keys = keys;
    }

    /// Whether a key comes for the first time.
    pub fn insert(&mut self, key: u64) -> bool {
        if key == 0 {
            return !std::mem::replace(&mut self.zero, true);
        }
        let mut place = self.place(key);
        while self.places[place] != 0 {
            if self.places[place] == key {
                return false;
            }
            place = (place + 1) & (self.places.len() - 1);
        }
        self.places[place] = key;
        self.count += 1;
        if 4 * self.count > 3 * self.places.len() {
            self.grow();
        }
        true
    }

    fn place(&self, key: u64) -> usize {
        (key >> (u64::BITS - self.places.len().trailing_zeros())) as usize
    }

    /// Twice as many places. The old ones are in order, nearly, so that memory is walked through.
    fn grow(&mut self) {
        let larger = vec![0; 2 * self.places.len()];
        let keys = std::mem::replace(&mut self.places, larger);
        self.count = 0;
        keys.into_iter().filter(|key| *key != 0).for_each(|key| {
            self.insert(key);
        });
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

    /// The sample with the average of results and known scores; itself where it comes once.
    pub fn averaged(&self, sample: &Sample) -> Sample {
        if self.0.is_empty() {
            return *sample;
        }
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
