//! The order in which the CPU kernels process a chunk of positions.
//!
//! Why: the kernels sum rows of several lists side by side, and write each row's gradient once. So
//! lists of equal length and equal output weights must be neighbours, offsets must be in the order
//! in which they are read, and the lists of each row must be known. All of this depends on the
//! active inputs only, so chunks that are used again are planned once.
//!
//! What it equals: a plan has the sums and gradients of its lists, in another order.
//! [`plan_slowly`] defines the order, and makes the same plans.
//!
//! | index | counts |
//! |---|---|
//! | [`ChunkPosition`] | the chunk's positions, as they were chosen |
//! | [`ItemIndex`] | `position * sides + side`: positions, or perspectives with king buckets |
//! | slot | the items in working order, padded to whole bundles |
//! | list | `slot * parallel_perspectives + perspective` |
//! | [`LogitIndex`] | the positions by output bucket |
//! | row | inputs, then pairs; in large nets only those that occur in the chunk |

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::{ActiveRows, IndexWord, Indices, InputPairs, with_vector};
use crate::architecture::Architecture;

/// Bytes of a cache line, and of a row of a block of columns.
pub(crate) const CACHE_LINE: usize = 64;
/// Unit of row offsets, which x86 addressing can scale; shifting row numbers takes a fifth longer.
pub(crate) const OFFSET_UNIT: usize = 8;
pub(super) const UNITS_PER_LINE: usize = CACHE_LINE / OFFSET_UNIT;
/// Lists per bundle: the forward pass sums them in parallel to hide the latency of an addition.
pub(crate) const LISTS_PER_BUNDLE: usize = 8;
/// Indices that are loaded at once: single loads would compete with loads of rows.
pub(crate) const QUAD: usize = 4;
/// Maximum number of positions in a plan.
pub const MAX_POSITIONS: usize = 2048;

macro_rules! index_spaces {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub(crate) struct $name(u16);

        impl $name {
            #[inline(always)]
            pub fn new(index: usize) -> Self {
                Self(index as u16)
            }

            #[inline(always)]
            pub fn get(self) -> usize {
                self.0.into()
            }
        }
    )*};
}

index_spaces! {
    /// Index of a position in a chunk, as it was chosen.
    ChunkPosition;
    /// Index of the contents of a slot: a position, or one perspective of it.
    ItemIndex;
    /// Index of a position's logit: positions of one output bucket are neighbours.
    LogitIndex;
}

impl ItemIndex {
    /// Returns the position; `shift` is [`ChunkPlan::item_shift`].
    #[inline(always)]
    pub fn position_index(self, shift: u32) -> usize {
        self.get() >> shift
    }

    /// Returns the perspective, 0 or 1, if a position has several items; else 0.
    #[inline(always)]
    pub fn perspective_index(self, shift: u32) -> usize {
        self.get() & ((1 << shift) - 1)
    }
}

/// Lists of a chunk in working order. A slot holds `parallel_perspectives` neighbouring lists of a
/// position. Only [`Planner`] and [`FirstPlanner`](super::FirstPlanner) write offsets, and kernels
/// do not check them again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkPlan {
    /// Item of each slot, without the empty slots that pad the last bundle.
    pub(crate) order: Vec<ItemIndex>,
    /// Output weights of each slot, `bucket * sides + side`; empty slots copy a neighbour's.
    pub(crate) weights: Vec<u8>,
    /// Ranges of neighbouring slots with the same output weights.
    pub(crate) weight_ranges: Vec<KeyRange>,
    /// Position of each logit.
    pub(crate) positions: Vec<ChunkPosition>,
    /// Logit of each slot's position; one past the last for an empty slot.
    pub(crate) slot_logits: Vec<LogitIndex>,
    /// Range of logits of each output bucket that occurs.
    pub(crate) bucket_ranges: Vec<KeyRange>,
    /// Offsets of the lists' rows, in units of [`OFFSET_UNIT`]; the row after the last is blank.
    /// Lists are interleaved in bundles: four entries of each list in turn, until the longest list
    /// ends.
    pub(crate) entries: Indices,
    /// Rows that occur, in ascending order, in nets of many rows, else empty. Offsets and runs are
    /// indices into them.
    pub(crate) occurring: Vec<u32>,
    /// Number of rows of inputs and pairs, or of those that occur.
    pub(crate) rows: usize,
    /// The pairs that the lists may contain.
    pub(crate) pairs: Arc<InputPairs>,
    /// Perspectives and output buckets of the net.
    pub(super) shape: [usize; 2],
    /// Whether the plan has the runs of the backward pass.
    pub(crate) is_inverted: bool,
    /// Whether the plan is cached and will be used again.
    pub(crate) is_cached: bool,
    /// Length of the longest list of each bundle.
    pub(crate) lengths: Vec<u16>,
    /// Run of `holders` for each row that occurs, short runs first. Empty without a backward pass.
    pub(crate) runs: Vec<HolderRun>,
    /// Offsets of the gradients of the lists that contain the row of each run, in
    /// [`OFFSET_UNIT`]s. The last quad of a run is padded with the offset after the last list.
    pub(crate) holders: Vec<[u16; QUAD]>,
}

