//! The order in which a chunk of positions is worked off.
//!
//! Both directions walk over lists of a few dozen entries, and a mispredicted end of a list costs
//! as much as half of it. So positions of equally many pieces stand together for the way forward,
//! and inputs that occur equally often for the way back: the ends are then nearly always as
//! predicted. Before all that, views of one king bucket stand together, as its rows fit the first
//! cache and those of all do not; else positions of one output bucket, which share their weights.

use std::ops::Range;

use super::layout::{LINE, STEP, prefetch};
use super::net::{Kernel, Positions};
use crate::architecture::PIECES;

/// Lists that the forward pass walks side by side, enough to hide the latency of an addition.
pub(super) const ABREAST: usize = 8;

/// Positions before its turn that one's indices are asked for.
const AHEAD: usize = 8;

/// Indices that are fetched at once: the loads of single ones would take turns with those of the
/// rows.
pub(super) const FOUR: usize = 4;

/// The lists of a chunk, in working order.
///
/// A slot is a place in that order, and holds what [`Kernel::together`] says: all views of a
/// position, or a view alone. The lists of slot `s` have the numbers `s * together..`.
#[derive(Default)]
pub(super) struct Plan {
    /// What stands in each slot, `position * groups + group`, where a position has so many groups
    /// of views. Behind these are empty slots, to make [`ABREAST`] lists.
    pub order: Vec<u16>,
    /// The output weights of each slot, `bucket * groups + group`; of an empty one those of its
    /// neighbour.
    pub weights: Vec<u8>,
    /// Neighbouring slots with the same output weights, all of them.
    pub spans: Vec<Span>,
    /// The positions by output bucket. Whoever asks a position's place asks where it stands here.
    pub positions: Vec<u16>,
    /// The place of each slot's position; of an empty slot it is behind the last.
    pub places: Vec<u16>,
    /// Neighbouring places of each output bucket that occurs.
    pub buckets: Vec<Span>,
    /// `[lists, stride]` offsets of the inputs' rows, in units of `step` bytes; the offset of the
    /// row behind the last is a blank.
    pub entries: Vec<[u16; FOUR]>,
    /// [`STEP`], or [`LINE`] for nets of so many rows that 16 bits would not do.
    pub step: usize,
    /// Of the net.
    pub rows: usize,
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
    keys: Vec<u16>,
    counts: Vec<u32>,
    unsorted: Vec<Run>,
}

