//! Positions to batches, with plans of their chunks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::Plan;
use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{
    ActiveRows, Batch, Bits, ChunkPlan, FirstViews, Indices, Inputs, Pairs, Planner, Terms,
};
use crate::features::{Board, MAX_ACTIVE, Rows};
use crate::hce::{self, Coding, HceEvaluator, Trace};
use crate::net::Net;
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};
use crate::terms::TermSelection;

#[derive(Clone, Debug)]
pub enum Encoder {
    /// Rows and output buckets of a net, with its base, if any.
    Net(Arc<Architecture>, Option<Arc<Base>>),
    Hce(Arc<TermsEncoder>),
    /// A net and the terms that are trained with it.
    Sum(Arc<Architecture>, Arc<TermsEncoder>),
}

/// Encoder of handcrafted terms, with entries for the trained ones.
#[derive(Debug)]
pub struct TermsEncoder {
    pub coding: Coding,
    pub chosen: TermSelection,
    /// Middlegame and endgame weight of each term, for the frozen ones.
    pub weights: Vec<[f64; 2]>,
}

/// Records, and all that is computed once for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    pub records: Vec<Packed>,
    /// Their [bases](Encoder::bases).
    pub bases: Vec<f32>,
    /// Plans of the records chunk by chunk, if the CPU trains.
    pub plans: Option<Arc<Plans>>,
}

#[derive(Clone, Copy)]
pub(super) struct RecordSlice<'a> {
    pub of: &'a Records,
    /// Places in `records`.
    pub order: &'a [u32],
}

impl RecordSlice<'_> {
    fn plans(&self) -> Option<&Plans> {
        self.of.plans.as_deref()
    }
}

#[derive(Debug, Default)]
pub(super) struct EncodedTerms {
    pub pieces: Vec<Arc<Terms>>,
    pub labels: Vec<Label>,
    /// Number of positions with each term, frozen or not.
    pub counts: Vec<u64>,
}

impl EncodedTerms {
    pub fn join(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self.labels.extend(other.labels);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
        self
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    /// Result from the model's point of view, as the score.
    result: f32,
    /// NaN without one.
    score: f32,
    /// Sample weight, 0 to 1.
    weight: f32,
    /// The source, from 1; 0 without sources.
    source: u8,
}

impl Label {
    pub fn of(record: &Packed, point_of_view: PointOfView) -> Self {
        let (result, score) = (record.result(), record.score().map_or(f32::NAN, f32::from));
        let (result, score) = match point_of_view.sign(record.position().turn()) {
            1 => (result, score),
            _ => (1.0 - result, -score),
        };
        Self { result, score, weight: record.weight(), source: record.source() }
    }
}

/// A batch with labels, without those that are all alike; scores are whole or of several sources.
pub(super) fn labelled(inputs: Inputs, labels: &[Label]) -> Batch {
    fn all<T>(wanted: bool, labels: &[Label], of: impl Fn(&Label) -> T) -> Arc<[T]> {
        labels[..if wanted { labels.len() } else { 0 }].iter().map(of).collect()
    }
    let sourced = labels.iter().any(|label| label.source != 0);
    let scored = sourced || !labels.iter().any(|label| label.score.is_nan());
    let weighed = labels.iter().any(|label| label.weight != 1.0);
    let results = all(true, labels, |label| label.result);
    let scores = all(scored, labels, |label| label.score);
    let weights = all(weighed, labels, |label| label.weight);
    let sources = all(sourced, labels, |label| label.source);
    Batch { weights, sources, ..Batch::new(inputs, results, scores) }
}

/// Positions that a thread encodes at a time.
const PIECE: usize = 256;
/// The same for first views, which take less time.
const LARGE_PIECE: usize = 2048;
/// Positions per block of [`Terms`]. Within a block the fused operations sum in single precision.
pub const TERMS_PIECE: usize = 4096;
/// Positions per block besides a net, whose small batches need work for all threads.
const SUM_PIECE: usize = 512;

impl Encoder {
    pub fn net(net: &Architecture) -> Self {
        Encoder::Net(Arc::new(net.clone()), None)
    }

    pub fn on(self, base: Option<Base>) -> Self {
        match self {
            Encoder::Net(net, _) => Encoder::Net(net, base.map(Arc::new)),
            other => other,
        }
    }