/// Range of neighbours with the same key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyRange {
    pub key: usize,
    pub range: Range<usize>,
}

/// Run of `holders` with the lists of a row; it begins at the end of the previous run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HolderRun {
    pub row: u32,
    pub quads: u16,
}

impl ChunkPlan {
    /// Returns the perspectives processed side by side: all, or one if there are king buckets.
    pub(crate) fn parallel_perspectives(net: &Architecture) -> usize {
        if net.inputs.kings().bucket_count() > 1 { 1 } else { net.perspective_count() }
    }

    /// Returns the logarithm of `sides`, the items per position: 0 for one, 1 for two.
    pub(crate) fn item_shift(net: &Architecture) -> u32 {
        (net.perspective_count() / Self::parallel_perspectives(net)).trailing_zeros()
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn pairs(&self) -> &Arc<InputPairs> {
        &self.pairs
    }

    pub fn byte_size(&self) -> usize {
        let ranges = self.weight_ranges.len() + self.bucket_ranges.len();
        size_of::<Self>()
            + size_of_val(&self.order[..])
            + size_of_val(&self.positions[..])
            + size_of_val(&self.slot_logits[..])
            + size_of_val(&self.lengths[..])
            + self.weights.len()
            + ranges * size_of::<KeyRange>()
            + self.entries.byte_size()
            + size_of_val(&self.holders[..])
            + size_of_val(&self.runs[..])
            + size_of_val(&self.occurring[..])
    }

    pub(crate) fn list_count(&self) -> usize {
        self.lengths.len() * LISTS_PER_BUNDLE
    }

    /// Iterates over bundles: the length of the longest list, and the range of their entries in
    /// quads, one of each list in turn.
    #[inline(always)]
    pub(crate) fn bundle_ranges(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut start = 0;
        self.lengths.iter().map(move |&length| {
            let quads = start..start + bundle_quads(length);
            start = quads.end;
            (usize::from(length), quads)
        })
    }

    pub(crate) fn check_net(&self, net: &Architecture) {
        let is_large = net.inputs.is_large();
        let has_all_rows =
            self.rows == if is_large { self.occurring.len() } else { self.pairs.row_count() };
        let fits = self.pairs.input_count() == net.row_count()
            && self.shape == [net.perspective_count(), net.buckets];
        assert!(has_all_rows && fits, "a plan for another net");
    }
}

/// Returns the number of quads of a bundle whose longest list has this length.
#[inline(always)]
pub(super) fn bundle_quads(length: u16) -> usize {
    usize::from(length).div_ceil(QUAD) * LISTS_PER_BUNDLE
}

/// Planner of chunks with reused buffers.
#[derive(Debug, Default)]
pub struct Planner {
    /// Kind and length of each item, by which items are sorted; then the logit of each position.
    keys: Vec<u32>,
    /// Counts by key, then by row; then the next free index.
    counts: Vec<u32>,
    /// The index of each row among those that occur.
    indices_of_rows: Vec<u32>,
    unsorted: Vec<HolderRun>,
}

/// Lists of the positions that were chosen for a chunk.
#[derive(Clone, Copy)]
struct ChosenLists<'a, I> {
    lists: &'a ActiveRows,
    indices: &'a [I],
    chosen: &'a [u32],
    shift: u32,
    /// Entries of an item.
    size: usize,
}

