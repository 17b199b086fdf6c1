//! The order in which the CPU kernels process a chunk of positions.
//!
//! The kernels sum rows of several lists side by side, and write each row's gradient once. For that
//! lists of equal length and equal output weights must be neighbours, offsets must lie in the order
//! in which they are read, and the lists of each row must be known. All of it depends on the active
//! inputs only, so chunks that are used again are planned once. A plan equals its lists: the sums
//! and gradients are theirs, in another order.
//!
//! | index | of |
//! |---|---|
//! | position | the chunk's positions, as they were chosen |
//! | item | `position * groups + group`: a position, or one perspective of it where king buckets are several |
//! | slot | the items in working order, padded to whole [`ABREAST`] lists |
//! | list | `slot * parallel_views + view` |
//! | place | the positions by output bucket |
//! | row | inputs, then pairs; in large nets only those that occur in the chunk |

use std::ops::Range;
use std::sync::Arc;

use super::{ActiveRows, Indices, Pairs};
use crate::architecture::Architecture;

/// Bytes of a cache line, and of a row of a block of columns.
pub(crate) const LINE: usize = 64;
/// Unit of row offsets, which x86 addressing can scale; to shift row numbers takes a fifth more.
pub(crate) const STEP: usize = 8;
pub(super) const UNITS: usize = LINE / STEP;
/// Lists that the forward pass processes side by side, enough to hide the latency of an addition.
pub(crate) const ABREAST: usize = 8;
/// Indices that are loaded at once: single loads would compete with those of the rows.
pub(crate) const FOUR: usize = 4;
/// Most positions in a plan.
pub const MOST: usize = 2048;

/// The lists of a chunk, in working order. A slot is a place in that order, and holds the
/// `parallel_views` of a position, whose lists are neighbours. Only [`Planner`] and
/// [`FirstPlanner`](super::FirstPlanner) write offsets, which are never checked again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkPlan {
    /// Item of each slot, `position * groups + group`; empty slots behind pad to [`ABREAST`] lists.
    pub(crate) order: Vec<u16>,
    /// Output weights of each slot, `bucket * groups + group`; empty slots copy a neighbour's.
    pub(crate) weights: Vec<u8>,
    /// Spans of neighbouring slots with the same output weights.
    pub(crate) spans: Vec<Span>,
    /// The positions by output bucket; the place of a position is its index here.
    pub(crate) positions: Vec<u16>,
    /// The place of each slot's position; of an empty slot it is behind the last.
    pub(crate) places: Vec<u16>,
    /// Span of places of each output bucket that occurs.
    pub(crate) buckets: Vec<Span>,
    pub(crate) entries: Entries,
    /// Rows that occur, in order, in nets of many rows, else empty: offsets and runs count by
    /// these.
    pub(crate) named: Vec<u32>,
    /// Rows of inputs and pairs, or those that occur.
    pub(crate) rows: usize,
    /// The pairs that the lists may name.
    pub(crate) pairs: Arc<Pairs>,
    /// Views and output buckets of the net.
    pub(super) of: [usize; 2],
    /// Whether it has the runs of the backward pass.
    pub(crate) is_inverted: bool,
    /// Whether the plan is cached and will be used again.
    pub(crate) stays: bool,
    /// Entries to process, for each [`ABREAST`] lists.
    pub(crate) walks: Vec<u16>,
    /// The inputs that occur; empty without a backward pass.
    pub(crate) runs: Vec<Run>,
    /// Offsets of the rows of the lists that contain the input of each run, in units of [`STEP`]
    /// bytes; the last four of each are padded with the offset of the row behind the last.
    pub(crate) holders: Vec<[u16; FOUR]>,
}

/// Offsets of the inputs' rows, in units of [`STEP`] bytes; the row behind the last is blank. Of
/// each [`ABREAST`] lists the first four of each, then the second four, as many as `walks` has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entries {
    Near(Vec<[u16; FOUR]>),
    /// Offsets in nets of too many rows for 16 bits.
    Far(Vec<[u32; FOUR]>),
}