    pub fn sum(net: &Architecture, terms: TermsEncoder) -> Self {
        Encoder::Sum(Arc::new(net.clone()), Arc::new(terms))
    }

    pub fn base(&self) -> Option<&Base> {
        match self {
            Encoder::Net(_, base) => base.as_deref(),
            Encoder::Hce(_) | Encoder::Sum(..) => None,
        }
    }

    /// Logits of the base for the side to move, one a record; empty without one.
    pub(super) fn bases(&self, records: &[Packed]) -> Vec<f32> {
        let Some(base) = self.base() else { return Vec::new() };
        records.par_iter().with_min_len(64).map(|it| base.logit(&it.position())).collect()
    }

    pub fn point_of_view(&self) -> PointOfView {
        match self {
            Encoder::Net(net, _) | Encoder::Sum(net, _) => net.inputs.views.point_of_view(),
            Encoder::Hce(_) => PointOfView::White,
        }
    }

    /// Sign that converts scores of the side to move to the model's point of view.
    pub fn sign(&self, position: &Position) -> i32 {
        self.point_of_view().sign(position.turn())
    }

    /// Whether it needs the colours of pieces, and not boards flipped to the side to move.
    pub fn needs_colours(&self) -> bool {
        let own = !matches!(self, Encoder::Hce(_)) && self.point_of_view() == PointOfView::White;
        own || self.base().is_some_and(Base::needs_colours)
    }

    /// Encodes samples in order. Scores are left out unless every sample has one.
    pub fn encode(&self, samples: &[Sample]) -> Batch {
        let records: Vec<Packed> = samples.iter().map(Packed::from).collect();
        let bases = self.bases(&records);
        self.encode_all(&Records { records, bases, plans: None })
    }

    pub(super) fn encode_all(&self, of: &Records) -> Batch {
        let order: Vec<u32> = (0..of.records.len() as u32).collect();
        self.encode_parts(&[RecordSlice { of, order: &order }])
    }

    pub(super) fn encode_parts(&self, parts: &[RecordSlice]) -> Batch {
        let plans = parts.first().and_then(RecordSlice::plans);
        if let (Encoder::Net(net, _), Some(plans)) = (self, plans)
            && !(plans.plans.is_empty() && net.inputs.is_uniform())
        {
            let (plans, labels) = planned(net, parts);
            return Batch { base: self.added(parts), ..labelled(Inputs::Planned(plans), &labels) };
        }
        let near = near(parts);
        let inputs = match (self, plans) {
            (Encoder::Net(net, _), Some(plans)) => {
                Inputs::First(first_views(net, &near, &plans.pairs))
            }
            (Encoder::Net(net, _), None) => Inputs::Active(lists(net, &near)),
            (Encoder::Hce(encoder), _) => return encoder.batch(near.par_chunks(TERMS_PIECE)),
            (Encoder::Sum(net, terms), _) => {
                let pieces = terms.pieces(near.par_chunks(SUM_PIECE)).pieces;
                Inputs::Both(lists(net, &near), pieces)
            }
        };
        let point_of_view = self.point_of_view();
        let records = near.par_iter().with_min_len(LARGE_PIECE);
        let labels: Vec<Label> = records.map(|record| Label::of(record, point_of_view)).collect();
        Batch { base: self.added(parts), ..labelled(inputs, &labels) }
    }

    /// The base's logits from the model's point of view; empty without one.
    fn added(&self, parts: &[RecordSlice]) -> Arc<[f32]> {
        if self.base().is_none() {
            return Arc::new([]);
        }
        let places = parts.iter().flat_map(|part| part.order.iter().map(move |it| (part, *it)));
        let logit = |(part, place): (&RecordSlice, u32)| {
            let (of, place) = (part.of, place as usize);
            of.bases[place] * self.sign(&of.records[place].position()) as f32
        };
        places.map(logit).collect()
    }
}

impl TermsEncoder {
    pub(super) fn batch<R: AsRef<[Packed]>>(
        &self,
        records: impl IndexedParallelIterator<Item = R>,
    ) -> Batch {
        let found = self.pieces(records);
        labelled(Inputs::Terms(found.pieces), &found.labels)
    }

