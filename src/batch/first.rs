//! Plans of chunks that are used once, of nets whose second views follow from the first views.
//!
//! Why: such a plan must be cheap. Only the lists of the first view are sorted, shortened by pairs
//! and inverted. A row is in the second view if its image is in the first view: the [`flip_row`]
//! row, mirrored where exactly one of the views is mirrored. Pairs are substituted in all positions
//! at once, one bit each, and the bits are transposed to lists.
//!
//! What it equals: the plan of both lists of each position, with pairs substituted in the first
//! list and their images in the second. Only the lists of a row are in another order.
//! [`plan_first_views_slowly`] defines it.
//!
//! | index | counts |
//! |---|---|
//! | position | the chunk's positions; each is an item and has one slot |
//! | slot | the positions in working order |
//! | row | inputs, then pairs; each has a bit by position |
//! | bit | the positions whose lists are shortened at a time |

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::plan::{
    ChunkPosition, HolderRun, ItemIndex, LISTS_PER_BUNDLE, LogitIndex, MAX_POSITIONS, QUAD,
    UNITS_PER_LINE, bundle_quads, find_ranges, plan_in_order, sort_runs,
};
use super::{ActiveRows, ChunkPlan, Indices, InputPairs};
use crate::architecture::{
    Architecture, FirstView, MAX_ACTIVE, MIRRORED, PIECES, Row, flip_row, is_mirrored,
};

/// Maximum number of rows of inputs and pairs: each has a bit.
const ROWS: usize = 1 << 10;
/// Words of 64 positions whose lists are shortened at a time.
const WORDS: usize = 8;
/// Bit by row and position: whether the list has the row. Transposed: by position in each 64 rows.
type BitMatrix = [[u64; WORDS]; ROWS];
/// The bits of a position, by row.
type RowBits = [u64; ROWS / 64];

/// The first views of a batch. Chunks are planned where they are used.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstViews {
    pub lists: Vec<FirstView>,
    /// Output bucket of each position; empty for one bucket.
    pub buckets: Vec<u8>,
    /// Pairs of the plans, none or with their images.
    pub pairs: Arc<InputPairs>,
}

impl FirstViews {
    pub(crate) fn check_net(&self, net: &Architecture) {
        let Self { lists, buckets, pairs } = self;
        assert!(net.inputs.is_uniform(), "first views for {net}");
        assert!(
            pairs.input_count() == PIECES && pairs.row_count() <= ROWS,
            "{} rows",
            pairs.row_count()
        );
        assert!(net.perspective_count() == 1 || pairs.have_images(net), "pairs of one view");
        let in_range = buckets.iter().all(|it| usize::from(*it) < net.buckets);
        assert!(in_range && (net.buckets == 1 || buckets.len() == lists.len()), "buckets");
    }

    #[inline(always)]
    pub(crate) fn plan_chunk(&self, net: &Architecture, range: Range<usize>, plan: &mut ChunkPlan) {
        thread_local! {
            static PLANNER: RefCell<FirstPlanner> = RefCell::default();
        }
        PLANNER.with_borrow_mut(|planner| planner.plan_chunk(net, self, range, plan));
    }
}

/// Planner of chunks with reused buffers.
#[derive(Debug)]
pub struct FirstPlanner {
    /// Rows in the first view of each position.
    lengths: Vec<u8>,
    /// Whether the second view of each position is mirrored differently from the first.
    mirrored: Vec<bool>,
    /// The position of each slot.
    order: Vec<ChunkPosition>,
    bits: Box<BitMatrix>,
    /// Lists of positions with pairs, and padding.
    short: Vec<FirstView>,
    /// By row, number of first views with it: not mirrored, and mirrored.
    counts: Box<[[u32; 2]; ROWS]>,
    /// Their starts in `holders`.
    starts: Box<[[u32; 2]; ROWS]>,
    /// Offsets of the first views with each row, row after row.
    holders: Vec<u16>,
    unsorted: Vec<HolderRun>,
    /// Whether lists are written with the machine's vector instructions.
    vectors: bool,
}

