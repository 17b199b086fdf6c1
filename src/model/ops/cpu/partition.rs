//! The chunks of a batch. King buckets spread the same pieces over more rows, so positions with
//! equal king buckets are grouped: a chunk then touches hardly more rows than without king buckets,
//! each as often, and the other rows do not enter its caches.

use std::ops::Range;

use super::net::Kernel;
use crate::architecture::Architecture;
use crate::batch::{ActiveRows, OneHot};

/// Bytes of accumulators that fit a thread's caches; memory would cost as much as all the rest.
const CACHE: usize = 2 << 20;
/// Maximum number of positions in a chunk.
const MAX_POSITIONS: usize = 512;
/// Maximum chunks of a group: a block's weights and gradients are loaded once for all of them.
const CHUNKS_PER_GROUP: usize = 2;
/// Maximum in nets of many rows, where a block's gradients exceed the accumulators of a chunk.
const CHUNKS_OF_LARGE: usize = 4;

/// Positions of a batch, chunk after chunk.
#[derive(Default)]
pub(super) struct Partition {
    order: Vec<u32>,
    ends: Vec<usize>,
    bytes: usize,
    keys: Vec<u16>,
}

impl Partition {
    /// Splits a batch; `bytes` is the size of a position's accumulators.
    pub fn split_batch(&mut self, kernel: &Kernel, positions: OneHot, bytes: usize) {
        let batch = positions.len();
        // A power of two; more positions share the cost of loading a block's weights and gradients.
        let size = 1 << (CACHE / bytes).clamp(64, MAX_POSITIONS).ilog2();
        self.bytes = bytes;
        self.ends.clear();
        self.order.clear();
        self.order.extend(0..batch as u32);
        match positions {
            OneHot::Lists(_) | OneHot::First(_) => {
                self.ends.extend((size..batch + size).step_by(size));
            }
            OneHot::Plans(plans) => self.ends.extend(plans.iter().scan(0, |end, plan| {
                *end += plan.len();
                Some(*end)
            })),
        }
        let kings = kernel.net.inputs.kings().bucket_count() as u16;
        if let OneHot::Lists(ActiveRows { king_buckets, perspectives, .. }) = positions
            && kings > 1
        {
            let key =
                |buckets: &[u8]| buckets.iter().fold(0, |key, it| key * kings + u16::from(*it));
            self.keys.clear();
            self.keys.extend(king_buckets.chunks_exact(*perspectives).map(key));
            // Stable: positions of equal buckets stay in the order of the batch.
            self.order.sort_by_key(|position| self.keys[*position as usize]);
        }
        if let Some(last) = self.ends.last_mut() {
            *last = batch;
        }
    }

    pub fn chunk_count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the chunks that a thread takes through both passes while their accumulators are
    /// cached.
    pub fn chunks_per_group(&self, net: &Architecture) -> usize {
        let (budget, max_chunks) = match net.inputs.is_large() {
            false => (CACHE, CHUNKS_PER_GROUP),
            true => (CHUNKS_OF_LARGE * CACHE, CHUNKS_OF_LARGE),
        };
        let largest =
            (0..self.chunk_count()).map(|chunk| self.chunk_range(chunk).len()).max().unwrap_or(0);
        (budget / (self.bytes * largest).max(1)).clamp(1, max_chunks)
    }

    fn chunk_range(&self, chunk: usize) -> Range<usize> {
        let start = chunk.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[chunk]
    }

    pub fn chunk_positions(&self, chunk: usize) -> &[u32] {
        &self.order[self.chunk_range(chunk)]
    }
}
