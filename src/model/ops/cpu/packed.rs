//! The weights of a net, block by block. A block holds the same few columns of every row, one row
//! behind the other. So all rows of a block stay in the first-level cache while a kernel processes
//! the positions, and rows of a power-of-two number of columns do not compete for the same cache
//! sets.

use std::ops::Range;

use rayon::prelude::*;

use super::format::WeightNumber;
use super::forward::ForwardBlock;
use super::head::Maps;
use super::net::{FactorRows, Kernel, NO_FACTOR, SliceWeights};
use super::simd::{Lanes, Task};
use crate::architecture::Architecture;
use crate::batch::plan::LINE;
use crate::batch::{InputPairs, RowSet};
use crate::prefetch::prefetch_line;

/// Weights in the layout of the kernels. Columns beyond the hidden neurons hold zeros.
#[derive(Default)]
pub(super) struct PackedWeights<F> {
    /// `[blocks, rows + 1, columns]`: inputs, then pairs, or the touched ones; the last row zero
    rows: Aligned<F>,
    /// Number of rows, without the zero row.
    pub count: usize,
    /// Numbers in a block of them.
    block: usize,
    /// `[blocks, columns]`
    bias: Aligned<F>,
    /// `[blocks, buckets, perspectives, columns]`; none in deep nets
    output: Aligned<f32>,
    /// The output weights over the factors, `[blocks, buckets, perspectives, columns]`; none in deep nets
    ratios: Aligned<f32>,
    /// Units of the gradients of accumulators, `[blocks, columns]`; none in deep nets
    factors: Aligned<f32>,
    /// By bucket; none in deep nets.
    pub output_bias: Vec<f32>,
    /// Empty in shallow nets.
    pub maps: Maps,
    pub columns: Columns,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Columns {
    pub each: usize,
    /// Contiguous neurons: all, or a half if two halves are multiplied.
    run: usize,
    /// Number of runs: 1, or 2 halves.
    runs: usize,
    /// Piece-square values, in blocks behind those of neurons.
    psqt: usize,
}

impl Columns {
    pub fn new(net: &Architecture, each: usize) -> Self {
        let run = net.outputs_of_view();
        Self { each, run, runs: net.hidden / run, psqt: net.psqt_columns() }
    }

    pub fn block_count(&self) -> usize {
        self.neuron_blocks() + self.psqt_blocks()
    }

    pub fn neuron_blocks(&self) -> usize {
        self.runs * self.blocks_of_view()
    }

    pub fn psqt_blocks(&self) -> usize {
        self.psqt.div_ceil(self.each)
    }

    /// The piece-square values of a block of these.
    pub fn psqt_columns(&self, block: usize) -> Range<usize> {
        block * self.each..((block + 1) * self.each).min(self.psqt)
    }

    /// The blocks that are computed together in turn number `turn`: those of each half, or one of
    /// piece-square values.
    pub fn blocks_of_turn(&self, turn: usize) -> impl Iterator<Item = usize> + use<> {
        let (of_view, neurons) = (self.blocks_of_view(), self.neuron_blocks());
        match turn.checked_sub(of_view) {
            None => (turn..neurons).step_by(of_view),
            Some(psqt) => (neurons + psqt..neurons + psqt + 1).step_by(1),
        }
    }

    /// 2 if the neurons of two halves are multiplied, else 1.
    pub fn half_count(&self) -> usize {
        self.runs
    }

    /// Blocks of a perspective's inputs to the next layer.
    pub fn blocks_of_view(&self) -> usize {
        self.run.div_ceil(self.each)
    }

    pub fn block_width(&self) -> usize {
        self.block_count() * self.each
    }