impl<'a, I> ChosenLists<'a, I> {
    #[inline(always)]
    fn bucket_of_position(&self, position: usize) -> usize {
        let bucket = self.lists.buckets.get(self.chosen[position] as usize);
        bucket.map_or(0, |bucket| usize::from(*bucket))
    }

    #[inline(always)]
    fn king_bucket(&self, item: ItemIndex) -> usize {
        usize::from(self.lists.king_buckets[self.item_index(item)])
    }

    /// Returns the item's index among the items of all positions.
    #[inline(always)]
    fn item_index(&self, item: ItemIndex) -> usize {
        ((self.chosen[item.position_index(self.shift)] as usize) << self.shift)
            | item.perspective_index(self.shift)
    }

    /// Returns the entries of an item's lists.
    #[inline(always)]
    fn entries_of_item(&self, item: ItemIndex) -> &'a [I] {
        &self.indices[self.item_index(item) * self.size..][..self.size]
    }
}

impl Planner {
    /// Orders the items of positions for the forward pass; lists may have pairs. Panics if an index
    /// is beyond the rows, or the pairs have other inputs.
    #[inline(always)]
    pub fn order_items(
        &mut self,
        net: &Architecture,
        lists: &ActiveRows,
        chosen: &[u32],
        pairs: &Arc<InputPairs>,
        plan: &mut ChunkPlan,
    ) {
        with_vector!(&lists.indices, indices => {
            self.order_lists(net, lists, indices, chosen, pairs, plan)
        });
    }

    #[inline(always)]
    fn order_lists<I: IndexWord>(
        &mut self,
        net: &Architecture,
        lists: &ActiveRows,
        indices: &[I],
        chosen: &[u32],
        pairs: &Arc<InputPairs>,
        plan: &mut ChunkPlan,
    ) {
        let (rows, width) = (pairs.row_count(), lists.width);
        let (parallel_perspectives, shift) =
            (ChunkPlan::parallel_perspectives(net), ChunkPlan::item_shift(net));
        assert_eq!(pairs.input_count(), net.row_count(), "pairs of other inputs");
        assert!(chosen.len() <= MAX_POSITIONS, "{} positions in a chunk", chosen.len());
        let fits = rows < u32::MAX as usize / UNITS_PER_LINE && width <= u16::MAX.into();
        assert!(fits, "{rows} rows, {width} entries a list");
        let source =
            ChosenLists { lists, indices, chosen, shift, size: width * parallel_perspectives };

        // Leaves a plan that fits no net if the code below panics.
        (plan.rows, plan.is_inverted) = (0, false);
        plan.shape = [net.perspective_count(), net.buckets];
        plan.pairs = pairs.clone();
        plan.runs.clear();
        self.sort_items(net, &source, rows, plan);

        let slots = plan.lengths.len() * LISTS_PER_BUNDLE / parallel_perspectives;
        plan.weights.clear();
        for &item in &plan.order {
            let bucket = source.bucket_of_position(item.position_index(shift));
            plan.weights.push(((bucket << shift) | item.perspective_index(shift)) as u8);
        }
        plan.weights.resize(slots, plan.weights.last().copied().unwrap_or(0));
        find_ranges(plan.weights.iter().map(|it| usize::from(*it)), &mut plan.weight_ranges);
        self.order_logits(net, &source, plan);
        plan.slot_logits.resize(slots, LogitIndex::new(plan.positions.len()));

        let lists_in_bundle = |bundle: usize| {
            let items = plan.order.chunks(LISTS_PER_BUNDLE / parallel_perspectives).nth(bundle);
            let items = items.unwrap_or_default().iter();
            items.flat_map(|&item| source.entries_of_item(item).chunks_exact(width))
        };
        plan.occurring.clear();
        if net.inputs.is_large() {
            let items =
                (0..plan.order.len()).map(|item| source.entries_of_item(ItemIndex::new(item)));
            number_rows(rows, items, &mut plan.occurring, &mut self.indices_of_rows);
            let index_of = |row: usize| self.indices_of_rows[row] as usize;
            let blank = plan.occurring.len();
            write_entries(&mut plan.entries, &plan.lengths, blank, lists_in_bundle, index_of);
            plan.rows = blank;
        } else {
            write_entries(&mut plan.entries, &plan.lengths, rows, lists_in_bundle, |row| row);
            plan.rows = rows;
        }
    }

