//! The inverse of lists of many rows, on the device: the lists that contain each row, in their
//! order.
//!
//! Entries are sorted by row, four bits at a time. A stable sort leaves the lists of a row in their
//! order, so that the order of all sums follows from the batch alone, whatever units run first. A
//! row that is in many lists is summed in segments, and these are added up: so the work is even.

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
    /// First entry of each segment, then the list of each entry.
    segments: Buffer,
    max_segments: usize,
    /// The first segment of each row, and their number.
    rows: Buffer,
    row_count: usize,
}

impl RowLists {
    /// Sorts a range of entries of the lists that begin at a word of a batch.
    pub fn new(
        gpu: &Gpu,
        (batch, lists): (&Buffer, usize),
        entries: Range<usize>,
        form: KernelForm,
    ) -> Self {
        let KernelForm { rows, .. } = form;
        let (count, blocks) = (entries.len(), entries.len().div_ceil(BLOCK).max(1));
        let max_segments = count / SEGMENT + rows;
        let starts_of_segments = max_segments + 1;
        let mut keys = [0, 1].map(|_| gpu.empty_buffer(count));
        let mut numbers = [0, 1].map(|_| gpu.empty_buffer(starts_of_segments + count));
        // The number of entries follows the digits of all blocks.
        let digits = blocks * DIGITS;
        let mut before = gpu.empty_buffer(1);
        let (sorters, units) = (CubeDim::new_1d(SORTERS as u32), CubeDim::new_1d(UNITS as u32));
        let bits = (usize::BITS - rows.leading_zeros()) as usize;
        for pass in 0..bits.div_ceil(BITS) {
            let counts = gpu.empty_buffer(digits + 1);
            let [from_keys, to_keys] = &keys;
            let [from_numbers, to_numbers] = &numbers;
            let source = if pass == 0 { batch } else { from_keys };
            let numbers_of_pass = || {
                let [lists, first, count, blocks, shift, numbers] =
                    [lists, entries.start, count, blocks, pass * BITS, starts_of_segments]
                        .map(|it| it as u32);
                SortPassLaunch::new(lists, first, count, blocks, shift, numbers, digits as u32)
            };
            // SAFETY: no index is beyond the entries, and no digit beyond the counts of a block.
            unsafe {
                count_digits::launch_unchecked(
                    &gpu.client,
                    launch_grid(blocks),
                    sorters,
                    source.launch_arg(),
                    before.launch_arg(),
                    counts.launch_arg(),
                    numbers_of_pass(),
                    form,
                    pass == 0,
                );
            }
            scan_sums(gpu, &counts, digits);
            // SAFETY: the counts give each entry its own index within the entries.
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
                    numbers_of_pass(),
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
        Self { segments, max_segments, rows: of_rows, row_count: rows }
    }

    /// Sums the gradients of `lists`, `[lists, columns]`, to those of all rows, `[rows, columns]`.
    pub fn add_up(&self, gpu: &Gpu, lists: &Buffer, layout: UnitLayout) -> Buffer {
        let Self { segments, max_segments, rows, row_count } = self;
        let sums = pairs::add_up(gpu, segments, lists.launch_arg(), [0, *max_segments], layout);
        pairs::sum_rows(gpu, rows, sums.launch_arg(), [0, *row_count], layout, false)
    }
}

/// Numbers of a pass of the sort.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct SortPass {
    lists: u32,
    first: u32,
    count: u32,
    blocks: u32,
    shift: u32,
    /// Offset of the first list's number among those that are sorted.
    numbers: u32,
    /// Offset of the number of entries, after the counts of the previous pass.
    total: u32,
}

/// Returns the number of entries that a pass reads: all in the first, then those with a row.
#[cube]
fn entries_of(before: &[u32], pass: &SortPass, #[comptime] is_first: bool) -> usize {
    let mut entries = pass.count;
    if !is_first {
        entries = before[pass.total as usize];
    }
    entries as usize
}

/// Returns the row of an entry; one past the last row for padding, and after the entries.
#[cube]
fn key(
    source: &[u32],
    i: usize,
    entries: usize,
    pass: &SortPass,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) -> u32 {
    let KernelForm { rows, wide, .. } = comptime!(form);
    let mut row = comptime!(rows as u32).runtime();
    if i < entries {
        let entry = pass.first as usize + i;
        if comptime!(!is_first) {
            row = source[i];
        } else if comptime!(wide) {
            row = source[pass.lists as usize + entry];
        } else {
            let word = source[pass.lists as usize + entry / 2];
            row = (word >> ((entry % 2) as u32 * 16u32)) & 65535u32;
        }
    }
    row
}

