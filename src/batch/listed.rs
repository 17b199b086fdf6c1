//! Lists from plans, for GPUs, which work in an order of their own.

use std::sync::Arc;

use rayon::prelude::*;

use super::ChunkPlan;
use super::plan::{ABREAST, Entries, FOUR, UNITS, Word};

#[derive(Debug)]
pub struct ListShape {
    pub rows: usize,
    pub views: usize,
    /// Places per list: as many as the longest needs.
    pub places: usize,
    pub positions: usize,
    /// Output bucket of each; empty for one bucket.
    pub buckets: Vec<u8>,
}

impl ListShape {
    /// Shape of plans of one king bucket, position after position. Panics without plans, or if they
    /// name different pairs.
    pub fn of(plans: &[Arc<ChunkPlan>]) -> Self {
        let ChunkPlan { rows, pairs, of: [views, buckets], .. } = &*plans[0];
        let same = |plan: &Arc<ChunkPlan>| Arc::ptr_eq(&plan.pairs, pairs);
        assert!(plans.iter().all(same), "plans with different pairs");
        let walks = plans.iter().flat_map(|plan| &plan.walks);
        let places = walks.max().map_or(0, |walk| usize::from(*walk));
        let places = places.next_multiple_of(FOUR).max(FOUR);
        let positions: usize = plans.iter().map(|plan| plan.len()).sum();
        let mut chosen = vec![0; if *buckets > 1 { positions } else { 0 }];
        let mut left = &mut chosen[..];
        for plan in plans.iter().filter(|_| *buckets > 1) {
            let here = left.split_off_mut(..plan.len()).expect("room for all");
            for span in &plan.buckets {
                for &position in &plan.positions[span.range.clone()] {
                    here[usize::from(position)] = span.of as u8;
                }
            }
        }
        Self { rows: *rows, views: *views, places, positions, buckets: chosen }
    }
}

/// Rows that plans name, `[positions, views, places]`; unused places hold the number of rows.
/// Panics without plans, or if a list is longer.
pub fn lists(plans: &[Arc<ChunkPlan>], places: usize) -> Vec<u16> {
    let ChunkPlan { rows, of: [views, _], .. } = &*plans[0];
    let positions: usize = plans.iter().map(|plan| plan.len()).sum();
    let mut lists = vec![*rows as u16; positions * views * places];
    let mut rest = &mut lists[..];
    let parts: Vec<_> = plans
        .iter()
        .map(|plan| {
            (plan, rest.split_off_mut(..plan.len() * views * places).expect("room for all"))
        })
        .collect();
    parts.into_par_iter().for_each(|(plan, lists)| plan.list(places, lists));
    lists
}

impl ChunkPlan {
    fn list(&self, places: usize, lists: &mut [u16]) {
        match &self.entries {
            Entries::Near(entries) => self.list_entries(entries, places, lists),
            Entries::Far(entries) => self.list_entries(entries, places, lists),
        }
    }

    fn list_entries<E: Word>(&self, all: &[[E; FOUR]], places: usize, lists: &mut [u16]) {
        let [views, _] = self.of;
        assert_eq!(self.order.len(), self.positions.len(), "plans of one king bucket");
        for (number, (_, entries)) in self.walks().enumerate() {
            for (place, four) in all[entries].iter().enumerate() {
                let list = number * ABREAST + place % ABREAST;
                // Behind the positions are empty slots.
                let Some(&position) = self.order.get(list / views) else { continue };
                let list = usize::from(position) * views + list % views;
                let to = &mut lists[list * places + place / ABREAST * FOUR..][..FOUR];
                to.iter_mut().zip(four).for_each(|(to, entry)| *to = (entry.get() / UNITS) as u16);
            }
        }
    }
}