/// Neighbours of one kind.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub of: usize,
    pub range: Range<usize>,
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

    /// The inputs that occur, if their rows are too many for the second cache to keep them from
    /// chunk to chunk: who asks for them in time need not wait.
    pub fn far(&self) -> &[Run] {
        if self.rows > PIECES { &self.runs } else { &[] }
    }

    /// Puts the views of some positions of a batch in order, for the way forward.
    ///
    /// # Panics
    /// When an index is beyond the rows.
    #[inline(always)]
    pub fn order(&mut self, kernel: &Kernel, batch: Positions, chosen: &[u32]) {
        let Positions { indices, buckets, places } = batch;
        let (rows, together) = (kernel.net.rows(), kernel.together());
        // A power of two, as is what remains of an item's number.
        let groups = kernel.net.views() / together;
        let (shift, group) = (groups.trailing_zeros(), groups - 1);
        let kings = rows / PIECES;
        let blank = rows as u16;
        let size = places * together;
        let bucket = |position: usize| {
            buckets.get(chosen[position] as usize).map_or(0, |it| usize::from(*it))
        };
        let item = |item: usize| {
            let item = ((chosen[item >> shift] as usize) << shift) | (item & group);
            &indices[item * size..][..size]
        };

        self.rows = rows;
        self.runs.clear();
        self.keys.clear();
        self.counts.clear();
        let each = places + 1;
        let kinds = if kings == 1 { kernel.net.buckets } else { kings * groups };
        self.counts.resize(kinds * each + 1, 0);
        let mut most = 0;
        for number in 0..chosen.len() << shift {
            // Those of several king buckets stand here and there in the batch.
            if kings > 1
                && let Some(&later) = chosen.get((number >> shift) + AHEAD)
            {
                let position = size << shift;
                prefetch(indices, later as usize * position..(later as usize + 1) * position);
            }
            let lists = item(number);
            let mut pieces = 0;
            for list in lists.chunks_exact(places) {
                for (place, &index) in list.iter().enumerate() {
                    most = most.max(index);
                    pieces = pieces.max(if index == blank { 0 } else { place + 1 });
                }
            }
            let kind = match kings {
                1 => bucket(number >> shift),
                // All rows of a view are of one king bucket.
                _ => (usize::from(lists[0]) / PIECES).min(kings - 1) * groups + (number & group),
            };
            let key = kind * each + pieces;
            self.keys.push(key as u16);
            self.counts[key + 1] += 1;
        }
        assert!(most <= blank, "an index is {most}, but there are {blank} inputs");

        for key in 1..self.counts.len() {
            self.counts[key] += self.counts[key - 1];
        }
        self.order.clear();
        self.order.resize(self.keys.len(), 0);
        for (item, &key) in self.keys.iter().enumerate() {
            let slot = &mut self.counts[usize::from(key)];
            self.order[*slot as usize] = item as u16;
            *slot += 1;
        }

        // Of one kind the last has the most pieces; where kinds meet, any may.
        self.walks.clear();
        for slots in self.order.chunks(ABREAST / together) {
            let mut walk = 0;
            for &item in slots {
                walk = walk.max(usize::from(self.keys[usize::from(item)]) % each);
            }
            self.walks.push(walk as u16);
        }
        let slots = self.walks.len() * ABREAST / together;
        self.weights.clear();
        for &item in &self.order {
            let item = usize::from(item);
            self.weights.push((bucket(item >> shift) * groups + (item & group)) as u8);
        }
        self.weights.resize(slots, self.weights.last().copied().unwrap_or(0));
        spans(self.weights.iter().map(|it| usize::from(*it)), &mut self.spans);

        let batch = self.order.len() >> shift;
        self.places.clear();
        if kings == 1 {
            self.positions.clone_from(&self.order);
            self.places.extend(0..batch as u16);
        } else {
            self.by_bucket(batch, kernel.net.buckets, bucket);
            for &item in &self.order {
                self.places.push(self.keys[usize::from(item >> shift)]);
            }
        }
        self.places.resize(slots, batch as u16);
        let of = |position: &u16| bucket(usize::from(*position));
        spans(self.positions.iter().map(of), &mut self.buckets);

        self.stride = places.div_ceil(FOUR);
        self.step = if (rows + 1) * (LINE / STEP) <= 1 << 16 { STEP } else { LINE };
        let scale = (LINE / self.step) as u16;
        self.entries.clear();
        self.entries.resize(self.lists() * self.stride, [blank * scale; FOUR]);
        let mut entries = self.entries.as_flattened_mut().chunks_exact_mut(self.stride * FOUR);
        for &number in &self.order {
            let lists = item(usize::from(number));
            for (list, entries) in lists.chunks_exact(places).zip(&mut entries) {
                for (&index, entry) in list.iter().zip(entries) {
                    *entry = index * scale;
                }
            }
        }
    }

    /// Puts the positions in order of their buckets, and leaves the place of each in `keys`.
    #[inline(always)]
    fn by_bucket(&mut self, batch: usize, buckets: usize, bucket: impl Fn(usize) -> usize) {
        self.counts.clear();
        self.counts.resize(buckets + 1, 0);
        for position in 0..batch {
            self.counts[bucket(position) + 1] += 1;
        }
        for bucket in 1..buckets {
            self.counts[bucket] += self.counts[bucket - 1];
        }
        self.positions.clear();
        self.positions.resize(batch, 0);
        for position in 0..batch {
            let place = &mut self.counts[bucket(position)];
            self.positions[*place as usize] = position as u16;
            self.keys[position] = *place as u16;
            *place += 1;
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

/// Finds neighbours of one kind.
#[inline(always)]
fn spans(kinds: impl Iterator<Item = usize>, spans: &mut Vec<Span>) {
    spans.clear();
    for (place, of) in kinds.enumerate() {
        match spans.last_mut() {
            Some(last) if last.of == of => last.range.end += 1,
            _ => spans.push(Span { of, range: place..place + 1 }),
        }
    }
}

/// Four indices in one register.
#[inline(always)]
pub(super) fn unpack(four: &[u16; FOUR]) -> [usize; FOUR] {
    let four: u64 = pulp::cast(*four);
    std::array::from_fn(|i| usize::from((four >> (16 * i)) as u16))
}