impl Default for Entries {
    fn default() -> Self {
        Entries::Near(Vec::new())
    }
}

pub(crate) trait Word: Copy + Ord + Default + std::fmt::Display {
    fn of(number: usize) -> Self;
    fn get(self) -> usize;
    /// Unpacks four of them from one or two registers.
    fn unpack(four: &[Self; FOUR]) -> [usize; FOUR];
}

impl Word for u16 {
    #[inline(always)]
    fn of(number: usize) -> Self {
        number as u16
    }

    #[inline(always)]
    fn get(self) -> usize {
        self.into()
    }

    #[inline(always)]
    fn unpack(four: &[Self; FOUR]) -> [usize; FOUR] {
        let four: u64 = pulp::cast(*four);
        std::array::from_fn(|i| usize::from((four >> (16 * i)) as u16))
    }
}

impl Word for u32 {
    #[inline(always)]
    fn of(number: usize) -> Self {
        number as u32
    }

    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }

    #[inline(always)]
    fn unpack(four: &[Self; FOUR]) -> [usize; FOUR] {
        let [low, high]: [u64; 2] = pulp::cast(*four);
        [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32].map(Word::get)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub of: usize,
    pub range: Range<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub input: u32,
    /// Number of fours in `holders`.
    pub fours: u16,
}

impl ChunkPlan {
    /// Views processed side by side: all; one if king buckets must be neighbours.
    pub(crate) fn parallel_views(net: &Architecture) -> usize {
        if net.inputs.kings().count() > 1 { 1 } else { net.views() }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn pairs(&self) -> &Arc<Pairs> {
        &self.pairs
    }

    pub fn bytes(&self) -> usize {
        let shorts = self.order.len() + self.positions.len() + self.places.len() + self.walks.len();
        size_of::<Self>()
            + shorts * size_of::<u16>()
            + self.weights.len()
            + (self.spans.len() + self.buckets.len()) * size_of::<Span>()
            + match &self.entries {
                Entries::Near(entries) => size_of_val(&entries[..]),
                Entries::Far(entries) => size_of_val(&entries[..]),
            }
            + size_of_val(&self.holders[..])
            + self.runs.len() * size_of::<Run>()
            + size_of_val(&self.named[..])
    }

    pub(crate) fn lists(&self) -> usize {
        self.walks.len() * ABREAST
    }

    #[inline(always)]
    pub(crate) fn walks(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        walks(&self.walks)
    }

    pub(crate) fn check(&self, net: &Architecture) {
        let is_large = net.inputs.is_large();
        let whole = self.rows == if is_large { self.named.len() } else { self.pairs.rows() };
        let fits = self.pairs.inputs() == net.rows() && self.of == [net.views(), net.buckets];
        assert!(whole && fits, "a plan for another net");
    }
}

/// Makes plans, with reused buffers.
#[derive(Debug, Default)]
pub struct Planner {
    keys: Vec<u32>,
    counts: Vec<u32>,
    /// The place of each row among those that occur.
    places: Vec<u32>,
    unsorted: Vec<Run>,
}

impl Planner {
    /// Orders the views of positions for the forward pass; lists may name pairs. Panics if an index
    /// is beyond the rows, or the pairs have other inputs.
    #[inline(always)]
    pub fn order(
        &mut self,
        net: &Architecture,
        lists: &ActiveRows,
        chosen: &[u32],
        pairs: &Arc<Pairs>,
        plan: &mut ChunkPlan,
    ) {
        match &lists.indices {
            Indices::U16(indices) => self.order_lists(net, lists, indices, chosen, pairs, plan),
            Indices::U32(indices) => self.order_lists(net, lists, indices, chosen, pairs, plan),
        }
    }

