//! A data set of handcrafted terms in memory, from positions or traces.

use std::mem::take;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::PassOrder;
use super::encode::{EncodedTerms, TERMS_PIECE, TermsEncoder};
use super::label::{Label, batch_with_labels};
use super::packed::Packed;
use super::shuffle::Walk;
use super::source::in_order;
use super::{KeptRecords, LoadError, ReadPlan, Stream, Subset};
use crate::batch::{Batch, BatchInputs, RankShare, TermBatch, TermColumn};
use crate::format::trace::{self, TraceEntry, TracedPosition};
use crate::hce::TermCounts;
use crate::point_of_view::PointOfView;
use crate::terms::{EngineTerms, TermKind};

/// Positions as terms, in the order of the files.
#[derive(Clone, Debug)]
pub struct Store {
    pub pieces: Vec<Arc<TermBatch>>,
    starts: Vec<usize>,
    /// Results and scores in White's point of view, without inputs.
    labels: Batch,
    /// Number of positions with each term, frozen or not.
    pub counts: Vec<u64>,
}

impl Store {
    pub fn encode_records(records: KeptRecords, encoder: &TermsEncoder) -> Self {
        let pieces = records.into_pieces().into_par_iter();
        Self::new(encoder.encode_blocks(pieces))
    }

    pub(super) fn new(EncodedTerms { pieces, labels, counts }: EncodedTerms) -> Self {
        let starts = pieces.iter().scan(0, |next, piece| {
            let start = *next;
            *next += piece.len();
            Some(start)
        });
        let starts = starts.collect();
        Self {
            pieces,
            starts,
            labels: batch_with_labels(BatchInputs::Terms(Vec::new()), &labels),
            counts,
        }
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.len() == 0
    }

    /// Returns all positions, without a copy.
    pub fn whole_batch(&self) -> Batch {
        Batch { inputs: BatchInputs::Terms(self.pieces.clone()), ..self.labels.clone() }
    }

    /// Returns the whole blocks of a rank.
    pub fn part_of_rank(&self, of_rank: RankShare) -> Batch {
        match of_rank {
            RankShare::ALL => self.whole_batch(),
            _ => self.select_pieces(of_rank.range_of_rank(self.pieces.len())),
        }
    }

    /// Returns about `positions` positions from all over the data: every k-th block.
    pub fn subsample_positions(&self, positions: usize) -> Batch {
        let step = (self.len() / positions.max(1)).max(1);
        self.select_pieces((0..self.pieces.len()).step_by(step))
    }

    fn select_pieces(&self, pieces: impl Iterator<Item = usize> + Clone) -> Batch {
        let inputs = pieces.clone().map(|piece| self.pieces[piece].clone()).collect();
        let positions = pieces.flat_map(|piece| {
            let start = self.starts[piece];
            start..start + self.pieces[piece].len()
        });
        self.batch_with_labels(BatchInputs::Terms(inputs), positions)
    }

    /// Makes a batch with the labels of these positions.
    fn batch_with_labels(
        &self,
        inputs: BatchInputs,
        positions: impl Iterator<Item = usize> + Clone,
    ) -> Batch {
        let Batch { results, scores, weights, sources, .. } = &self.labels;
        let floats = |values: &Arc<[f32]>| Batch::pick_values(values, positions.clone());
        let (weights, sources) = (floats(weights), Batch::pick_values(sources, positions.clone()));
        Batch { weights, sources, ..Batch::new(inputs, floats(results), floats(scores)) }
    }

    /// Converts the entries of frozen terms to sums.
    pub fn freeze_terms(&mut self, encoder: &TermsEncoder) {
        self.pieces.par_iter_mut().for_each(|piece| {
            *piece = Arc::new(encoder.freeze_terms(Arc::unwrap_or_clone(std::mem::take(piece))));
        });
    }

    /// Also stores the entries by term, which makes passes over all positions faster.
    pub fn by_term(&mut self) {
        self.pieces.par_iter_mut().for_each(|piece| {
            let terms = Arc::make_mut(piece);
            terms.columns = TermColumn::from_terms(terms);
        });
    }

    pub fn batch_of(&self, order: &[u32]) -> Batch {
        let pieces = order.par_chunks(TERMS_PIECE / 4).map(|order| {
            let rows = order.iter().map(|position| self.terms_of_row(*position as usize));
            Arc::new(TermBatch::gather_rows(rows))
        });
        let inputs = BatchInputs::Terms(pieces.collect());
        self.batch_with_labels(inputs, order.iter().map(|position| *position as usize))
    }

    fn terms_of_row(&self, position: usize) -> (&TermBatch, usize) {
        let piece = self.starts.partition_point(|start| *start <= position) - 1;
        (&self.pieces[piece], position - self.starts[piece])
    }
}

impl Stream {
    /// Starts a stream of batches of a store, across epochs, or of whole epochs.
    pub fn from_store(store: Arc<Store>, order: PassOrder, from: u64) -> Self {
        let mut walk = Walk::new(store.len(), order, from);
        Self::spawn_loader(4, move || {
            let Some(size) = order.batch_size() else {
                return Ok(Some(store.part_of_rank(order.of_rank)));
            };
            let mut positions = Vec::with_capacity(size);
            while positions.len() < size {
                let (_, passed) = walk.advance_within(size - positions.len(), usize::MAX);
                positions.extend_from_slice(&walk.order[passed]);
            }
            Ok(Some(store.batch_of(&positions[order.of_rank.range_of_rank(size)])))
        })
    }
}