impl Default for FirstPlanner {
    fn default() -> Self {
        Self {
            lengths: Vec::new(),
            mirrored: Vec::new(),
            order: Vec::new(),
            bits: Box::new([[0; WORDS]; ROWS]),
            short: Vec::new(),
            counts: Box::new([[0; 2]; ROWS]),
            starts: Box::new([[0; 2]; ROWS]),
            holders: Vec::new(),
            unsorted: Vec::new(),
            #[cfg(target_arch = "x86_64")]
            vectors: vectors::are_available(),
            #[cfg(not(target_arch = "x86_64"))]
            vectors: false,
        }
    }
}

/// Converts a row of one view to the other; see [images](InputPairs::select_images) for pairs.
#[inline(always)]
fn image_of_row(row: u16, mirrored: bool, blank: u16) -> u16 {
    let (pair_bits, mirror) = if mirrored { (3, MIRRORED) } else { (1, 0) };
    let pair = if row < blank { row ^ pair_bits } else { blank };
    if row < PIECES as u16 { flip_row(row) ^ mirror } else { pair }
}

/// Lists that are copied at a time.
const STRIDE: usize = 32;

impl FirstPlanner {
    pub fn portable() -> Self {
        Self { vectors: false, ..Self::default() }
    }

    /// Plans both passes of a range of positions that [fit](FirstViews::check_net) the net. Panics
    /// if there are more than [`MAX_POSITIONS`].
    pub fn plan_chunk(
        &mut self,
        net: &Architecture,
        first_views: &FirstViews,
        range: Range<usize>,
        plan: &mut ChunkPlan,
    ) {
        assert!(range.len() <= MAX_POSITIONS, "{} positions in a chunk", range.len());
        plan.shape = [net.perspective_count(), net.buckets];
        plan.pairs.clone_from(&first_views.pairs);
        plan.rows = first_views.pairs.row_count();
        plan.is_inverted = true;
        let buckets = first_views.buckets.get(range.clone()).unwrap_or_default();
        let lists = &first_views.lists[range];
        let mirrors = net.inputs.kings().mirror;
        pulp::Arch::new().dispatch(FirstPlanning { planner: self, lists, mirrors, buckets, plan });
    }

    /// Sorts positions by bucket, short lists first.
    #[inline(always)]
    fn sort_positions(&mut self, buckets: &[u8]) {
        const LENGTHS: usize = MAX_ACTIVE + 1;
        let bucket_count = buckets.iter().max().map_or(1, |largest| usize::from(*largest) + 1);
        let mut next_slots = vec![0_u16; bucket_count * LENGTHS];
        // Locals, here and below: the compiler would reload addresses after each write.
        let (lengths, order) = (&self.lengths[..], &mut self.order);
        let key = |position: usize, length: u8| {
            let bucket = buckets.get(position).map_or(0, |it| usize::from(*it));
            bucket * LENGTHS + usize::from(length)
        };
        for (position, &length) in lengths.iter().enumerate() {
            next_slots[key(position, length)] += 1;
        }
        let mut next = 0;
        for slot in &mut next_slots {
            next += std::mem::replace(slot, next);
        }
        order.resize(lengths.len(), ChunkPosition::default());
        let order = &mut order[..];
        for (position, &length) in lengths.iter().enumerate() {
            let slot = &mut next_slots[key(position, length)];
            order[usize::from(*slot)] = ChunkPosition::new(position);
            *slot += 1;
        }
    }

