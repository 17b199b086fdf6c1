//! Positions to lists of active rows.

use std::sync::Arc;

use rayon::prelude::*;

use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{ActiveRows, Bits, FirstViews, IndexWord, Indices, InputPairs, with_vector};
use crate::features::{Board, MAX_ACTIVE, Rows};
use crate::sample::Position;

/// Positions that a thread encodes at a time.
pub(super) const ENCODED_TOGETHER: usize = 256;
/// First views that a thread encodes at a time; they take less time.
pub(super) const FIRST_VIEWS_BLOCK: usize = 2048;

/// Encodes positions as lists.
pub(super) fn write_lists(net: &Architecture, records: &[Packed]) -> ActiveRows {
    if !net.inputs.is_pieces() {
        return write_lists_of_sets(net, records);
    }
    let (rows, perspectives, width, positions) =
        (net.row_count(), net.perspective_count(), MAX_ACTIVE, records.len());
    let mut indices = vec![0; positions * perspectives * width];
    let (mut king_buckets, mut buckets) = (vec![0; positions * perspectives], vec![0; positions]);
    indices
        .par_chunks_mut(ENCODED_TOGETHER * perspectives * width)
        .zip(king_buckets.par_chunks_mut(ENCODED_TOGETHER * perspectives))
        .zip(buckets.par_chunks_mut(ENCODED_TOGETHER))
        .zip(records.par_chunks(ENCODED_TOGETHER))
        .for_each(|(((indices, kings), buckets), records)| {
            write_pieces(net, records.iter().map(Packed::position), indices, kings, buckets);
        });
    let indices = Indices::U16(indices);
    let mut lists = ActiveRows { rows, perspectives, width, indices, king_buckets, buckets };
    clear_single_buckets(net, &mut lists);
    lists
}

/// Clears the buckets if there is one.
fn clear_single_buckets(net: &Architecture, lists: &mut ActiveRows) {
    if net.buckets == 1 {
        lists.buckets.clear();
    }
    if net.inputs.kings().bucket_count() == 1 {
        lists.king_buckets.clear();
    }
}

/// Encodes first views of positions, for plans that are used once.
pub(super) fn write_first_views(
    net: &Architecture,
    records: &[Packed],
    pairs: &Arc<InputPairs>,
) -> FirstViews {
    let records = records.par_iter().with_min_len(FIRST_VIEWS_BLOCK);
    let lists = records.clone().map(|record| net.inputs.first_view(&record.position())).collect();
    let buckets = match net.buckets {
        1 => Vec::new(),
        _ => records.map(|record| net.bucket_of(&record.position()) as u8).collect(),
    };
    FirstViews { lists, buckets, pairs: pairs.clone() }
}

/// Writes lists of pieces, king buckets and output buckets of positions.
fn write_pieces(
    net: &Architecture,
    positions: impl Iterator<Item = Position>,
    indices: &mut [u16],
    king_buckets: &mut [u8],
    buckets: &mut [u8],
) {
    let (perspectives, kings) = (net.perspective_count(), net.inputs.kings().bucket_count());
    let lists = indices
        .chunks_exact_mut(perspectives * MAX_ACTIVE)
        .zip(king_buckets.chunks_exact_mut(perspectives));
    for (position, ((list, list_kings), bucket)) in positions.zip(lists.zip(buckets)) {
        net.inputs.write_rows(&position, list);
        *bucket = net.bucket_of(&position) as u8;
        if kings > 1 {
            for (king_bucket, color) in
                list_kings.iter_mut().zip(net.inputs.perspective_colors(&position))
            {
                *king_bucket = net.inputs.king_bucket(&position, color) as u8;
            }
        }
    }
}

/// Writer of lists with reused buffers.
#[derive(Default)]
pub(super) struct ListWriter {
    pub lists: ActiveRows,
    /// Rows of several feature sets, list after list.
    rows: Rows,
    /// End of each list in `rows`.
    ends: Vec<usize>,
    bits: Vec<Bits>,
}

