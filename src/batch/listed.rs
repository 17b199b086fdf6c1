//! Plans as lists again: a GPU works in an order of its own.

use std::sync::Arc;

use rayon::prelude::*;

use super::plan::{ABREAST, FOUR, LINE};
use super::{Active, ChunkPlan};

impl Active {
    /// What plans of one king bucket name, position after position; pairs have rows like inputs.
    /// There are as many places as the longest list needs.
    ///
    /// # Panics
    /// Without plans, or if they name different pairs.
    pub fn planned(plans: &[Arc<ChunkPlan>]) -> Self {
        let ChunkPlan { rows, pairs, of: [views, buckets], .. } = &*plans[0];
        let same = |plan: &Arc<ChunkPlan>| Arc::ptr_eq(&plan.pairs, pairs);
        assert!(plans.iter().all(same), "plans with different pairs");
        let walks = plans.iter().flat_map(|plan| &plan.walks);
        let places = walks.max().map_or(0, |walk| usize::from(*walk));
        let places = places.next_multiple_of(FOUR).max(FOUR);
        let positions: usize = plans.iter().map(|plan| plan.len()).sum();
        let mut indices = vec![*rows as u16; positions * views * places];
        let mut chosen = vec![0; if *buckets > 1 { positions } else { 0 }];
        let (mut rest, mut left) = (&mut indices[..], &mut chosen[..]);
        let parts: Vec<_> = plans
            .iter()
            .map(|plan| {
                let lists = rest.split_off_mut(..plan.len() * views * places);
                let of_plan = ..plan.len().min(left.len());
                (plan, lists.expect("room for all"), left.split_off_mut(of_plan).expect("the same"))
            })
            .collect();
        parts.into_par_iter().for_each(|(plan, lists, chosen)| {
            plan.list(places, lists);
            for span in plan.buckets.iter().filter(|_| *buckets > 1) {
                for &position in &plan.positions[span.range.clone()] {
                    chosen[usize::from(position)] = span.of as u8;
                }
            }
        });
        Self { rows: *rows, views: *views, places, indices, buckets: chosen }
    }
}

impl ChunkPlan {
    /// Writes down the rows of each list, `[positions, views, places]`.
    fn list(&self, places: usize, lists: &mut [u16]) {
        let [views, _] = self.of;
        assert_eq!(self.order.len(), self.positions.len(), "plans of one king bucket");
        let scale = (LINE / self.step) as u16;
        for (number, (_, entries)) in self.walks().enumerate() {
            for (place, four) in entries.iter().enumerate() {
                let list = number * ABREAST + place % ABREAST;
                // Behind the positions are empty slots.
                let Some(&position) = self.order.get(list / views) else { continue };
                let list = usize::from(position) * views + list % views;
                let to = &mut lists[list * places + place / ABREAST * FOUR..][..FOUR];
                to.iter_mut().zip(four).for_each(|(to, entry)| *to = entry / scale);
            }
        }
    }
}