    /// Number of the given positions with each term, frozen or not.
    pub fn counts(&self, samples: &[Sample]) -> Vec<u64> {
        let piece = |samples: &[Sample]| samples.iter().map(Packed::from).collect::<Vec<Packed>>();
        let mut counts = vec![0; self.weights.len()];
        // In parts, since terms take far more memory than positions.
        for samples in samples.chunks(1 << 18) {
            let found = self.pieces(samples.par_chunks(TERMS_PIECE).map(piece));
            counts.iter_mut().zip(found.counts).for_each(|(sum, count)| *sum += count);
        }
        counts
    }

    /// The terms of positions, in blocks; records are dropped as they are encoded.
    pub(super) fn pieces<R: AsRef<[Packed]>>(
        &self,
        records: impl IndexedParallelIterator<Item = R>,
    ) -> EncodedTerms {
        let piece = |trace: &mut Trace, records: R| {
            let (mut terms, records) = (Terms::default(), records.as_ref());
            for record in records {
                self.coding.encode(&record.position(), trace, &mut terms);
            }
            let label = |record| Label::of(record, PointOfView::White);
            self.piece(terms, records.iter().map(label).collect())
        };
        let pieces: Vec<EncodedTerms> = records.map_init(Trace::default, piece).collect();
        pieces.into_iter().fold(EncodedTerms::default(), EncodedTerms::join)
    }

    pub(super) fn piece(&self, terms: Terms, labels: Vec<Label>) -> EncodedTerms {
        let mut counts = vec![0; self.weights.len()];
        terms.count(&mut counts);
        EncodedTerms { pieces: vec![Arc::new(self.freeze(terms))], labels, counts }
    }