    /// Sorts items by kind, king bucket or output bucket, short lists first.
    #[inline(always)]
    fn sort_items<I: IndexWord>(
        &mut self,
        net: &Architecture,
        source: &ChosenLists<I>,
        rows: usize,
        plan: &mut ChunkPlan,
    ) {
        let king_bucket_count = net.inputs.kings().bucket_count();
        let (width, shift) = (source.lists.width, source.shift);
        self.keys.clear();
        self.counts.clear();
        let lengths = width + 1;
        let kinds = if king_bucket_count == 1 { net.buckets } else { king_bucket_count << shift };
        self.counts.resize(kinds * lengths + 1, 0);
        let (blank, mut largest) = (I::from_usize(rows), I::default());
        for item in (0..source.chosen.len() << shift).map(ItemIndex::new) {
            let lists = source.entries_of_item(item);
            largest = lists.iter().copied().fold(largest, I::max);
            let length = |list: &[I]| list.iter().map(|row| u16::from(*row != blank)).sum::<u16>();
            let length = lists.chunks_exact(width).map(length).max().unwrap_or(0);
            let kind = if king_bucket_count == 1 {
                source.bucket_of_position(item.position_index(shift))
            } else {
                (source.king_bucket(item) << shift) | item.perspective_index(shift)
            };
            let key = kind * lengths + usize::from(length);
            self.keys.push(key as u32);
            self.counts[key + 1] += 1;
        }
        assert!(largest <= blank, "an index is {largest}, but there are {blank} inputs");

        for key in 1..self.counts.len() {
            self.counts[key] += self.counts[key - 1];
        }
        plan.order.clear();
        plan.order.resize(self.keys.len(), ItemIndex::default());
        for (item, &key) in self.keys.iter().enumerate() {
            let slot = &mut self.counts[key as usize];
            plan.order[*slot as usize] = ItemIndex::new(item);
            *slot += 1;
        }

        // The last list of a kind is its longest, but a bundle may have lists of several kinds.
        plan.lengths.clear();
        for items in plan.order.chunks((LISTS_PER_BUNDLE << shift) / net.perspective_count()) {
            let mut longest = 0;
            for item in items {
                longest = longest.max(self.keys[item.get()] as usize % lengths);
            }
            plan.lengths.push(longest as u16);
        }
    }

    /// Sorts positions by output bucket.
    #[inline(always)]
    fn order_logits<I>(
        &mut self,
        net: &Architecture,
        source: &ChosenLists<I>,
        plan: &mut ChunkPlan,
    ) {
        plan.positions.clear();
        plan.slot_logits.clear();
        if net.inputs.kings().bucket_count() == 1 {
            // Each item is a position, and they are sorted.
            plan.positions.extend(plan.order.iter().map(|item| ChunkPosition::new(item.get())));
            plan.slot_logits.extend((0..plan.order.len()).map(LogitIndex::new));
        } else {
            plan.positions.extend((0..source.chosen.len()).map(ChunkPosition::new));
            plan.positions.sort_by_key(|position| source.bucket_of_position(position.get()));
            for (logit, position) in plan.positions.iter().enumerate() {
                self.keys[position.get()] = logit as u32;
            }
            for &item in &plan.order {
                let logit = self.keys[item.position_index(source.shift)];
                plan.slot_logits.push(LogitIndex::new(logit as usize));
            }
        }
        let buckets =
            plan.positions.iter().map(|position| source.bucket_of_position(position.get()));
        find_ranges(buckets, &mut plan.bucket_ranges);
    }

    /// Lists the holders of each row; call it after [`Planner::order_items`].
    #[inline(always)]
    pub fn invert_lists(&mut self, plan: &mut ChunkPlan) {
        let entries = std::mem::take(&mut plan.entries);
        with_vector!(&entries, entries => self.invert_entries(plan, entries));
        plan.entries = entries;
    }

