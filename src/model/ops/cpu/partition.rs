//! The chunks of a batch.
//!
//! Where king buckets share out the same pieces among more rows, positions of the same king
//! buckets stand together in the batch: a chunk then meets hardly more rows than that of a net
//! without them, each of these as often, and the others need not come into its caches.

use std::ops::Range;

use rayon::prelude::*;

use super::net::Kernel;
use crate::architecture::PIECES;
use crate::batch::plan::MOST;
use crate::batch::{Active, OneHot};

/// Bytes of accumulators that fit a thread's share of the caches. They are written once and read
/// once; from memory that would cost as much as all the rest.
const CACHE: usize = 2 << 20;

/// Chunks of a group, at most: a block's weights and gradients are fetched once for all of them.
const CHUNKS_PER_GROUP: usize = 2;

/// The positions of a batch, chunk after chunk.
#[derive(Default)]
pub(super) struct Partition {
    order: Vec<u32>,
    /// The end of each chunk in that.
    ends: Vec<usize>,
    /// Bytes of a position's accumulators.
    bytes: usize,
    /// Working space.
    keys: Vec<u16>,
}

impl Partition {
    /// Splits a batch; `bytes` are those of a position's accumulators.
    pub fn split(&mut self, kernel: &Kernel, positions: OneHot, bytes: usize) {
        let batch = positions.len();
        // More share the cost of fetching a block's weights and gradients, and of each input's
        // sum. A power of two.
        let size = 1 << (CACHE / bytes).clamp(64, MOST).ilog2();
        self.bytes = bytes;
        self.ends.clear();
        self.order.clear();
        self.order.extend(0..batch as u32);
        match positions {
            OneHot::Lists(lists) => {
                self.ends.extend((size..batch + size).step_by(size));
                self.sort(kernel.net.rows() / PIECES, lists);
            }
            OneHot::Plans(plans) => self.ends.extend(plans.iter().scan(0, |end, plan| {
                *end += plan.len();
                Some(*end)
            })),
        }
        if let Some(last) = self.ends.last_mut() {
            *last = batch;
        }
    }

    pub fn chunks(&self) -> usize {
        self.ends.len()
    }

    /// Chunks that a thread takes through the forward pass before the backward pass, while their
    /// accumulators are still in its caches.
    pub fn chunks_per_group(&self) -> usize {
        let largest = (0..self.chunks()).map(|chunk| self.range(chunk).len()).max().unwrap_or(0);
        (CACHE / (self.bytes * largest).max(1)).clamp(1, CHUNKS_PER_GROUP)
    }

    fn range(&self, chunk: usize) -> Range<usize> {
        let start = chunk.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[chunk]
    }

    /// The positions of a chunk.
    pub fn chunk(&self, chunk: usize) -> &[u32] {
        &self.order[self.range(chunk)]
    }

    /// Puts positions of the same king buckets together, each in the order of the batch.
    fn sort(&mut self, kings: usize, lists: &Active) {
        let &Active { ref indices, views, places, .. } = lists;
        if kings == 1 {
            return;
        }
        // All rows of a view are of one king bucket.
        let king = |list: &[u16]| (usize::from(list[0]) / PIECES).min(kings - 1);
        indices
            .par_chunks_exact(views * places)
            .with_min_len(1 << 10)
            .map(|lists| {
                lists.chunks_exact(places).fold(0, |key, it| key * kings + king(it)) as u16
            })
            .collect_into_vec(&mut self.keys);
        self.order.sort_by_key(|position| self.keys[*position as usize]);
    }
}
