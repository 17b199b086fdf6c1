//! Weights of a net in the layout of the kernels: block by block, a few columns of every row, with
//! factors and pairs added. Why: all rows of a block stay in the first-level cache while a kernel
//! processes the positions, and rows of a power-of-two length do not compete for cache sets. They
//! equal the net's arrays. Rows are inputs, then pairs, or the touched ones in ascending order;
//! blocks are those of the first half, of the second, and of piece-square values.

use std::ops::Range;

use rayon::prelude::*;

use super::format::WeightNumber;
use super::forward::ForwardBlock;
use super::head::Maps;
use super::net::{Kernel, NO_FACTOR, SliceWeights};
use super::simd::{Lanes, Task};
use crate::architecture::Architecture;
use crate::batch::plan::CACHE_LINE;
use crate::batch::{InputPairs, RowSet};
use crate::prefetch::prefetch_line;

/// Weights in the layout of the kernels. Columns beyond the hidden neurons hold zeros.
#[derive(Default)]
pub(super) struct PackedWeights<F> {
    /// `[blocks, rows + 1, columns]`: inputs, then pairs, or the touched ones; the last row zero.
    rows: Aligned<F>,
    /// Number of rows, without the zero row.
    pub count: usize,
    /// The pairs whose rows are packed, in order: parents may be earlier pairs.
    pub pairs: Vec<PairOfRows>,
    /// Length of a block of rows.
    block: usize,
    /// `[blocks, columns]`
    bias: Aligned<F>,
    /// `[blocks, buckets, perspectives, columns]`; none in deep nets
    output: Aligned<f32>,
    /// The output weights over the factors, `[blocks, buckets, perspectives, columns]`; none in
    /// deep nets
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
    /// Number of runs: 2 if the neurons of two halves are multiplied, else 1.
    pub runs: usize,
    /// Piece-square values, in blocks after those of neurons.
    psqt: usize,
}

impl Columns {
    pub fn new(net: &Architecture, each: usize) -> Self {
        let run = net.outputs_of_perspective();
        Self { each, run, runs: net.hidden / run, psqt: net.psqt_columns() }
    }

    pub fn block_count(&self) -> usize {
        self.neuron_blocks() + self.psqt_blocks()
    }

    pub fn neuron_blocks(&self) -> usize {
        self.runs * self.blocks_of_perspective()
    }

    pub fn psqt_blocks(&self) -> usize {
        self.psqt.div_ceil(self.each)
    }

    /// Returns the piece-square values of a block of these.
    pub fn psqt_columns(&self, block: usize) -> Range<usize> {
        block * self.each..((block + 1) * self.each).min(self.psqt)
    }

    /// Iterates over the blocks that are computed in turn `turn`: one of each half, or one of
    /// piece-square values.
    pub fn blocks_of_turn(&self, turn: usize) -> impl Iterator<Item = usize> + use<> {
        let (half_blocks, neurons) = (self.blocks_of_perspective(), self.neuron_blocks());
        match turn.checked_sub(half_blocks) {
            None => (turn..neurons).step_by(half_blocks),
            Some(psqt) => (neurons + psqt..neurons + psqt + 1).step_by(1),
        }
    }

    /// Returns the blocks of a half: of a perspective's inputs to the next layer.
    pub fn blocks_of_perspective(&self) -> usize {
        self.run.div_ceil(self.each)
    }

    pub fn block_width(&self) -> usize {
        self.block_count() * self.each
    }

