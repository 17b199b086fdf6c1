//! What training needs of a position, in 32 bytes.

use super::weighing::{self, Weighing};
use crate::sample::{Position, Sample};

/// A [`Sample`] without what only filters and splits ask for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packed {
    occupied: u64,
    nibbles: [u8; 16],
    result: f32,
    /// [`Packed::NO_SCORE`] where there is none.
    score: i16,
    turn_and_ep: u8,
    /// What its loss counts, see [`weighing`].
    weight: u8,
}

const _: () = assert!(size_of::<Packed>() == 32, "two of them are a cache line");

impl Packed {
    /// No reader lets this score pass, since it has no negative.
    const NO_SCORE: i16 = i16::MIN;

    /// The position without its counters.
    pub fn position(&self) -> Position {
        Position::of_board_and_turn(self.occupied, self.nibbles, self.turn_and_ep)
    }

    /// A sample that may count less than others.
    pub fn weighed(sample: &Sample, by: &Weighing) -> Self {
        let weight = if by.is_level() { u8::MAX } else { by.code(sample) };
        Self { weight, ..Self::from(sample) }
    }

    /// What its loss counts, 0 to 1.
    pub fn weight(&self) -> f32 {
        weighing::weight(self.weight)
    }

    /// Puts another position in its place, with the same result and the same score.
    pub fn replace(&mut self, position: &Position) {
        if position.turn() != self.position().turn() {
            self.result = 1.0 - self.result;
            self.score = self.score().map_or(Self::NO_SCORE, |score| -score);
        }
        self.occupied = position.occupied();
        self.nibbles = position.nibbles();
        self.turn_and_ep = position.turn_and_ep();
    }

    /// Seen by the side to move.
    pub fn result(&self) -> f32 {
        self.result
    }

    /// Centipawns, seen by the side to move.
    pub fn score(&self) -> Option<i16> {
        (self.score != Self::NO_SCORE).then_some(self.score)
    }
}

impl From<&Sample> for Packed {
    fn from(sample: &Sample) -> Self {
        let position = &sample.position;
        Self {
            occupied: position.occupied(),
            nibbles: position.nibbles(),
            result: sample.result,
            score: sample.score.map_or(Self::NO_SCORE, |score| score.max(1 + Self::NO_SCORE)),
            turn_and_ep: position.turn_and_ep(),
            weight: u8::MAX,
        }
    }
}
