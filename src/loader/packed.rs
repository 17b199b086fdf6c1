//! Positions in memory, 32 bytes each.

use super::filter::{Weighing, weight};
use crate::sample::{Position, Sample, mix};

/// A result, 0 to 1, and beside it the source that a position came from, if any.
///
/// The two highest bits of such a float are never set. Without a source it stands as it is; with one
/// the highest bit says so, the source follows, and the float keeps 16 bits behind its point, which
/// is enough for 0, 0.5 and 1 to the last digit and for others to within 1e-5.
#[derive(Clone, Copy, Debug)]
struct Won(u32);

impl Won {
    const SOURCED: u32 = 1 << 31;
    /// Bits that the result keeps beside a source.
    const KEPT: u32 = 23;
    const DROPPED: u32 = 30 - Self::KEPT;

    fn new(result: f32, source: u8) -> Self {
        debug_assert!((0.0..=1.0).contains(&result) && result.is_sign_positive(), "{result}");
        let bits = result.to_bits();
        Self(match source {
            0 => bits,
            _ => {
                let rounded = (bits + (1 << (Self::DROPPED - 1))) >> Self::DROPPED;
                Self::SOURCED | u32::from(source) << Self::KEPT | rounded
            }
        })
    }

    fn result(self) -> f32 {
        f32::from_bits(match self.0 & Self::SOURCED {
            0 => self.0,
            _ => (self.0 & ((1 << Self::KEPT) - 1)) << Self::DROPPED,
        })
    }

    fn source(self) -> u8 {
        if self.0 & Self::SOURCED == 0 { 0 } else { (self.0 >> Self::KEPT) as u8 }
    }
}

/// A [`Sample`] without the facts that only filters and splits need.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packed {
    occupied: u64,
    nibbles: [u8; 16],
    won: Won,
    /// [`Packed::NO_SCORE`] where there is none.
    score: i16,
    turn_and_ep: u8,
    /// Sample weight, see [`weight`].
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

    /// Whether its mirror image is shown in a pass over the data: in every other one.
    pub fn turns(&self, pass: u64) -> bool {
        (mix(0, self.occupied) ^ pass) & 1 == 1
    }

    /// A sample that may count less than others.
    pub fn weighed(sample: &Sample, by: &Weighing) -> Self {
        let weight = if by.is_level() { u8::MAX } else { by.code(sample) };
        Self { weight, ..Self::from(sample) }
    }

    /// Sample weight, 0 to 1.
    pub fn weight(&self) -> f32 {
        weight(self.weight)
    }

    /// Puts another position in its place, with the same result and the same score.
    pub fn replace(&mut self, position: &Position) {
        if position.turn() != self.position().turn() {
            self.won = Won::new(1.0 - self.result(), self.source());
            self.score = self.score().map_or(Self::NO_SCORE, |score| -score);
        }
        self.occupied = position.occupied();
        self.nibbles = position.nibbles();
        self.turn_and_ep = position.turn_and_ep();
    }

    /// Seen by the side to move.
    pub fn result(&self) -> f32 {
        self.won.result()
    }

    /// The number of its source, from 1; 0 without sources.
    pub fn source(&self) -> u8 {
        self.won.source()
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
            won: Won::new(sample.result, sample.source),
            score: sample.score.map_or(Self::NO_SCORE, |score| score.max(1 + Self::NO_SCORE)),
            turn_and_ep: position.turn_and_ep(),
            weight: u8::MAX,
        }
    }
}
