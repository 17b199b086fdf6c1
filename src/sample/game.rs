//! Which game a position is of.

use std::num::NonZeroU64;

use super::{Played, Position, Sample, mix};

/// The hash of a game under way: of its start position and its moves, nothing else.
#[derive(Clone, Copy, Debug)]
pub struct GameHash(u64);

impl GameHash {
    pub fn of(start: &Position) -> Self {
        Self(start.key())
    }

    pub fn play(&mut self, played: Played) {
        self.0 = mix(self.0, u64::from(played.0.get()));
    }

    /// The hash, once the last move is played.
    pub fn game(self) -> NonZeroU64 {
        NonZeroU64::new(self.0).unwrap_or(NonZeroU64::MIN)
    }
}

/// Of so many positions one may lack its game.
const ONE_IN: usize = 1000;

/// Whether the games of samples are known: of all, but for one in a thousand at most, each of which
/// counts as a game of its own. So few widen no interval, whatever game they came from; a binpack
/// of games may have some, since a chain of a single position is of no known game.
pub fn games_known<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> bool {
    let (mut all, mut unknown) = (0, 0);
    for sample in samples {
        all += 1;
        unknown += usize::from(sample.game.is_none());
    }
    unknown * ONE_IN <= all
}
