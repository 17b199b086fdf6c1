//! The inverse of lists of many rows, on the device: the lists that contain each row, in their order.
//!
//! Entries are sorted by row, four bits at a time. A stable sort leaves the lists of a row in their
//! order, so that the order of all sums follows from the batch alone, whatever units run first. A row
//! that is in many lists is summed in segments, and these are added up: so the work is even.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{KernelForm, UNITS, UnitLayout, launch_grid};
use super::gpu::{Buffer, Gpu};
use super::pairs;

/// Lists of a segment, at most.
const SEGMENT: usize = 128;
/// Bits of a digit, and its values.
const BITS: usize = 4;
const DIGITS: usize = 1 << BITS;
/// Units of a cube that sorts, and consecutive entries of each.
const SORTERS: usize = 128;
const EACH: usize = 16;
const BLOCK: usize = SORTERS * EACH;

/// The lists of each row.
pub(super) struct RowLists {
    /// The first entry of each segment, and behind them the list of each entry.
    segments: Buffer,
    most_segments: usize,
    /// The first segment of each row, and their number.
    rows: Buffer,
    row_count: usize,
}

impl RowLists {
    /// Sorts some entries of the lists that begin at a word of a batch.
    pub fn new(
        gpu: &Gpu,
        (batch, lists): (&Buffer, usize),
        entries: Range<usize>,
        form: KernelForm,
    ) -> Self {
        let KernelForm { rows, .. } = form;
        let (count, blocks) = (entries.len(), entries.len().div_ceil(BLOCK).max(1));
        let most_segments = count / SEGMENT + rows;
        let starts_of_segments = most_segments + 1;
        let mut keys = [0, 1].map(|_| gpu.empty_buffer(count));
        let mut numbers = [0, 1].map(|_| gpu.empty_buffer(starts_of_segments + count));
        // Behind the digits of all blocks the number of entries.
        let digits = blocks * DIGITS;
        let mut before = gpu.empty_buffer(1);
        let (sorters, units) = (CubeDim::new_1d(SORTERS as u32), CubeDim::new_1d(UNITS as u32));
        let bits = (usize::BITS - rows.leading_zeros()) as usize;
        for pass in 0..bits.div_ceil(BITS) {
            let counts = gpu.empty_buffer(digits + 1);
            let [from_keys, to_keys] = &keys;
            let [from_numbers, to_numbers] = &numbers;
            let source = if pass == 0 { batch } else { from_keys };
            let place = || {
                let [lists, first, count, blocks, shift, numbers] =
                    [lists, entries.start, count, blocks, pass * BITS, starts_of_segments]
                        .map(|it| it as u32);
                SortPlaceLaunch::new(lists, first, count, blocks, shift, numbers, digits as u32)
            };
            // SAFETY: no place is beyond the entries, and no digit beyond the counts of a block.
            unsafe {
                count_digits::launch_unchecked(
                    &gpu.client,
                    launch_grid(blocks),
                    sorters,
                    source.launch_arg(),
                    before.launch_arg(),
                    counts.launch_arg(),
                    place(),
                    form,
                    pass == 0,
                );
            }
            scan_sums(gpu, &counts, digits);
            // SAFETY: the counts say where each entry goes, one behind the other.
            unsafe {
                move_entries::launch_unchecked(
                    &gpu.client,
                    launch_grid(blocks),
                    sorters,
                    source.launch_arg(),
                    from_numbers.launch_arg(),
                    before.launch_arg(),
                    counts.launch_arg(),
                    to_keys.launch_arg(),
                    to_numbers.launch_arg(),
                    place(),
                    form,
                    pass == 0,
                );
            }
            before = counts;
            keys.reverse();
            numbers.reverse();
        }
        let ([keys, _], [segments, _]) = (keys, numbers);
        let [starts, of_rows] = [0, 1].map(|_| gpu.empty_buffer(rows + 1));
        // SAFETY: the keys are rows; no row has more segments than its entries need.
        unsafe {
            row_starts::launch_unchecked(
                &gpu.client,
                launch_grid((count + 1).div_ceil(UNITS)),
                units,
                keys.launch_arg(),
                before.launch_arg(),
                starts.launch_arg(),
                digits as u32,
                rows as u32,
            );
            count_segments::launch_unchecked(
                &gpu.client,
                launch_grid(rows.div_ceil(UNITS)),
                units,
                starts.launch_arg(),
                of_rows.launch_arg(),
                rows as u32,
            );
        }
        scan_sums(gpu, &of_rows, rows);
        // SAFETY: as above.
        unsafe {
            segment_starts::launch_unchecked(
                &gpu.client,
                launch_grid(starts_of_segments.max(rows).div_ceil(UNITS)),
                units,
                starts.launch_arg(),
                of_rows.launch_arg(),
                segments.launch_arg(),
                starts_of_segments as u32,
                rows as u32,
            );
        }
        Self { segments, most_segments, rows: of_rows, row_count: rows }
    }