    #[inline(always)]
    fn order_lists<I: Word>(
        &mut self,
        net: &Architecture,
        lists: &ActiveRows,
        indices: &[I],
        chosen: &[u32],
        pairs: &Arc<Pairs>,
        plan: &mut ChunkPlan,
    ) {
        let &ActiveRows { groups: ref kings_of, ref buckets, places, views, .. } = lists;
        let (rows, together) = (pairs.rows(), ChunkPlan::parallel_views(net));
        assert_eq!(pairs.inputs(), net.rows(), "pairs of other inputs");
        assert!(chosen.len() <= MOST, "{} positions in a chunk", chosen.len());
        let most = u32::MAX as usize / UNITS;
        assert!(rows < most && places <= u16::MAX.into(), "{rows} rows, {places} places a list");
        // A power of two, as the rest of an item's number is.
        let groups = net.views() / together;
        let (shift, group) = (groups.trailing_zeros(), groups - 1);
        let kings = net.inputs.kings().count();
        let blank = I::of(rows);
        let size = places * together;
        let bucket = |position: usize| {
            buckets.get(chosen[position] as usize).map_or(0, |it| usize::from(*it))
        };
        let king = |position: usize, view: usize| {
            usize::from(kings_of[chosen[position] as usize * views + view])
        };
        let item = |item: usize| {
            let item = ((chosen[item >> shift] as usize) << shift) | (item & group);
            &indices[item * size..][..size]
        };

        // Leaves a plan that fits no net if the code below panics.
        (plan.rows, plan.is_inverted) = (0, false);
        plan.of = [net.views(), net.buckets];
        plan.pairs = pairs.clone();
        plan.runs.clear();
        self.keys.clear();
        self.counts.clear();
        let each = places + 1;
        let kinds = if kings == 1 { net.buckets } else { kings * groups };
        self.counts.resize(kinds * each + 1, 0);
        let mut most = I::default();
        for number in 0..chosen.len() << shift {
            let lists = item(number);
            most = lists.iter().copied().fold(most, I::max);
            let named = |list: &[I]| list.iter().map(|row| u16::from(*row != blank)).sum::<u16>();
            let pieces = lists.chunks_exact(places).map(named).max().unwrap_or(0);
            let pieces = usize::from(pieces);
            let (position, view) = (number >> shift, number & group);
            let kind = match kings {
                1 => bucket(position),
                _ => king(position, view) * groups + view,
            };
            let key = kind * each + pieces;
            self.keys.push(key as u32);
            self.counts[key + 1] += 1;
        }
        assert!(most <= blank, "an index is {most}, but there are {blank} inputs");

        for key in 1..self.counts.len() {
            self.counts[key] += self.counts[key - 1];
        }
        plan.order.clear();
        plan.order.resize(self.keys.len(), 0);
        for (item, &key) in self.keys.iter().enumerate() {
            let slot = &mut self.counts[key as usize];
            plan.order[*slot as usize] = item as u16;
            *slot += 1;
        }

        // Within a kind the last list has the most pieces; where kinds meet, any may.
        plan.walks.clear();
        for slots in plan.order.chunks(ABREAST / together) {
            let mut walk = 0;
            for &item in slots {
                walk = walk.max(self.keys[usize::from(item)] as usize % each);
            }
            plan.walks.push(walk as u16);
        }
        let slots = plan.walks.len() * ABREAST / together;
        plan.weights.clear();
        for &item in &plan.order {
            let item = usize::from(item);
            plan.weights.push((bucket(item >> shift) * groups + (item & group)) as u8);
        }
        plan.weights.resize(slots, plan.weights.last().copied().unwrap_or(0));
        spans(plan.weights.iter().map(|it| usize::from(*it)), &mut plan.spans);

        let batch = plan.order.len() >> shift;
        plan.places.clear();
        if kings == 1 {
            plan.positions.clone_from(&plan.order);
            plan.places.extend(0..batch as u16);
        } else {
            plan.positions.clear();
            plan.positions.extend(0..batch as u16);
            plan.positions.sort_by_key(|position| bucket(usize::from(*position)));
            for (place, &position) in plan.positions.iter().enumerate() {
                self.keys[usize::from(position)] = place as u32;
            }
            for &item in &plan.order {
                plan.places.push(self.keys[usize::from(item >> shift)] as u16);
            }
        }
        plan.places.resize(slots, batch as u16);
        let of = |position: &u16| bucket(usize::from(*position));
        spans(plan.positions.iter().map(of), &mut plan.buckets);

        let lists = |place: usize| {
            let items = plan.order.chunks(ABREAST / together).nth(place).unwrap_or_default();
            items.iter().flat_map(|&number| item(usize::from(number)).chunks_exact(places))
        };
        plan.named.clear();
        if net.inputs.is_large() {
            let items = (0..plan.order.len()).map(&item);
            number_rows(rows, items, &mut plan.named, &mut self.places);
            let place = |row: usize| self.places[row] as usize;
            write(&mut plan.entries, &plan.walks, plan.named.len(), lists, place);
            plan.rows = plan.named.len();
        } else {
            write(&mut plan.entries, &plan.walks, rows, lists, |row| row);
            plan.rows = rows;
        }
    }

