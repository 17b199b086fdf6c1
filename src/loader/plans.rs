//! Plans of chunks: of those that come again in each pass, and of those that stream by.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::Plan;
use super::encode::{Labels, Part, write};
use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{Active, Bits, ChunkPlan, Pairs, Planner};
use crate::features::MAX_ACTIVE;
use crate::sample::{Position, Sample};

/// Bytes that the plans of a run's data may take. What does not find room is planned again.
pub const PLANS: usize = 1 << 30;

/// Positions, at most, of which the pairs of a king bucket are learnt.
const SEEN: usize = 4096;

/// King buckets, at most, that there are so many positions for each.
const KINGS: usize = 4;

/// The plans of the chunks of a data set, each made when it is first asked for.
#[derive(Debug)]
pub struct Plans {
    /// Positions a chunk.
    pub chunk: usize,
    /// Which the lists name.
    pairs: Arc<Pairs>,
    /// Of each chunk: as it is, and where mirror images are shown as well the other half turned. None
    /// of data that stream by.
    plans: Vec<[OnceLock<Planned>; 2]>,
    /// Bytes that are left.
    room: AtomicUsize,
}

/// The plan of some positions, and what is known of them.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    plan: Arc<ChunkPlan>,
    labels: Arc<Labels>,
}

impl Planned {
    fn new(plan: ChunkPlan, labels: Labels) -> Self {
        Self { plan: Arc::new(plan), labels: Arc::new(labels) }
    }
}

impl Plans {
    /// Of records in the order of the first pass.
    pub(super) fn of(net: &Architecture, records: &[Packed], plan: &Plan) -> Self {
        let Plan { chunk, pairs, plans: room, .. } = *plan;
        let kings = net.inputs.kings.count();
        let seen = (SEEN * kings.min(KINGS)).min(records.len());
        // Of several king buckets those of the same stand together.
        let step = if kings > 1 { (records.len() / seen.max(1)).max(1) } else { 1 };
        let some = records.iter().step_by(step).take(seen);
        let pairs = learnt(net, some.map(Packed::position), pairs);
        let plans = (0..records.len() / chunk).map(|_| Default::default()).collect();
        Self { chunk, pairs: Arc::new(pairs), plans, room: AtomicUsize::new(room) }
    }

    /// Of data that stream by, none of which is kept.
    pub(super) fn passing(chunk: usize, pairs: Arc<Pairs>) -> Self {
        Self { chunk, pairs, plans: Vec::new(), room: AtomicUsize::new(0) }
    }

    /// Places of records chunk by chunk: whole ones, and of those that lie across the borders of a
    /// part what it has. What streams by has no chunks of its own, and is cut as it comes.
    pub(super) fn cut<'a>(&self, order: &'a [u32]) -> impl Iterator<Item = &'a [u32]> + use<'a> {
        let (chunk, is_kept) = (self.chunk as u32, self.keeps());
        let kept = is_kept.then(|| order.chunk_by(move |one, other| one / chunk == other / chunk));
        let passing = (!is_kept).then(|| order.chunks(self.chunk));
        kept.into_iter().flatten().chain(passing.into_iter().flatten())
    }

    /// Whether chunks come again.
    fn keeps(&self) -> bool {
        !self.plans.is_empty()
    }

    /// Keeps that of a whole chunk, where there is room for it.
    fn keep(&self, whole: Whole, mut plan: ChunkPlan, labels: Labels) -> Planned {
        let bytes = plan.bytes() + labels.bytes();
        let taken = |left: usize| left.checked_sub(bytes);
        plan.stays = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        let planned = Planned::new(plan, labels);
        if !planned.plan.stays {
            return planned;
        }
        // A batch of more than all positions has a chunk twice, and another thread may be faster.
        if self.place(whole).set(planned).is_err() {
            self.room.fetch_add(bytes, Ordering::Relaxed);
        }
        self.place(whole).get().expect("somebody has set it").clone()
    }

    fn place(&self, Whole { chunk, turned }: Whole) -> &OnceLock<Planned> {
        &self.plans[chunk][usize::from(turned)]
    }
}

/// The pairs that shorten the lists of some positions most, so many at most.
fn learnt(
    net: &Architecture,
    positions: impl ExactSizeIterator<Item = Position>,
    most: usize,
) -> Pairs {
    if most == 0 {
        return Pairs::none(net.rows());
    }
    let size = net.views() * MAX_ACTIVE;
    let mut lists = vec![0; positions.len() * size];
    for (position, out) in positions.zip(lists.chunks_exact_mut(size)) {
        net.inputs.write(&position, out);
    }
    Pairs::learn(net.rows(), &lists, MAX_ACTIVE, most)
}

