//! Records to batches.

use std::sync::Arc;

use rayon::prelude::*;

use super::chunk_plans::{ChunkPlans, plan_slices};
use super::label::{Label, batch_with_labels};
use super::lists::{ENCODED_TOGETHER, FIRST_VIEWS_BLOCK, write_first_views, write_lists};
use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{Batch, BatchInputs, InputPairs, TermBatch};
use crate::evaluation::Evaluation;
use crate::hce::{self, Coding, Trace};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};
use crate::terms::TermSelection;

#[derive(Clone, Debug)]
pub enum Encoder {
    /// Rows and output buckets of a net, and its base, if any.
    Net(Arc<Architecture>, Option<Arc<Base>>),
    Hce(Arc<TermsEncoder>),
    /// A net and the terms that are trained with it.
    Sum(Arc<Architecture>, Arc<TermsEncoder>),
}

/// Fixed evaluation whose logits are added to those of a net in training.
#[derive(Clone, Debug)]
pub struct Base {
    pub evaluation: Evaluation,
    /// Centipawns per logit of the net.
    pub scale: f64,
}

impl Base {
    pub fn base_logit(&self, position: &Position) -> f32 {
        (f64::from(self.evaluation.evaluate(position)) / self.scale) as f32
    }
}

/// Encoder of handcrafted terms, with entries for the trained ones.
#[derive(Debug)]
pub struct TermsEncoder {
    pub coding: Coding,
    pub chosen: TermSelection,
    /// Middlegame and endgame weight of each term, for the frozen ones.
    pub weights: Vec<[f64; 2]>,
}

/// Records, with the numbers that are computed once for them.
#[derive(Clone, Debug, Default)]
pub(super) struct EncodedRecords {
    pub records: Vec<Packed>,
    /// Base logits, see [`Encoder::logits_of_base`].
    pub bases: Vec<f32>,
    pub layout: RecordLayout,
}

/// Layout of records of a net, with the data that batches share.
#[derive(Clone, Debug, Default)]
pub(super) enum RecordLayout {
    #[default]
    Lists,
    Plans(Arc<ChunkPlans>),
    FirstViews(Arc<InputPairs>),
}

#[derive(Clone, Copy)]
pub(super) struct RecordSlice<'a> {
    pub of: &'a EncodedRecords,
    /// Indices of `records`.
    pub order: &'a [u32],
}

#[derive(Debug, Default)]
pub(super) struct EncodedTerms {
    pub pieces: Vec<Arc<TermBatch>>,
    pub labels: Vec<Label>,
    /// Number of positions with each term, frozen or not.
    pub counts: Vec<u64>,
}

impl EncodedTerms {
    pub fn join_terms(&mut self, more: Self) {
        self.pieces.extend(more.pieces);
        self.labels.extend(more.labels);
        self.counts.resize(self.counts.len().max(more.counts.len()), 0);
        self.counts.iter_mut().zip(more.counts).for_each(|(sum, count)| *sum += count);
    }
}

/// Positions per [`TermBatch`], within which the fused operations sum in single precision.
pub const TERMS_PIECE: usize = 4096;
/// Positions per [`TermBatch`] of a sum: small batches need work for all threads.
const SUM_PIECE: usize = 512;

impl Encoder {
    pub fn for_net(net: &Architecture) -> Self {
        Self::for_net_on_base(net, None)
    }

    pub fn for_net_on_base(net: &Architecture, base: Option<Base>) -> Self {
        Encoder::Net(Arc::new(net.clone()), base.map(Arc::new))
    }

    pub fn for_sum(net: &Architecture, terms: TermsEncoder) -> Self {
        Encoder::Sum(Arc::new(net.clone()), Arc::new(terms))
    }

    pub fn base(&self) -> Option<&Base> {
        match self {
            Encoder::Net(_, base) => base.as_deref(),
            Encoder::Hce(_) | Encoder::Sum(..) => None,
        }
    }

    /// Computes logits of the base for the side to move, one per record; empty without a base.
    pub(super) fn logits_of_base(&self, records: &[Packed]) -> Vec<f32> {
        let Some(base) = self.base() else { return Vec::new() };
        records.par_iter().with_min_len(64).map(|it| base.base_logit(&it.position())).collect()
    }

    pub fn point_of_view(&self) -> PointOfView {
        match self {
            Encoder::Net(net, _) | Encoder::Sum(net, _) => net.inputs.perspectives.point_of_view(),
            Encoder::Hce(_) => PointOfView::White,
        }
    }

    /// Returns the sign that converts scores of the side to move to the model's point of view.
    pub fn sign_of_target(&self, position: &Position) -> i32 {
        self.point_of_view().sign_for(position.turn())
    }

    /// Whether it needs the colours of pieces, not boards flipped to the side to move.
    pub fn needs_colours(&self) -> bool {
        let is_white =
            !matches!(self, Encoder::Hce(_)) && self.point_of_view() == PointOfView::White;
        is_white || self.base().is_some_and(|base| base.evaluation.needs_colours())
    }

    /// Encodes samples in order. Scores are left out unless every sample has one.
    pub fn encode_samples(&self, samples: &[Sample]) -> Batch {
        let records: Vec<Packed> = samples.iter().map(Packed::from).collect();
        let bases = self.logits_of_base(&records);
        self.encode_all(&EncodedRecords { records, bases, layout: RecordLayout::Lists })
    }