    /// Finds the lists that contain each input; call it after [`order`](Planner::order).
    #[inline(always)]
    pub fn invert(&mut self, plan: &mut ChunkPlan) {
        match std::mem::take(&mut plan.entries) {
            Entries::Near(entries) => {
                self.invert_entries(plan, &entries);
                plan.entries = Entries::Near(entries);
            }
            Entries::Far(entries) => {
                self.invert_entries(plan, &entries);
                plan.entries = Entries::Far(entries);
            }
        }
    }

    #[inline(always)]
    fn invert_entries<E: Word>(&mut self, plan: &mut ChunkPlan, all: &[[E; FOUR]]) {
        let inputs = plan.rows;

        // Blanks are counted with the rest, behind them, and dropped at the end.
        self.counts.clear();
        self.counts.resize(inputs + 1, 0);
        // A local: the compiler would reload the vector's address after each write.
        let counts = &mut self.counts[..];
        for entry in all.as_flattened() {
            counts[entry.get() / UNITS] += 1;
        }

        let run = |(input, &count): (usize, &u32)| Run {
            input: input as u32,
            fours: count.div_ceil(FOUR as u32) as u16,
        };
        self.unsorted.clear();
        self.unsorted
            .extend(counts[..inputs].iter().enumerate().map(run).filter(|it| it.fours > 0));
        sort_runs(&self.unsorted, &mut plan.runs);

        let mut start = 0;
        for run in &plan.runs {
            counts[run.input as usize] = start;
            start += u32::from(run.fours) * FOUR as u32;
        }
        let blanks = counts[inputs].div_ceil(FOUR as u32);
        counts[inputs] = start;
        let missing = (plan.walks.len() * ABREAST * UNITS) as u16;
        let fours = start as usize / FOUR;
        plan.holders.clear();
        plan.holders.resize(fours + blanks as usize, [missing; FOUR]);
        let holders = plan.holders.as_flattened_mut();
        for (number, (_, entries)) in walks(&plan.walks).enumerate() {
            for (place, four) in all[entries].iter().enumerate() {
                let list = number * ABREAST + place % ABREAST;
                for entry in four {
                    let next = &mut counts[entry.get() / UNITS];
                    holders[*next as usize] = (list * UNITS) as u16;
                    *next += 1;
                }
            }
        }
        plan.holders.truncate(fours);
        plan.is_inverted = true;
    }
}

/// Sorts runs by length, long ones last, so that branches are predicted.
#[inline(always)]
pub(super) fn sort_runs(unsorted: &[Run], runs: &mut Vec<Run>) {
    // Lengths beyond the last bucket are rare; their order hardly matters.
    const BUCKETS: usize = 64;
    let bucket = |run: &Run| usize::from(run.fours).min(BUCKETS - 1);
    let mut buckets = [0u32; BUCKETS];
    for run in unsorted {
        buckets[bucket(run)] += 1;
    }
    let mut next = 0;
    for bucket in &mut buckets {
        next += std::mem::replace(bucket, next);
    }
    runs.resize(unsorted.len(), Run::default());
    for run in unsorted {
        let next = &mut buckets[bucket(run)];
        runs[*next as usize] = *run;
        *next += 1;
    }
}

/// The entries per list of each [`ABREAST`] lists, and their range: fours of all lists in turn.
#[inline(always)]
fn walks(walks: &[u16]) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start = 0;
    walks.iter().map(move |&walk| {
        let entries = start..start + usize::from(walk).div_ceil(FOUR) * ABREAST;
        start = entries.end;
        (usize::from(walk), entries)
    })
}

