//! Several streams into one, each in proportion to what is left of it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

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