    #[inline(always)]
    fn invert_entries<E: IndexWord>(&mut self, plan: &mut ChunkPlan, entries: &[E]) {
        let rows = plan.rows;

        // Blanks are counted as a row after the last, and dropped at the end.
        self.counts.clear();
        self.counts.resize(rows + 1, 0);
        // A local: the compiler would reload the vector's address after each write.
        let counts = &mut self.counts[..];
        for entry in entries {
            counts[entry.to_usize() / UNITS_PER_LINE] += 1;
        }

        let run = |(row, &count): (usize, &u32)| HolderRun {
            row: row as u32,
            quads: count.div_ceil(QUAD as u32) as u16,
        };
        self.unsorted.clear();
        self.unsorted.extend(counts[..rows].iter().enumerate().map(run).filter(|it| it.quads > 0));
        sort_runs(&self.unsorted, &mut plan.runs);

        let mut start = 0;
        for run in &plan.runs {
            counts[run.row as usize] = start;
            start += u32::from(run.quads) * QUAD as u32;
        }
        let blanks = counts[rows].div_ceil(QUAD as u32);
        counts[rows] = start;
        let padding = (plan.list_count() * UNITS_PER_LINE) as u16;
        let quads = start as usize / QUAD;
        let mut holders = std::mem::take(&mut plan.holders);
        holders.clear();
        holders.resize(quads + blanks as usize, [padding; QUAD]);
        let offsets = holders.as_flattened_mut();
        for (bundle, (_, range)) in plan.bundle_ranges().enumerate() {
            for (index, quad) in entries.as_chunks::<QUAD>().0[range].iter().enumerate() {
                let list = bundle * LISTS_PER_BUNDLE + index % LISTS_PER_BUNDLE;
                for entry in quad {
                    let next = &mut counts[entry.to_usize() / UNITS_PER_LINE];
                    offsets[*next as usize] = (list * UNITS_PER_LINE) as u16;
                    *next += 1;
                }
            }
        }
        holders.truncate(quads);
        (plan.holders, plan.is_inverted) = (holders, true);
    }
}

/// Makes the plan of [`Planner`] from its definition.
pub fn plan_slowly(
    net: &Architecture,
    lists: &ActiveRows,
    chosen: &[u32],
    pairs: &Arc<InputPairs>,
) -> ChunkPlan {
    plan_in_order(net, lists, chosen, pairs, |_, _| 0)
}

