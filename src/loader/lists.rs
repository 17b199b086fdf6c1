//! Positions to lists of active rows.

use std::sync::Arc;

use rayon::prelude::*;

use super::packed::Packed;
use crate::architecture::Architecture;
use crate::batch::{ActiveRows, Bits, FirstViews, Indices, Pairs};
use crate::features::{Board, MAX_ACTIVE, Rows};
use crate::sample::Position;

/// Positions that a thread encodes at a time.
pub(super) const ENCODED_TOGETHER: usize = 256;
/// The same for first views, which take less time.
pub(super) const FIRST_VIEWS_BLOCK: usize = 2048;

/// The lists of positions.
pub(super) fn write_lists(net: &Architecture, records: &[Packed]) -> ActiveRows {
    if !net.inputs.is_pieces() {
        return write_lists_of_sets(net, records);
    }
    let (rows, views, width, positions) = (net.rows(), net.views(), MAX_ACTIVE, records.len());
    let mut indices = vec![0; positions * views * width];
    let (mut king_buckets, mut buckets) = (vec![0; positions * views], vec![0; positions]);
    indices
        .par_chunks_mut(ENCODED_TOGETHER * views * width)
        .zip(king_buckets.par_chunks_mut(ENCODED_TOGETHER * views))
        .zip(buckets.par_chunks_mut(ENCODED_TOGETHER))
        .zip(records.par_chunks(ENCODED_TOGETHER))
        .for_each(|(((indices, kings), buckets), records)| {
            write_pieces(net, records.iter().map(Packed::position), indices, kings, buckets);
        });
    let indices = Indices::U16(indices);
    let mut lists = ActiveRows { rows, views, width, indices, king_buckets, buckets };
    clear_single_buckets(net, &mut lists);
    lists
}

/// Clears the numbers of buckets if there is one.
fn clear_single_buckets(net: &Architecture, lists: &mut ActiveRows) {
    if net.buckets == 1 {
        lists.buckets.clear();
    }
    if net.inputs.kings().count() == 1 {
        lists.king_buckets.clear();
    }
}

/// First views of positions, for plans that are used once.
pub(super) fn write_first_views(
    net: &Architecture,
    records: &[Packed],
    pairs: &Arc<Pairs>,
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
    let (views, kings) = (net.views(), net.inputs.kings().count());
    let lists =
        indices.chunks_exact_mut(views * MAX_ACTIVE).zip(king_buckets.chunks_exact_mut(views));
    for (position, ((out, of_views), bucket)) in positions.zip(lists.zip(buckets)) {
        net.inputs.write(&position, out);
        *bucket = net.bucket_of(&position) as u8;
        if kings > 1 {
            for (king_bucket, color) in of_views.iter_mut().zip(net.inputs.views_of(&position)) {
                *king_bucket = net.inputs.king_bucket(&position, color) as u8;
            }
        }
    }
}

/// Writes lists, with reused buffers.
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
    /// Fills the lists of positions; those of several feature sets get their rows by
    /// [`ListWriter::substitute`].
    pub fn fill(&mut self, net: &Architecture, positions: impl ExactSizeIterator<Item = Position>) {
        let Self { lists, rows, ends, .. } = self;
        let (count, views) = (positions.len(), net.views());
        (lists.rows, lists.views) = (net.rows(), views);
        lists.buckets.resize(count, 0);
        lists.king_buckets.resize(count * views, 0);
        if net.inputs.is_pieces() {
            let mut indices = lists.indices.take_u16();
            lists.width = MAX_ACTIVE;
            indices.resize(count * views * MAX_ACTIVE, 0);
            write_pieces(net, positions, &mut indices, &mut lists.king_buckets, &mut lists.buckets);
            lists.indices = Indices::U16(indices);
        } else {
            rows.clear();
            ends.clear();
            let mut longest = 1;
            for (number, position) in positions.enumerate() {
                let board = Board::new(&position);
                lists.buckets[number] = net.bucket_of(&position) as u8;
                for (view, color) in net.inputs.views_of(&position).enumerate() {
                    longest = longest.max(net.inputs.rows_of(&board, color, rows));
                    ends.push(rows.entries().len());
                    lists.king_buckets[number * views + view] =
                        net.inputs.king_bucket(&position, color) as u8;
                }
            }
            lists.width = longest;
            lists.indices.set_wide(net.inputs.is_large());
        }
        clear_single_buckets(net, lists);
    }

    /// Substitutes pairs for rows in the lists that were [filled](ListWriter::fill).
    #[inline(always)]
    pub fn substitute(&mut self, net: &Architecture, pairs: &Pairs) {
        let Self { lists, rows, ends, bits } = self;
        match net.inputs.is_pieces() {
            true => pairs.shorten(lists, bits),
            false => pairs.list(rows.entries(), ends, lists, bits),
        }
    }
}

/// Writes the lists of all feature sets, as long as the longest.
fn write_lists_of_sets(net: &Architecture, records: &[Packed]) -> ActiveRows {
    let write_block = |records: &[Packed]| {
        let mut writer = ListWriter::default();
        writer.fill(net, records.iter().map(Packed::position));
        writer
    };
    let blocks: Vec<ListWriter> = records.par_chunks(ENCODED_TOGETHER).map(write_block).collect();
    let (rows, views, indices) = (net.rows(), net.views(), Indices::empty(net.inputs.is_large()));
    let mut all = ActiveRows { rows, views, width: 1, indices, ..ActiveRows::default() };
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    for block in blocks {
        all.width = all.width.max(block.lists.width);
        ends.extend(block.ends.iter().map(|end| rows.len() + end));
        rows.extend_from_slice(block.rows.entries());
        all.king_buckets.extend(block.lists.king_buckets);
        all.buckets.extend(block.lists.buckets);
    }
    Pairs::none(net.rows()).list(&rows, &ends, &mut all, &mut Vec::new());
    all
}
