//! Chunks of positions that stay on a device: chunks that every pass uses are sent once.

use std::collections::HashMap;
use std::sync::Arc;

use burn::tensor::Bytes;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::super::StepMemory;
use super::form::{UNITS, launch_grid};
use super::gpu::{Buffer, Gpu};
use super::pairs::PairSums;
use crate::architecture::MAX_PIECES;
use crate::batch::{ChunkPlan, InputPairs, ListShape, expand_lists};

/// Words of a cached list, of any length.
const WORDS: usize = MAX_PIECES / 2;

/// The lists of chunks on their device, `[positions, perspectives, 32]`, two rows a word.
pub(super) struct DeviceChunks {
    gpu: Gpu,
    perspectives: usize,
    /// Positions that fit into the buffer.
    capacity: usize,
    buffer: Buffer,
    /// Cached positions.
    taken: usize,
    /// Cached chunks by address, which the plans keep valid, with the first slot of each.
    cached: HashMap<usize, (Arc<ChunkPlan>, usize)>,
    pair_sums: Option<PairSums>,
}

/// Calls `act` with the chunks of a device, all with `perspectives` lists; they stay in `memory`.
pub(super) fn with_chunks<T>(
    gpu: &Gpu,
    memory: &StepMemory,
    perspectives: usize,
    act: impl FnOnce(&mut DeviceChunks) -> T,
) -> T {
    memory.lend(|chunks: &mut Option<DeviceChunks>| {
        let fits =
            |it: &DeviceChunks| it.perspectives == perspectives && it.gpu.device == gpu.device;
        let cached = chunks.take().filter(fits);
        act(chunks.insert(cached.unwrap_or_else(|| DeviceChunks::new(gpu.clone(), perspectives))))
    })
}

impl DeviceChunks {
    fn new(gpu: Gpu, perspectives: usize) -> Self {
        let (buffer, cached) = (gpu.empty_buffer(0), HashMap::new());
        Self { gpu, perspectives, capacity: 0, buffer, taken: 0, cached, pair_sums: None }
    }

    /// Returns the sums of the pairs that lists contain.
    pub fn pair_sums(&mut self, pairs: &Arc<InputPairs>) -> &PairSums {
        let cached = self.pair_sums.take().filter(|it| Arc::ptr_eq(&it.pairs, pairs));
        self.pair_sums.insert(cached.unwrap_or_else(|| PairSums::new(pairs)))
    }

    /// Returns the slot of each position on the device. Cached ones take at most `max_bytes` bytes.
    pub fn position_slots(
        &mut self,
        plans: &[Arc<ChunkPlan>],
        max_bytes: usize,
    ) -> impl Iterator<Item = u32> {
        let firsts = self.first_slots(plans, self.position_capacity(max_bytes)).into_iter();
        let slots = plans.iter().zip(firsts).flat_map(|(plan, first)| first..first + plan.len());
        slots.map(|slot| slot as u32)
    }

    /// Writes lists `[positions, perspectives, width]` to a batch from `lists` on, by the slots at
    /// `table`.
    pub fn gather_lists(&self, batch: &Buffer, [table, lists]: [usize; 2], listed: &ListShape) {
        let ListShape { perspectives, width, positions, .. } = *listed;
        // SAFETY: the table has only slots in the buffer, and no list is longer than a cached list.
        unsafe {
            gather::launch_unchecked(
                &self.gpu.client,
                launch_grid((positions * perspectives * width / 2).div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                self.buffer.launch_arg(),
                batch.launch_arg(),
                table as u32,
                lists as u32,
                positions as u32,
                perspectives,
                width / 2,
            );
        }
    }

    /// Returns the slot of each chunk's first position. Uncached chunks follow the cached ones.
    fn first_slots(&mut self, plans: &[Arc<ChunkPlan>], max_positions: usize) -> Vec<usize> {
        let present = self.taken;
        let (mut staying, mut passing) = (Vec::new(), Vec::new());
        for plan in plans {
            if self.cached.contains_key(&plan_address(plan)) {
                continue;
            }
            if !plan.is_cached || self.taken + plan.len() > max_positions {
                passing.push(plan.clone());
                continue;
            }
            self.cached.insert(plan_address(plan), (plan.clone(), self.taken));
            staying.push(plan.clone());
            self.taken += plan.len();
        }
        let mut next = self.taken;
        let fresh = [staying, passing].concat();
        if !fresh.is_empty() {
            let end = present + fresh.iter().map(|plan| plan.len()).sum::<usize>();
            self.make_room(present, end, max_positions);
            let words = Bytes::from_elems(expand_lists(&fresh, MAX_PIECES));
            self.gpu.write_words(&self.buffer, present * self.perspectives * WORDS, words);
        }
        let first = |plan: &Arc<ChunkPlan>| match self.cached.get(&plan_address(plan)) {
            Some((_, first)) => *first,
            None => {
                next += plan.len();
                next - plan.len()
            }
        };
        plans.iter().map(first).collect()
    }

    /// Positions that fit in this many bytes.
    fn position_capacity(&self, bytes: usize) -> usize {
        let largest = usize::try_from(self.gpu.client.properties().memory.max_page_size);
        // Uncached positions need space after the cached ones.
        let bytes = bytes.min(largest.unwrap_or(usize::MAX) / 2);
        bytes / (self.perspectives * WORDS * size_of::<u32>())
    }

    /// Grows the buffer to `positions` positions, and copies the first `present` of them.
    fn make_room(&mut self, present: usize, positions: usize, max_positions: usize) {
        if positions <= self.capacity {
            return;
        }
        let words = |positions: usize| positions * self.perspectives * WORDS;
        let capacity = positions.max((2 * self.capacity).min(max_positions));
        let buffer = self.gpu.empty_buffer(words(capacity));
        if present > 0 {
            self.gpu.copy_words(&self.buffer, &buffer, words(present));
        }
        (self.buffer, self.capacity) = (buffer, capacity);
    }
}

fn plan_address(plan: &Arc<ChunkPlan>) -> usize {
    Arc::as_ptr(plan).addr()
}

/// Each unit copies a word of a list.
#[cube(launch_unchecked)]
fn gather(
    chunks: &[u32],
    batch: &mut [u32],
    table: u32,
    lists: u32,
    positions: u32,
    #[comptime] perspectives: usize,
    #[comptime] words: usize,
) {
    let each = comptime!(perspectives * words);
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    let position = i / each;
    if position < positions as usize {
        let perspective = i % each / words;
        let slot = batch[table as usize + position] as usize;
        batch[lists as usize + i] = chunks[(slot * perspectives + perspective) * WORDS + i % words];
    }
}