    /// Substitutes pairs in lists; they follow the other rows.
    #[inline(always)]
    fn substitute_pairs(&mut self, lists: &[FirstView], pairs: &InputPairs) {
        let blank = pairs.row_count() as u16;
        self.short.resize(lists.len() + 3, [0; MAX_ACTIVE]);
        for (block, lists) in lists.chunks(64 * WORDS).enumerate() {
            let first = block * 64 * WORDS;
            let (bits, lengths) = (&mut *self.bits, &mut self.lengths[..]);
            bits.fill([0; WORDS]);
            let block_range = first..first + lists.len();
            // In order of length, so that branches are predicted.
            for position in self.order.iter().map(|position| position.get()) {
                if !block_range.contains(&position) {
                    continue;
                }
                let (bit, length) = (position - first, usize::from(lengths[position]));
                for &row in &lists[bit][..length] {
                    bits[usize::from(row) % ROWS][bit / 64] |= 1 << (bit % 64);
                }
            }
            for (pair, parents) in pairs.parents().iter().enumerate() {
                let [first, second] = parents.map(|row| row as usize % ROWS);
                let mut both = [0; WORDS];
                for (word, both) in both.iter_mut().enumerate() {
                    *both = bits[first][word] & bits[second][word];
                    bits[first][word] &= !*both;
                    bits[second][word] &= !*both;
                }
                bits[(PIECES + pair) % ROWS] = both;
            }
            let short = &mut self.short.as_flattened_mut()[first * MAX_ACTIVE..];
            let lengths = &mut lengths[block_range];
            #[cfg(target_arch = "x86_64")]
            if self.vectors {
                // SAFETY: the machine has these AVX-512 instructions, and therefore popcnt.
                unsafe { vectors::write_rows(bits, lists, short, lengths, blank) };
                continue;
            }
            write_rows(bits, lists, short, lengths, blank);
        }
    }

    /// Lists the positions with each row in the first view, as offsets of their slots.
    #[inline(always)]
    fn invert_lists(&mut self, lists: &[FirstView], units: usize) {
        let Self { lengths, mirrored, order, counts, starts, holders, .. } = self;
        let (lengths, counts, starts) = (&lengths[..], &mut **counts, &mut **starts);
        let mirrored = &mirrored[..];
        counts.fill([0; 2]);
        let list = |position: ChunkPosition| {
            &lists[position.get()][..usize::from(lengths[position.get()])]
        };
        for &position in &*order {
            let mirrored = usize::from(mirrored[position.get()]);
            for &row in list(position) {
                counts[usize::from(row) % ROWS][mirrored] += 1;
            }
        }
        let mut next = 0;
        for (start, count) in starts.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
            *start = next;
            next += count;
        }
        // Copies take whole strides.
        holders.resize(next as usize + STRIDE, 0);
        let holders = &mut holders[..];
        for (slot, &position) in order.iter().enumerate() {
            let offset = (slot * units) as u16;
            let mirrored = usize::from(mirrored[position.get()]);
            for &row in list(position) {
                let next = &mut starts[usize::from(row) % ROWS][mirrored];
                holders[*next as usize] = offset;
                *next += 1;
            }
        }
        for (start, count) in starts.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
            *start -= count;
        }
    }

    /// Joins the holders of each row in all views.
    #[inline(always)]
    fn join_holders<const SPANS: usize>(&mut self, plan: &mut ChunkPlan) {
        let Self { counts, starts, holders, unsorted, .. } = self;
        let (counts, starts, holders) = (&**counts, &**starts, &holders[..]);
        let blank = plan.rows as u16;
        unsorted.resize(plan.rows, HolderRun::default());
        let mut occurring = 0;
        for row in 0..blank {
            let mut count = 0;
            for [_, span_count] in holder_spans::<SPANS>(row, blank, starts, counts) {
                count += span_count;
            }
            let quads = count.div_ceil(QUAD as u32) as u16;
            unsorted[occurring] = HolderRun { row: row.into(), quads };
            occurring += usize::from(count > 0);
        }
        sort_runs(&unsorted[..occurring], &mut plan.runs);
        let quads: usize = plan.runs.iter().map(|run| usize::from(run.quads)).sum();
        let padding = (plan.list_count() * UNITS_PER_LINE) as u16;
        // All of them are written.
        plan.holders.resize(quads + STRIDE / QUAD, [0; QUAD]);
        let all = plan.holders.as_flattened_mut();
        let mut start = 0;
        for run in &plan.runs {
            let (row, mut next) = (run.row as u16, start);
            let spans = holder_spans::<SPANS>(row, blank, starts, counts);
            for (span, bounds) in spans.into_iter().enumerate() {
                let [first, count] = bounds.map(|it| it as usize);
                let (shift, mut done) = (span.min(1) * UNITS_PER_LINE, 0);
                // At least once: holders after the last are overwritten.
                loop {
                    let stride: &[u16; STRIDE] =
                        holders[first + done..].first_chunk().expect("room");
                    let to = all[next + done..].first_chunk_mut().expect("room");
                    *to = add(*stride, shift);
                    done += STRIDE;
                    if done >= count {
                        break;
                    }
                }
                next += count;
            }
            all[next..][..QUAD].fill(padding);
            start += usize::from(run.quads) * QUAD;
        }
        plan.holders.truncate(quads);
    }
}