impl ListWriter {
    /// Fills the lists of positions; [`ListWriter::substitute_pairs`] writes rows of several
    /// feature sets.
    pub fn fill_lists(
        &mut self,
        net: &Architecture,
        positions: impl ExactSizeIterator<Item = Position>,
    ) {
        let Self { lists, rows, ends, .. } = self;
        let (count, perspectives) = (positions.len(), net.perspective_count());
        (lists.rows, lists.perspectives) = (net.row_count(), perspectives);
        lists.buckets.resize(count, 0);
        lists.king_buckets.resize(count * perspectives, 0);
        if net.inputs.is_pieces() {
            let mut indices = lists.indices.take_u16();
            lists.width = MAX_ACTIVE;
            indices.resize(count * perspectives * MAX_ACTIVE, 0);
            write_pieces(net, positions, &mut indices, &mut lists.king_buckets, &mut lists.buckets);
            lists.indices = Indices::U16(indices);
        } else {
            rows.clear();
            ends.clear();
            let mut longest = 1;
            for (number, position) in positions.enumerate() {
                let board = Board::new(&position);
                lists.buckets[number] = net.bucket_of(&position) as u8;
                for (perspective, color) in net.inputs.perspective_colors(&position).enumerate() {
                    longest = longest.max(net.inputs.rows_of(&board, color, rows));
                    ends.push(rows.entries().len());
                    lists.king_buckets[number * perspectives + perspective] =
                        net.inputs.king_bucket(&position, color) as u8;
                }
            }
            lists.width = longest;
            lists.indices.set_wide(net.inputs.is_large());
        }
        clear_single_buckets(net, lists);
    }

    /// Substitutes pairs for rows in the lists that were [filled](ListWriter::fill_lists).
    #[inline(always)]
    pub fn substitute_pairs(&mut self, net: &Architecture, pairs: &InputPairs) {
        let Self { lists, rows, ends, bits } = self;
        match net.inputs.is_pieces() {
            true => pairs.shorten_lists(lists, bits),
            false => pairs.fill_lists(rows.entries(), ends, lists, bits),
        }
    }

    /// Writes the rows of the lists that were filled, padded with `blank`.
    fn write_rows<I: IndexWord>(&self, lists: &mut [I], width: usize, blank: usize) {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        for ((list, start), end) in lists.chunks_exact_mut(width).zip(starts).zip(&self.ends) {
            let rows = &self.rows.entries()[start..*end];
            let rows = rows.iter().flat_map(|row| (0..row.times).map(|_| row.number as usize));
            let blanks = std::iter::repeat(blank);
            list.iter_mut().zip(rows.chain(blanks)).for_each(|(to, row)| *to = I::from_usize(row));
        }
    }
}

/// Divisor of the width of lists of several sets: a GPU compiles kernels for each width.
const WIDTH_STEP: usize = 16;

/// Writes the lists of all feature sets, as long as the longest.
fn write_lists_of_sets(net: &Architecture, records: &[Packed]) -> ActiveRows {
    let write_block = |records: &[Packed]| {
        let mut writer = ListWriter::default();
        writer.fill_lists(net, records.iter().map(Packed::position));
        writer
    };
    let blocks: Vec<ListWriter> = records.par_chunks(ENCODED_TOGETHER).map(write_block).collect();
    let (rows, perspectives, positions) = (net.row_count(), net.perspective_count(), records.len());
    let longest = blocks.iter().map(|block| block.lists.width).max().unwrap_or(1);
    let width = longest.next_multiple_of(WIDTH_STEP);
    let mut indices = Indices::zeros(net.inputs.is_large(), positions * perspectives * width);
    with_vector!(&mut indices, indices => {
        let blocks = indices.par_chunks_mut(ENCODED_TOGETHER * perspectives * width).zip(&blocks);
        blocks.for_each(|(lists, block)| block.write_rows(lists, width, rows));
    });
    let (mut king_buckets, mut buckets) = (Vec::new(), Vec::new());
    for ListWriter { lists, .. } in blocks {
        king_buckets.extend(lists.king_buckets);
        buckets.extend(lists.buckets);
    }
    ActiveRows { rows, perspectives, width, indices, king_buckets, buckets }
}
