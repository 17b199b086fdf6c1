//! Chunks of positions that stay on a device: chunks that are used in each pass are sent once.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use burn::tensor::Bytes;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::super::GradientMemory;
use super::form::{UNITS, launch_grid};
use super::gpu::{Buffer, Gpu};
use super::pairs::PairSums;
use crate::architecture::MOST_PIECES;
use crate::batch::{ChunkPlan, InputPairs, ListShape, expand_lists};

/// Words of a cached list, however short it is.
const WORDS: usize = MOST_PIECES / 2;

/// The lists of chunks on their device, `[positions, perspectives, 32]`, two rows a word.
pub(super) struct DeviceChunks {
    gpu: Gpu,
    perspectives: usize,
    room: usize,
    buffer: Buffer,
    taken: usize,
    /// These chunks by their addresses, which stay valid, and the first position of each.
    places: HashMap<usize, (Arc<ChunkPlan>, usize)>,
    pair_sums: Option<PairSums>,
}

/// Runs `work` with the chunks of a device, all with `perspectives` perspectives; they stay in `kept`.
pub(super) fn with_chunks<T>(
    gpu: &Gpu,
    kept: &GradientMemory,
    perspectives: usize,
    act: impl FnOnce(&mut DeviceChunks) -> T,
) -> T {
    let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let there = kept.take().and_then(|any| any.downcast::<DeviceChunks>().ok());
    let there = there.filter(|it| it.perspectives == perspectives && it.gpu.device == gpu.device);
    let mut chunks =
        there.unwrap_or_else(|| Box::new(DeviceChunks::new(gpu.clone(), perspectives)));
    let result = act(&mut chunks);
    *kept = Some(chunks);
    result
}

impl DeviceChunks {
    fn new(gpu: Gpu, perspectives: usize) -> Self {
        let (buffer, places) = (gpu.empty_buffer(0), HashMap::new());
        Self { gpu, perspectives, room: 0, buffer, taken: 0, places, pair_sums: None }
    }

    /// The sums of the pairs that lists name.
    pub fn pair_sums(&mut self, pairs: &Arc<InputPairs>) -> &PairSums {
        let there = self.pair_sums.take().filter(|it| Arc::ptr_eq(&it.pairs, pairs));
        self.pair_sums.insert(there.unwrap_or_else(|| PairSums::new(pairs)))
    }

    /// Returns the place of each position on the device. Cached ones take at most `most` bytes.
    pub fn position_slots(
        &mut self,
        plans: &[Arc<ChunkPlan>],
        most: usize,
    ) -> impl Iterator<Item = u32> {
        let firsts = self.first_slots(plans, self.position_capacity(most)).into_iter();
        let all = plans.iter().zip(firsts).flat_map(|(plan, first)| first..first + plan.len());
        all.map(|place| place as u32)
    }

    /// Writes lists `[positions, perspectives, places]` to a batch from `lists` on, by the places at
    /// `table`.
    pub fn gather_lists(&self, batch: &Buffer, [table, lists]: [usize; 2], listed: &ListShape) {
        let ListShape { perspectives, width: places, positions, .. } = *listed;
        // SAFETY: the table names no position that is not there, and no list is longer than those.
        unsafe {
            gather::launch_unchecked(
                &self.gpu.client,
                launch_grid((positions * perspectives * places / 2).div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                self.buffer.launch_arg(),
                batch.launch_arg(),
                table as u32,
                lists as u32,
                positions as u32,
                perspectives,
                places / 2,
            );
        }
    }

    /// The place of each chunk's first position. Uncached chunks are behind the others.
    fn first_slots(&mut self, plans: &[Arc<ChunkPlan>], most: usize) -> Vec<usize> {
        let there = self.taken;
        let (mut staying, mut passing) = (Vec::new(), Vec::new());
        for plan in plans {
            if self.places.contains_key(&plan_address(plan)) {
                continue;
            }
            if !plan.stays || self.taken + plan.len() > most {
                passing.push(plan.clone());
                continue;
            }
            self.places.insert(plan_address(plan), (plan.clone(), self.taken));
            staying.push(plan.clone());
            self.taken += plan.len();
        }
        let mut next = self.taken;
        let fresh = [staying, passing].concat();
        if !fresh.is_empty() {
            let end = there + fresh.iter().map(|plan| plan.len()).sum::<usize>();
            self.make_room(there, end, most);
            let words = Bytes::from_elems(expand_lists(&fresh, MOST_PIECES));
            self.gpu.write_words(&self.buffer, there * self.perspectives * WORDS, words);
        }
        let first = |plan: &Arc<ChunkPlan>| match self.places.get(&plan_address(plan)) {
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
        // Uncached positions need space behind these.
        let bytes = bytes.min(largest.unwrap_or(usize::MAX) / 2);
        bytes / (self.perspectives * WORDS * size_of::<u32>())
    }

    /// Grows the buffer for `positions` positions, of which the first `there` are present.
    fn make_room(&mut self, there: usize, positions: usize, most: usize) {
        if positions <= self.room {
            return;
        }
        let of = |positions: usize| positions * self.perspectives * WORDS;
        let room = positions.max((2 * self.room).min(most));
        let buffer = self.gpu.empty_buffer(of(room));
        if there > 0 {
            self.gpu.copy_words(&self.buffer, &buffer, of(there));
        }
        (self.buffer, self.room) = (buffer, room);
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
        let view = i % each / words;
        let place = batch[table as usize + position] as usize;
        batch[lists as usize + i] = chunks[(place * perspectives + view) * WORDS + i % words];
    }
}