/// Returns the start and length of a row's holders: in first views, in second views mirrored like
/// the first, and in the other second views.
#[inline(always)]
fn holder_spans<const SPANS: usize>(
    row: u16,
    blank: u16,
    starts: &[[u32; 2]; ROWS],
    counts: &[[u32; 2]; ROWS],
) -> [[u32; 2]; SPANS] {
    let mut spans = [[0; 2]; SPANS];
    for (span, bounds) in spans.iter_mut().enumerate() {
        let row = if span == 0 { row } else { image_of_row(row, span == 2, blank) };
        let (starts, counts) = (starts[usize::from(row) % ROWS], counts[usize::from(row) % ROWS]);
        *bounds = match span {
            0 => [starts[0], counts[0] + counts[1]],
            _ => [starts[span - 1], counts[span - 1]],
        };
    }
    spans
}

#[inline(always)]
fn add(offsets: [u16; STRIDE], shift: usize) -> [u16; STRIDE] {
    // Four offsets at a time cannot overflow; single ones would not be vectorised.
    let quads: [u64; STRIDE / QUAD] = pulp::cast(offsets);
    pulp::cast(quads.map(|quad| quad + shift as u64 * 0x0001_0001_0001_0001))
}

/// Makes the plan of [`FirstPlanner`] from its definition.
pub fn plan_first_views_slowly(
    net: &Architecture,
    first_views: &FirstViews,
    range: Range<usize>,
) -> ChunkPlan {
    let FirstViews { lists, buckets, pairs } = first_views;
    let (lists, blank) = (&lists[range.clone()], pairs.row_count() as u16);
    let mirrors = net.perspective_count() == 2 && net.inputs.kings().mirror;
    let mirrored: Vec<bool> = lists.iter().map(|list| mirrors && is_mirrored(list)).collect();
    let mut rows = Vec::new();
    for (list, &mirrored) in lists.iter().zip(&mirrored) {
        let is_input = |row: &u16| usize::from(*row) < PIECES;
        let inputs = list.iter().filter(|row| is_input(row));
        let inputs: Vec<Row> = inputs.map(|row| Row { number: (*row).into(), times: 1 }).collect();
        let shortened = pairs.substitute_slowly(0, &inputs);
        // Inputs stay in the order of the list.
        let mut first: Vec<u16> = list.to_vec();
        first.retain(|row| is_input(row) && shortened.contains(&(*row).into()));
        first.extend(shortened.iter().map(|row| *row as u16).filter(|row| !is_input(row)));
        first.resize(MAX_ACTIVE, blank);
        rows.extend_from_slice(&first);
        if net.perspective_count() == 2 {
            rows.extend(first.iter().map(|row| image_of_row(*row, mirrored, blank)));
        }
    }
    let lists = ActiveRows {
        rows: net.row_count(),
        perspectives: net.perspective_count(),
        width: MAX_ACTIVE,
        indices: Indices::U16(rows),
        king_buckets: Vec::new(),
        buckets: buckets.get(range).unwrap_or_default().to_vec(),
    };
    let chosen: Vec<u32> = (0..mirrored.len() as u32).collect();
    plan_in_order(net, &lists, &chosen, pairs, |list, position| {
        let order = 2 * (list % net.perspective_count()) + usize::from(mirrored[position]);
        order * net.perspective_count() * MAX_POSITIONS + list
    })
}

