//! Positions to batches.

use std::sync::Arc;

use rayon::prelude::*;

use super::base::Base;
use super::packed::Packed;
use super::plans::{self, Plans};
use crate::architecture::Architecture;
use crate::batch::{Active, Batch, Inputs, Terms};
use crate::features::MAX_ACTIVE;
use crate::hce::{self, Coding, Trace};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};
use crate::terms::{Chosen, Kind};

/// What a model wants to see of a position.
#[derive(Clone, Debug)]
pub enum Encoder {
    /// The rows of a net, and its output buckets; and what it is added to, if anything.
    Net(Arc<Architecture>, Option<Arc<Base>>),
    /// Handcrafted terms.
    Hce(Arc<TermsEncoder>),
    /// A net and the terms that learn with it.
    Sum(Arc<Architecture>, Arc<TermsEncoder>),
}

/// How positions become handcrafted terms: those of the model, with an entry for each that
/// training moves.
#[derive(Debug)]
pub struct TermsEncoder {
    pub coding: Coding,
    pub chosen: Chosen,
    /// Middlegame and endgame weight of each term, where the others are held.
    pub weights: Vec<[f64; 2]>,
    pub kinds: Vec<Kind>,
}

/// Some records in some order: a batch has one part, or several where windows meet.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub records: &'a [Packed],
    /// What [`Encoder::bases`] says of them.
    pub bases: &'a [f32],
    /// Places in `records`.
    pub order: &'a [u32],
    /// Of the records chunk by chunk, where the processor works on them.
    pub plans: Option<&'a Plans>,
    /// Where mirror images are shown as well, the pass over the data that this is: half of the
    /// positions are turned in it, and the others in the next.
    pub mirroring: Option<u64>,
}

impl<'a> Part<'a> {
    /// Records that come once.
    pub fn whole(records: &'a [Packed], bases: &'a [f32], order: &'a [u32]) -> Self {
        Self { records, bases, order, plans: None, mirroring: None }
    }
}

/// A piece of terms, and how many of its positions have each term, held or not.
pub(super) type Piece = (Arc<Terms>, Vec<u64>);

/// The terms of a piece of records, and what else is known of them.
pub(super) type Encoded = (Piece, Labels);

/// Positions as terms.
pub(super) struct Found {
    pub pieces: Vec<Arc<Terms>>,
    pub labels: Labels,
    /// By term, the positions that have it.
    pub counts: Vec<u64>,
}

/// What is known of positions besides their inputs, a value each.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Seen with the model's eyes, as scores are.
    pub results: Vec<f32>,
    /// NaN where there is none.
    pub scores: Vec<f32>,
    /// What losses count, 0 to 1.
    pub weights: Vec<f32>,
    /// Of the run's sources, from 1; 0 where nobody counts them.
    pub sources: Vec<u8>,
}

/// Positions that a thread encodes at a time.
const PIECE: usize = 256;

/// Positions a piece of [`Terms`]. Within a piece the fused operations sum in single precision.
pub const TERMS_PIECE: usize = 4096;

/// The same beside a net, whose batches are small: so that all threads have work.
const SUM_PIECE: usize = 512;

impl Encoder {
    /// For a net.
    pub fn net(net: &Architecture) -> Self {
        Encoder::Net(Arc::new(net.clone()), None)
    }

    /// The same for a net that is added to something.
    pub fn on(self, base: Option<Base>) -> Self {
        match self {
            Encoder::Net(net, _) => Encoder::Net(net, base.map(Arc::new)),
            other => other,
        }
    }

    /// For a net that learns together with terms.
    pub fn sum(net: &Architecture, terms: TermsEncoder) -> Self {
        Encoder::Sum(Arc::new(net.clone()), Arc::new(terms))
    }

    /// What the net is added to.
    pub fn base(&self) -> Option<&Base> {
        match self {
            Encoder::Net(_, base) => base.as_deref(),
            Encoder::Hce(_) | Encoder::Sum(..) => None,
        }
    }

