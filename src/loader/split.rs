//! Split of the games: held out for validation or the test, or used for training.

use std::collections::HashSet;

use crate::sample::{Sample, mix_hash};

/// Share of the games that are held out, chosen by content: a game is on the same side in all
/// files. If games are unknown, each position counts as a game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// 0 to 1.
    pub share: f64,
    pub seed: u64,
}

impl Split {
    /// Whether a game with this [hash](Sample::split_group) is held out.
    pub fn holds_out(&self, game: u64) -> bool {
        self.share > 0.0 && draw_share(mix_hash(0, self.seed), game) <= self.share
    }
}

/// Share of the held-out games that are the test, 0 to 1; the others validate. It depends on a
/// game's content alone, not on other shares; a smaller share is a part of larger ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestShare(pub f64);

impl TestShare {
    pub const DEFAULT: Self = Self(0.5);

    pub fn takes_group(&self, game: u64) -> bool {
        // Different from any salt of a split, but for one seed in 2^64, and from that of a share.
        const SALT: u64 = 0x7465_7374_2067_616d;
        draw_share(SALT, game) < self.0
    }
}

/// Share of the other games that training uses, above 0, up to 1. It depends on
/// a game's content alone, not on other shares; a smaller share is a part of larger ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingShare(pub f64);

impl TrainingShare {
    pub const ALL: Self = Self(1.0);

    pub fn takes_group(&self, game: u64) -> bool {
        // Different from any salt of a split, but for one seed in 2^64.
        const SALT: u64 = 0x7368_6172_6520_6f66;
        self.0 >= 1.0 || draw_share(SALT, game) < self.0
    }
}

impl Default for TrainingShare {
    fn default() -> Self {
        Self::ALL
    }
}

/// Draws an exact number from 0 to below 1, of 53 bits, from a game's hash and this salt.
pub(super) fn draw_share(salt: u64, game: u64) -> f64 {
    (mix_hash(salt, game) >> 11) as f64 / (1u64 << 53) as f64
}

/// Positions of the validation games, or of the test games.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldOut {
    /// At most [`HeldOut::MAX_POSITIONS`] positions: games drawn from all files.
    pub samples: Vec<Sample>,
    pub total: u64,
}

impl HeldOut {
    pub const MAX_POSITIONS: usize = 500_000;

    /// Counts games in memory; positions, if games are unknown.
    pub fn group_count(&self) -> usize {
        self.samples.iter().map(Sample::split_group).collect::<HashSet<u64>>().len()
    }

    /// Takes all positions in order, or of the games whose hashes come first in a separate draw.
    pub(super) fn from_samples(mut samples: Vec<Sample>) -> Self {
        let total = samples.len() as u64;
        if samples.len() > Self::MAX_POSITIONS {
            samples.sort_by_cached_key(|sample| mix_hash(1, sample.split_group()));
            samples.truncate(Self::MAX_POSITIONS);
        }
        Self { samples, total }
    }
}
