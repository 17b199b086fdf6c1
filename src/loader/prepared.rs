//! Rows that depend on the weights of a run: quiescence leaves of positions, or of all their moves.

use std::sync::Arc;

use rayon::prelude::*;

use super::encode::{EncodedRecords, Encoder, TERMS_PIECE};
use super::packed::Packed;
use super::shuffle::Walk;
use super::{PassOrder, PositionWeights, Stream};
use crate::batch::{Batch, MoveChoices};
use crate::sample::{Position, Sample};

/// Converter of positions to rows for training, with the weights at the beginning of a round.
pub trait Prepare: Send + Sync {
    /// Returns the rows of each sample, the sample itself last, with centipawns for its side to
    /// move.
    fn prepare_rows(&self, samples: &[Sample]) -> Vec<Vec<(Position, f64)>>;
    /// Returns the loss of a sample's rows; None if each sample has one row and a target.
    fn move_choices(&self) -> Option<MoveChoices>;
}

/// Training positions, and their conversion to rows.
#[derive(Clone)]
pub struct Preparation {
    pub samples: Arc<Vec<Sample>>,
    pub weighing: PositionWeights,
    pub encoder: Encoder,
    pub by: Arc<dyn Prepare>,
    /// See [`MoveChoices::variance_factor`].
    pub variance_factor: f64,
    /// Rows of all samples; None: each window is searched when it is needed.
    pub whole: Option<Arc<PreparedRows>>,
    /// Positions that are searched together.
    pub window: usize,
}

#[derive(Clone, Debug, Default)]
pub struct PreparedRows {
    rows: EncodedRecords,
    pub choices: Option<MoveChoices>,
}

/// Positions that a thread searches at a time.
const BLOCK: usize = 64;

impl Preparation {
    /// Searches samples; `count` receives the numbers of finished ones.
    pub fn prepare_samples<'a>(
        &self,
        samples: impl IndexedParallelIterator<Item = &'a Sample>,
        count: &(dyn Fn(u64) + Sync),
    ) -> PreparedRows {
        let piece = |samples: Vec<&Sample>| {
            let samples: Vec<Sample> = samples.into_iter().copied().collect();
            let mut prepared = self.no_rows();
            for (sample, rows) in samples.iter().zip(self.by.prepare_rows(&samples)) {
                prepared.push(sample, &rows, self);
            }
            count(samples.len() as u64);
            prepared
        };
        let pieces: Vec<PreparedRows> = samples.chunks(BLOCK).map(piece).collect();
        let mut all = self.no_rows();
        pieces.into_iter().for_each(|piece| all.take_positions(&piece, 0..piece.len()));
        all
    }

    fn no_rows(&self) -> PreparedRows {
        let choices = self
            .by
            .move_choices()
            .map(|it| MoveChoices { variance_factor: self.variance_factor, ..it });
        PreparedRows { choices, ..PreparedRows::default() }
    }

    pub fn encode_all(&self) -> Batch {
        match &self.whole {
            Some(whole) => whole.encode_rows(&self.encoder),
            None => {
                self.prepare_samples(self.samples.par_iter(), &|_| {}).encode_rows(&self.encoder)
            }
        }
    }
}

impl PreparedRows {
    fn push(&mut self, sample: &Sample, rows: &[(Position, f64)], by: &Preparation) {
        let record = Packed::with_weight(sample, &by.weighing);
        for (position, value) in rows {
            let mut row = record;
            row.replace_position(position);
            self.rows.records.push(row);
            self.rows.bases.extend(by.encoder.base().map(|base| base.base_logit(position)));
            if let Some(choices) = &mut self.choices {
                // The model has White's point of view, or the side to move's.
                let is_flipped = position.turn() != sample.position.turn();
                let sign = by.encoder.sign_of_target(position) * if is_flipped { -1 } else { 1 };
                choices.signs.push(sign as i8);
                choices.searched_values.push(*value);
            }
        }
        self.end_position();
    }

    fn end_position(&mut self) {
        if let Some(choices) = &mut self.choices {
            choices.ends.push(self.rows.records.len() as u32);
        }
    }

