//! Positions in memory, 32 bytes each.

use super::filter::{PositionWeights, decode_weight};
use crate::sample::{Position, Sample};

/// Steps of results from 0 to 1: an even number, so that 0, 0.5 and 1 are exact.
const RESULTS: f32 = ((1 << 24) - 2) as f32;

/// Packs a result, 0 to 1, to within 4e-8, and the source.
fn pack_labels(result: f32, source: u8) -> u32 {
    debug_assert!((0.0..=1.0).contains(&result), "{result}");
    let steps = (f64::from(result) * f64::from(RESULTS) + 0.5) as u32;
    steps << 8 | u32::from(source)
}

/// A [`Sample`] without the facts that only filters and splits need.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packed {
    occupied: u64,
    nibbles: [u8; 16],
    /// The result in 24 bits, and the source in 8.
    labels: u32,
    /// [`Packed::NO_SCORE`] without one.
    score: i16,
    turn_and_ep: u8,
    /// Sample weight, see [`decode_weight`].
    weight: u8,
}

const _: () = assert!(size_of::<Packed>() == 32, "two of them are a cache line");

impl Packed {
    /// Score that no reader returns, as it has no negative.
    const NO_SCORE: i16 = i16::MIN;

    /// The position without its counters.
    pub fn position(&self) -> Position {
        Position::of_board_and_turn(self.occupied, self.nibbles, self.turn_and_ep)
    }

    pub fn with_weight(sample: &Sample, weights: &PositionWeights) -> Self {
        let weight = if weights.is_level() { u8::MAX } else { weights.weight_code(sample) };
        Self { weight, ..Self::from(sample) }
    }

    pub fn sample_weight(&self) -> f32 {
        decode_weight(self.weight)
    }

    /// Replaces the position; result and score stay.
    pub fn replace_position(&mut self, position: &Position) {
        if position.turn() != self.position().turn() {
            self.labels = pack_labels(1.0 - self.result(), self.source());
            self.score = self.score().map_or(Self::NO_SCORE, |score| -score);
        }
        self.occupied = position.occupied();
        self.nibbles = position.nibbles();
        self.turn_and_ep = position.turn_and_ep();
    }

    /// Result for the side to move.
    pub fn result(&self) -> f32 {
        (self.labels >> 8) as f32 / RESULTS
    }

    /// Number of its source, from 1; 0 without sources.
    pub fn source(&self) -> u8 {
        self.labels as u8
    }

    /// Centipawns for the side to move.
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
            labels: pack_labels(sample.result, sample.source),
            score: sample.score.map_or(Self::NO_SCORE, |score| score.max(1 + Self::NO_SCORE)),
            turn_and_ep: position.turn_and_ep(),
            weight: u8::MAX,
        }
    }
}