struct FirstPlanning<'a> {
    planner: &'a mut FirstPlanner,
    lists: &'a [FirstView],
    mirrors: bool,
    buckets: &'a [u8],
    plan: &'a mut ChunkPlan,
}

/// Inlined into code that may use the machine's vector instructions.
impl pulp::NullaryFnOnce for FirstPlanning<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { planner, lists, mirrors, buckets, plan } = self;
        let (perspectives, pairs) = (plan.shape[0], plan.pairs.clone());
        planner.lengths.resize(lists.len(), 0);
        planner.mirrored.clear();
        planner.mirrored.resize(lists.len(), false);
        // No closures: only inlined code uses the instructions.
        for (length, list) in planner.lengths.iter_mut().zip(lists) {
            *length = list.partition_point(|row| *row < PIECES as u16) as u8;
        }
        let mirrors = perspectives == 2 && mirrors;
        if mirrors {
            for (mirrored, list) in planner.mirrored.iter_mut().zip(lists) {
                *mirrored = is_mirrored(list);
            }
        }
        planner.sort_positions(buckets);
        if pairs.has_pairs() {
            planner.substitute_pairs(lists, &pairs);
            planner.sort_positions(buckets);
        }
        let short = std::mem::take(&mut planner.short);
        let lists = if pairs.has_pairs() { &short[..lists.len()] } else { lists };
        let FirstPlanner { order, lengths, .. } = &*planner;
        plan.positions.clone_from(order);
        plan.order.clear();
        plan.order.extend(order.iter().map(|position| ItemIndex::new(position.get())));
        plan.lengths.clear();
        for positions in order.chunks(LISTS_PER_BUNDLE / perspectives) {
            let mut longest = 0;
            for position in positions {
                longest = longest.max(lengths[position.get()]);
            }
            plan.lengths.push(longest.into());
        }

        let (positions, slots) = (order.len(), plan.list_count() / perspectives);
        let bucket = |it: &ChunkPosition| buckets.get(it.get()).copied().unwrap_or(0);
        plan.weights.clear();
        plan.weights.extend(order.iter().map(bucket));
        find_ranges(plan.weights.iter().map(|it| usize::from(*it)), &mut plan.bucket_ranges);
        plan.weights.resize(slots, plan.weights.last().copied().unwrap_or(0));
        find_ranges(plan.weights.iter().map(|it| usize::from(*it)), &mut plan.weight_ranges);
        plan.slot_logits.clear();
        plan.slot_logits.extend((0..positions).map(LogitIndex::new));
        plan.slot_logits.resize(slots, LogitIndex::new(positions));

        planner.invert_lists(lists, perspectives * UNITS_PER_LINE);
        match perspectives {
            1 => planner.join_holders::<1>(plan),
            _ if !mirrors => planner.join_holders::<2>(plan),
            _ => planner.join_holders::<3>(plan),
        }
        let mut entries = plan.entries.take_u16();
        match perspectives {
            1 => write_entries::<1>(lists, &planner.mirrored, plan, &mut entries),
            _ => write_entries::<2>(lists, &planner.mirrored, plan, &mut entries),
        }
        plan.entries = Indices::U16(entries);
        planner.short = short;
    }
}