    pub(super) fn encode_all(&self, of: &EncodedRecords) -> Batch {
        let order: Vec<u32> = (0..of.records.len() as u32).collect();
        self.encode_slices(&[RecordSlice { of, order: &order }])
    }

    pub(super) fn encode_slices(&self, slices: &[RecordSlice]) -> Batch {
        let layout = slices.first().map_or(&RecordLayout::Lists, |slice| &slice.of.layout);
        let records = || gather_records(slices);
        let (inputs, labels) = match (self, layout) {
            (Encoder::Net(net, _), RecordLayout::Plans(_)) => {
                let (plans, labels) = plan_slices(net, slices);
                (BatchInputs::Planned(plans), labels)
            }
            (Encoder::Net(net, _), RecordLayout::FirstViews(pairs)) => {
                let records = records();
                let first_views = write_first_views(net, &records, pairs);
                (BatchInputs::First(first_views), self.read_labels(&records))
            }
            (Encoder::Net(net, _), RecordLayout::Lists) => {
                let records = records();
                (BatchInputs::Active(write_lists(net, &records)), self.read_labels(&records))
            }
            (Encoder::Sum(net, terms), _) => {
                let records = records();
                let blocks = terms.encode_blocks(records.par_chunks(SUM_PIECE)).pieces;
                (BatchInputs::Both(write_lists(net, &records), blocks), self.read_labels(&records))
            }
            (Encoder::Hce(encoder), _) => {
                return encoder.encode_batch(records().par_chunks(TERMS_PIECE));
            }
        };
        Batch { base: self.base_logits(slices), ..batch_with_labels(inputs, &labels) }
    }

    fn read_labels(&self, records: &[Packed]) -> Vec<Label> {
        let point_of_view = self.point_of_view();
        let records = records.par_iter().with_min_len(FIRST_VIEWS_BLOCK);
        records.map(|record| Label::new(record, point_of_view)).collect()
    }

    /// Converts the base's logits to the model's point of view; empty without a base.
    fn base_logits(&self, slices: &[RecordSlice]) -> Arc<[f32]> {
        if self.base().is_none() {
            return Arc::new([]);
        }
        let logits = slices.iter().flat_map(|RecordSlice { of, order }| {
            order.iter().map(|index| {
                let index = *index as usize;
                of.bases[index] * self.sign_of_target(&of.records[index].position()) as f32
            })
        });
        logits.collect()
    }
}

impl TermsEncoder {
    pub(super) fn encode_batch<R: AsRef<[Packed]>>(
        &self,
        records: impl IndexedParallelIterator<Item = R>,
    ) -> Batch {
        let terms = self.encode_blocks(records);
        batch_with_labels(BatchInputs::Terms(terms.pieces), &terms.labels)
    }

    /// Counts the positions with each term, frozen or not.
    pub fn count_terms(&self, samples: &[Sample]) -> Vec<u64> {
        let piece = |samples: &[Sample]| samples.iter().map(Packed::from).collect::<Vec<Packed>>();
        let mut counts = vec![0; self.weights.len()];
        // In blocks, since terms take far more memory than positions.
        for samples in samples.chunks(1 << 18) {
            let terms = self.encode_blocks(samples.par_chunks(TERMS_PIECE).map(piece));
            counts.iter_mut().zip(terms.counts).for_each(|(sum, count)| *sum += count);
        }
        counts
    }

    /// Encodes the terms of positions, in blocks; records are dropped as they are encoded.
    pub(super) fn encode_blocks<R: AsRef<[Packed]>>(
        &self,
        records: impl IndexedParallelIterator<Item = R>,
    ) -> EncodedTerms {
        let piece = |trace: &mut Trace, records: R| {
            let (mut terms, records) = (TermBatch::default(), records.as_ref());
            for record in records {
                self.coding.encode_position(&record.position(), trace, &mut terms);
            }
            let label = |record| Label::new(record, PointOfView::White);
            self.encode_block(terms, records.iter().map(label).collect())
        };
        let pieces: Vec<EncodedTerms> = records.map_init(Trace::default, piece).collect();
        let mut all = EncodedTerms::default();
        pieces.into_iter().for_each(|piece| all.join_terms(piece));
        all
    }

    pub(super) fn encode_block(&self, terms: TermBatch, labels: Vec<Label>) -> EncodedTerms {
        let mut counts = vec![0; self.weights.len()];
        terms.count_positions(&mut counts);
        EncodedTerms { pieces: vec![Arc::new(self.freeze_terms(terms))], labels, counts }
    }

    pub(super) fn freeze_terms(&self, mut terms: TermBatch) -> TermBatch {
        if self.chosen.terms.iter().any(|chosen| !chosen) {
            terms = hce::freeze_terms(terms, &self.chosen, &self.weights);
        }
        // A copy has no unused capacity.
        terms.clone()
    }
}

/// Copies the records of slices in order, on many threads, as they are scattered in memory.
fn gather_records(slices: &[RecordSlice]) -> Vec<Packed> {
    let mut gathered = Vec::new();
    for RecordSlice { of, order } in slices {
        let indices = order.par_iter().with_min_len(ENCODED_TOGETHER);
        gathered.par_extend(indices.map(|index| of.records[*index as usize]));
    }
    gathered
}
