//! Inverse of the active inputs: for each strip and input, the lists that contain it, as bits. The
//! device computes it from its lists. Units set bits in any order, but the index of a bit is fixed,
//! so the lists of an input have one order.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{UNITS, launch_grid};
use super::gpu::{Buffer, Gpu};
use crate::model::ops::strips::{ROUND, Strips};

/// Shape of the strips, a constant of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct IndexShape {
    pub rows: usize,
    /// Rows of a king bucket.
    pub inputs: usize,
    /// Words of bits for each input of a strip.
    pub words: usize,
    /// Whether a table has the list of each slot.
    pub ordered: bool,
}

/// Words of bits per cube and input: 1,024 inputs take half of the memory that WGSL guarantees.
const WORDS: usize = 2;

/// Finds the lists that contain each input, as bits, `[strips, inputs, slots / 32]`, among a range
/// of the lists `[lists, width]`, which begin at word `first_word` of a batch. `order` is the offset
/// of the order of the strips, which the first strip of each king bucket follows.
pub(super) fn find_bits(
    gpu: &Gpu,
    (batch, first_word): (&Buffer, usize),
    lists: Range<usize>,
    (strips, order): (&Strips, usize),
    [width, rows]: [usize; 2],
) -> (IndexShape, Buffer) {
    let inputs = rows / (strips.starts.len() - 1);
    let words = strips.length / 32;
    let shape = IndexShape { rows, inputs, words, ordered: !strips.order.is_empty() };
    let strips = strips.strip_count();
    let bits = gpu.empty_buffer(strips * inputs * words);
    let cubes = strips * words / WORDS;
    // SAFETY: lists and their order are within the batch.
    unsafe {
        set::launch_unchecked(
            &gpu.client,
            launch_grid(cubes),
            CubeDim::new_1d(UNITS as u32),
            batch.launch_arg(),
            bits.launch_arg(),
            first_word as u32,
            lists.start as u32,
            lists.len() as u32,
            order as u32,
            cubes as u32,
            width,
            shape,
        );
    }
    (shape, bits)
}

/// A cube reads the lists, from `begin` on, of [`WORDS`] words of a strip, for all inputs.
#[cube(launch_unchecked)]
fn set(
    batch: &[u32],
    bits: &mut [u32],
    begin: u32,
    first: u32,
    lists: u32,
    order: u32,
    cubes: u32,
    #[comptime] width: usize,
    #[comptime] shape: IndexShape,
) {
    let IndexShape { rows, inputs, words, ordered } = comptime!(shape);
    let all = comptime!(inputs * WORDS);
    let unit = UNIT_POS_X as usize;
    let cube = CUBE_POS;
    let here = cube < cubes as usize;
    let shared = Shared::<[Atomic<u32>]>::new_slice(all);
    let mut i = unit;
    while i < all {
        shared[i].store(0u32);
        i += UNITS;
    }
    sync_cube();
    let mut i = unit;
    while i < comptime!(32 * WORDS * width) {
        let bit = i / width;
        let mut list = (cube * comptime!(32 * WORDS) + bit) as u32;
        if ordered && here {
            list = batch[order as usize + list as usize];
        }
        if here && list < lists {
            let entry = (first + list) as usize * width + i % width;
            let row =
                (batch[begin as usize + entry / 2] >> ((entry % 2) as u32 * 16u32)) & 65535u32;
            if row < comptime!(rows as u32) {
                let word = row as usize % inputs * WORDS + bit / 32;
                shared[word].fetch_or(1u32 << (bit % 32) as u32);
            }
        }
        i += UNITS;
    }
    sync_cube();
    let strip = cube / comptime!(words / WORDS);
    let word = cube % comptime!(words / WORDS) * WORDS;
    let mut i = unit;
    while here && i < all {
        bits[(strip * inputs + i / WORDS) * words + word + i % WORDS] = shared[i].load();
        i += UNITS;
    }
}

/// Lists of an input among [`ROUND`] slots of a strip, in their order.
#[derive(CubeType)]
pub(super) struct BitRound {
    words: Shared<[u32]>,
    lists: Shared<[u32]>,
    count: Shared<[u32]>,
}

const ROUND_WORDS: usize = ROUND / 32;

#[cube]
impl BitRound {
    pub fn new() -> BitRound {
        BitRound {
            words: Shared::<[u32]>::new_slice(ROUND_WORDS),
            lists: Shared::<[u32]>::new_slice(ROUND),
            count: Shared::<[u32]>::new_slice(1usize),
        }
    }

    /// Finds the lists whose bits begin at a word. All units of a cube take part, at least 32.
    pub fn find(
        &mut self,
        bits: &[u32],
        batch: &[u32],
        word: usize,
        order: usize,
        #[comptime] ordered: bool,
    ) {
        let unit = UNIT_POS_X as usize;
        // The previous results are no longer read.
        sync_cube();
        if unit < ROUND_WORDS {
            self.words[unit] = bits[word + unit];
        }
        sync_cube();
        if unit < ROUND_WORDS {
            let mut count = 0u32;
            for i in 0..unit {
                count += self.words[i].count_ones();
            }
            let mut rest = self.words[unit];
            while rest != 0u32 {
                let slot = unit * 32 + rest.trailing_zeros() as usize;
                let mut list = slot as u32;
                if ordered {
                    list = batch[order + slot];
                } else {
                    list += order as u32;
                }
                self.lists[count as usize] = list;
                rest &= rest - 1u32;
                count += 1u32;
            }
            if unit == comptime!(ROUND_WORDS - 1) {
                self.count[0] = count;
            }
        }
        sync_cube();
    }

    pub fn count(&self) -> u32 {
        self.count[0]
    }

    pub fn list(&self, number: u32) -> usize {
        self.lists[number as usize] as usize
    }
}