#[inline(always)]
fn write_entries<const PERSPECTIVES: usize>(
    lists: &[FirstView],
    mirrored: &[bool],
    plan: &ChunkPlan,
    entries: &mut Vec<u16>,
) {
    let blank = plan.rows as u16;
    let quads: usize = plan.lengths.iter().map(|length| bundle_quads(*length)).sum();
    entries.resize(QUAD * quads, 0);
    let quads = entries.as_chunks_mut::<QUAD>().0;
    let bundles = plan.positions.chunks(LISTS_PER_BUNDLE / PERSPECTIVES);
    for ((_, range), positions) in plan.bundle_ranges().zip(bundles) {
        let entries = quads[range].as_chunks_mut::<LISTS_PER_BUNDLE>().0;
        if positions.len() < LISTS_PER_BUNDLE / PERSPECTIVES {
            entries.fill([[blank * UNITS_PER_LINE as u16; QUAD]; LISTS_PER_BUNDLE]);
        }
        for (slot, &position) in positions.iter().enumerate() {
            let list = &lists[position.get()];
            let mirrored = mirrored[position.get()];
            let mut perspectives = [[0_u16; MAX_ACTIVE]; PERSPECTIVES];
            for (entry, &row) in list.iter().enumerate() {
                let row = row.min(blank);
                perspectives[0][entry] = row * UNITS_PER_LINE as u16;
                if PERSPECTIVES == 2 {
                    perspectives[1][entry] =
                        image_of_row(row, mirrored, blank) * UNITS_PER_LINE as u16;
                }
            }
            let perspectives = perspectives.each_ref().map(|list| list.as_chunks::<QUAD>().0);
            for (quad, entries) in entries.iter_mut().enumerate() {
                for (perspective, quads) in perspectives.iter().enumerate() {
                    entries[slot * PERSPECTIVES + perspective] = quads[quad];
                }
            }
        }
    }
}

/// Writes the rows of set bits to each list: inputs outside of pairs, pairs, blanks, padding.
#[inline(always)]
fn write_rows(
    bits: &mut BitMatrix,
    lists: &[FirstView],
    short: &mut [u16],
    lengths: &mut [u8],
    blank: u16,
) {
    bits.as_chunks_mut().0.iter_mut().for_each(transpose_bits);
    for (position, (list, length)) in lists.iter().zip(lengths).enumerate() {
        let (set, short) = (row_bits(bits, position), &mut short[position * MAX_ACTIVE..]);
        let mut next = 0;
        for &row in &list[..usize::from(*length)] {
            short[next] = row;
            next += (set[usize::from(row / 64)] >> (row % 64) & 1) as usize;
        }
        for (word, bits) in set.iter().enumerate().skip(PIECES / 64) {
            let mut rest = *bits;
            while rest != 0 {
                short[next] = (64 * word) as u16 + rest.trailing_zeros() as u16;
                rest &= rest - 1;
                next += 1;
            }
        }
        short[next..][..MAX_ACTIVE].fill(blank);
        *length = next as u8;
    }
}

/// Returns the bits of a position in a transposed matrix.
#[inline(always)]
fn row_bits(bits: &BitMatrix, position: usize) -> RowBits {
    std::array::from_fn(|word| bits[64 * word + position % 64][position / 64 % WORDS])
}