/// Finds the rows that occur, in order, and the place of each; blanks come behind the last.
#[inline(always)]
fn number_rows<'a, I: Word + 'a>(
    rows: usize,
    items: impl Iterator<Item = &'a [I]>,
    named: &mut Vec<u32>,
    places: &mut Vec<u32>,
) {
    const NONE: u32 = u32::MAX;
    places.clear();
    places.resize(rows + 1, NONE);
    for item in items {
        for row in item {
            let place = &mut places[row.get()];
            if *place == NONE && row.get() < rows {
                *place = 0;
                named.push(row.get() as u32);
            }
        }
    }
    named.sort_unstable();
    for (place, row) in named.iter().enumerate() {
        places[*row as usize] = place as u32;
    }
    places[rows] = named.len() as u32;
}

/// Writes row offsets, or places, of the lists that `lists` returns; blanks pad the fours.
#[inline(always)]
fn write<'a, I: Word + 'a, L: Iterator<Item = &'a [I]>>(
    entries: &mut Entries,
    walks: &[u16],
    blank: usize,
    lists: impl Fn(usize) -> L,
    place: impl Fn(usize) -> usize,
) {
    let is_near = (blank + 1) * UNITS <= 1 << 16;
    if matches!(entries, Entries::Near(_)) != is_near {
        *entries = if is_near { Entries::default() } else { Entries::Far(Vec::new()) };
    }
    match entries {
        Entries::Near(entries) => write_entries(entries, walks, blank, lists, place),
        Entries::Far(entries) => write_entries(entries, walks, blank, lists, place),
    }
}

#[inline(always)]
fn write_entries<'a, I: Word + 'a, E: Word, L: Iterator<Item = &'a [I]>>(
    entries: &mut Vec<[E; FOUR]>,
    walks: &[u16],
    blank: usize,
    lists: impl Fn(usize) -> L,
    place: impl Fn(usize) -> usize,
) {
    entries.clear();
    let fours = walks.iter().map(|walk| usize::from(*walk).div_ceil(FOUR) * ABREAST);
    entries.resize(fours.sum(), [E::of(blank * UNITS); FOUR]);
    let mut left = &mut entries[..];
    for (number, &walk) in walks.iter().enumerate() {
        let walk = usize::from(walk);
        let (entries, others) = left.split_at_mut(walk.div_ceil(FOUR) * ABREAST);
        left = others;
        for (abreast, list) in lists(number).enumerate() {
            let entries = entries.iter_mut().skip(abreast).step_by(ABREAST);
            for (list, entries) in list[..walk].chunks(FOUR).zip(entries) {
                for (&index, entry) in list.iter().zip(entries) {
                    *entry = E::of(place(index.get()) * UNITS);
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn spans(kinds: impl Iterator<Item = usize>, spans: &mut Vec<Span>) {
    spans.clear();
    for (place, of) in kinds.enumerate() {
        match spans.last_mut() {
            Some(last) if last.of == of => last.range.end += 1,
            _ => spans.push(Span { of, range: place..place + 1 }),
        }
    }
}