    fn take_positions(&mut self, from: &Self, positions: impl IntoIterator<Item = usize>) {
        for position in positions {
            let rows = match &from.choices {
                Some(choices) => choices.move_rows(position),
                None => position..position + 1,
            };
            self.rows.records.extend_from_slice(&from.rows.records[rows.clone()]);
            self.rows.bases.extend(from.rows.bases.get(rows.clone()).into_iter().flatten());
            if let Some((choices, more)) = self.choices.as_mut().zip(from.choices.as_ref()) {
                choices.signs.extend_from_slice(&more.signs[rows.clone()]);
                choices.searched_values.extend_from_slice(&more.searched_values[rows]);
            }
            self.end_position();
        }
    }

    /// Encodes the rows in batches of some thousand rows.
    pub fn encode_batches(&self, by: &Preparation) -> Vec<Batch> {
        let size = if self.choices.is_some() { 256 } else { 4096 };
        let batch = |first: usize| {
            let mut rows = by.no_rows();
            rows.take_positions(self, first..self.len().min(first + size));
            rows.encode_rows(&by.encoder)
        };
        (0..self.len()).step_by(size).map(batch).collect()
    }

    /// Encodes all rows as one batch. The terms of a position's rows stay in one block.
    pub fn encode_rows(&self, encoder: &Encoder) -> Batch {
        let Self { rows, choices } = self;
        let batch = match encoder {
            Encoder::Net(..) | Encoder::Sum(..) => encoder.encode_all(rows),
            Encoder::Hce(terms) => {
                let records = &rows.records[..];
                let ends: Vec<usize> = match choices {
                    Some(choices) => choices.ends.iter().map(|end| *end as usize).collect(),
                    None => (1..=records.len()).collect(),
                };
                let (mut pieces, mut start) = (Vec::new(), 0);
                for end in ends {
                    if end - start >= TERMS_PIECE || end == records.len() {
                        pieces.push(&records[start..end]);
                        start = end;
                    }
                }
                terms.encode_batch(pieces.into_par_iter())
            }
        };
        let Some(choices) = choices else { return batch };
        Batch {
            results: Batch::pick_values(&batch.results, choices.root_rows()),
            scores: Batch::pick_values(&batch.scores, choices.root_rows()),
            sources: Batch::pick_values(&batch.sources, choices.root_rows()),
            choices: Some(Arc::new(choices.clone())),
            ..batch
        }
    }

    pub fn len(&self) -> usize {
        self.choices.as_ref().map_or(self.rows.records.len(), |choices| choices.ends.len())
    }
}

impl Stream {
    /// Starts a stream of searched batches across windows and epochs, or of whole epochs.
    pub fn from_preparation(by: Preparation, order: PassOrder, from: u64) -> Self {
        let walk = Walk::new(by.samples.len(), order, from);
        let mut windows = SearchedWindows { by, walk, window: None };
        let mut all = None;
        Self::spawn_loader(2, move || {
            Ok(Some(match order.batch_size() {
                None => all.get_or_insert_with(|| windows.by.encode_all()).clone(),
                Some(size) => windows.take_rows(size).encode_rows(&windows.by.encoder),
            }))
        })
    }
}

struct SearchedWindows {
    by: Preparation,
    walk: Walk,
    /// Epoch and number of the last searched window, and its rows.
    window: Option<([u64; 2], PreparedRows)>,
}

impl SearchedWindows {
    fn take_rows(&mut self, size: usize) -> PreparedRows {
        let Self { by, walk, window: searched } = self;
        let mut taken = by.no_rows();
        while taken.len() < size {
            let window = if by.whole.is_some() { usize::MAX } else { by.window };
            let (epoch, passed) = walk.advance_within(size - taken.len(), window);
            let (order, number) = (&walk.order, passed.start / window);
            if let Some(whole) = &by.whole {
                taken.take_positions(whole, order[passed].iter().map(|index| *index as usize));
                continue;
            }
            let key = [epoch, number as u64];
            if searched.as_ref().is_none_or(|(searched_key, _)| *searched_key != key) {
                // Frees the memory of the last window before the next one needs it.
                *searched = None;
                let samples = &order[number * window..order.len().min((number + 1) * window)];
                let samples = samples.par_iter().map(|index| &by.samples[*index as usize]);
                *searched = Some((key, by.prepare_samples(samples, &|_| {})));
            }
            let (_, rows) = searched.as_ref().expect("it was searched");
            taken.take_positions(rows, passed.map(|index| index - number * window));
        }
        taken
    }
}