    /// The neurons of a block; its other columns are padding.
    pub fn neuron_range(&self, block: usize) -> Range<usize> {
        let (run, block) = (block / self.blocks_of_view(), block % self.blocks_of_view());
        let end = ((block + 1) * self.each).min(self.run);
        run * self.run + block * self.each..run * self.run + end
    }
}

impl<F: WeightNumber> PackedWeights<F> {
    pub fn pack_weights(
        &mut self,
        kernel: &Kernel,
        weights: &SliceWeights,
        (pairs, touched): (&InputPairs, Option<&RowSet>),
        [each, lanes]: [usize; 2],
    ) {
        let net = &kernel.net;
        let (hidden, perspectives) = (net.hidden, net.views());
        let columns = Columns::new(net, each);
        self.columns = columns;
        let blocks = columns.block_count();
        self.count = touched.map_or(pairs.row_count(), |touched| touched.all_rows().len());
        self.block = (self.count + 1) * each;
        self.rows.resize_unspecified(blocks * self.block);
        self.bias.resize_unspecified(blocks * each);

        let neurons: Vec<_> =
            (0..columns.neuron_blocks()).map(|block| columns.neuron_range(block)).collect();
        let mut left: Vec<_> = self.rows.get_mut().chunks_exact_mut(self.block).collect();
        let (many, mut pieces) = ((BLOCK / hidden).max(1), Vec::new());
        for (set, of) in kernel.sets.iter().enumerate() {
            let touched = touched.map(|touched| touched.rows_within(of.rows.clone()));
            let count = touched.map_or(of.rows.len(), |touched| touched.len());
            for first in (0..count).step_by(many) {
                let places = first..count.min(first + many);
                let size = places.len() * each;
                let cut = left.iter_mut().map(|it| it.split_off_mut(..size));
                let blocks = cut.map(|rows| rows.expect("room for all"));
                let (neurons, blocks) = (&neurons[..], blocks.collect());
                pieces.push(PackedRows {
                    kernel,
                    weights,
                    columns,
                    neurons,
                    set,
                    touched,
                    places,
                    blocks,
                });
            }
        }
        let diverged = pieces.into_par_iter().map(|piece| kernel.level.run(piece));
        // Integers cannot be NaN, so a divergence must be found here, after all blocks are packed.
        let diverged = diverged.reduce(|| false, |one, other| one | other)
            || weights.bias.iter().any(|bias| !bias.is_finite());
        self.rows.get_mut().par_chunks_exact_mut(self.block).for_each(|rows| {
            kernel.level.run(Derived { rows, each, pairs, touched });
        });
        let biases = self.bias.get_mut().chunks_exact_mut(each).enumerate();
        biases.for_each(|(block, row)| {
            let is_psqt = block >= columns.neuron_blocks();
            let neurons = if is_psqt { 0..0 } else { columns.neuron_range(block) };
            copy_neurons(row, &weights.bias[neurons], F::from_weight);
        });

        if net.walks_graph() {
            self.maps.pack_maps(kernel, weights, columns, lanes);
            if diverged {
                self.maps.propagate_nan();
            }
            return;
        }
        let [outputs, output_bias] = weights.maps[0];
        self.output_bias.clear();
        let bias = |bias: &f32| if diverged { f32::NAN } else { *bias };
        self.output_bias.extend(output_bias.iter().map(bias));
        let rows = net.buckets * perspectives;
        self.output.resize_unspecified(blocks * rows * each);
        self.ratios.resize_unspecified(blocks * rows * each);
        self.factors.resize_unspecified(blocks * each);
        let to = self.output.get_mut().chunks_exact_mut(each).enumerate();
        to.for_each(|(row, to)| {
            let from = &outputs[row % rows * hidden..][..hidden];
            copy_neurons(to, &from[columns.neuron_range(row / rows)], |weight| weight);
        });
        let outputs = self.output.as_slice().chunks_exact(rows * each);
        let ratios = self.ratios.get_mut().chunks_exact_mut(rows * each);
        let factors = self.factors.get_mut().chunks_exact_mut(each);
        for ((outputs, ratios), factors) in outputs.zip(ratios).zip(factors) {
            for (column, factor) in factors.iter_mut().enumerate() {
                let of = |row: usize| outputs[row * each + column];
                *factor = match F::LARGEST_SLOPE {
                    0.0 => 1.0,
                    _ => (0..rows).map(|row| of(row).abs()).fold(f32::MIN_POSITIVE, f32::max),
                };
                for row in 0..rows {
                    ratios[row * each + column] = of(row) / *factor;
                }
            }
        }
    }

    pub fn bytes_of_position(&self, net: &Architecture) -> usize {
        self.columns.block_width() * net.views() * size_of::<F>()
    }

