//! Which game a position is of, and whether it was left out of it.

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

/// Not a score of any engine, since it has no negative in 16 bits.
pub const LEFT_OUT: i16 = i16::MIN;

impl Sample {
    /// The position as one that stays in its game, so that the game stays whole, but is not to
    /// be learnt from or counted any more. The score is lost.
    pub fn left_out(self) -> Self {
        Self { score: Some(LEFT_OUT), ..self }
    }

    pub fn is_left_out(&self) -> bool {
        self.score == Some(LEFT_OUT)
    }
}