/// Returns the digit by which a pass sorts.
#[cube]
fn digit_of(row: u32, pass: &SortPass) -> usize {
    ((row >> pass.shift) & comptime!(DIGITS as u32 - 1)) as usize
}

/// Counts the entries of each block with each digit, `[digits, blocks]`.
#[cube(launch_unchecked)]
fn count_digits(
    source: &[u32],
    before: &[u32],
    counts: &mut [u32],
    pass: SortPass,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) {
    let mut digit_counts = Shared::<[u32]>::new_slice(comptime!(DIGITS * SORTERS));
    let unit = UNIT_POS_X as usize;
    let block = CUBE_POS;
    count_unit(source, before, &mut digit_counts, block, unit, &pass, form, is_first);
    sync_cube();
    if unit < DIGITS && block < pass.blocks as usize {
        let mut sum = 0u32;
        for sorter in 0..SORTERS {
            sum += digit_counts[unit * SORTERS + sorter];
        }
        counts[unit * pass.blocks as usize + block] = sum;
    }
}

/// Counts the digits of a unit's entries, `[digits, units]`.
#[cube]
fn count_unit(
    source: &[u32],
    before: &[u32],
    digit_counts: &mut Shared<[u32]>,
    block: usize,
    unit: usize,
    pass: &SortPass,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) {
    let entries = entries_of(before, pass, is_first);
    for digit in 0..DIGITS {
        digit_counts[digit * SORTERS + unit] = 0u32;
    }
    let begin = block * BLOCK + unit * EACH;
    for i in 0..EACH {
        let row = key(source, begin + i, entries, pass, form, is_first);
        if row < comptime!(form.rows as u32) {
            let digit = digit_of(row, pass);
            digit_counts[digit * SORTERS + unit] += 1u32;
        }
    }
}

/// Moves the entries of each block to the indices that the prefix sums of counts give.
#[cube(launch_unchecked)]
fn move_entries(
    source: &[u32],
    numbers: &[u32],
    before: &[u32],
    starts: &[u32],
    next_keys: &mut [u32],
    next_numbers: &mut [u32],
    pass: SortPass,
    #[comptime] form: KernelForm,
    #[comptime] is_first: bool,
) {
    let mut digit_counts = Shared::<[u32]>::new_slice(comptime!(DIGITS * SORTERS));
    let unit = UNIT_POS_X as usize;
    let block = CUBE_POS;
    count_unit(source, before, &mut digit_counts, block, unit, &pass, form, is_first);
    sync_cube();
    if unit < DIGITS && block < pass.blocks as usize {
        let mut sum = starts[unit * pass.blocks as usize + block];
        for sorter in 0..SORTERS {
            let index = unit * SORTERS + sorter;
            let count = digit_counts[index];
            digit_counts[index] = sum;
            sum += count;
        }
    }
    sync_cube();
    let entries = entries_of(before, &pass, is_first);
    let begin = block * BLOCK + unit * EACH;
    let base = pass.numbers as usize;
    for i in 0..EACH {
        let row = key(source, begin + i, entries, &pass, form, is_first);
        if row < comptime!(form.rows as u32) {
            let digit = digit_of(row, &pass);
            let to = digit_counts[digit * SORTERS + unit] as usize;
            digit_counts[digit * SORTERS + unit] = to as u32 + 1u32;
            next_keys[to] = row;
            if comptime!(is_first) {
                next_numbers[base + to] = ((begin + i) / comptime!(form.width)) as u32;
            } else {
                next_numbers[base + to] = numbers[base + begin + i];
            }
        }
    }
}

/// Replaces numbers by their prefix sums, and writes the sum of all after them.
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
    for earlier in 0..unit {
        sum += sums[earlier];
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

/// Writes the first entry of each row, then the number of entries. Each unit compares an entry with
/// the previous one.
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

/// Counts the segments of each row.
#[cube(launch_unchecked)]
fn count_segments(starts: &[u32], counts: &mut [u32], rows: u32) {
    let row = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if row < rows as usize {
        let entries = starts[row + 1] - starts[row];
        counts[row] = (entries + comptime!(SEGMENT as u32 - 1)) / comptime!(SEGMENT as u32);
    }
}

/// Writes the first entry of each segment, and the end of all to unused segments; entries count
/// from `base`.
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
