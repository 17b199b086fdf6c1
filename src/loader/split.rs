//! Which games are held out, what for, and which of the others are used.

use crate::sample::{Sample, mix};

/// A share of the games, chosen by their content: a game that stands in several files is on the
/// same side in all of them. Where games are unknown, the position stands for the game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// 0 to 1.
    pub share: f64,
    pub seed: u64,
}

impl Split {
    pub fn holds_out(&self, sample: &Sample) -> bool {
        self.holds_out_group(sample.group())
    }

    pub(super) fn holds_out_group(&self, group: u64) -> bool {
        draw(mix(0, self.seed), group) <= self.share && self.share > 0.0
    }
}

/// The share of the held-out games that is kept for the test; the others validate.
///
/// The choice follows from a game's content alone and knows nothing of [`Split`] and [`Share`]; a
/// smaller share is a part of every larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test(
    /// 0 to 1.
    pub f64,
);

impl Test {
    /// What a config has that does not say; the games on which runs without any are measured.
    pub const DEFAULT: Self = Self(0.5);

    pub fn takes(&self, sample: &Sample) -> bool {
        self.takes_group(sample.group())
    }

    pub(super) fn takes_group(&self, group: u64) -> bool {
        // Far from any salt of a split, but for one seed in 2^64, and from that of a share.
        const SALT: u64 = 0x7465_7374_2067_616d;
        draw(SALT, group) < self.0
    }
}

/// The share of the games that training takes of those that are not held out.
///
/// The choice follows from a game's content alone and knows nothing of [`Split`], so the held-out
/// games are the same whatever the share; a smaller share is a part of every larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(
    /// Above 0, up to 1.
    pub f64,
);

impl Share {
    pub const ALL: Self = Self(1.0);

    pub fn takes(&self, sample: &Sample) -> bool {
        self.takes_group(sample.group())
    }

    pub(super) fn takes_group(&self, group: u64) -> bool {
        // Far from any salt of a split, but for one seed in 2^64.
        const SALT: u64 = 0x7368_6172_6520_6f66;
        draw(SALT, group) < self.0
    }
}

/// An exact number from 0 to below 1, of 53 bits.
fn draw(salt: u64, group: u64) -> f64 {
    (mix(salt, group) >> 11) as f64 / (1u64 << 53) as f64
}