/// Makes the plan with the lists of each row sorted by a key of list and position.
pub(super) fn plan_in_order(
    net: &Architecture,
    lists: &ActiveRows,
    chosen: &[u32],
    pairs: &Arc<InputPairs>,
    holder_key: impl Fn(usize, usize) -> usize,
) -> ChunkPlan {
    let (parallel_perspectives, perspectives) =
        (ChunkPlan::parallel_perspectives(net), net.perspective_count());
    let sides = perspectives / parallel_perspectives;
    let (king_bucket_count, large) = (net.inputs.kings().bucket_count(), net.inputs.is_large());
    let indices: Vec<usize> = lists.indices.iter().collect();
    let list = |item: usize, perspective: usize| {
        let list = chosen[item / sides] as usize * perspectives
            + item % sides * parallel_perspectives
            + perspective;
        indices[list * lists.width..]
            .iter()
            .take(lists.width)
            .filter(|row| **row < pairs.row_count())
    };
    let item_lists =
        |item: usize| (0..parallel_perspectives).map(move |perspective| list(item, perspective));
    let bucket = |position: usize| match net.buckets {
        1 => 0,
        _ => usize::from(lists.buckets[chosen[position] as usize]),
    };
    let kind = |item: usize| match king_bucket_count {
        1 => bucket(item),
        _ => {
            lists.king_bucket(chosen[item / sides] as usize * perspectives + item % sides) * sides
                + item % sides
        }
    };
    let length = |item: usize| item_lists(item).map(Iterator::count).max().unwrap_or(0);

    let mut order: Vec<usize> = (0..chosen.len() * sides).collect();
    order.sort_by_key(|item| (kind(*item), length(*item)));
    let bundles = order.chunks(LISTS_PER_BUNDLE / parallel_perspectives);
    let lengths: Vec<usize> =
        bundles.map(|items| items.iter().map(|item| length(*item)).max().unwrap_or(0)).collect();
    let slots = lengths.len() * LISTS_PER_BUNDLE / parallel_perspectives;
    let weight = |item: &usize| (bucket(item / sides) * sides + item % sides) as u8;
    let mut weights: Vec<u8> = order.iter().map(weight).collect();
    weights.resize(slots, weights.last().copied().unwrap_or(0));

    let mut positions: Vec<usize> = (0..chosen.len()).collect();
    match king_bucket_count {
        1 => positions.clone_from(&order),
        _ => positions.sort_by_key(|position| bucket(*position)),
    }
    let logit = |item: &usize| positions.iter().position(|position| *position == item / sides);
    let mut slot_logits: Vec<usize> = order.iter().filter_map(logit).collect();
    slot_logits.resize(slots, positions.len());

    let ordered: Vec<Vec<usize>> = order
        .iter()
        .flat_map(|item| item_lists(*item))
        .map(|list| list.copied().collect())
        .collect();
    let occurring: BTreeSet<usize> = ordered.iter().flatten().copied().collect();
    let rows: Vec<usize> =
        if large { occurring.into_iter().collect() } else { (0..pairs.row_count()).collect() };
    let index_of = |row: &usize| rows.binary_search(row).expect("it occurs");
    let (mut entries, mut holders_of_rows) = (Vec::new(), vec![Vec::new(); rows.len()]);
    for (bundle, length) in lengths.iter().enumerate() {
        for quad in 0..length.div_ceil(QUAD) {
            for list in bundle * LISTS_PER_BUNDLE..(bundle + 1) * LISTS_PER_BUNDLE {
                for entry in quad * QUAD..(quad + 1) * QUAD {
                    let row = ordered.get(list).and_then(|list| list.get(entry)).map(index_of);
                    entries.push(row.unwrap_or(rows.len()) * UNITS_PER_LINE);
                    row.into_iter().for_each(|row| holders_of_rows[row].push(list));
                }
            }
        }
    }

    let mut runs: Vec<(HolderRun, Vec<usize>)> = Vec::new();
    for (row, mut holders) in holders_of_rows.into_iter().enumerate() {
        holders.sort_by_key(|list| holder_key(*list, order[list / parallel_perspectives] / sides));
        let quads = holders.len().div_ceil(QUAD);
        holders.resize(quads * QUAD, lengths.len() * LISTS_PER_BUNDLE);
        if quads > 0 {
            runs.push((HolderRun { row: row as u32, quads: quads as u16 }, holders));
        }
    }
    runs.sort_by_key(|(run, _)| usize::from(run.quads).min(LONG_RUN));
    let offset = |list: &usize| (list * UNITS_PER_LINE) as u16;
    let holders: Vec<u16> = runs.iter().flat_map(|(_, it)| it.iter().map(offset)).collect();

    let (mut weight_ranges, mut bucket_ranges) = (Vec::new(), Vec::new());
    find_ranges(weights.iter().map(|it| usize::from(*it)), &mut weight_ranges);
    find_ranges(positions.iter().map(|position| bucket(*position)), &mut bucket_ranges);
    ChunkPlan {
        order: order.into_iter().map(ItemIndex::new).collect(),
        weights,
        weight_ranges,
        positions: positions.into_iter().map(ChunkPosition::new).collect(),
        slot_logits: slot_logits.into_iter().map(LogitIndex::new).collect(),
        bucket_ranges,
        entries: if (rows.len() + 1) * UNITS_PER_LINE <= 1 << 16 {
            Indices::U16(entries.into_iter().map(IndexWord::from_usize).collect())
        } else {
            Indices::U32(entries.into_iter().map(IndexWord::from_usize).collect())
        },
        occurring: rows.iter().filter(|_| large).map(|row| *row as u32).collect(),
        rows: rows.len(),
        pairs: pairs.clone(),
        shape: [perspectives, net.buckets],
        is_inverted: true,
        is_cached: false,
        lengths: lengths.into_iter().map(|length| length as u16).collect(),
        runs: runs.into_iter().map(|(run, _)| run).collect(),
        holders: holders.as_chunks().0.to_vec(),
    }
}

