//! Lists from plans, for GPUs, which work in an order of their own.

use std::sync::Arc;

use rayon::prelude::*;

use super::plan::{ABREAST, FOUR, UNITS};
use super::{ChunkPlan, IndexWord, with_vector};

#[derive(Debug)]
pub struct ListShape {
    pub rows: usize,
    pub views: usize,
    /// Entries per list: as many as the longest needs.
    pub width: usize,
    pub positions: usize,
    /// Output bucket of each; empty for one bucket.
    pub buckets: Vec<u8>,
}

impl ListShape {
    /// Shape of plans of one king bucket, position after position. Panics without plans, or if they
    /// have different pairs.
    pub fn of_plans(plans: &[Arc<ChunkPlan>]) -> Self {
        let ChunkPlan { rows, pairs, shape: [views, bucket_count], .. } = &*plans[0];
        let same = |plan: &Arc<ChunkPlan>| Arc::ptr_eq(&plan.pairs, pairs);
        assert!(plans.iter().all(same), "plans with different pairs");
        let longest = plans.iter().flat_map(|plan| &plan.lengths).max();
        let width = longest.map_or(0, |length| usize::from(*length));
        let width = width.next_multiple_of(FOUR).max(FOUR);
        let positions: usize = plans.iter().map(|plan| plan.len()).sum();
        let mut buckets = vec![0; if *bucket_count > 1 { positions } else { 0 }];
        let mut rest = &mut buckets[..];
        for plan in plans.iter().filter(|_| *bucket_count > 1) {
            let of_plan = rest.split_off_mut(..plan.len()).expect("room for all");
            for bucket in &plan.bucket_ranges {
                for position in &plan.positions[bucket.range.clone()] {
                    of_plan[position.get()] = bucket.key as u8;
                }
            }
        }
        Self { rows: *rows, views: *views, width, positions, buckets }
    }
}

/// Rows of the lists of plans, `[positions, views, width]`; unused entries hold the number of rows.
/// Panics without plans, or if a list is longer.
pub fn expand_lists(plans: &[Arc<ChunkPlan>], width: usize) -> Vec<u16> {
    let ChunkPlan { rows, shape: [views, _], .. } = &*plans[0];
    let positions: usize = plans.iter().map(|plan| plan.len()).sum();
    let mut lists = vec![*rows as u16; positions * views * width];
    let mut rest = &mut lists[..];
    let parts: Vec<_> = plans
        .iter()
        .map(|plan| (plan, rest.split_off_mut(..plan.len() * views * width).expect("room for all")))
        .collect();
    parts.into_par_iter().for_each(|(plan, lists)| {
        with_vector!(&plan.entries, entries => plan.write_lists(entries, width, lists));
    });
    lists
}

impl ChunkPlan {
    fn write_lists<E: IndexWord>(&self, entries: &[E], width: usize, lists: &mut [u16]) {
        let [views, _] = self.shape;
        assert_eq!(self.order.len(), self.positions.len(), "plans of one king bucket");
        for (bundle, (_, range)) in self.bundle_ranges().enumerate() {
            for (index, four) in entries.as_chunks::<FOUR>().0[range].iter().enumerate() {
                let list = bundle * ABREAST + index % ABREAST;
                // Behind the positions are empty slots. Each item is a position.
                let Some(item) = self.order.get(list / views) else { continue };
                let list = item.get() * views + list % views;
                let to = &mut lists[list * width + index / ABREAST * FOUR..][..FOUR];
                for (to, entry) in to.iter_mut().zip(four) {
                    *to = (entry.to_usize() / UNITS) as u16;
                }
            }
        }
    }
}