    /// Returns the neurons of a block; its other columns are padding.
    pub fn neuron_range(&self, block: usize) -> Range<usize> {
        let (run, block) =
            (block / self.blocks_of_perspective(), block % self.blocks_of_perspective());
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
    ) {
        let net = &kernel.net;
        let (hidden, each) = (net.hidden, CACHE_LINE / size_of::<F>());
        let columns = Columns::new(net, each);
        self.columns = columns;
        let blocks = columns.block_count();
        self.count = touched.map_or(pairs.row_count(), |touched| touched.all_rows().len());
        self.block = (self.count + 1) * each;
        self.rows.resize_unspecified(blocks * self.block);
        self.bias.resize_unspecified(blocks * each);

        let neurons: Vec<_> =
            (0..columns.neuron_blocks()).map(|block| columns.neuron_range(block)).collect();
        let mut unpacked: Vec<_> = self.rows.get_mut().chunks_exact_mut(self.block).collect();
        let (rows_per_task, mut tasks) = ((TASK_WEIGHTS / hidden).max(1), Vec::new());
        for (index, set) in kernel.sets.iter().enumerate() {
            let touched = touched.map(|touched| touched.rows_within(set.rows.clone()));
            let count = touched.map_or(set.rows.len(), |touched| touched.len());
            for first in (0..count).step_by(rows_per_task) {
                let indices = first..count.min(first + rows_per_task);
                let size = indices.len() * each;
                let blocks = unpacked.iter_mut().map(|it| it.split_off_mut(..size));
                let blocks = blocks.map(|rows| rows.expect("room for all"));
                tasks.push(PackedRows {
                    kernel,
                    weights,
                    columns,
                    neurons: &neurons,
                    set: index,
                    touched,
                    indices,
                    blocks: blocks.collect(),
                });
            }
        }
        let diverged = tasks.into_par_iter().map(|task| kernel.level.run(task));
        // Integers cannot be NaN, so divergence is detected here, after all blocks are packed.
        let diverged = diverged.reduce(|| false, |a, b| a | b)
            || weights.bias.iter().any(|bias| !bias.is_finite());
        self.locate_pairs(pairs, touched);
        let pairs = &self.pairs[..];
        self.rows.get_mut().par_chunks_exact_mut(self.block).for_each(|rows| {
            kernel.level.run(PairRows { rows, each, pairs });
        });
        let biases = self.bias.get_mut().chunks_exact_mut(each).enumerate();
        biases.for_each(|(block, row)| {
            let is_psqt = block >= columns.neuron_blocks();
            let neurons = if is_psqt { 0..0 } else { columns.neuron_range(block) };
            copy_neurons(row, &weights.bias[neurons], F::from_weight);
        });

        if net.walks_graph() {
            self.maps.pack_maps(kernel, weights, columns);
            if diverged {
                self.maps.propagate_nan();
            }
            return;
        }
        let [outputs, output_bias] = weights.maps[0];
        self.output_bias.clear();
        let bias = |bias: &f32| if diverged { f32::NAN } else { *bias };
        self.output_bias.extend(output_bias.iter().map(bias));
        let rows = net.buckets * net.perspective_count();
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
                let offsets = (column..).step_by(each).take(rows);
                *factor = match F::LARGEST_GRADIENT {
                    0.0 => 1.0,
                    _ => {
                        offsets.clone().map(|i| outputs[i].abs()).fold(f32::MIN_POSITIVE, f32::max)
                    }
                };
                offsets.for_each(|i| ratios[i] = outputs[i] / *factor);
            }
        }
    }

    /// Locates all pairs, or those of touched rows.
    fn locate_pairs(&mut self, pairs: &InputPairs, touched: Option<&RowSet>) {
        let inputs = pairs.input_count();
        self.pairs.clear();
        match touched {
            None => {
                let all = (inputs..).zip(pairs.parents());
                self.pairs.extend(all.map(|(pair, parents)| PairOfRows {
                    parents: parents.map(|row| row as usize),
                    pair,
                }));
            }
            Some(touched) => {
                let index_of = |row: u32| touched.index_of(row as usize);
                self.pairs.extend(touched.touched_pairs().iter().map(|&pair| PairOfRows {
                    parents: pairs.parents()[pair as usize - inputs].map(index_of),
                    pair: index_of(pair),
                }));
            }
        }
    }

    pub fn bytes_of_position(&self, net: &Architecture) -> usize {
        self.columns.block_width() * net.perspective_count() * size_of::<F>()
    }

    /// Returns the weights of a block; `next` is the block that is computed after it.
    #[inline(always)]
    pub fn block_of(&self, net: &Architecture, block: usize, next: usize) -> ForwardBlock<'_, F> {
        let each = self.columns.each;
        let output = match net.walks_graph() {
            true => &[],
            false => {
                part_of(self.output.as_slice(), net.buckets * net.perspective_count() * each, block)
            }
        };
        ForwardBlock {
            rows: part_of(self.rows.as_slice(), self.block, block),
            next: part_of(self.rows.as_slice(), self.block, next),
            bias: part_of(self.bias.as_slice(), each, block),
            output,
        }
    }

    #[inline(always)]
    pub fn output_factors(&self, net: &Architecture, block: usize) -> [&[f32]; 2] {
        let each = self.columns.each;
        let ratios =
            part_of(self.ratios.as_slice(), net.buckets * net.perspective_count() * each, block);
        [ratios, part_of(self.factors.as_slice(), each, block)]
    }
}

#[inline(always)]
fn part_of<T>(all: &[T], size: usize, index: usize) -> &[T] {
    &all[index * size..][..size]
}

/// Weights of a task that packs rows.
const TASK_WEIGHTS: usize = 1 << 15;
/// Rows whose blocks are packed in turn, while the next weights are prefetched.
const TILE: usize = 8;