    /// The weights of a block; `next` is computed after this one.
    #[inline(always)]
    pub fn block_of(&self, net: &Architecture, block: usize, next: usize) -> ForwardBlock<'_, F> {
        let each = self.columns.each;
        let output = match net.walks_graph() {
            true => &[],
            false => part_of(self.output.as_slice(), net.buckets * net.views() * each, block),
        };
        ForwardBlock {
            rows: part_of(self.rows.as_slice(), self.block, block),
            next: part_of(self.rows.as_slice(), self.block, next),
            bias: part_of(self.bias.as_slice(), each, block),
            output,
        }
    }

    #[inline(always)]
    pub fn output_slopes(&self, net: &Architecture, block: usize) -> [&[f32]; 2] {
        let each = self.columns.each;
        let ratios = part_of(self.ratios.as_slice(), net.buckets * net.views() * each, block);
        [ratios, part_of(self.factors.as_slice(), each, block)]
    }
}

#[inline(always)]
fn part_of<T>(all: &[T], size: usize, index: usize) -> &[T] {
    &all[index * size..][..size]
}

const BLOCK: usize = 1 << 15;
/// Rows whose blocks are packed in turn, while the next weights are prefetched.
const TILE: usize = 8;

/// Packs some rows of a set, in all blocks; returns whether a weight is not finite.
struct PackedRows<'a, F> {
    kernel: &'a Kernel,
    weights: &'a SliceWeights<'a>,
    columns: Columns,
    /// Those of each block.
    neurons: &'a [Range<usize>],
    set: usize,
    /// Touched rows of the set; none: all rows.
    touched: Option<&'a [u32]>,
    /// Range of places among those.
    places: Range<usize>,
    /// `[rows, columns]` of each block
    blocks: Vec<&'a mut [F]>,
}

impl<F: WeightNumber> Task for PackedRows<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) -> bool {
        let PackedRows { kernel, columns, neurons, set: number, touched, places, .. } = self;
        let (hidden, set, mut blocks) = (kernel.net.hidden, &kernel.sets[number], self.blocks);
        let psqt = self.weights.psqt[number];
        let (weights, shared) = (self.weights.rows[number], self.weights.factors[number]);
        let shared = SharedRows { weights: shared, rows: set.factor.as_deref(), hidden };
        let (first, end) = (places.start, places.end);
        let mut largest = [0; 16];
        for start in places.step_by(TILE) {
            let tile = start..end.min(start + TILE);
            for (neurons, rows) in neurons.iter().zip(&mut blocks) {
                let each = rows.len() / (end - first);
                let rows = rows[(start - first) * each..].chunks_exact_mut(each);
                for (to, place) in rows.zip(tile.clone()) {
                    let row = match touched {
                        None => place,
                        Some(touched) => {
                            let later = touched.get(place + TILE).unwrap_or(&touched[place]);
                            let later = (*later as usize - set.rows.start) * hidden;
                            for column in neurons.clone().step_by(LINE / size_of::<f32>()) {
                                prefetch_line(weights, later + column, true);
                            }
                            touched[place] as usize - set.rows.start
                        }
                    };
                    let weights = &weights[row * hidden..][neurons.clone()];
                    pack_row(to, weights, shared.row_of(row, neurons), &mut largest);
                }
            }
        }
        for (block, rows) in blocks.iter_mut().skip(neurons.len()).enumerate() {
            for (to, place) in rows.chunks_exact_mut(columns.each).zip(first..end) {
                let row = touched.map_or(place, |it| it[place] as usize - set.rows.start);
                let values = &psqt[row * columns.psqt..][columns.psqt_columns(block)];
                pack_row(to, values, None, &mut largest);
            }
        }
        // No finite number has larger bits.
        largest.iter().any(|bits| *bits > f32::MAX.to_bits())
    }
}

/// Rows of a block that follow from others: those of pairs, and the zero row.
struct Derived<'a, F> {
    /// `[rows + 1, columns]`
    rows: &'a mut [F],
    each: usize,
    pairs: &'a InputPairs,
    touched: Option<&'a RowSet>,
}