    /// The gradients of all rows, `[rows, columns]`, from those of the lists, `[lists, columns]`.
    pub fn add_up(&self, gpu: &Gpu, slopes: &Buffer, layout: UnitLayout) -> Buffer {
        let Self { segments, most_segments, rows, row_count } = self;
        let sums = pairs::add_up(gpu, segments, slopes.launch_arg(), [0, *most_segments], layout);
        pairs::add_up_runs(gpu, rows, sums.launch_arg(), *row_count, layout)
    }
}

/// Numbers of a pass of the sort.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct SortPlace {
    lists: u32,
    first: u32,
    count: u32,
    blocks: u32,
    shift: u32,
    /// Place of the first list's number among those that are sorted.
    numbers: u32,
    /// Place of the number of entries behind the counts of the pass before.
    total: u32,
}

/// Entries that a pass reads: all of the lists in the first, then those that name a row.
#[cube]
fn entries_of(before: &[u32], place: &SortPlace, #[comptime] is_first: bool) -> usize {
    let mut entries = place.count;
    if !is_first {
        entries = before[place.total as usize];
    }
    entries as usize
}

/// The row of an entry; one beyond the last for padding, and behind the entries.
#[cube]
fn key(
    source: &[u32],
    i: usize,
    entries: usize,
    place: &SortPlace,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) -> u32 {
    let KernelForm { rows, wide, .. } = comptime!(form);
    let mut row = comptime!(rows as u32).runtime();
    if i < entries {
        let entry = place.first as usize + i;
        if comptime!(!is_first) {
            row = source[i];
        } else if comptime!(wide) {
            row = source[place.lists as usize + entry];
        } else {
            let word = source[place.lists as usize + entry / 2];
            row = (word >> ((entry % 2) as u32 * 16u32)) & 65535u32;
        }
    }
    row
}

/// The digit by which a pass sorts.
#[cube]
fn digit_of(row: u32, place: &SortPlace) -> usize {
    ((row >> place.shift) & comptime!(DIGITS as u32 - 1)) as usize
}

/// Writes how many entries of each block have each digit, `[digits, blocks]`.
#[cube(launch_unchecked)]
fn count_digits(
    source: &[u32],
    before: &[u32],
    counts: &mut [u32],
    place: SortPlace,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) {
    let mut own = Shared::<[u32]>::new_slice(comptime!(DIGITS * SORTERS));
    let unit = UNIT_POS_X as usize;
    let block = CUBE_POS;
    count_own(source, before, &mut own, block, unit, &place, form, is_first);
    sync_cube();
    if unit < DIGITS && block < place.blocks as usize {
        let mut sum = 0u32;
        for sorter in 0..SORTERS {
            sum += own[unit * SORTERS + sorter];
        }
        counts[unit * place.blocks as usize + block] = sum;
    }
}

/// Counts the digits of a unit's entries, `[digits, units]`.
#[cube]
fn count_own(
    source: &[u32],
    before: &[u32],
    own: &mut Shared<[u32]>,
    block: usize,
    unit: usize,
    place: &SortPlace,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) {
    let entries = entries_of(before, place, is_first);
    for digit in 0..DIGITS {
        own[digit * SORTERS + unit] = 0u32;
    }
    let begin = block * BLOCK + unit * EACH;
    for i in 0..EACH {
        let row = key(source, begin + i, entries, place, form, is_first);
        if row < comptime!(form.rows as u32) {
            let digit = digit_of(row, place);
            own[digit * SORTERS + unit] += 1u32;
        }
    }
}

