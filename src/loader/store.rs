//! A data set of handcrafted terms in memory.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::encode::{EncodedTerms, TERMS_PIECE, TermsEncoder};
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
        Self { pieces, starts, labels: labels.batch(Inputs::Terms(Vec::new())), counts }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Bytes that the arrays hold.
    pub fn bytes(&self) -> usize {
        let Batch { results, scores, weights, sources, .. } = &self.labels;
        let pieces: usize = self.pieces.iter().map(|piece| piece.bytes()).sum();
        let labels: usize = [results, scores, weights].iter().map(|it| size_of_val(&it[..])).sum();
        pieces + labels + sources.len()
    }

    /// All positions, without a copy.
    pub fn all(&self) -> Batch {
        Batch { inputs: Inputs::Terms(self.pieces.clone()), ..self.labels.clone() }
    }

    /// The whole pieces of a rank.
    pub fn part(&self, of_rank: OfRank) -> Batch {
        if of_rank == OfRank::ALL {
            return self.all();
        }
        let pieces = of_rank.range(self.pieces.len());
        let start = |piece: usize| self.starts.get(piece).map_or(self.len(), |start| *start);
        let places = start(pieces.start)..start(pieces.end);
        let inputs = Inputs::Terms(self.pieces[pieces].to_vec());
        self.labelled(inputs, || places.clone())
    }

    /// About so many positions from all over the data: every k-th piece.
    pub fn some(&self, positions: usize) -> Batch {
        let every = (self.len() / positions.max(1)).max(1);
        let chosen: Vec<usize> = (0..self.pieces.len()).step_by(every).collect();
        let places: Vec<Range<usize>> = chosen
            .iter()
            .map(|piece| self.starts[*piece]..self.starts[*piece] + self.pieces[*piece].len())
            .collect();
        let inputs = chosen.iter().map(|piece| self.pieces[*piece].clone()).collect();
        self.labelled(Inputs::Terms(inputs), || places.iter().cloned().flatten())
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
