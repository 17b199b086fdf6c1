//! How a batch is cut into chunks.
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
pub(super) const CACHE: usize = 2 << 20;

/// Chunks that a thread takes forward before it takes them back, at most: what is fetched of a
/// block's weights and gradients serves them all.
const TURNS: usize = 2;

/// The positions of a batch, chunk after chunk.
#[derive(Default)]
pub(super) struct Cut {
    order: Vec<u32>,
    /// Where each chunk ends in that.
    ends: Vec<usize>,
    /// Bytes of a position's accumulators.
    bytes: usize,
    /// Working space.
    keys: Vec<u16>,
    counts: Vec<u32>,
}

impl Cut {
    /// Cuts a batch; `bytes` are those of a position's accumulators.
    pub fn cut(&mut self, kernel: &Kernel, positions: OneHot, bytes: usize) {
        let views = kernel.net.views();
        let batch = positions.len();
        // More share the cost of fetching a block's weights and gradients, and of each input's
        // sum. A power of two.
        let size = 1 << (CACHE / bytes).clamp(64, MOST).ilog2();
        self.bytes = bytes;
        self.ends.clear();
        match positions {
            OneHot::Lists(_) => self.ends.extend((size..batch + size).step_by(size)),
            OneHot::Plans(plans) => {
                let ends = plans.iter().scan(0, |end, plan| {
                    *end += plan.len();
                    Some(*end)
                });
                self.ends.extend(ends);
            }
        }
        if let Some(last) = self.ends.last_mut() {
            *last = batch;
        }
        match (positions, kernel.net.rows() / PIECES) {
            (OneHot::Lists(lists), kings) if kings > 1 => self.sort(kings, views, lists),
            _ => {
                self.order.clear();
                self.order.extend(0..batch as u32);
            }
        }
    }

    pub fn chunks(&self) -> usize {
        self.ends.len()
    }

    /// Chunks that a thread takes forward before it takes them back, while their accumulators are
    /// still in its caches.
    pub fn turns(&self) -> usize {
        let largest = (0..self.chunks()).map(|chunk| self.range(chunk).len()).max().unwrap_or(0);
        (CACHE / (self.bytes * largest).max(1)).clamp(1, TURNS)
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
    fn sort(&mut self, kings: usize, views: usize, lists: &Active) {
        let &Active { ref indices, places, .. } = lists;
        // All rows of a view are of one king bucket.
        let king = |list: &[u16]| (usize::from(list[0]) / PIECES).min(kings - 1);
        indices
            .par_chunks_exact(views * places)
            .with_min_len(1 << 10)
            .map(|lists| {
                let kings = lists.chunks_exact(places).fold(0, |key, it| key * kings + king(it));
                kings as u16
            })
            .collect_into_vec(&mut self.keys);
        self.counts.clear();
        self.counts.resize(kings.pow(views as u32) + 1, 0);
        for &key in &self.keys {
            self.counts[usize::from(key) + 1] += 1;
        }
        for key in 1..self.counts.len() {
            self.counts[key] += self.counts[key - 1];
        }
        self.order.resize(self.keys.len(), 0);
        for (position, &key) in self.keys.iter().enumerate() {
            let place = &mut self.counts[usize::from(key)];
            self.order[*place as usize] = position as u32;
            *place += 1;
        }
    }
}