    /// The logits of that for the side to move, a record each; none without.
    pub(super) fn bases(&self, records: &[Packed]) -> Vec<f32> {
        self.base().map_or(Vec::new(), |base| base.logits(records))
    }

    pub fn point_of_view(&self) -> PointOfView {
        match self {
            Encoder::Net(net, _) | Encoder::Sum(net, _) => net.inputs.views.point_of_view(),
            Encoder::Hce(_) => PointOfView::White,
        }
    }

    /// +1, or -1 where the model sees with the other side's eyes than the side to move.
    pub fn sign(&self, position: &Position) -> i32 {
        sign(self.point_of_view(), position)
    }

    /// Whether boards that were turned to the side to move will not do. The handcrafted terms
    /// are the same for both colours, so that a turned board has the same evaluation.
    pub fn needs_colours(&self) -> bool {
        let own = !matches!(self, Encoder::Hce(_)) && self.point_of_view() == PointOfView::White;
        own || self.base().is_some_and(Base::needs_colours)
    }

    /// Encodes samples in their order. Scores are left out unless every sample has one.
    pub fn encode(&self, samples: &[Sample]) -> Batch {
        let records: Vec<Packed> = samples.iter().map(Packed::from).collect();
        let order: Vec<u32> = (0..records.len() as u32).collect();
        let bases = self.bases(&records);
        self.encode_parts(&[Part::whole(&records, &bases, &order)])
    }

    /// Encodes the parts, one after the other.
    pub fn encode_parts(&self, parts: &[Part]) -> Batch {
        let (inputs, labels) = match self {
            Encoder::Net(net, _) if parts.iter().any(|part| part.plans.is_some()) => {
                let (plans, labels) = plans::planned(net, parts);
                (Inputs::Planned(plans), labels)
            }
            Encoder::Net(net, _) => {
                let (active, labels) = lists(net, parts);
                (Inputs::Active(active), labels)
            }
            Encoder::Hce(encoder) => {
                return encoder.batch(near(parts).par_chunks(TERMS_PIECE));
            }
            Encoder::Sum(net, terms) => {
                let (active, labels) = lists(net, parts);
                let pieces = terms.pieces(near(parts).par_chunks(SUM_PIECE)).pieces;
                return batch(Inputs::Both(active, pieces), labels);
            }
        };
        Batch { base: self.added(parts), ..batch(inputs, labels) }
    }

    /// What a net is added to, as logits with the model's eyes; empty without.
    fn added(&self, parts: &[Part]) -> Arc<[f32]> {
        if self.base().is_none() {
            return Arc::new([]);
        }
        let of = |part: &Part| {
            let Part { records, bases, .. } = *part;
            let of =
                move |place: usize| bases[place] * self.sign(&records[place].position()) as f32;
            part.order.iter().map(move |place| of(*place as usize)).collect::<Vec<f32>>()
        };
        parts.iter().flat_map(of).collect()
    }
}

impl Labels {
    /// Of so many positions, to be filled in.
    fn zeros(positions: usize) -> Self {
        let zeros = || vec![0.0; positions];
        let sources = vec![0; positions];
        Self { results: zeros(), scores: zeros(), weights: zeros(), sources }
    }

    /// None yet, and room for so many.
    pub fn with_room(positions: usize) -> Self {
        let room = || Vec::with_capacity(positions);
        let sources = Vec::with_capacity(positions);
        Self { results: room(), scores: room(), weights: room(), sources }
    }

    pub fn push(&mut self, record: &Packed, (result, score): (f32, f32)) {
        self.results.push(result);
        self.scores.push(score);
        self.weights.push(record.weight());
        self.sources.push(record.source());
    }

