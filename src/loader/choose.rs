//! The moves that could have been played, each followed to where its captures end.

use std::sync::Arc;

use rayon::prelude::*;

use super::Encoder;
use super::encode::{Part, TERMS_PIECE};
use super::packed::Packed;
use crate::batch::{Batch, Choices};
use crate::sample::{Position, Sample};

/// Searches the moves of positions.
pub trait Choose: Send + Sync {
    /// What could have been played in the positions of some samples, each of which knows its move;
    /// of moves that are far off only those that are not.
    fn choose(&self, samples: &[Sample]) -> Vec<Choice>;
}

/// What could have been played in a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The quiet end of the position itself.
    pub root: Position,
    /// Behind the move that was played, then behind others; empty where nothing can be learnt from
    /// them. The rules decide none of them.
    pub ends: Vec<Position>,
    /// Legal moves that the evaluation puts before the one that was played, others on a level with
    /// it, and how many legal moves there are; none where a search does not end.
    pub place: Option<[u32; 3]>,
    /// Of the values behind the moves that can be learnt from.
    pub spread: Spread,
}

/// Positions with their choices, as they are encoded.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    records: Vec<Packed>,
    /// What [`Encoder::bases`] says of them.
    bases: Vec<f32>,
    choices: Choices,
    /// A position each, see [`Choice::place`].
    pub places: Vec<Option<[u32; 3]>>,
    pub spread: Spread,
}

/// How far values behind moves lie from those of their positions, in whole centipawns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    count: i64,
    sum: i64,
    squares: i64,
}

impl Spread {
    pub fn count(&mut self, difference: i32) {
        let difference = i64::from(difference);
        *self = self.with(Self { count: 1, sum: difference, squares: difference * difference });
    }

    fn with(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// The standard deviation; none of nothing.
    pub fn deviation(self) -> Option<f64> {
        let [count, sum, squares] = [self.count, self.sum, self.squares].map(|it| it as f64);
        let variance = squares / count - (sum / count).powi(2);
        (variance > 0.0).then(|| variance.sqrt())
    }
}

/// Positions that a thread searches at a time.
const PIECE: usize = 64;

impl Chosen {
    /// Searches the moves of samples, whose results and scores go with their quiet ends; `seen` is
    /// told of those that are done.
    pub fn of<'a>(
        samples: impl IndexedParallelIterator<Item = &'a Sample>,
        encoder: &Encoder,
        by: &dyn Choose,
        seen: &(dyn Fn(u64) + Sync),
    ) -> Self {
        let piece = |samples: Vec<&Sample>| {
            let samples: Vec<Sample> = samples.into_iter().copied().collect();
            let choices = by.choose(&samples);
            let mut chosen = Self::default();
            for (sample, choice) in samples.iter().zip(choices) {
                chosen.push(sample, &choice, encoder);
            }
            seen(samples.len() as u64);
            chosen
        };
        let pieces: Vec<Self> = samples.chunks(PIECE).map(piece).collect();
        let mut all = Self::default();
        pieces.into_iter().for_each(|piece| all.join(piece));
        all
    }

    fn push(&mut self, sample: &Sample, choice: &Choice, encoder: &Encoder) {
        let record = Packed::from(sample);
        for end in choice.ends.iter().chain([&choice.root]) {
            let mut row = record;
            row.replace(end);
            self.records.push(row);
            self.bases.extend(encoder.base().map(|base| base.logit(end)));
            // The model sees White, or the side to move.
            let turned = end.turn() != sample.position.turn();
            let sign = encoder.sign(end) * if turned { -1 } else { 1 };
            self.choices.signs.push(sign as i8);
        }
        self.choices.ends.push(self.records.len() as u32);
        self.places.push(choice.place);
        self.spread = self.spread.with(choice.spread);
    }

    fn join(&mut self, other: Self) {
        let before = self.records.len() as u32;
        self.records.extend(other.records);
        self.bases.extend(other.bases);
        self.choices.ends.extend(other.choices.ends.iter().map(|end| before + end));
        self.choices.signs.extend(other.choices.signs);
        self.places.extend(other.places);
        self.spread = self.spread.with(other.spread);
    }

    /// Adds some positions of others.
    pub(super) fn take(&mut self, from: &Self, positions: &[u32]) {
        for position in positions.iter().map(|position| *position as usize) {
            let rows = from.choices.rows(position);
            self.records.extend_from_slice(&from.records[rows.clone()]);
            self.bases.extend(from.bases.get(rows.clone()).into_iter().flatten());
            self.choices.signs.extend_from_slice(&from.choices.signs[rows]);
            self.choices.ends.push(self.records.len() as u32);
            self.places.push(from.places[position]);
        }
    }

    /// In batches of some thousand rows.
    pub fn batches(&self, encoder: &Encoder) -> Vec<Batch> {
        let positions: Vec<u32> = (0..self.len() as u32).collect();
        let batch = |positions: &[u32]| {
            let mut some = Self::default();
            some.take(self, positions);
            some.encode(encoder)
        };
        positions.chunks(256).map(batch).collect()
    }

    /// All of them as a batch. A position's rows of handcrafted terms lie in one piece.
    pub fn encode(&self, encoder: &Encoder) -> Batch {
        let batch = match encoder {
            Encoder::Net(..) | Encoder::Sum(..) => {
                let order: Vec<u32> = (0..self.records.len() as u32).collect();
                let Self { records, bases, .. } = self;
                encoder.encode_parts(&[Part::whole(records, bases, &order)])
            }
            Encoder::Hce(terms) => {
                let (mut pieces, mut start) = (Vec::new(), 0);
                for end in self.choices.ends.iter().map(|end| *end as usize) {
                    if end - start >= TERMS_PIECE || end == self.records.len() {
                        pieces.push(&self.records[start..end]);
                        start = end;
                    }
                }
                terms.batch(pieces.into_par_iter())
            }
        };
        fn of_roots<T: Copy>(choices: &Choices, values: &[T]) -> Arc<[T]> {
            match values.is_empty() {
                true => Arc::new([]),
                false => choices.roots().map(|row| values[row]).collect(),
            }
        }
        Batch {
            results: of_roots(&self.choices, &batch.results),
            scores: of_roots(&self.choices, &batch.scores),
            sources: of_roots(&self.choices, &batch.sources),
            choices: Some(Arc::new(self.choices.clone())),
            ..batch
        }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}
