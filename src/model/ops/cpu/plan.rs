//! The order in which a chunk of positions is worked off.
//!
//! Both directions walk over lists of a few dozen entries, and a mispredicted end of a list costs
//! as much as half of it. So positions of equally many pieces stand together for the way forward,
//! and inputs that occur equally often for the way back: the ends are then nearly always as
//! predicted. Positions of one output bucket stand together before all that.

use std::ops::Range;

use super::layout::{LINE, STEP};
use super::net::{Kernel, Positions};

/// Lists that the forward pass walks side by side, enough to hide the latency of an addition.
pub(super) const ABREAST: usize = 8;

/// Indices that are fetched at once: the loads of single ones would take turns with those of the
/// rows.
pub(super) const FOUR: usize = 4;

/// The lists of a chunk, in working order.
///
/// A slot is a place in that order; the lists of slot `s` have the numbers `s * views..`.
#[derive(Default)]
pub(super) struct Plan {
    /// The position in each slot; those behind are empty, to make [`ABREAST`] lists.
    pub order: Vec<u16>,
    /// `[slots * views, stride]` offsets of the inputs' rows, in units of `step` bytes; the offset
    /// of the row behind the last is a blank.
    pub entries: Vec<[u16; FOUR]>,
    /// [`STEP`], or [`LINE`] for nets of so many rows that 16 bits would not do.
    pub step: usize,
    /// Of the net.
    pub rows: usize,
    /// The slots of each output bucket that occurs, in order, those that are empty with the last.
    pub sets: Vec<Set>,
    /// The output bucket of each slot.
    pub buckets: Vec<u8>,
    /// Fours a list.
    pub stride: usize,
    /// Entries to walk, for each [`ABREAST`] lists.
    pub walks: Vec<u16>,
    /// The inputs that occur.
    pub runs: Vec<Run>,
    /// Offsets of the rows of the lists that hold the input of each run, in units of [`STEP`]
    /// bytes. The last four is filled up with that of the row behind the last.
    pub holders: Vec<[u16; FOUR]>,
    /// Working space.
    pieces: Vec<u16>,
    counts: Vec<u32>,
    unsorted: Vec<Run>,
}

/// Neighbouring slots of one output bucket.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub bucket: usize,
    pub slots: Range<usize>,
}

/// The occurrences of one input.
#[derive(Clone, Copy, Default)]
pub(super) struct Run {
    pub input: u32,
    /// Where in the plan's `holders` their fours begin.
    pub start: u32,
    pub fours: u32,
}

impl Plan {
    pub fn lists(&self) -> usize {
        self.walks.len() * ABREAST
    }