/// The pairs of data that stream by: of positions that are spread over all of them.
pub fn pairs_of(net: &Architecture, some: &[Sample], most: usize) -> Pairs {
    let step = some.len().div_ceil(SEEN).max(1);
    learnt(net, some.iter().step_by(step).map(|sample| sample.position), most)
}

/// A whole chunk.
#[derive(Clone, Copy)]
struct Whole {
    chunk: usize,
    /// As the odd passes show it, where mirror images are shown as well.
    turned: bool,
}

/// Records of a part that have a plan together.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    part: &'a Part<'a>,
    plans: &'a Plans,
    order: &'a [u32],
}

impl Stretch<'_> {
    /// The chunk that it is, if it is one: what a batch begins or ends with may be less.
    fn whole(&self) -> Option<Whole> {
        let Self { part, plans, order } = self;
        // The records of a chunk stand together, in their order.
        let (first, size) = (order[0] as usize, plans.chunk);
        let turned = part.mirroring.is_some_and(|pass| pass & 1 == 1);
        let is_whole = order.len() == size && first.is_multiple_of(size) && plans.keeps();
        is_whole.then(|| Whole { chunk: first / size, turned })
    }

    /// Its plan, if it is kept.
    fn kept(&self) -> Option<Planned> {
        self.plans.place(self.whole()?).get().cloned()
    }
}

/// The buffers of one thread.
#[derive(Default)]
pub(super) struct Workspace {
    planner: Planner,
    plan: ChunkPlan,
    records: Vec<Packed>,
    all: Vec<u32>,
    lists: Active,
    bits: Vec<Bits>,
}

impl Workspace {
    /// Plans a stretch; a whole chunk is kept from now on where there is room.
    fn make(&mut self, net: &Architecture, stretch: Stretch) -> Planned {
        let Stretch { part, plans, order } = stretch;
        self.records.clear();
        self.records.extend(order.iter().map(|place| part.records[*place as usize]));
        let positions = order.len();
        let Active { rows, views, places, indices, buckets } = &mut self.lists;
        (*rows, *views, *places) = (net.rows(), net.views(), MAX_ACTIVE);
        indices.resize(positions * net.views() * MAX_ACTIVE, 0);
        buckets.resize(positions, 0);
        let labels = write(net, &self.records, part.mirroring, indices, buckets);
        plans.pairs.shorten(indices, MAX_ACTIVE, &mut self.bits);
        self.all.clear();
        self.all.extend(0..positions as u32);
        self.planner.order(net, &self.lists, &self.all, &plans.pairs, &mut self.plan);
        self.planner.invert(&mut self.plan);
        // A copy has no unused capacity.
        let plan = self.plan.clone();
        match stretch.whole() {
            Some(whole) => plans.keep(whole, plan, labels),
            None => Planned::new(plan, labels),
        }
    }
}

/// The parts chunk after chunk, and what is known of them.
pub(super) fn planned(net: &Architecture, parts: &[Part]) -> (Vec<Arc<ChunkPlan>>, Labels) {
    let stretches = parts.iter().flat_map(|part| {
        let plans = part.plans.expect("a part with plans");
        plans.cut(part.order).map(move |order| Stretch { part, plans, order })
    });
    let kept: Vec<_> = stretches.map(|stretch| (stretch, stretch.kept())).collect();
    // Nobody asks the pool, which is at work, for what is there already.
    let missing: Vec<Stretch> = kept.iter().filter(|it| it.1.is_none()).map(|it| it.0).collect();
    let made: Vec<Planned> = match missing.is_empty() {
        true => Vec::new(),
        false => missing
            .into_par_iter()
            .map_init(Workspace::default, |workspace, stretch| workspace.make(net, stretch))
            .collect(),
    };
    let mut made = made.into_iter();
    let next = |(_, kept): (_, Option<Planned>)| kept.or_else(|| made.next());
    let planned: Vec<Planned> = kept.into_iter().filter_map(next).collect();
    let mut labels = Labels::with_capacity(planned.iter().map(|it| it.plan.len()).sum());
    planned.iter().for_each(|planned| labels.append(&planned.labels));
    (planned.into_iter().map(|planned| planned.plan).collect(), labels)
}