/// Task that packs rows of a set in all blocks; returns whether a weight is not finite.
struct PackedRows<'a, F> {
    kernel: &'a Kernel,
    weights: &'a SliceWeights<'a>,
    columns: Columns,
    /// Neurons of each block.
    neurons: &'a [Range<usize>],
    set: usize,
    /// Touched rows of the set; None: all rows.
    touched: Option<&'a [u32]>,
    /// Indices of these rows that the task packs.
    indices: Range<usize>,
    /// `[rows, columns]` of each block
    blocks: Vec<&'a mut [F]>,
}

impl<F: WeightNumber> Task for PackedRows<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) -> bool {
        let PackedRows { kernel, columns, neurons, set: number, touched, indices, .. } = self;
        let (hidden, set, mut blocks) = (kernel.net.hidden, &kernel.sets[number], self.blocks);
        let psqt = self.weights.psqt[number];
        let (weights, factor) = (self.weights.rows[number], self.weights.factors[number]);
        let shared = |row: usize, neurons: &Range<usize>| {
            let row = set.factor.as_ref().map_or(NO_FACTOR, |factor| factor.factor_rows[row]);
            (row != NO_FACTOR).then(|| &factor[row as usize * hidden..][neurons.clone()])
        };
        let (first, end) = (indices.start, indices.end);
        let mut largest = [0; 16];
        for start in indices.step_by(TILE) {
            let tile = start..end.min(start + TILE);
            for (neurons, rows) in neurons.iter().zip(&mut blocks) {
                let each = rows.len() / (end - first);
                let rows = rows[(start - first) * each..].chunks_exact_mut(each);
                for (to, index) in rows.zip(tile.clone()) {
                    let row = match touched {
                        None => index,
                        Some(touched) => {
                            let later = touched.get(index + TILE).unwrap_or(&touched[index]);
                            let later = (*later as usize - set.rows.start) * hidden;
                            for column in neurons.clone().step_by(CACHE_LINE / size_of::<f32>()) {
                                prefetch_line(weights, later + column, true);
                            }
                            touched[index] as usize - set.rows.start
                        }
                    };
                    let weights = &weights[row * hidden..][neurons.clone()];
                    pack_row(to, weights, shared(row, neurons), &mut largest);
                }
            }
        }
        for (block, rows) in blocks.iter_mut().skip(neurons.len()).enumerate() {
            for (to, index) in rows.chunks_exact_mut(columns.each).zip(first..end) {
                let row = touched.map_or(index, |it| it[index] as usize - set.rows.start);
                let values = &psqt[row * columns.psqt..][columns.psqt_columns(block)];
                pack_row(to, values, None, &mut largest);
            }
        }
        // No finite number has larger bits.
        largest.iter().any(|bits| *bits > f32::MAX.to_bits())
    }
}

/// The row of a pair in packed weights, and those of its parents.
pub(super) struct PairOfRows {
    pub parents: [usize; 2],
    pub pair: usize,
}

/// Task that writes the rows of pairs of a block, and the zero row.
struct PairRows<'a, F> {
    /// `[rows + 1, columns]`
    rows: &'a mut [F],
    each: usize,
    pairs: &'a [PairOfRows],
}

impl<F: WeightNumber> Task for PairRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) {
        let PairRows { rows, each, pairs } = self;
        for PairOfRows { parents, pair } in pairs {
            let (earlier, later) = rows.split_at_mut(pair * each);
            let [first, second] = parents.map(|row| &earlier[row * each..][..each]);
            for ((sum, &a), &b) in later[..each].iter_mut().zip(first).zip(second) {
                *sum = F::add_clamped(a, b);
            }
        }
        let blank = rows.len() - each;
        rows[blank..].fill(F::default());
    }
}

/// Writes a row of a block, and raises `largest` to the bits of its weights.
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
    let (neurons, padding) = row.split_at_mut(weights.len());
    for ((to, &weight), &shared) in neurons.iter_mut().zip(weights).zip(shared) {
        *to = F::from_weight(weight + shared);
    }
    padding.fill(F::default());
}

/// Raises `largest` to the bits of absolute weights, by column modulo 16.
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
    let (neurons, padding) = to.split_at_mut(from.len());
    for (to, &from) in neurons.iter_mut().zip(from) {
        *to = convert(from);
    }
    padding.fill(F::default());
}

/// Buffer aligned to a cache line, as vectors across two lines are slow.
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
        let need = len + CACHE_LINE / size_of::<T>();
        if self.buffer.len() < need {
            self.buffer.resize(need, T::default());
        }
    }

    fn aligned_start(&self) -> usize {
        if self.len == 0 { 0 } else { self.buffer.as_ptr().align_offset(CACHE_LINE) }
    }

    pub fn as_slice(&self) -> &[T] {
        &self.buffer[self.aligned_start()..][..self.len]
    }

    pub fn get_mut(&mut self) -> &mut [T] {
        let start = self.aligned_start();
        &mut self.buffer[start..][..self.len]
    }
}