    /// Puts the positions in order, for the way forward.
    ///
    /// # Panics
    /// When an index is beyond the rows.
    #[inline(always)]
    pub fn order(&mut self, kernel: &Kernel, positions: Positions) {
        let Positions { indices, buckets, places } = positions;
        let (rows, views) = (kernel.net.rows(), kernel.net.views());
        let blank = rows as u16;
        let size = places * views;
        let batch = indices.len() / size;

        self.rows = rows;
        self.pieces.clear();
        self.counts.clear();
        // By output bucket and number of pieces.
        self.counts.resize(kernel.net.buckets * (places + 1) + 1, 0);
        let bucket = |position: usize| buckets.get(position).map_or(0, |it| usize::from(*it));
        let key =
            |position: usize, pieces: u16| bucket(position) * (places + 1) + usize::from(pieces);
        let mut most = 0;
        for (position, lists) in indices.chunks_exact(size).enumerate() {
            let mut pieces = 0;
            for list in lists.chunks_exact(places) {
                for (place, &index) in list.iter().enumerate() {
                    most = most.max(index);
                    pieces = pieces.max(if index == blank { 0 } else { place as u16 + 1 });
                }
            }
            self.pieces.push(pieces);
            self.counts[key(position, pieces) + 1] += 1;
        }
        assert!(most <= blank, "an index is {most}, but there are {blank} inputs");

        for key in 1..self.counts.len() {
            self.counts[key] += self.counts[key - 1];
        }
        self.order.clear();
        self.order.resize(batch, 0);
        for (position, &pieces) in self.pieces.iter().enumerate() {
            let slot = &mut self.counts[key(position, pieces)];
            self.order[*slot as usize] = position as u16;
            *slot += 1;
        }

        self.walks.clear();
        for slots in self.order.chunks(ABREAST / views) {
            let pieces = slots.iter().map(|position| self.pieces[usize::from(*position)]);
            self.walks.push(pieces.max().unwrap_or(0));
        }
        self.sets.clear();
        for (slot, &position) in self.order.iter().enumerate() {
            let bucket = bucket(position.into());
            match self.sets.last_mut() {
                Some(set) if set.bucket == bucket => set.slots.end = slot + 1,
                _ => self.sets.push(Set { bucket, slots: slot..slot + 1 }),
            }
        }
        let slots = self.lists() / views;
        self.buckets.clear();
        if let Some(last) = self.sets.last_mut() {
            last.slots.end = slots;
            for Set { bucket, slots } in &self.sets {
                self.buckets.resize(slots.end, *bucket as u8);
            }
        }
        self.stride = places.div_ceil(FOUR);
        self.step = if (rows + 1) * (LINE / STEP) <= 1 << 16 { STEP } else { LINE };
        let scale = (LINE / self.step) as u16;
        self.entries.clear();
        self.entries.resize(self.lists() * self.stride, [blank * scale; FOUR]);
        let mut entries = self.entries.as_flattened_mut().chunks_exact_mut(self.stride * FOUR);
        for &position in &self.order {
            let lists = &indices[usize::from(position) * size..][..size];
            for (list, entries) in lists.chunks_exact(places).zip(&mut entries) {
                for (&index, entry) in list.iter().zip(entries) {
                    *entry = index * scale;
                }
            }
        }
    }

    /// Finds out which lists hold each input, for the way back; after [`order`](Plan::order).
    #[inline(always)]
    pub fn invert(&mut self) {
        let inputs = self.rows;
        // Locals, as the compiler would fetch the vectors' addresses anew after each write.
        let stride = self.stride * FOUR;
        let lists = self.entries.as_flattened().chunks_exact(stride);
        let walks = self.walks.iter().flat_map(|&walk| [usize::from(walk); ABREAST]);
        let walks = lists.zip(walks).map(|(list, walk)| &list[..walk]);
        let shift = (LINE / self.step).trailing_zeros();

        // Blanks are counted with the rest, behind them, and left out at the end.
        self.counts.clear();
        self.counts.resize(inputs + 1, 0);
        let counts = &mut self.counts[..];
        for list in walks.clone() {
            for entry in list {
                counts[usize::from(entry >> shift)] += 1;
            }
        }

        // Lengths beyond the last bucket are rare; their order hardly matters.
        const BUCKETS: usize = 64;
        let mut buckets = [0u32; BUCKETS];
        self.unsorted.clear();
        let mut start = 0;
        for (input, count) in counts.iter_mut().enumerate() {
            let fours = count.div_ceil(FOUR as u32);
            *count = start * FOUR as u32;
            if input < inputs && fours > 0 {
                self.unsorted.push(Run { input: input as u32, start, fours });
                buckets[(fours as usize).min(BUCKETS - 1)] += 1;
            }
            start += fours;
        }
        let missing = (self.walks.len() * ABREAST * (LINE / STEP)) as u16;
        self.holders.clear();
        self.holders.resize(start as usize, [missing; FOUR]);
        let holders = self.holders.as_flattened_mut();
        for (number, list) in walks.enumerate() {
            for entry in list {
                let next = &mut counts[usize::from(entry >> shift)];
                holders[*next as usize] = (number * (LINE / STEP)) as u16;
                *next += 1;
            }
        }

        let mut next = 0;
        for bucket in &mut buckets {
            next += std::mem::replace(bucket, next);
        }
        self.runs.resize(next as usize, Run::default());
        for run in &self.unsorted {
            let next = &mut buckets[(run.fours as usize).min(BUCKETS - 1)];
            self.runs[*next as usize] = *run;
            *next += 1;
        }
    }
}

/// Four indices in one register.
#[inline(always)]
pub(super) fn unpack(four: &[u16; FOUR]) -> [usize; FOUR] {
    let four: u64 = pulp::cast(*four);
    std::array::from_fn(|i| usize::from((four >> (16 * i)) as u16))
}
