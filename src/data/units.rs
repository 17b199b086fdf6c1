//! What must stay together: the positions of a game that follow each other.

use std::num::NonZeroU64;

use crate::sample::Sample;

/// Tells where games begin in a stream of samples; a sample that knows no game is one of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Borders {
    game: Option<NonZeroU64>,
}

impl Borders {
    pub fn begins(&mut self, sample: &Sample) -> bool {
        let begins = sample.game.is_none() || sample.game != self.game;
        self.game = sample.game;
        begins
    }
}

/// The games of a block of samples; a sample that knows no game is one of its own.
pub fn games(block: &[Sample]) -> impl Iterator<Item = &[Sample]> {
    block.chunk_by(|before, sample| sample.game.is_some() && sample.game == before.game)
}
