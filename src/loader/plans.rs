//! Plans of chunks: of data in memory, whose chunks come again in each pass, and of streamed data.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::Plan;
use super::encode::{Label, RecordSlice, write};
use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{Active, Bits, ChunkPlan, Pairs, Planner};
use crate::features::MAX_ACTIVE;
use crate::sample::{Position, Sample};

/// Bytes that the plans of a run's data may take. Chunks beyond are planned again in each pass.
pub const PLANS: usize = 1 << 30;

/// Positions, at most, of which the pairs of a king bucket are learnt.
const SEEN: usize = 4096;

/// King buckets, at most, that there are so many positions for each.
const KINGS: usize = 4;

/// The plans of the chunks of a data set, each made when it is first needed.
#[derive(Debug)]
pub struct Plans {
    /// Positions a chunk.
    chunk: usize,
    /// The pairs that the lists name.
    pairs: Arc<Pairs>,
    /// Of each chunk: as it is, and where mirror images are shown as well the other half mirrored.
    /// None of streamed data.
    plans: Vec<[OnceLock<Planned>; 2]>,
    /// Bytes that are left.
    budget: AtomicUsize,
}

/// The plan of some positions, and their labels.
type Planned = (Arc<ChunkPlan>, Arc<[Label]>);

impl Plans {
    /// For records in the order of the first pass.
    pub(super) fn of(net: &Architecture, records: &[Packed], plan: &Plan) -> Self {
        let Plan { chunk, pairs, plans: budget, .. } = *plan;
        let kings = net.inputs.kings.count();
        let seen = (SEEN * kings.min(KINGS)).min(records.len());
        // With several king buckets, positions of the same stand together.
        let step = if kings > 1 { (records.len() / seen.max(1)).max(1) } else { 1 };
        let some = records.iter().step_by(step).take(seen);
        let pairs = learnt(net, some.map(Packed::position), pairs);
        let plans = (0..records.len() / chunk).map(|_| Default::default()).collect();
        Self { chunk, pairs: Arc::new(pairs), plans, budget: AtomicUsize::new(budget) }
    }

    /// For streamed data.
    pub(super) fn passing(chunk: usize, pairs: Arc<Pairs>) -> Self {
        Self { chunk, pairs, plans: Vec::new(), budget: AtomicUsize::new(0) }
    }

    /// Cuts places of records into chunks: those of data in memory, of which a batch may have a part,
    /// or as they come.
    fn cut<'a>(&self, order: &'a [u32]) -> Vec<&'a [u32]> {
        let chunk = self.chunk as u32;
        match self.plans.is_empty() {
            true => order.chunks(self.chunk).collect(),
            false => order.chunk_by(|one, other| one / chunk == other / chunk).collect(),
        }
    }

    /// The place in memory of a chunk's plan; none of a part of a chunk, or of streamed data.
    fn place(&self, part: &RecordSlice, order: &[u32]) -> Option<&OnceLock<Planned>> {
        // The records of a chunk stand together, in their order.
        let (first, size) = (order[0] as usize, self.chunk);
        let plans = self.plans.get(first / size)?;
        let is_odd = part.mirroring.is_some_and(|pass| pass & 1 == 1);
        let is_whole = order.len() == size && first.is_multiple_of(size);
        is_whole.then(|| &plans[usize::from(is_odd)])
    }

    /// Keeps a plan in its place, as far as the budget goes.
    fn keep(&self, place: &OnceLock<Planned>, mut plan: ChunkPlan, labels: Vec<Label>) -> Planned {
        let bytes = plan.bytes() + size_of_val(&labels[..]);
        let taken = |left: usize| left.checked_sub(bytes);
        plan.stays = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        let (stays, planned) = (plan.stays, (Arc::new(plan), labels.into()));
        if !stays {
            return planned;
        }
        // A batch of more than all positions has a chunk twice, and another thread may be faster.
        if place.set(planned).is_err() {
            self.budget.fetch_add(bytes, Ordering::Relaxed);
        }
        place.get().expect("it was set").clone()
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

/// The pairs of streamed data: of positions that are spread over all of them.
pub fn pairs_of(net: &Architecture, some: &[Sample], most: usize) -> Pairs {
    let step = some.len().div_ceil(SEEN).max(1);
    learnt(net, some.iter().step_by(step).map(|sample| sample.position), most)
}

/// The buffers of one thread.
#[derive(Default)]
struct Workspace {
    planner: Planner,
    plan: ChunkPlan,
    records: Vec<Packed>,
    all: Vec<u32>,
    lists: Active,
    bits: Vec<Bits>,
}

impl Workspace {
    /// Plans a chunk, and keeps the plan where it can.
    fn make(
        &mut self,
        net: &Architecture,
        part: &RecordSlice,
        plans: &Plans,
        order: &[u32],
    ) -> Planned {
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
        match plans.place(part, order) {
            Some(place) => plans.keep(place, plan, labels),
            None => (Arc::new(plan), labels.into()),
        }
    }
}

/// The plans of the parts, chunk after chunk, and their labels.
pub(super) fn planned(
    net: &Architecture,
    parts: &[RecordSlice],
) -> (Vec<Arc<ChunkPlan>>, Vec<Label>) {
    let chunks = parts.iter().flat_map(|part| {
        let plans = part.plans.expect("a part with plans");
        plans.cut(part.order).into_iter().map(move |order| (part, plans, order))
    });
    let mut planned: Vec<_> = chunks
        .map(|chunk @ (part, plans, order)| {
            (chunk, plans.place(part, order).and_then(|place| place.get().cloned()))
        })
        .collect();
    let missing: Vec<_> = planned.iter_mut().filter(|(_, planned)| planned.is_none()).collect();
    // The pool is at work: what needs nothing of it does not wait for it.
    if !missing.is_empty() {
        missing.into_par_iter().for_each_init(Workspace::default, |workspace, missing| {
            let ((part, plans, order), planned) = missing;
            *planned = Some(workspace.make(net, part, plans, order));
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