    pub fn append(&mut self, other: &Self) {
        self.results.extend_from_slice(&other.results);
        self.scores.extend_from_slice(&other.scores);
        self.weights.extend_from_slice(&other.weights);
        self.sources.extend_from_slice(&other.sources);
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> usize {
        let floats = [&self.results, &self.scores, &self.weights];
        floats.iter().map(|it| size_of_val(&it[..])).sum::<usize>() + self.sources.len()
    }

    /// Without what tells nothing: sources where nobody counts them, weights where all are 1, and
    /// scores unless every position has one, or sources tell which do.
    pub fn told(self) -> Self {
        let Self { results, mut scores, mut weights, mut sources } = self;
        if sources.iter().all(|source| *source == 0) {
            sources.clear();
        }
        if weights.iter().all(|weight| *weight == 1.0) {
            weights.clear();
        }
        if sources.is_empty() && scores.iter().any(|score| score.is_nan()) {
            scores.clear();
        }
        Self { results, scores, weights, sources }
    }
}

fn batch(inputs: Inputs, labels: Labels) -> Batch {
    let Labels { results, scores, weights, sources } = labels.told();
    let (weights, sources) = (weights.into(), sources.into());
    Batch { weights, sources, ..Batch::new(inputs, results.into(), scores.into()) }
}

impl TermsEncoder {
    /// The terms of positions as a batch, a piece each.
    pub(super) fn batch<R: AsRef<[Packed]>>(
        &self,
        records: impl IndexedParallelIterator<Item = R>,
    ) -> Batch {
        let found = self.pieces(records);
        batch(Inputs::Terms(found.pieces), found.labels)
    }

    /// By term, how many of some positions have it, held or not.
    pub fn counts(&self, samples: &[Sample]) -> Vec<u64> {
        let piece = |samples: &[Sample]| samples.iter().map(Packed::from).collect::<Vec<Packed>>();
        let mut counts = vec![0; self.kinds.len()];
        // Not all at once, since their terms take far more room than positions do.
        for samples in samples.chunks(1 << 18) {
            let found = self.pieces(samples.par_chunks(TERMS_PIECE).map(piece));
            counts.iter_mut().zip(found.counts).for_each(|(sum, count)| *sum += count);
        }
        counts
    }

    /// The terms of positions, a piece each; records are dropped as they turn into terms.
    pub(super) fn pieces<R: AsRef<[Packed]>>(
        &self,
        records: impl IndexedParallelIterator<Item = R>,
    ) -> Found {
        let one = |trace: &mut Trace, records: R| self.encoded(trace, records.as_ref());
        self.found(records.map_init(Trace::default, one).collect())
    }

    /// The terms of a piece, and what else is known of its positions.
    pub(super) fn encoded(&self, trace: &mut Trace, records: &[Packed]) -> Encoded {
        let (mut terms, mut labels) = (Terms::default(), Labels::default());
        for record in records {
            let position = record.position();
            self.coding.encode(&position, trace, &mut terms);
            labels.push(record, seen(PointOfView::White, record, &position));
        }
        (self.piece(terms), labels)
    }

    /// Pieces as one.
    pub(super) fn found(&self, encoded: Vec<Encoded>) -> Found {
        let (mut counts, mut labels) = (vec![0; self.kinds.len()], Labels::default());
        let piece = |((terms, of_piece), more): Encoded| {
            counts.iter_mut().zip(of_piece).for_each(|(sum, count)| *sum += count);
            labels.append(&more);
            terms
        };
        let pieces = encoded.into_iter().map(piece).collect();
        Found { pieces, labels, counts }
    }

    /// A piece as it is kept, and how many of its positions have each term.
    pub(super) fn piece(&self, terms: Terms) -> Piece {
        let mut counts = vec![0; self.kinds.len()];
        terms.count(&mut counts);
        (Arc::new(self.hold(terms)), counts)
    }