/// Sorts runs by length, long ones last, so that branches are predicted.
#[inline(always)]
pub(super) fn sort_runs(unsorted: &[HolderRun], runs: &mut Vec<HolderRun>) {
    let bucket = |run: &HolderRun| usize::from(run.quads).min(LONG_RUN);
    let mut buckets = [0u32; LONG_RUN + 1];
    for run in unsorted {
        buckets[bucket(run)] += 1;
    }
    let mut next = 0;
    for bucket in &mut buckets {
        next += std::mem::replace(bucket, next);
    }
    runs.resize(unsorted.len(), HolderRun::default());
    for run in unsorted {
        let next = &mut buckets[bucket(run)];
        runs[*next as usize] = *run;
        *next += 1;
    }
}

/// Length in quads from which runs share one bucket: they are rare, and their order hardly matters.
pub(super) const LONG_RUN: usize = 63;

/// Lists the rows that occur in ascending order, and the index of each; the blank follows the last.
#[inline(always)]
fn number_rows<'a, I: IndexWord + 'a>(
    rows: usize,
    items: impl Iterator<Item = &'a [I]>,
    occurring: &mut Vec<u32>,
    indices_of_rows: &mut Vec<u32>,
) {
    const NONE: u32 = u32::MAX;
    indices_of_rows.clear();
    indices_of_rows.resize(rows + 1, NONE);
    for item in items {
        for row in item {
            let index = &mut indices_of_rows[row.to_usize()];
            if *index == NONE && row.to_usize() < rows {
                *index = 0;
                occurring.push(row.to_usize() as u32);
            }
        }
    }
    occurring.sort_unstable();
    for (index, row) in occurring.iter().enumerate() {
        indices_of_rows[*row as usize] = index as u32;
    }
    indices_of_rows[rows] = occurring.len() as u32;
}

/// Writes the offsets of the rows of each bundle's lists; `index_of` numbers rows, and blanks pad
/// the quads.
#[inline(always)]
fn write_entries<'a, I: IndexWord + 'a, L: Iterator<Item = &'a [I]>>(
    entries: &mut Indices,
    lengths: &[u16],
    blank: usize,
    lists: impl Fn(usize) -> L,
    index_of: impl Fn(usize) -> usize,
) {
    entries.set_wide((blank + 1) * UNITS_PER_LINE > 1 << 16);
    with_vector!(entries, entries => write_offsets(entries, lengths, blank, lists, index_of));
}

#[inline(always)]
fn write_offsets<'a, I: IndexWord + 'a, E: IndexWord, L: Iterator<Item = &'a [I]>>(
    entries: &mut Vec<E>,
    lengths: &[u16],
    blank: usize,
    lists: impl Fn(usize) -> L,
    index_of: impl Fn(usize) -> usize,
) {
    entries.clear();
    let quads: usize = lengths.iter().map(|length| bundle_quads(*length)).sum();
    entries.resize(QUAD * quads, E::from_usize(blank * UNITS_PER_LINE));
    let mut rest = entries.as_chunks_mut::<QUAD>().0;
    for (bundle, &length) in lengths.iter().enumerate() {
        let entries = rest.split_off_mut(..bundle_quads(length)).expect("entries of all bundles");
        for (index, list) in lists(bundle).enumerate() {
            let entries = entries.iter_mut().skip(index).step_by(LISTS_PER_BUNDLE);
            for (list, entries) in list[..usize::from(length)].chunks(QUAD).zip(entries) {
                for (&row, entry) in list.iter().zip(entries) {
                    *entry = E::from_usize(index_of(row.to_usize()) * UNITS_PER_LINE);
                }
            }
        }
    }
}

/// Finds the ranges of neighbours with equal keys.
#[inline(always)]
pub(super) fn find_ranges(keys: impl Iterator<Item = usize>, ranges: &mut Vec<KeyRange>) {
    ranges.clear();
    for (index, key) in keys.enumerate() {
        match ranges.last_mut() {
            Some(last) if last.key == key => last.range.end += 1,
            _ => ranges.push(KeyRange { key, range: index..index + 1 }),
        }
    }
}
