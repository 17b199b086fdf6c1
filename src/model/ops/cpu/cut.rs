//! How a batch is cut into chunks.
//!
//! Where king buckets share out the same pieces among more rows, positions of the same king
//! buckets stand together in the batch: a chunk then meets hardly more rows than that of a net
//! without them, each of these as often, and the others need not come into its caches.

use rayon::prelude::*;

use super::net::{Kernel, Positions};
use crate::architecture::PIECES;

/// Bytes of accumulators that fit a thread's share of the caches. They are written once and read
/// once; from memory that would cost as much as all the rest.
const CACHE: usize = 2 << 20;

/// The positions of a batch, chunk after chunk.
#[derive(Default)]
pub(super) struct Cut {
    order: Vec<u32>,
    /// Positions a chunk; the last has the rest.
    size: usize,
    /// Chunks between two waits for all threads. It has no influence on the result.
    pub group: usize,
    /// Working space.
    keys: Vec<u16>,
    counts: Vec<u32>,
}

impl Cut {
    /// Cuts a batch; `bytes` are those of a position's accumulators.
    pub fn cut(&mut self, kernel: &Kernel, positions: Positions, bytes: usize) {
        let views = kernel.net.views();
        let batch = positions.len(views);
        // More share the cost of fetching a block's weights and gradients, and of each input's
        // sum. A power of two.
        self.size = 1 << (CACHE / bytes).clamp(64, 512).ilog2();
        let threads = rayon::current_num_threads();
        self.group = (threads * (CACHE / (bytes * self.size)).max(1)).min(self.chunks_of(batch));
        match kernel.net.rows() / PIECES {
            1 => {
                self.order.clear();
                self.order.extend(0..batch as u32);
            }
            kings => self.sort(kings, views, positions),
        }
    }

    fn chunks_of(&self, batch: usize) -> usize {
        batch.div_ceil(self.size)
    }

    pub fn chunks(&self) -> usize {
        self.chunks_of(self.order.len())
    }

    /// The positions of a chunk.
    pub fn chunk(&self, chunk: usize) -> &[u32] {
        let end = self.order.len().min((chunk + 1) * self.size);
        &self.order[chunk * self.size..end]
    }

    /// Puts positions of the same king buckets together, each in the order of the batch.
    fn sort(&mut self, kings: usize, views: usize, positions: Positions) {
        let Positions { indices, places, .. } = positions;
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