    /// The entries of terms that stand still become sums.
    pub(super) fn hold(&self, mut terms: Terms) -> Terms {
        if self.chosen.terms.iter().any(|chosen| !chosen) {
            terms = hce::hold(terms, &self.chosen, &self.weights, &self.kinds);
        }
        terms.shrink();
        terms
    }
}

/// The records of parts, one after the other.
fn near(parts: &[Part]) -> Vec<Packed> {
    let places = parts.iter().flat_map(|part| part.order.iter().map(move |place| (part, *place)));
    places.map(|(part, place)| part.records[place as usize]).collect()
}

fn lists(net: &Architecture, parts: &[Part]) -> (Active, Labels) {
    let (views, point_of_view) = (net.views(), net.inputs.views.point_of_view());
    let positions = parts.iter().map(|part| part.order.len()).sum();
    let mut labels = Labels::zeros(positions);
    let lists = views * MAX_ACTIVE;
    let mut indices = vec![0; positions * lists];
    let mut all_buckets = vec![0; positions];
    let (mut rest, mut buckets) = (&mut indices[..], &mut all_buckets[..]);
    let (mut results, mut scores) = (&mut labels.results[..], &mut labels.scores[..]);
    let (mut weights, mut sources) = (&mut labels.weights[..], &mut labels.sources[..]);
    for Part { records, order, mirroring, .. } in parts {
        let here = order.len();
        take(&mut rest, here * lists)
            .par_chunks_mut(lists * PIECE)
            .zip(order.par_chunks(PIECE))
            .zip(take(&mut results, here).par_chunks_mut(PIECE))
            .zip(take(&mut scores, here).par_chunks_mut(PIECE))
            .zip(take(&mut buckets, here).par_chunks_mut(PIECE))
            .zip(take(&mut weights, here).par_chunks_mut(PIECE))
            .zip(take(&mut sources, here).par_chunks_mut(PIECE))
            .for_each(|((((((indices, order), results), scores), buckets), weights), sources)| {
                // Fetched first, one right after the other: they lie all over the memory, and
                // the processor can wait for many at once.
                let near: Vec<Packed> =
                    order.iter().map(|place| records[*place as usize]).collect();
                let labels = results.iter_mut().zip(scores).zip(buckets).zip(weights).zip(sources);
                for ((record, out), ((((result, score), bucket), weight), source)) in
                    near.iter().zip(indices.chunks_exact_mut(lists)).zip(labels)
                {
                    let position = shown(record, *mirroring);
                    net.inputs.write(&position, out);
                    *bucket = net.bucket_of(&position) as u8;
                    (*result, *score) = seen(point_of_view, record, &position);
                    (*weight, *source) = (record.weight(), record.source());
                }
            });
    }
    if net.buckets == 1 {
        all_buckets.clear();
    }
    let (rows, places, buckets) = (net.rows(), MAX_ACTIVE, all_buckets);
    (Active { rows, views, places, indices, buckets }, labels)
}

/// The position, or its mirror image where it is that one's turn.
pub(super) fn shown(record: &Packed, mirroring: Option<u64>) -> Position {
    match mirroring.is_some_and(|pass| record.turns(pass)) {
        true => record.position().mirrored(),
        false => record.position(),
    }
}

/// The first values of a slice, which keeps the others.
fn take<'a, T>(from: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (taken, left) = std::mem::take(from).split_at_mut(count);
    *from = left;
    taken
}

fn sign(point_of_view: PointOfView, position: &Position) -> i32 {
    let flips = point_of_view == PointOfView::White && position.turn().is_black();
    if flips { -1 } else { 1 }
}

/// Result and score with the model's eyes; the score is NaN where there is none.
pub(super) fn seen(point_of_view: PointOfView, record: &Packed, position: &Position) -> (f32, f32) {
    let score = record.score().map_or(f32::NAN, f32::from);
    match sign(point_of_view, position) {
        1 => (record.result(), score),
        _ => (1.0 - record.result(), -score),
    }
}
