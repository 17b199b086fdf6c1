//! A data set of handcrafted terms in memory.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::encode::{Found, Labels, TERMS_PIECE, TermsEncoder};
use super::kept::Kept;
use crate::batch::{Batch, Columns, Inputs, OfRank, Terms};
use crate::hce::Trace;

/// Positions as terms, in the order of the files.
#[derive(Clone, Debug)]
pub struct Store {
    pub pieces: Vec<Arc<Terms>>,
    /// The number of each piece's first position.
    starts: Vec<usize>,
    /// Seen by White.
    pub results: Arc<[f32]>,
    /// Seen by White; empty unless every position has one, or sources tell which do.
    pub scores: Arc<[f32]>,
    /// What losses count, 0 to 1; empty where all count alike.
    pub weights: Arc<[f32]>,
    /// As batches have them.
    pub sources: Arc<[u8]>,
    /// By term, the positions that have it, held or not.
    pub counts: Vec<u64>,
}

impl Store {
    /// Finds the terms of all records, as far as [`scan`](super::scan) has not done so
    /// with the same encoder.
    pub fn encode(records: Kept, encoder: &TermsEncoder) -> Self {
        let encoded = records
            .into_pieces()
            .into_par_iter()
            .map_init(Trace::default, |trace, (records, found)| {
                found.unwrap_or_else(|| encoder.encoded(trace, &records))
            });
        Self::new(encoder.found(encoded.collect()))
    }

    pub(super) fn new(Found { pieces, labels, counts }: Found) -> Self {
        let Labels { results, scores, weights, sources } = labels.told();
        let starts = pieces.iter().scan(0, |next, piece| {
            let start = *next;
            *next += piece.len();
            Some(start)
        });
        let starts = starts.collect();
        let (results, scores, weights) = (results.into(), scores.into(), weights.into());
        Self { pieces, starts, results, scores, weights, sources: sources.into(), counts }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.results.len()
    }

    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Bytes that the arrays hold.
    pub fn bytes(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(|piece| piece.bytes()).sum();
        let columns = [&self.results, &self.scores, &self.weights];
        let columns: usize = columns.iter().map(|column| size_of_val(&column[..])).sum();
        pieces + columns + self.sources.len()
    }

    /// All positions, without a copy.
    pub fn all(&self) -> Batch {
        let (results, scores) = (self.results.clone(), self.scores.clone());
        let (weights, sources) = (self.weights.clone(), self.sources.clone());
        let inputs = Inputs::Terms(self.pieces.clone());
        Batch { weights, sources, ..Batch::new(inputs, results, scores) }
    }

    /// A share of them: so many whole pieces.
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

    /// A batch with what is known of the positions at these places.
    fn labelled<I: Iterator<Item = usize>>(&self, inputs: Inputs, places: impl Fn() -> I) -> Batch {
        fn pick<T: Copy>(values: &Arc<[T]>, places: impl Iterator<Item = usize>) -> Arc<[T]> {
            match values.is_empty() {
                true => values.clone(),
                false => places.map(|place| values[place]).collect(),
            }
        }
        let floats = |values: &Arc<[f32]>| pick(values, places());
        let (weights, sources) = (floats(&self.weights), pick(&self.sources, places()));
        let batch = Batch::new(inputs, floats(&self.results), floats(&self.scores));
        Batch { weights, sources, ..batch }
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
            terms.columns = Some(Columns::of(terms));
        });
    }

    /// Whether they are kept so.
    pub fn is_by_term(&self) -> bool {
        self.pieces.iter().all(|piece| piece.columns.is_some())
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
