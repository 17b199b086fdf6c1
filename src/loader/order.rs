//! The order in which a pass goes over positions.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use rayon::prelude::*;

use super::encode::Encoder;
use super::packed::Packed;
use super::{Cursor, Plan};
use crate::sample::mix;

/// A generator for one subset in one epoch.
pub(super) fn random(seed: u64, epoch: u64, subset: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(mix(mix(mix(0, seed), epoch), subset))
}

/// The order of a window.
pub(super) fn shuffled(plan: &Plan, cursor: Cursor, positions: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..positions as u32).collect();
    if plan.shuffle {
        order.shuffle(&mut random(plan.seed, cursor.epoch, cursor.window + 1));
    }
    order
}

/// Data that come chunk by chunk, in the same chunks in each pass.
pub(super) struct Chunks {
    /// How many sorts of chunks there are, which come by turns; 1 where all are alike.
    sorts: usize,
}

impl Chunks {
    /// Shuffles records, as the first pass goes over them. What is less than a chunk comes last.
    ///
    /// Where kings choose among the rows of a net, as many positions as a batch has are put in order
    /// of that and cut into chunks, again and again. A chunk then meets hardly more rows than one of
    /// a net without king buckets, and whoever takes one of each sort has a fair sample.
    pub fn arrange(plan: &Plan, encoder: &Encoder, records: &mut [Packed]) -> Self {
        let mut order = shuffled(plan, Cursor::default(), records.len());
        let mut sorts = 1;
        if let Encoder::Net(net, _) = encoder
            && net.inputs.kings.count() > 1
        {
            sorts = (plan.batch.min(records.len()) / plan.chunk).max(1);
            let kings = |record: &Packed| net.inputs.kings_of(&record.position()) as u16;
            let kings: Vec<u16> = records.par_iter().map(kings).collect();
            let whole = records.len() / plan.chunk * plan.chunk;
            let batches = order[..whole].par_chunks_mut(sorts * plan.chunk);
            batches.for_each(|batch| batch.sort_by_key(|place| kings[*place as usize]));
        }
        arrange(records, &order);
        Self { sorts }
    }

    /// The order of a pass over so many positions: as they are in the first, and then the chunks of
    /// each sort in a new order. What is less than one of each sort comes last, and what is less than
    /// a chunk.
    ///
    /// Batches of some chunks each would cut all chunks of a pass that begins within a batch, behind a
    /// piece of one. So one chunk is cut instead: its beginning makes that piece whole, and its end
    /// comes behind the others.
    pub fn order(&self, plan: &Plan, epoch: u64, positions: usize) -> Vec<u32> {
        let (chunk, chunks) = (plan.chunk, positions / plan.chunk);
        let mut order: Vec<usize> = (0..chunks).collect();
        if epoch > 0 {
            let mut random = random(plan.seed, epoch, 1);
            let whole = chunks / self.sorts * self.sorts;
            for sort in 0..self.sorts {
                let mut of_sort: Vec<usize> = (sort..whole).step_by(self.sorts).collect();
                of_sort.shuffle(&mut random);
                let places = (sort..whole).step_by(self.sorts);
                places.zip(of_sort).for_each(|(place, number)| order[place] = number);
            }
        }
        let mut places: Vec<u32> = Vec::with_capacity(positions);
        let of = |number: usize| number as u32 * chunk as u32..(number as u32 + 1) * chunk as u32;
        let before = (u128::from(epoch) * positions as u128 % chunk as u128) as u32;
        let cut = order.first().filter(|_| before > 0).map(|first| {
            let Range { start, end } = of(*first);
            let cut = end - before;
            places.extend(start..cut);
            cut..end
        });
        places.extend(order.iter().skip(usize::from(cut.is_some())).flat_map(|number| of(*number)));
        places.extend(cut.into_iter().flatten());
        places.extend((chunks * chunk) as u32..positions as u32);
        places
    }
}

/// Puts records in this order, in their own memory.
fn arrange(records: &mut [Packed], order: &[u32]) {
    let mut is_done = vec![false; records.len()];
    for start in 0..records.len() {
        let first = records[start];
        let mut place = start;
        while !is_done[place] {
            is_done[place] = true;
            let from = order[place] as usize;
            records[place] = if from == start { first } else { records[from] };
            place = from;
        }
    }
}
