//! A data set of handcrafted terms in memory.

use std::sync::Arc;

use rayon::prelude::*;

use super::encode::{EncodedTerms, TERMS_PIECE, TermsEncoder, labelled};
use super::shuffle::{BatchOrder, Walk};
use super::{KeptRecords, Stream};
use crate::batch::{Batch, Column, Inputs, OfRank, Terms};
use crate::hce::Trace;

/// Positions as terms, in the order of the files.
#[derive(Clone, Debug)]
pub struct Store {
    pub pieces: Vec<Arc<Terms>>,
    /// The number of each piece's first position.
    starts: Vec<usize>,
    /// Without inputs, in White's point of view.
    labels: Batch,
    /// By term, the positions that have it, held or not.
    pub counts: Vec<u64>,
}

impl Store {
    /// Finds the terms of all records, as far as [`scan_terms`](super::scan_terms) has not done so
    /// with the same encoder.
    pub fn encode(records: KeptRecords, encoder: &TermsEncoder) -> Self {
        let pieces = records.into_pieces().into_par_iter();
        let found = pieces.map_init(Trace::default, |trace, (records, found)| {
            found.unwrap_or_else(|| encoder.encoded(trace, &records))
        });
        let found: Vec<EncodedTerms> = found.collect();
        Self::new(found.into_iter().fold(EncodedTerms::default(), EncodedTerms::join))
    }

    pub(super) fn new(EncodedTerms { pieces, labels, counts }: EncodedTerms) -> Self {
        let starts = pieces.iter().scan(0, |next, piece| {
            let start = *next;
            *next += piece.len();
            Some(start)
        });
        let starts = starts.collect();
        Self { pieces, starts, labels: labelled(Inputs::Terms(Vec::new()), &labels), counts }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// All positions, without a copy.
    pub fn all(&self) -> Batch {
        Batch { inputs: Inputs::Terms(self.pieces.clone()), ..self.labels.clone() }
    }

    /// The whole pieces of a rank.
    pub fn part(&self, of_rank: OfRank) -> Batch {
        match of_rank {
            OfRank::ALL => self.all(),
            _ => self.of_pieces(of_rank.range(self.pieces.len())),
        }
    }

    /// About so many positions from all over the data: every k-th piece.
    pub fn some(&self, positions: usize) -> Batch {
        let every = (self.len() / positions.max(1)).max(1);
        self.of_pieces((0..self.pieces.len()).step_by(every))
    }

    fn of_pieces(&self, pieces: impl Iterator<Item = usize> + Clone) -> Batch {
        let inputs = pieces.clone().map(|piece| self.pieces[piece].clone()).collect();
        let places = pieces.flat_map(|piece| {
            let start = self.starts[piece];
            start..start + self.pieces[piece].len()
        });
        self.labelled(Inputs::Terms(inputs), || places.clone())
    }

    /// A batch with the labels of the positions at these places.
    fn labelled<I: Iterator<Item = usize>>(&self, inputs: Inputs, places: impl Fn() -> I) -> Batch {
        fn pick<T: Copy>(values: &Arc<[T]>, places: impl Iterator<Item = usize>) -> Arc<[T]> {
            match values.is_empty() {
                true => values.clone(),
                false => places.map(|place| values[place]).collect(),
            }
        }
        let Batch { results, scores, weights, sources, .. } = &self.labels;
        let floats = |values: &Arc<[f32]>| pick(values, places());
        let (weights, sources) = (floats(weights), pick(sources, places()));
        Batch { weights, sources, ..Batch::new(inputs, floats(results), floats(scores)) }
    }

    /// Takes the entries of terms out that the encoder holds; they become sums.
    pub fn hold(&mut self, encoder: &TermsEncoder) {
        self.pieces.par_iter_mut().for_each(|piece| {
            *piece = Arc::new(encoder.hold(Arc::unwrap_or_clone(std::mem::take(piece))));
        });
    }

    /// Keeps the entries by term as well, for passes over all positions, which are faster then.
    pub fn by_term(&mut self) {
        self.pieces.par_iter_mut().for_each(|piece| {
            let terms = Arc::make_mut(piece);
            terms.columns = Column::of(terms);
        });
    }

    /// Some positions in some order.
    pub fn batch(&self, order: &[u32]) -> Batch {
        let pieces = order.par_chunks(TERMS_PIECE / 4).map(|order| {
            let rows = order.iter().map(|place| self.row(*place as usize));
            Arc::new(Terms::gather(rows))
        });
        let inputs = Inputs::Terms(pieces.collect());
        self.labelled(inputs, || order.iter().map(|place| *place as usize))
    }

    /// The piece of a position, and its row there.
    fn row(&self, place: usize) -> (&Terms, usize) {
        let piece = self.starts.partition_point(|start| *start <= place) - 1;
        (&self.pieces[piece], place - self.starts[piece])
    }
}

impl Stream {
    /// Batches of a store, which run on over the borders of epochs, or whole epochs.
    pub fn stored(store: Arc<Store>, cut: BatchOrder, from: u64) -> Self {
        let mut walk = Walk::new(store.len(), cut, from);
        Self::spawn(4, move || {
            let Some(size) = cut.batch else { return Ok(Some(store.part(cut.of_rank))) };
            let mut places = Vec::with_capacity(size);
            while places.len() < size {
                let (_, passed) = walk.on(size - places.len(), usize::MAX);
                places.extend_from_slice(&walk.order()[passed]);
            }
            Ok(Some(store.batch(&places[cut.of_rank.range(size)])))
        })
    }
}