    pub(super) fn freeze(&self, mut terms: Terms) -> Terms {
        if self.chosen.terms.iter().any(|chosen| !chosen) {
            terms = hce::freeze(terms, &self.chosen, &self.weights);
        }
        // A copy has no unused capacity.
        terms.clone()
    }
}

/// The records of parts in order, scattered: prefetched, so that many are loaded at once.
fn near(parts: &[RecordSlice]) -> Vec<Packed> {
    let mut near = Vec::new();
    for RecordSlice { of, order } in parts {
        let places = order.par_iter().with_min_len(PIECE);
        near.par_extend(places.map(|place| of.records[*place as usize]));
    }
    near
}

fn lists(net: &Architecture, records: &[Packed]) -> ActiveRows {
    if !net.inputs.is_pieces() {
        return lists_of_sets(net, records);
    }
    let (rows, views, places, positions) = (net.rows(), net.views(), MAX_ACTIVE, records.len());
    let mut indices = vec![0; positions * views * places];
    let (mut groups, mut buckets) = (vec![0; positions * views], vec![0; positions]);
    indices
        .par_chunks_mut(PIECE * views * places)
        .zip(groups.par_chunks_mut(PIECE * views))
        .zip(buckets.par_chunks_mut(PIECE))
        .zip(records.par_chunks(PIECE))
        .for_each(|(((indices, groups), buckets), records)| {
            write(net, records.iter().map(Packed::position), indices, groups, buckets);
        });
    let indices = Indices::U16(indices);
    let mut lists = ActiveRows { rows, views, places, indices, groups, buckets };
    clear_single(net, &mut lists);
    lists
}

/// Clears the numbers of buckets if there is one.
fn clear_single(net: &Architecture, lists: &mut ActiveRows) {
    if net.buckets == 1 {
        lists.buckets.clear();
    }
    if net.inputs.kings().count() == 1 {
        lists.groups.clear();
    }
}

/// Lists for plans of data that are used once.
fn first_views(net: &Architecture, records: &[Packed], pairs: &Arc<Pairs>) -> FirstViews {
    let records = records.par_iter().with_min_len(LARGE_PIECE);
    let lists = records.clone().map(|record| net.inputs.first_view(&record.position())).collect();
    let buckets = match net.buckets {
        1 => Vec::new(),
        _ => records.map(|record| net.bucket_of(&record.position()) as u8).collect(),
    };
    FirstViews { lists, buckets, pairs: pairs.clone() }
}

/// Writes lists of pieces, king buckets and output buckets of positions.
fn write(
    net: &Architecture,
    positions: impl Iterator<Item = Position>,
    indices: &mut [u16],
    groups: &mut [u8],
    buckets: &mut [u8],
) {
    let (views, kings) = (net.views(), net.inputs.kings().count());
    let lists = indices.chunks_exact_mut(views * MAX_ACTIVE).zip(groups.chunks_exact_mut(views));
    for (position, ((out, groups), bucket)) in positions.zip(lists.zip(buckets)) {
        net.inputs.write(&position, out);
        *bucket = net.bucket_of(&position) as u8;
        if kings > 1 {
            for (group, color) in groups.iter_mut().zip(net.inputs.views_of(&position)) {
                *group = net.inputs.king_bucket(&position, color) as u8;
            }
        }
    }
}

#[derive(Default)]
struct Listing {
    rows: Rows,
    /// End of each list's rows.
    ends: Vec<usize>,
    bits: Vec<Bits>,
}

impl Listing {
    /// Replaces rows by pairs in lists, after [`fill`].
    #[inline(always)]
    fn name(&mut self, net: &Architecture, pairs: &Pairs, lists: &mut ActiveRows) {
        let Self { rows, ends, bits } = self;
        match net.inputs.is_pieces() {
            true => pairs.shorten(lists, bits),
            false => pairs.list(rows.entries(), ends, lists, bits),
        }
    }
}

/// Fills the lists of positions, for several feature sets without their rows.
fn fill(
    net: &Architecture,
    positions: impl ExactSizeIterator<Item = Position>,
    lists: &mut ActiveRows,
    Listing { rows, ends, .. }: &mut Listing,
) {
    let (count, views) = (positions.len(), net.views());
    (lists.rows, lists.views) = (net.rows(), views);
    lists.buckets.resize(count, 0);
    lists.groups.resize(count * views, 0);
    if net.inputs.is_pieces() {
        let mut indices = match std::mem::take(&mut lists.indices) {
            Indices::U16(indices) => indices,
            Indices::U32(_) => Vec::new(),
        };
        lists.places = MAX_ACTIVE;
        indices.resize(count * views * MAX_ACTIVE, 0);
        write(net, positions, &mut indices, &mut lists.groups, &mut lists.buckets);
        lists.indices = Indices::U16(indices);
    } else {
        rows.clear();
        ends.clear();
        let mut places = 1;
        for (number, position) in positions.enumerate() {
            let board = Board::new(&position);
            lists.buckets[number] = net.bucket_of(&position) as u8;
            for (view, color) in net.inputs.views_of(&position).enumerate() {
                places = places.max(net.inputs.rows_of(&board, color, rows));
                ends.push(rows.entries().len());
                lists.groups[number * views + view] =
                    net.inputs.king_bucket(&position, color) as u8;
            }
        }
        lists.places = places;
        if matches!(lists.indices, Indices::U32(_)) != net.inputs.is_large() {
            lists.indices = Indices::new(net, 0);
        }
    }
    clear_single(net, lists);
}

/// Writes the lists of all feature sets, as long as the longest.
fn lists_of_sets(net: &Architecture, records: &[Packed]) -> ActiveRows {
    let pieces = records.par_chunks(PIECE).map(|records| {
        let (mut lists, mut listing) = (ActiveRows::default(), Listing::default());
        fill(net, records.iter().map(Packed::position), &mut lists, &mut listing);
        (lists, listing)
    });
    let pieces: Vec<(ActiveRows, Listing)> = pieces.collect();
    let (rows, views, indices) = (net.rows(), net.views(), Indices::new(net, 0));
    let mut all = ActiveRows { rows, views, places: 1, indices, ..ActiveRows::default() };
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    for (lists, listing) in pieces {
        all.places = all.places.max(lists.places);
        ends.extend(listing.ends.iter().map(|end| rows.len() + end));
        rows.extend_from_slice(listing.rows.entries());
        all.groups.extend(lists.groups);
        all.buckets.extend(lists.buckets);
    }
    Pairs::none(net.rows()).list(&rows, &ends, &mut all, &mut Vec::new());
    all
}

#[derive(Clone, Debug)]
pub enum BaseEvaluation {
    Terms(HceEvaluator),
    Net(Arc<Net>),
}

/// Base evaluation whose centipawns are added to a net's, and which stays fixed.
#[derive(Clone, Debug)]
pub struct Base {
    pub below: BaseEvaluation,
    /// Centipawns per logit of the net.
    pub scale: f64,
}

impl Base {
    /// Whether it needs the colours of the pieces: boards flipped to the side to move will not do.
    pub fn needs_colours(&self) -> bool {
        match &self.below {
            BaseEvaluation::Terms(_) => false,
            BaseEvaluation::Net(net) => {
                net.architecture().inputs.views.point_of_view() == PointOfView::White
            }
        }
    }

