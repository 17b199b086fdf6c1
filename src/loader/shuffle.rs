//! Order of positions: a function of the seed, the epoch and the window.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use rayon::prelude::*;

use super::PassOrder;
use super::encode::Encoder;
use super::packed::Packed;
use crate::sample::mix_hash;

pub(super) fn random_for(seed: u64, epoch: u64, subset: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(mix_hash(mix_hash(mix_hash(0, seed), epoch), subset))
}

/// Returns the order of data in memory.
pub(super) fn shuffled_order(pass: &PassOrder, epoch: u64, positions: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..positions as u32).collect();
    if pass.shuffle {
        order.shuffle(&mut random_for(pass.seed, epoch, 1));
    }
    order
}

/// Order of data in fixed chunks: number of kinds of chunks, which alternate.
pub(super) struct ChunkOrder(usize);

impl ChunkOrder {
    /// Shuffles records for the first pass, the incomplete chunk last. With king buckets, each
    /// batch is sorted by bucket and split into chunks: a chunk then touches hardly more rows than
    /// without king buckets, and one chunk of each kind is a fair sample.
    pub fn arrange_chunks(pass: &PassOrder, encoder: &Encoder, records: &mut Vec<Packed>) -> Self {
        let mut order = shuffled_order(pass, 0, records.len());
        let mut kinds = 1;
        if let Encoder::Net(net, _) = encoder
            && net.inputs.kings().bucket_count() > 1
        {
            kinds = (pass.batch.min(records.len()) / pass.chunk).max(1);
            let kings = |record: &Packed| net.inputs.kings_of(&record.position()) as u16;
            let kings: Vec<u16> = records.par_iter().map(kings).collect();
            let whole = records.len() / pass.chunk * pass.chunk;
            let batches = order[..whole].par_chunks_mut(kinds * pass.chunk);
            batches.for_each(|batch| batch.sort_by_key(|index| kings[*index as usize]));
        }
        // In parallel, as records are scattered and many can be loaded at once.
        *records = order.par_iter().map(|index| records[*index as usize]).collect();
        Self(kinds)
    }

    /// Returns the order of a pass: unchanged in the first, later the chunks of each kind in a new
    /// order, then incomplete groups of kinds and the incomplete chunk. If a pass begins within a
    /// chunk of a batch, one chunk is split: its beginning completes that chunk, and its end comes
    /// last.
    pub fn order_of_pass(&self, pass: &PassOrder, epoch: u64, positions: usize) -> Vec<u32> {
        let (chunk, chunks) = (pass.chunk, positions / pass.chunk);
        let mut order: Vec<usize> = (0..chunks).collect();
        if epoch > 0 {
            let mut random = random_for(pass.seed, epoch, 1);
            let whole = chunks / self.0 * self.0;
            for kind in 0..self.0 {
                let mut chunks: Vec<usize> = (kind..whole).step_by(self.0).collect();
                chunks.shuffle(&mut random);
                let indices = (kind..whole).step_by(self.0);
                indices.zip(chunks).for_each(|(index, chunk)| order[index] = chunk);
            }
        }
        let mut records: Vec<u32> = order
            .iter()
            .flat_map(|number| number * chunk..(number + 1) * chunk)
            .map(|it| it as u32)
            .collect();
        let before = (u128::from(epoch) * positions as u128 % chunk as u128) as usize;
        if before > 0 && chunks > 0 {
            records[chunk - before..].rotate_left(before);
        }
        records.extend((chunks * chunk) as u32..positions as u32);
        records
    }
}

/// Cursor over positions in memory, epoch after epoch.
pub(super) struct Walk {
    pass: PassOrder,
    length: u64,
    passed: u64,
    /// Epoch of `order`; None before the first step.
    epoch: Option<u64>,
    /// The positions in the order of that epoch.
    pub order: Vec<u32>,
}

impl Walk {
    /// Starts after the first `passed` positions, counted over epochs.
    pub fn new(positions: usize, pass: PassOrder, passed: u64) -> Self {
        assert!(positions > 0, "a walk needs positions");
        Self { pass, length: positions as u64, passed, epoch: None, order: Vec::new() }
    }

    /// Advances within the epoch and a window; returns the epoch, and indices in its `order`.
    pub fn advance_within(&mut self, max_count: usize, window: usize) -> (u64, Range<usize>) {
        let (epoch, begin) = (self.passed / self.length, (self.passed % self.length) as usize);
        let positions = self.length as usize;
        if self.epoch != Some(epoch) {
            self.order = shuffled_order(&self.pass, epoch, positions);
            self.epoch = Some(epoch);
        }
        let border = (begin / window + 1).saturating_mul(window);
        let end = positions.min(border).min(begin.saturating_add(max_count));
        self.passed += (end - begin) as u64;
        (epoch, begin..end)
    }
}