/// Moves the entries of each block to where the sums of the counts before them say.
#[cube(launch_unchecked)]
fn move_entries(
    source: &[u32],
    numbers: &[u32],
    before: &[u32],
    starts: &[u32],
    next_keys: &mut [u32],
    next_numbers: &mut [u32],
    place: SortPlace,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) {
    let mut own = Shared::<[u32]>::new_slice(comptime!(DIGITS * SORTERS));
    let unit = UNIT_POS_X as usize;
    let block = CUBE_POS;
    count_own(source, before, &mut own, block, unit, &place, form, is_first);
    sync_cube();
    if unit < DIGITS && block < place.blocks as usize {
        let mut sum = starts[unit * place.blocks as usize + block];
        for sorter in 0..SORTERS {
            let at = unit * SORTERS + sorter;
            let count = own[at];
            own[at] = sum;
            sum += count;
        }
    }
    sync_cube();
    let entries = entries_of(before, &place, is_first);
    let begin = block * BLOCK + unit * EACH;
    let base = place.numbers as usize;
    for i in 0..EACH {
        let row = key(source, begin + i, entries, &place, form, is_first);
        if row < comptime!(form.rows as u32) {
            let digit = digit_of(row, &place);
            let to = own[digit * SORTERS + unit] as usize;
            own[digit * SORTERS + unit] = to as u32 + 1u32;
            next_keys[to] = row;
            if comptime!(is_first) {
                next_numbers[base + to] = ((begin + i) / comptime!(form.places)) as u32;
            } else {
                next_numbers[base + to] = numbers[base + begin + i];
            }
        }
    }
}

/// Replaces numbers by the sum of those before each, and writes the sum of all behind them.
fn scan_sums(gpu: &Gpu, numbers: &Buffer, count: usize) {
    // SAFETY: the buffer has one more number.
    unsafe {
        scan_all::launch_unchecked(
            &gpu.client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(UNITS as u32),
            numbers.launch_arg(),
            count as u32,
        );
    }
}

/// One cube; each unit takes a run of numbers.
#[cube(launch_unchecked)]
fn scan_all(numbers: &mut [u32], count: u32) {
    let mut sums = Shared::<[u32]>::new_slice(UNITS);
    let unit = UNIT_POS_X as usize;
    let each = (count as usize).div_ceil(UNITS);
    let begin = min(unit * each, count as usize);
    let end = min(begin + each, count as usize);
    let mut sum = 0u32;
    for i in begin..end {
        sum += numbers[i];
    }
    sums[unit] = sum;
    sync_cube();
    let mut sum = 0u32;
    for other in 0..unit {
        sum += sums[other];
    }
    for i in begin..end {
        let number = numbers[i];
        numbers[i] = sum;
        sum += number;
    }
    if unit == comptime!(UNITS - 1) {
        numbers[count as usize] = sum;
    }
}

/// Writes the first entry of each row, and their number behind the last. Each unit compares an entry
/// with the one before.
#[cube(launch_unchecked)]
fn row_starts(keys: &[u32], before: &[u32], starts: &mut [u32], total: u32, rows: u32) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    let entries = before[total as usize] as usize;
    if i <= entries {
        let mut row = 0u32;
        if i > 0 {
            row = keys[i - 1] + 1u32;
        }
        let mut end = rows;
        if i < entries {
            end = keys[i];
        }
        while row <= end {
            starts[row as usize] = i as u32;
            row += 1u32;
        }
    }
}

/// Writes how many segments each row has.
#[cube(launch_unchecked)]
fn count_segments(starts: &[u32], counts: &mut [u32], rows: u32) {
    let row = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if row < rows as usize {
        let entries = starts[row + 1] - starts[row];
        counts[row] = (entries + comptime!(SEGMENT as u32 - 1)) / comptime!(SEGMENT as u32);
    }
}

/// Writes the first entry of each segment, and the end of all into the places behind them; entries
/// count from `base` on.
#[cube(launch_unchecked)]
fn segment_starts(starts: &[u32], of_rows: &[u32], segments: &mut [u32], base: u32, rows: u32) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    let used = of_rows[rows as usize] as usize;
    if i >= used && i < base as usize {
        segments[i] = base + starts[rows as usize];
    }
    if i < rows as usize {
        let first = of_rows[i] as usize;
        for segment in 0..(of_rows[i + 1] as usize - first) {
            segments[first + segment] = base + starts[i] + (segment * SEGMENT) as u32;
        }
    }
}
