//! Plans of chunks of positions, made by the loader's threads, and cached for data in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::encode::{RecordLayout, RecordSlice};
use super::label::Label;
use super::layout::{POSITIONS_PER_BUCKET, select_from};
use super::lists::ListWriter;
use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{ChunkPlan, InputPairs, Planner};

/// Maximum number of king buckets for which [`POSITIONS_PER_BUCKET`] positions each are read.
const MAX_BUCKETS: usize = 4;

/// Plans of the chunks of records, each made when it is first needed.
#[derive(Debug)]
pub(super) struct ChunkPlans {
    /// Positions per chunk.
    chunk: usize,
    pairs: Arc<InputPairs>,
    inverted: bool,
    /// The plan of each chunk; empty where chunks are used once.
    cache: Vec<OnceLock<PlannedChunk>>,
    /// Bytes that the cache may still take.
    free_bytes: AtomicUsize,
}

type PlannedChunk = (Arc<ChunkPlan>, Arc<[Label]>);

impl ChunkPlans {
    /// Makes plans that are cached for all passes, for records in the order of the first pass.
    pub fn cached_plans(
        net: &Architecture,
        records: &[Packed],
        chunk: usize,
        [max_bytes, max_pairs]: [usize; 2],
        inverted: bool,
    ) -> Self {
        let kings = net.inputs.kings().bucket_count();
        let count = (POSITIONS_PER_BUCKET * kings.min(MAX_BUCKETS)).min(records.len());
        // With several king buckets, positions are sorted by them.
        let step = if kings > 1 { (records.len() / count.max(1)).max(1) } else { 1 };
        let sample = records.iter().step_by(step).take(count).map(Packed::position);
        let pairs = Arc::new(select_from(net, sample, max_pairs, InputPairs::select_most_frequent));
        let cache = (0..records.len() / chunk).map(|_| OnceLock::new()).collect();
        Self { chunk, pairs, inverted, cache, free_bytes: AtomicUsize::new(max_bytes) }
    }

    /// Makes plans that are used once.
    pub fn passing_plans(chunk: usize, pairs: Arc<InputPairs>) -> Self {
        let (cache, free_bytes) = (Vec::new(), AtomicUsize::new(0));
        Self { chunk, pairs, inverted: true, cache, free_bytes }
    }

    /// Splits indices of records into chunks; of cached chunks into the ranges of each chunk.
    fn split_order<'a>(&self, order: &'a [u32]) -> Vec<&'a [u32]> {
        let chunk = self.chunk as u32;
        match self.cache.is_empty() {
            true => order.chunks(self.chunk).collect(),
            false => order.chunk_by(|a, b| a / chunk == b / chunk).collect(),
        }
    }

    /// Returns the cache entry of a chunk; None for an incomplete chunk, or without a cache.
    fn cache_entry(&self, order: &[u32]) -> Option<&OnceLock<PlannedChunk>> {
        // The records of a chunk are consecutive.
        let (first, size) = (order[0] as usize, self.chunk);
        let is_whole = order.len() == size && first.is_multiple_of(size);
        self.cache.get(first / size).filter(|_| is_whole)
    }

    /// Caches a plan while there are bytes left.
    fn cache_plan(
        &self,
        entry: &OnceLock<PlannedChunk>,
        mut plan: ChunkPlan,
        labels: Vec<Label>,
    ) -> PlannedChunk {
        let bytes = plan.byte_size() + size_of_val(&labels[..]);
        let take = |free: usize| free.checked_sub(bytes);
        plan.is_cached =
            self.free_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        let (is_cached, planned) = (plan.is_cached, (Arc::new(plan), labels.into()));
        if !is_cached {
            return planned;
        }
        // Another thread may be faster, as a batch larger than the data has a chunk twice.
        if entry.set(planned).is_err() {
            self.free_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        entry.get().expect("it was set").clone()
    }
}

#[derive(Default)]
struct PlanWorkspace {
    planner: Planner,
    plan: ChunkPlan,
    writer: ListWriter,
}

impl PlanWorkspace {
    /// Plans a chunk, and caches the plan if possible.
    fn plan_chunk(
        &mut self,
        net: &Architecture,
        records: &[Packed],
        plans: &ChunkPlans,
        order: &[u32],
    ) -> PlannedChunk {
        let records: Vec<Packed> = order.iter().map(|index| records[*index as usize]).collect();
        self.writer.fill_lists(net, records.iter().map(Packed::position));
        let point_of_view = net.inputs.perspectives.point_of_view();
        let labels = records.iter().map(|record| Label::new(record, point_of_view)).collect();
        let chosen: Vec<u32> = (0..order.len() as u32).collect();
        pulp::Arch::new().dispatch(ChunkPlanning(net, plans, &chosen, self));
        // A copy has no unused capacity.
        let plan = self.plan.clone();
        match plans.cache_entry(order) {
            Some(entry) => plans.cache_plan(entry, plan, labels),
            None => (Arc::new(plan), labels.into()),
        }
    }
}

struct ChunkPlanning<'a>(&'a Architecture, &'a ChunkPlans, &'a [u32], &'a mut PlanWorkspace);

/// Inlined into code that may use the machine's vector instructions.
impl pulp::NullaryFnOnce for ChunkPlanning<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(net, plans, chosen, PlanWorkspace { planner, plan, writer }) = self;
        writer.substitute_pairs(net, &plans.pairs);
        planner.order_items(net, &writer.lists, chosen, &plans.pairs, plan);
        if plans.inverted {
            planner.invert_lists(plan);
        }
    }
}

/// Returns the plans of slices of records, chunk after chunk, and their labels.
pub(super) fn plan_slices(
    net: &Architecture,
    slices: &[RecordSlice],
) -> (Vec<Arc<ChunkPlan>>, Vec<Label>) {
    let chunks = slices.iter().flat_map(|slice| {
        let RecordLayout::Plans(plans) = &slice.of.layout else { panic!("records with plans") };
        plans.split_order(slice.order).into_iter().map(move |order| (slice, plans, order))
    });
    let mut planned: Vec<_> = chunks
        .map(|chunk @ (_, plans, order)| {
            (chunk, plans.cache_entry(order).and_then(|entry| entry.get().cloned()))
        })
        .collect();
    let missing: Vec<_> = planned.iter_mut().filter(|(_, planned)| planned.is_none()).collect();
    // The pool is busy: without missing plans, there is nothing to wait for.
    if !missing.is_empty() {
        missing.into_par_iter().for_each_init(PlanWorkspace::default, |workspace, missing| {
            let ((slice, plans, order), planned) = missing;
            *planned = Some(workspace.plan_chunk(net, &slice.of.records, plans, order));
        });
    }
    let mut labels = Vec::with_capacity(slices.iter().map(|slice| slice.order.len()).sum());
    let planned = planned.into_iter().filter_map(|(_, planned)| planned);
    let plans = planned.map(|(plan, chunk_labels)| {
        labels.extend_from_slice(&chunk_labels);
        plan
    });
    (plans.collect(), labels)
}
