//! Expansion of plans to lists, for GPUs, which do not use the order of plans.

use std::sync::Arc;

use rayon::prelude::*;

use super::plan::{LISTS_PER_BUNDLE, QUAD, UNITS_PER_LINE};
use super::{ChunkPlan, IndexWord, with_vector};

#[derive(Debug)]
pub struct ListShape {
    pub rows: usize,
    pub perspectives: usize,
    /// Entries per list: as many as the longest needs.
    pub width: usize,
    pub positions: usize,
    /// Output bucket of each position; empty for one bucket.
    pub buckets: Vec<u8>,
}

impl ListShape {
    /// Returns the shape of the lists of plans of one king bucket. Panics without plans, or if
    /// plans have different pairs.
    pub fn of_plans(plans: &[Arc<ChunkPlan>]) -> Self {
        let ChunkPlan { rows, pairs, shape: [perspectives, bucket_count], .. } = &*plans[0];
        let same = |plan: &Arc<ChunkPlan>| Arc::ptr_eq(&plan.pairs, pairs);
        assert!(plans.iter().all(same), "plans with different pairs");
        let longest = plans.iter().flat_map(|plan| &plan.lengths).max();
        let width = longest.map_or(0, |length| usize::from(*length));
        let width = width.next_multiple_of(QUAD).max(QUAD);
        let positions: usize = plans.iter().map(|plan| plan.len()).sum();
        let mut buckets = vec![0; if *bucket_count > 1 { positions } else { 0 }];
        let mut rest = &mut buckets[..];
        for plan in plans.iter().filter(|_| *bucket_count > 1) {
            let plan_buckets = rest.split_off_mut(..plan.len()).expect("room for all");
            for bucket in &plan.bucket_ranges {
                for position in &plan.positions[bucket.range.clone()] {
                    plan_buckets[position.get()] = bucket.key as u8;
                }
            }
        }
        Self { rows: *rows, perspectives: *perspectives, width, positions, buckets }
    }
}

/// Expands plans to the rows of their lists, `[positions, perspectives, width]`; unused entries
/// hold the number of rows. Panics without plans, or if a list is longer.
pub fn expand_lists(plans: &[Arc<ChunkPlan>], width: usize) -> Vec<u16> {
    let ChunkPlan { rows, shape: [perspectives, _], .. } = &*plans[0];
    let positions: usize = plans.iter().map(|plan| plan.len()).sum();
    let mut lists = vec![*rows as u16; positions * perspectives * width];
    let mut rest = &mut lists[..];
    let lists_of_plans: Vec<_> = plans
        .iter()
        .map(|plan| {
            (plan, rest.split_off_mut(..plan.len() * perspectives * width).expect("room for all"))
        })
        .collect();
    lists_of_plans.into_par_iter().for_each(|(plan, lists)| {
        with_vector!(&plan.entries, entries => plan.write_lists(entries, width, lists));
    });
    lists
}

impl ChunkPlan {
    fn write_lists<E: IndexWord>(&self, entries: &[E], width: usize, lists: &mut [u16]) {
        let [perspectives, _] = self.shape;
        assert_eq!(self.order.len(), self.positions.len(), "plans of one king bucket");
        for (bundle, (_, range)) in self.bundle_ranges().enumerate() {
            for (index, quad) in entries.as_chunks::<QUAD>().0[range].iter().enumerate() {
                let list = bundle * LISTS_PER_BUNDLE + index % LISTS_PER_BUNDLE;
                // Empty slots follow the last position. Each item is a position.
                let Some(item) = self.order.get(list / perspectives) else { continue };
                let list = item.get() * perspectives + list % perspectives;
                let to = &mut lists[list * width + index / LISTS_PER_BUNDLE * QUAD..][..QUAD];
                for (to, entry) in to.iter_mut().zip(quad) {
                    *to = (entry.to_usize() / UNITS_PER_LINE) as u16;
                }
            }
        }
    }
}