    /// Integer centipawns for the side to move, as in searches; halves are rounded away from 0.
    pub fn value(&self, position: &Position) -> i32 {
        match &self.below {
            BaseEvaluation::Terms(terms) => terms.evaluate(position).round() as i32,
            BaseEvaluation::Net(net) => net.evaluate(position),
        }
    }

    pub fn logit(&self, position: &Position) -> f32 {
        (f64::from(self.value(position)) / self.scale) as f32
    }
}

/// Most bytes of a run's plans. Chunks beyond are planned again in each pass.
pub const PLANS: usize = 1 << 30;
/// Most positions from which the pairs of a king bucket are learnt.
const SEEN: usize = 4096;
/// Most king buckets with this many positions each.
const KINGS: usize = 4;

/// Plans of the chunks of a data set, each made when it is first needed.
#[derive(Debug)]
pub struct Plans {
    chunk: usize,
    pairs: Arc<Pairs>,
    /// The plan of each chunk; empty for streamed data.
    plans: Vec<OnceLock<Planned>>,
    /// Remaining bytes.
    budget: AtomicUsize,
}

type Planned = (Arc<ChunkPlan>, Arc<[Label]>);

impl Plans {
    /// Plans for records in the order of the first pass.
    pub(super) fn of(net: &Architecture, records: &[Packed], plan: &Plan) -> Self {
        let Plan { chunk, pairs, plans: budget, .. } = *plan;
        let kings = net.inputs.kings().count();
        let seen = (SEEN * kings.min(KINGS)).min(records.len());
        // With several king buckets, positions are sorted by them.
        let step = if kings > 1 { (records.len() / seen.max(1)).max(1) } else { 1 };
        let some = records.iter().step_by(step).take(seen);
        let pairs = learnt(net, some.map(Packed::position), pairs, Pairs::learn);
        let plans = (0..records.len() / chunk).map(|_| Default::default()).collect();
        Self { chunk, pairs: Arc::new(pairs), plans, budget: AtomicUsize::new(budget) }
    }

    pub(super) fn passing(chunk: usize, pairs: Arc<Pairs>) -> Self {
        Self { chunk, pairs, plans: Vec::new(), budget: AtomicUsize::new(0) }
    }

    /// Splits places of records into chunks, or of data in memory into parts of their chunks.
    fn cut<'a>(&self, order: &'a [u32]) -> Vec<&'a [u32]> {
        let chunk = self.chunk as u32;
        match self.plans.is_empty() {
            true => order.chunks(self.chunk).collect(),
            false => order.chunk_by(|one, other| one / chunk == other / chunk).collect(),
        }
    }

    /// The cache entry of a chunk's plan; none for a part of a chunk, or for streamed data.
    fn place(&self, order: &[u32]) -> Option<&OnceLock<Planned>> {
        // The records of a chunk are consecutive.
        let (first, size) = (order[0] as usize, self.chunk);
        let is_whole = order.len() == size && first.is_multiple_of(size);
        self.plans.get(first / size).filter(|_| is_whole)
    }

    /// Caches a plan within the budget.
    fn keep(&self, place: &OnceLock<Planned>, mut plan: ChunkPlan, labels: Vec<Label>) -> Planned {
        let bytes = plan.bytes() + size_of_val(&labels[..]);
        let taken = |left: usize| left.checked_sub(bytes);
        plan.stays = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        let (stays, planned) = (plan.stays, (Arc::new(plan), labels.into()));
        if !stays {
            return planned;
        }
        // A batch larger than the data has a chunk twice, and another thread may be faster.
        if place.set(planned).is_err() {
            self.budget.fetch_add(bytes, Ordering::Relaxed);
        }
        place.get().expect("it was set").clone()
    }
}