/// Transposes squares of 64 bits, side by side.
#[inline(always)]
fn transpose_bits(squares: &mut [[u64; WORDS]; 64]) {
    let (mut step, mut mask) = (32, u64::from(u32::MAX));
    while step > 0 {
        for both in squares.chunks_exact_mut(2 * step) {
            let (low, high) = both.split_at_mut(step);
            for (low, high) in low.as_flattened_mut().iter_mut().zip(high.as_flattened_mut()) {
                let swap = ((*low >> step) ^ *high) & mask;
                *high ^= swap;
                *low ^= swap << step;
            }
        }
        step /= 2;
        mask ^= mask << step;
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{BitMatrix, FirstView, MAX_ACTIVE, PIECES, WORDS, row_bits};
    use crate::architecture::NUMBERS;

    pub fn are_available() -> bool {
        is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
    }

    #[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")]
    pub fn write_rows(
        bits: &mut BitMatrix,
        lists: &[FirstView],
        short: &mut [u16],
        lengths: &mut [u8],
        blank: u16,
    ) {
        for squares in bits.as_chunks_mut().0 {
            transpose_bits(squares);
        }
        let (numbers, masks) =
            (pulp::cast(NUMBERS), _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64));
        let inputs = _mm512_set1_epi16(PIECES as i16);
        for (position, (list, length)) in lists.iter().zip(lengths).enumerate() {
            let set = row_bits(bits, position);
            let short = &mut short[position * MAX_ACTIVE..][..3 * MAX_ACTIVE];
            let [low, high]: [__m512i; 2] = pulp::cast(set);
            let rows = pulp::cast(*list);
            // The bit of each row.
            let bytes = _mm512_cvtepi16_epi8(_mm512_srli_epi16::<3>(rows));
            let bytes = _mm512_permutex2var_epi8(low, _mm512_castsi256_si512(bytes), high);
            let bit = _mm512_cvtepi16_epi8(_mm512_and_si512(rows, _mm512_set1_epi16(7)));
            let bit = _mm256_shuffle_epi8(masks, bit);
            let present = _mm256_test_epi8_mask(_mm512_castsi512_si256(bytes), bit)
                & _mm512_cmplt_epu16_mask(rows, inputs);
            store_compressed(short, 0, _mm512_maskz_compress_epi16(present, rows));
            let mut next = present.count_ones() as usize;
            for (word, bits) in set.iter().enumerate().skip(PIECES / 64) {
                let pairs = _mm512_maskz_compress_epi8(*bits, numbers);
                let pairs = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(pairs));
                let pairs = _mm512_add_epi16(pairs, _mm512_set1_epi16((64 * word) as i16));
                store_compressed(short, next, pairs);
                next += bits.count_ones() as usize;
            }
            store_compressed(short, next, _mm512_set1_epi16(blank as i16));
            *length = next as u8;
        }
    }

    #[target_feature(enable = "avx512f")]
    fn store_compressed(list: &mut [u16], entry: usize, rows: __m512i) {
        *list[entry..].first_chunk_mut::<MAX_ACTIVE>().expect("room") = pulp::cast(rows);
    }

    /// Transposes as [`transpose_bits`](super::transpose_bits), three steps at a time.
    #[target_feature(enable = "avx512f")]
    fn transpose_bits(squares: &mut [[u64; WORDS]; 64]) {
        for first in 0..8 {
            let mut rows: [__m512i; 8] =
                std::array::from_fn(|row| pulp::cast(squares[first + 8 * row]));
            swap_bits::<32, 4>(&mut rows, 0x0000_0000_FFFF_FFFF);
            swap_bits::<16, 2>(&mut rows, 0x0000_FFFF_0000_FFFF);
            swap_bits::<8, 1>(&mut rows, 0x00FF_00FF_00FF_00FF);
            for row in 0..8 {
                squares[first + 8 * row] = pulp::cast(rows[row]);
            }
        }
        for squares in squares.as_chunks_mut::<8>().0 {
            let mut rows: [__m512i; 8] = squares.map(pulp::cast);
            swap_bits::<4, 4>(&mut rows, 0x0F0F_0F0F_0F0F_0F0F);
            swap_bits::<2, 2>(&mut rows, 0x3333_3333_3333_3333);
            swap_bits::<1, 1>(&mut rows, 0x5555_5555_5555_5555);
            *squares = rows.map(pulp::cast);
        }
    }

    /// Swaps the upper bits of each row with the lower bits of the row `APART` later.
    #[target_feature(enable = "avx512f")]
    fn swap_bits<const STEP: u32, const APART: usize>(rows: &mut [__m512i; 8], mask: u64) {
        /// Selects the bit of the first where the third is set, else of the second.
        const CHOOSE: i32 = 0b1110_0100;
        let mask = _mm512_set1_epi64(mask as i64);
        for row in (0..8).filter(|row| row & APART == 0) {
            let (low, high) = (rows[row], rows[row + APART]);
            let (up, down) = (_mm512_slli_epi64::<STEP>(high), _mm512_srli_epi64::<STEP>(low));
            rows[row] = _mm512_ternarylogic_epi64::<CHOOSE>(low, up, mask);
            rows[row + APART] = _mm512_ternarylogic_epi64::<CHOOSE>(down, high, mask);
        }
    }
}