impl<F: WeightNumber> Task for Derived<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) {
        let Derived { rows, each, pairs, touched } = self;
        match touched {
            None => {
                for (number, parents) in pairs.parents().iter().enumerate() {
                    let parents = parents.map(|row| row as usize);
                    add_up(rows, each, parents, pairs.input_count() + number);
                }
            }
            Some(touched) => {
                for &pair in touched.touched_pairs() {
                    let parents = pairs.parents()[pair as usize - pairs.input_count()];
                    let parents = parents.map(|row| touched.index_of(row as usize));
                    add_up(rows, each, parents, touched.index_of(pair as usize));
                }
            }
        }
        let blank = rows.len() - each;
        rows[blank..].fill(F::default());
    }
}

#[inline(always)]
fn add_up<F: WeightNumber>(rows: &mut [F], each: usize, parents: [usize; 2], pair: usize) {
    let (before, pair_and_others) = rows.split_at_mut(pair * each);
    let [one, other] = parents.map(|it| &before[it * each..][..each]);
    for ((sum, &one), &other) in pair_and_others[..each].iter_mut().zip(one).zip(other) {
        *sum = F::add_clamped(one, other);
    }
}

/// Weights that are shared by rows of a set.
struct SharedRows<'a> {
    /// `[factor rows, N]`; empty where there is none.
    weights: &'a [f32],
    rows: Option<&'a FactorRows>,
    hidden: usize,
}

impl SharedRows<'_> {
    #[inline(always)]
    fn row_of(&self, row: usize, neurons: &Range<usize>) -> Option<&[f32]> {
        let row = self.rows.map_or(NO_FACTOR, |rows| rows.of[row]);
        let weights = || &self.weights[row as usize * self.hidden..][neurons.clone()];
        (row != NO_FACTOR).then(weights)
    }
}

/// Writes a row of a block, and raises the largest bits of its weights.
#[inline(always)]
fn pack_row<F: WeightNumber>(
    row: &mut [F],
    weights: &[f32],
    shared: Option<&[f32]>,
    largest: &mut [u32; 16],
) {
    find_largest(largest, weights);
    let Some(shared) = shared else { return copy_neurons(row, weights, F::from_weight) };
    find_largest(largest, shared);
    let (there, missing) = row.split_at_mut(weights.len());
    for ((to, &own), &shared) in there.iter_mut().zip(weights).zip(shared) {
        *to = F::from_weight(own + shared);
    }
    missing.fill(F::default());
}

/// Raises the largest bits of absolute weights so far, by column.
#[inline(always)]
fn find_largest(largest: &mut [u32; 16], weights: &[f32]) {
    let (body, rest) = weights.as_chunks::<16>();
    for weights in body {
        for i in 0..16 {
            largest[i] = largest[i].max(weights[i].abs().to_bits());
        }
    }
    for (largest, weight) in largest.iter_mut().zip(rest) {
        *largest = (*largest).max(weight.abs().to_bits());
    }
}

/// Copies the neurons of a block, and zeros into unused columns.
#[inline(always)]
fn copy_neurons<F: WeightNumber>(to: &mut [F], from: &[f32], convert: impl Fn(f32) -> F) {
    let (there, missing) = to.split_at_mut(from.len());
    for (to, &from) in there.iter_mut().zip(from) {
        *to = convert(from);
    }
    missing.fill(F::default());
}

/// A buffer aligned to a cache line, as vectors across two lines are slow.
#[derive(Default)]
pub(super) struct Aligned<T> {
    /// The numbers and a line of padding.
    buffer: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// Resizes to `len` arbitrary numbers: existing ones may move.
    pub fn resize_unspecified(&mut self, len: usize) {
        self.len = len;
        let need = len + LINE / size_of::<T>();
        if self.buffer.len() < need {
            self.buffer.resize(need, T::default());
        }
    }

    fn aligned_start(&self) -> usize {
        if self.len == 0 { 0 } else { self.buffer.as_ptr().align_offset(LINE) }
    }

    pub fn as_slice(&self) -> &[T] {
        &self.buffer[self.aligned_start()..][..self.len]
    }

    pub fn get_mut(&mut self) -> &mut [T] {
        let start = self.aligned_start();
        &mut self.buffer[start..][..self.len]
    }
}