/// The `most` pairs that shorten the lists of some positions most.
fn learnt(
    net: &Architecture,
    positions: impl ExactSizeIterator<Item = Position>,
    most: usize,
    learn: fn(&Architecture, &ActiveRows, usize) -> Pairs,
) -> Pairs {
    if most == 0 && !net.inputs.repeats() {
        return Pairs::none(net.rows());
    }
    let (mut lists, mut listing) = (ActiveRows::default(), Listing::default());
    fill(net, positions, &mut lists, &mut listing);
    listing.name(net, &Pairs::none(net.rows()), &mut lists);
    learn(net, &lists, most)
}

/// The pairs of streamed data, from positions spread over all of them.
pub fn pairs_of(net: &Architecture, some: &[Sample], most: usize) -> Pairs {
    let step = some.len().div_ceil(SEEN).max(1);
    let positions = some.iter().step_by(step).map(|sample| sample.position);
    let has_images = net.inputs.is_uniform() && net.views() == 2;
    learnt(net, positions, most, if has_images { Pairs::learn_images } else { Pairs::learn })
}

#[derive(Default)]
struct Workspace {
    planner: Planner,
    plan: ChunkPlan,
    lists: ActiveRows,
    listing: Listing,
}

impl Workspace {
    /// Plans a chunk, and caches the plan if possible.
    fn make(
        &mut self,
        net: &Architecture,
        records: &[Packed],
        plans: &Plans,
        order: &[u32],
    ) -> Planned {
        let records: Vec<Packed> = order.iter().map(|place| records[*place as usize]).collect();
        fill(net, records.iter().map(Packed::position), &mut self.lists, &mut self.listing);
        let point_of_view = net.inputs.views.point_of_view();
        let labels: Vec<Label> =
            records.iter().map(|record| Label::of(record, point_of_view)).collect();
        let all: Vec<u32> = (0..order.len() as u32).collect();
        pulp::Arch::new().dispatch(Planning(net, &plans.pairs, &all, self));
        // A copy has no unused capacity.
        let plan = self.plan.clone();
        match plans.place(order) {
            Some(place) => plans.keep(place, plan, labels),
            None => (Arc::new(plan), labels.into()),
        }
    }
}

struct Planning<'a>(&'a Architecture, &'a Arc<Pairs>, &'a [u32], &'a mut Workspace);

/// Inlined into code that may use the machine's vector instructions.
impl pulp::NullaryFnOnce for Planning<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(net, pairs, all, Workspace { planner, plan, lists, listing }) = self;
        listing.name(net, pairs, lists);
        planner.order(net, lists, all, pairs, plan);
        planner.invert(plan);
    }
}

/// The plans of the parts, chunk after chunk, and their labels.
fn planned(net: &Architecture, parts: &[RecordSlice]) -> (Vec<Arc<ChunkPlan>>, Vec<Label>) {
    let chunks = parts.iter().flat_map(|part| {
        let plans = part.plans().expect("a part with plans");
        plans.cut(part.order).into_iter().map(move |order| (part, plans, order))
    });
    let mut planned: Vec<_> = chunks
        .map(|chunk @ (_, plans, order)| {
            (chunk, plans.place(order).and_then(|place| place.get().cloned()))
        })
        .collect();
    let missing: Vec<_> = planned.iter_mut().filter(|(_, planned)| planned.is_none()).collect();
    // The pool is busy, so work without it need not wait.
    if !missing.is_empty() {
        missing.into_par_iter().for_each_init(Workspace::default, |workspace, missing| {
            let ((part, plans, order), planned) = missing;
            *planned = Some(workspace.make(net, &part.of.records, plans, order));
        });
    }
    let planned = planned.into_iter().filter_map(|(_, planned)| planned);
    let mut labels = Vec::with_capacity(parts.iter().map(|part| part.order.len()).sum());
    let plans = planned.map(|(plan, of_chunk)| {
        labels.extend_from_slice(&of_chunk);
        plan
    });
    (plans.collect(), labels)
}
