//! A random part of a stream, in the order of the stream.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Draws items one after the other.
pub enum Draw {
    /// Each with the same probability, 0 to 1.
    Share { random: Xoshiro256PlusPlus, share: f64 },
    /// Exactly so many of the items that are left; every choice of them is equally likely.
    Count { random: Xoshiro256PlusPlus, wanted: u64, left: u64 },
}

impl Draw {
    pub fn share(seed: u64, share: f64) -> Self {
        Draw::Share { random: Xoshiro256PlusPlus::seed_from_u64(seed), share }
    }

    /// `wanted` of `all` items, or all of them if there are fewer.
    pub fn count(seed: u64, wanted: u64, all: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Draw::Count { random, wanted: wanted.min(all), left: all }
    }

    pub fn takes(&mut self) -> bool {
        match self {
            // 53 bits make an exact number from 0 to below 1.
            Draw::Share { random, share } => {
                ((random.next_u64() >> 11) as f64) < *share * (1u64 << 53) as f64
            }
            Draw::Count { random, wanted, left } => {
                let product = u128::from(random.next_u64()) * u128::from(*left);
                let drawn = (product >> 64) as u64;
                let takes = drawn < *wanted;
                *wanted -= u64::from(takes);
                *left = left.saturating_sub(1);
                takes
            }
        }
    }
}

/// Draws the next stream: every way to merge them is equally likely.
pub struct Interleave {
    random: Xoshiro256PlusPlus,
    left: Vec<u64>,
}

impl Interleave {
    /// `counts` are the positions of each stream.
    pub fn new(seed: u64, counts: Vec<u64>) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), left: counts }
    }

    /// The stream to take from, none once all are used up.
    pub fn draw(&mut self) -> Option<usize> {
        let total: u64 = self.left.iter().sum();
        if total == 0 {
            return None;
        }
        let product = u128::from(self.random.next_u64()) * u128::from(total);
        let mut drawn = (product >> 64) as u64;
        self.left.iter().position(|&left| match drawn.checked_sub(left) {
            Some(rest) => {
                drawn = rest;
                false
            }
            None => true,
        })
    }

    /// So many positions were taken from a stream; none tells that it has ended.
    pub fn took(&mut self, stream: usize, positions: u64) {
        let left = &mut self.left[stream];
        *left = if positions == 0 { 0 } else { left.saturating_sub(positions) };
    }
}
