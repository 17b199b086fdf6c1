//! Which games are held out.

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
        let draw = mix(mix(0, self.seed), group);
        // 53 bits make an exact number between 0 and 1.
        (draw >> 11) as f64 / (1u64 << 53) as f64 <= self.share && self.share > 0.0
    }
}