/// Reads the traces of a plan: to train on, for validation, and the counts of each term in
/// training. Fails with the first file that cannot be read, or has too many lines that contradict
/// the term list.
pub fn read_traces(
    plan: &ReadPlan,
    engine: &EngineTerms,
    encoder: &TermsEncoder,
) -> Result<([Store; 2], TermCounts), LoadError> {
    let mut term_counts = TermCounts::new(engine.list.len());
    let mut stores: [EncodedTerms; 2] = Default::default();
    for (plan, trains) in [(Some(plan.clone()), true), (plan.validation_plan(), false)] {
        let Some(plan) = plan else { continue };
        let read = |path| read_trace_file(path, &plan, engine, encoder);
        for ([train, validation], file_counts) in
            in_order(plan.files.par_iter().map(|path| read(path)))?
        {
            stores[1].join_terms(validation.encoded);
            if trains {
                stores[0].join_terms(train.encoded);
                term_counts.join_counts(&file_counts);
            }
        }
    }
    Ok((stores.map(Store::new), term_counts))
}

#[derive(Default)]
struct StoreSide {
    open: TermBatch,
    labels: Vec<Label>,
    encoded: EncodedTerms,
}

impl StoreSide {
    fn push(&mut self, traced: &TracedPosition, engine: &EngineTerms, encoder: &TermsEncoder) {
        push(traced, engine, &mut self.open);
        self.labels.push(Label::new(&Packed::from(&traced.sample), PointOfView::White));
        if self.open.len() == TERMS_PIECE {
            self.close_block(encoder);
        }
    }

    fn close_block(&mut self, encoder: &TermsEncoder) {
        if !self.open.is_empty() {
            let (terms, labels) = (take(&mut self.open), take(&mut self.labels));
            self.encoded.join_terms(encoder.encode_block(terms, labels));
        }
    }
}

fn read_trace_file(
    path: &Path,
    plan: &ReadPlan,
    engine: &EngineTerms,
    encoder: &TermsEncoder,
) -> Result<([StoreSide; 2], TermCounts), LoadError> {
    let mut sides: [StoreSide; 2] = Default::default();
    let mut term_counts = TermCounts::new(engine.list.len());
    let mut left = plan.reading.limit.unwrap_or(u64::MAX);
    trace::read_traces(path, engine, plan.bad_records, plan.reading.views, |traced| {
        let unscored = plan.reading.scores && traced.sample.score.is_none();
        if left == 0 || unscored || plan.reading.filter.rejecting_key(&traced.sample).is_some() {
            return;
        }
        left -= 1;
        match plan.subset_of_game(traced.sample.split_group()) {
            Subset::Train => {
                for TraceEntry { term, white, black } in &traced.entries {
                    let times = u64::from(white.unsigned_abs()) + u64::from(black.unsigned_abs());
                    term_counts.times[usize::from(*term)] += times;
                }
                sides[0].push(traced, engine, encoder);
            }
            Subset::Validation => sides[1].push(traced, engine, encoder),
            Subset::Test | Subset::Unused => {}
        }
    })?;
    sides.iter_mut().for_each(|side| side.close_block(encoder));
    Ok((sides, term_counts))
}

/// Appends a position. Counts that do not fit are split into several entries. Panics if an entry's
/// term is not in the list; readers with the list reject it.
pub fn push(traced: &TracedPosition, engine: &EngineTerms, terms: &mut TermBatch) {
    let rows = terms.len();
    let entries_of = |kind| {
        let is_kind =
            move |entry: &&TraceEntry| engine.list.terms[usize::from(entry.term)].kind == kind;
        traced.entries.iter().filter(is_kind)
    };
    let normal = entries_of(TermKind::Normal).flat_map(|&TraceEntry { term, white, black }| {
        split_counts([i32::from(white) - i32::from(black), 0]).map(move |[count, _]| (term, count))
    });
    terms.normal.push(rows, normal);
    let safety = entries_of(TermKind::Safety).flat_map(|&TraceEntry { term, white, black }| {
        split_counts([white.into(), black.into()]).map(move |counts| (term, counts))
    });
    terms.safety.push(rows, safety);
    let complexity =
        entries_of(TermKind::Complexity).flat_map(|&TraceEntry { term, white, .. }| {
            split_counts([white.into(), 0]).map(move |[count, _]| (term, count))
        });
    terms.complexity.push(rows, complexity);
    let [middlegame, endgame] = engine.shares(traced.phase, traced.scale);
    terms.middlegame.push(middlegame as f32);
    terms.endgame.push(endgame as f32);
    terms.turn.push(traced.sample.position.turn().fold_wb(1, -1));
}

/// Splits counts into pairs of small counts, none of them zero for both.
fn split_counts(mut rest: [i32; 2]) -> impl Iterator<Item = [i8; 2]> {
    std::iter::from_fn(move || {
        let small = rest.map(|count| count.clamp(-127, 127) as i8);
        rest = [rest[0] - i32::from(small[0]), rest[1] - i32::from(small[1])];
        (small != [0, 0]).then_some(small)
    })
}
