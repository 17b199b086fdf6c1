//! Backward pass: from the gradients of logits or layers to those of a block of columns.
//!
//! Why: one task takes a block through all chunks of a group, so that its gradients stay in a cache
//! and have one writer. It equals the backward pass of the plain tensor operations, up to rounding.
//! Index spaces are those of [`ChunkPlan`]: slots, lists (`TOGETHER` per slot) and rows; a block is
//! a range of columns, `r` a vector of it, `h` a float vector of that, `half` one of two factors.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use super::format::{Linear, Rho, WeightFormat};
use super::forward::ForwardChunk;
use super::head::FirstMapBackward;
use super::net::{FactorRows, Kernel, SliceGradients, by_factor};
use super::packed::{Aligned, Columns, PackedWeights, PairOfRows};
use super::simd::{Lanes, Task};
use crate::architecture::Architecture;
use crate::batch::IndexWord;
use crate::batch::plan::{CACHE_LINE, HolderRun, KeyRange, OFFSET_UNIT, QUAD};
use crate::batch::{ChunkPlan, RowSet};
use crate::model::grouped::Grouped;
use crate::prefetch::prefetch_line;

#[derive(Default)]
pub(super) struct BlockSums {
    /// `[rows, columns]`: inputs, then pairs; or the rows that a batch touches.
    rows: Aligned<f32>,
    /// `[columns]`
    bias: Aligned<f32>,
    /// `[buckets, perspectives, columns]`; in deep nets weights of the first map,
    /// `[perspectives, buckets, columns, width]`, and nothing for the second half of two.
    output: Aligned<f32>,
}

impl BlockSums {
    /// Sets all sums to zero. `has_map`: they include weights of the first map, once per half pair.
    pub fn clear_sums<F>(&mut self, net: &Architecture, packed: &PackedWeights<F>, has_map: bool) {
        let columns = packed.columns.each;
        self.rows.resize_unspecified(packed.count * columns);
        self.bias.resize_unspecified(columns);
        let output = net.buckets * net.perspective_count() * columns;
        self.output.resize_unspecified(match (net.walks_graph(), has_map) {
            (false, _) => output,
            (true, true) => output * packed.maps.maps[0].width,
            (true, false) => 0,
        });
        for sums in [&mut self.rows, &mut self.bias, &mut self.output] {
            sums.get_mut().fill(0.0);
        }
    }
}

#[derive(Default)]
pub(super) struct BackwardBuffers<F> {
    /// `[lists + 1, columns]` of each half, the last row zero.
    rows: [Aligned<F>; 2],
    /// Gradients of the first map's inputs in deep nets, `[perspectives, rows, columns]`.
    upstream: Aligned<f32>,
}

/// Backward pass through chunks, for one block, both blocks of a pairwise product, or a block of
/// piece-square values, whose numbers follow.
pub(super) struct Backward<'a, F, P, const H: usize, const TOGETHER: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a PackedWeights<F>,
    pub block: usize,
    pub chunks: &'a [ForwardChunk<F>],
    pub buffers: &'a mut BackwardBuffers<F>,
    pub sums: &'a mut [BlockSums],
    pub rho: PhantomData<P>,
}

type Halves<V, const R: usize, const H: usize> = [[[V; H]; R]; 2];

impl<F: WeightFormat<H>, P: Rho, const H: usize, const TOGETHER: usize> Task
    for Backward<'_, F, P, H, TOGETHER>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Backward { kernel, packed, block, chunks, buffers, sums, .. } = self;
        let (each, half_blocks) = (packed.columns.each, packed.columns.blocks_of_perspective());
        let BackwardBuffers { rows, upstream } = buffers;
        for chunk in chunks {
            let ForwardChunk { plan, head, .. } = chunk;
            let size = plan.list_count() * each;
            let psqt = block.checked_sub(half_blocks);
            let halves = match psqt {
                Some(number) => [packed.columns.neuron_blocks() + number; 2],
                None => [block, if sums.len() == 2 { half_blocks + block } else { block }],
            };
            let halves = halves.map(|block| chunk.accumulators_of(block, packed.columns));
            for rows in &mut *rows {
                rows.resize_unspecified(size + each);
                rows.get_mut()[size..].fill(F::default());
            }
            let to = rows.each_mut().map(|rows| rows.get_mut());
            let units = if TOGETHER == 1 && kernel.net.walks_graph() {
                let (maps, output) = (&packed.maps, sums[0].output.get_mut());
                match psqt {
                    Some(number) => head.write_psqt(maps, plan, number, upstream),
                    // Compiled once for all formats and activations.
                    None => {
                        let task = FirstMapBackward { maps, plan, head, block, upstream, output };
                        kernel.level.run(task);
                    }
                }
                let (upstream, rows) = (upstream.as_slice(), &head.list_rows[..plan.list_count()]);
                let [bias, units] = match sums.len() {
                    _ if psqt.is_some() => {
                        deep_backward::<S, R, H, F, Linear, false>(simd, halves, rows, upstream, to)
                    }
                    2 => deep_backward::<S, R, H, F, P, true>(simd, halves, rows, upstream, to),
                    _ => deep_backward::<S, R, H, F, P, false>(simd, halves, rows, upstream, to),
                };
                for (sums, bias) in sums.iter_mut().zip(bias) {
                    let sums = S::as_mut_simd_f32s(sums.bias.get_mut()).0;
                    for (sum, &bias) in sums.iter_mut().zip(bias.as_flattened()) {
                        *sum = simd.add_f32s(*sum, bias);
                    }
                }
                units
            } else {
                let ([values, _], [to, _], sums) = (halves, to, &mut sums[0]);
                let [ratios, factors] = packed.output_factors(&kernel.net, block);
                let unit = simd.splat_f32s(chunk.unit);
                let factors = S::as_simd_f32s(factors).0.as_chunks::<H>().0;
                let factors: [[S::f32s; H]; R] = factors.try_into().expect("a row");
                let units = factors.map(|it| it.map(|factor| simd.mul_f32s(factor, unit)));
                accumulator_gradients::<S, R, H, F, P, TOGETHER>(
                    simd, chunk, ratios, &units, values, to, sums,
                );
                [units; 2]
            };
            for (half, sums) in sums.iter_mut().enumerate() {
                let (gradients, units) = (rows[half].as_slice(), &units[half]);
                let rows = &chunk.packed_rows[..];
                let (lists, to) = ((&**plan, rows), sums.rows.get_mut());
                // The branch is outside the loop over runs.
                match rows {
                    [] => gather_gradients::<S, R, H, F, false>(simd, lists, gradients, units, to),
                    _ => gather_gradients::<S, R, H, F, true>(simd, lists, gradients, units, to),
                }
            }
        }
    }
}

/// Writes the gradients of accumulators, `[lists, columns]` in `units`, and adds those of biases
/// and output weights. `ratios` are output weights divided by the largest of their column.
#[inline(always)]
fn accumulator_gradients<
    S: Lanes,
    const R: usize,
    const H: usize,
    F: WeightFormat<H>,
    P: Rho,
    const TOGETHER: usize,
>(
    simd: S,
    chunk: &ForwardChunk<F>,
    ratios: &[f32],
    units: &[[S::f32s; H]; R],
    accumulators: &[F],
    to: &mut [F],
    block_sums: &mut BlockSums,
) {
    let ratios = S::as_simd_f32s(ratios).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let ratios = ratios.as_chunks::<TOGETHER>().0;
    let mut bias = [[simd.splat_f32s(0.0); H]; R];
    let accumulators = F::as_vectors(accumulators).as_chunks::<R>().0.as_chunks::<TOGETHER>().0;
    let to = F::vectors_mut(to).as_chunks_mut::<R>().0.as_chunks_mut::<TOGETHER>().0;
    let [value_unit, derivative_unit] = P::units_of_rho(F::ONE);
    let unit = simd.splat_f32s(chunk.unit * value_unit);
    let derivative_unit = simd.splat_f32s(derivative_unit);

    for KeyRange { key, range } in &chunk.plan.weight_ranges {
        let mut ratios = ratios[*key];
        for ratio in ratios.as_flattened_mut().as_flattened_mut() {
            *ratio = simd.mul_f32s(*ratio, derivative_unit);
        }
        let mut outputs = [[[simd.splat_f32s(0.0); H]; R]; TOGETHER];
        let lists = accumulators[range.clone()].iter().zip(&mut to[range.clone()]);
        for ((accumulators, to), &gradient) in lists.zip(&chunk.slot_gradients[range.clone()]) {
            let gradient = simd.splat_f32s(gradient);
            for list in 0..TOGETHER {
                for r in 0..R {
                    let (values, mut wide) = F::both::<S, P>(simd, accumulators[list][r]);
                    for h in 0..H {
                        let output = &mut outputs[list][r][h];
                        *output = simd.multiply_add(gradient, values[h], *output);
                        let upstream = simd.mul_f32s(gradient, ratios[list][r][h]);
                        wide[h] = simd.mul_f32s(upstream, wide[h]);
                        bias[r][h] = simd.add_f32s(bias[r][h], wide[h]);
                    }
                    to[list][r] = F::narrow(simd, wide);
                }
            }
        }
        // By index: sums borrowed by an iterator would be in memory, not in registers.
        let size = TOGETHER * R * H;
        let sums = &mut S::as_mut_simd_f32s(block_sums.output.get_mut()).0[key * size..][..size];
        for list in 0..TOGETHER {
            for r in 0..R {
                for h in 0..H {
                    let sum = &mut sums[(list * R + r) * H + h];
                    *sum = simd.multiply_add(outputs[list][r][h], unit, *sum);
                }
            }
        }
    }

    let sums = &mut S::as_mut_simd_f32s(block_sums.bias.get_mut()).0[..R * H];
    for r in 0..R {
        for h in 0..H {
            let sum = &mut sums[r * H + h];
            *sum = simd.multiply_add(bias[r][h], units[r][h], *sum);
        }
    }
}

/// Writes the gradients of accumulators of two halves, `[lists, columns]` each, from those of the
/// first map's inputs; returns their sums and units. Without `PAIR` only the first half is used.
#[inline(always)]
fn deep_backward<
    S: Lanes,
    const R: usize,
    const H: usize,
    F: WeightFormat<H>,
    P: Rho,
    const PAIR: bool,
>(
    simd: S,
    halves: [&[F]; 2],
    list_rows: &[u32],
    upstream: &[f32],
    rows: [&mut [F]; 2],
) -> [Halves<S::f32s, R, H>; 2] {
    let halves = halves.map(|half| F::as_vectors::<S>(half).as_chunks::<R>().0);
    let upstream = S::as_simd_f32s(upstream).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let zero = [[simd.splat_f32s(0.0); H]; R];
    let (unit, smallest) = (simd.splat_f32s(1.0), simd.splat_f32s(f32::MIN_POSITIVE));
    let (mut units, mut factors) = ([[[unit; H]; R]; 2], [[[unit; H]; R]; 2]);
    // Gradients are rounded to a share of the largest.
    if F::LARGEST_GRADIENT > 0.0 {
        let mut largest = [zero; 2];
        for ((&row, first), second) in list_rows.iter().zip(halves[0]).zip(halves[1]) {
            for r in 0..R {
                let (neurons, upstream) = ([first[r], second[r]], upstream[row as usize][r]);
                let gradients = neuron_gradients::<S, H, F, P, PAIR>(simd, neurons, upstream);
                for half in 0..2 {
                    for h in 0..H {
                        let size = simd.abs_f32s(gradients[half][h]);
                        largest[half][r][h] = simd.max_f32s(largest[half][r][h], size);
                    }
                }
            }
        }
        let share = simd.splat_f32s(1.0 / F::LARGEST_GRADIENT);
        for half in 0..2 {
            for r in 0..R {
                for h in 0..H {
                    let scaled = simd.mul_f32s(largest[half][r][h], share);
                    units[half][r][h] = simd.max_f32s(smallest, scaled);
                    factors[half][r][h] = simd.div_f32s(unit, units[half][r][h]);
                }
            }
        }
    }
    let mut sums = [zero; 2];
    let [to_first, to_second] = rows.map(|rows| F::vectors_mut::<S>(rows).as_chunks_mut::<R>().0);
    let lists = list_rows.iter().zip(halves[0]).zip(halves[1]);
    let outputs = to_first.iter_mut().zip(to_second);
    for (((&row, first), second), (to_first, to_second)) in lists.zip(outputs) {
        for r in 0..R {
            let (neurons, upstream) = ([first[r], second[r]], upstream[row as usize][r]);
            let mut gradients = neuron_gradients::<S, H, F, P, PAIR>(simd, neurons, upstream);
            for half in 0..2 {
                for h in 0..H {
                    sums[half][r][h] = simd.add_f32s(sums[half][r][h], gradients[half][h]);
                    if F::LARGEST_GRADIENT > 0.0 {
                        gradients[half][h] = simd.mul_f32s(gradients[half][h], factors[half][r][h]);
                    }
                }
            }
            to_first[r] = F::narrow(simd, gradients[0]);
            if PAIR {
                to_second[r] = F::narrow(simd, gradients[1]);
            }
        }
    }
    [sums, units]
}

/// Computes the gradients of neurons, and of their factors in pairwise nets, from those of the
/// first map's inputs.
#[inline(always)]
fn neuron_gradients<S: Lanes, const H: usize, F: WeightFormat<H>, P: Rho, const PAIR: bool>(
    simd: S,
    neurons: [F::Vector<S>; 2],
    upstream: [S::f32s; H],
) -> [[S::f32s; H]; 2] {
    let [value_unit, derivative_unit] = P::units_of_rho(F::ONE);
    let unit = if PAIR { value_unit * derivative_unit } else { derivative_unit };
    let unit = simd.splat_f32s(unit);
    // Not by a closure: only inlined code uses the instructions.
    let first = F::both::<S, P>(simd, neurons[0]);
    let second = if PAIR { F::both::<S, P>(simd, neurons[1]) } else { first };
    let mut gradients = [[simd.splat_f32s(0.0); H]; 2];
    for h in 0..H {
        let upstream = simd.mul_f32s(upstream[h], unit);
        if PAIR {
            gradients[0][h] = simd.mul_f32s(simd.mul_f32s(upstream, second.0[h]), first.1[h]);
            gradients[1][h] = simd.mul_f32s(simd.mul_f32s(upstream, first.0[h]), second.1[h]);
        } else {
            gradients[0][h] = simd.mul_f32s(upstream, first.1[h]);
        }
    }
    gradients
}

/// Distance in runs at which a row of gradients is prefetched.
const AHEAD: usize = 32;

/// Adds to the gradient of each row those of the lists that contain it, `[lists + 1, columns]` in
/// `units`, the last row zero. `rows` are the packed rows of a large net's plan, which numbers only
/// the rows that occur in a chunk.
#[inline(always)]
fn gather_gradients<
    S: Lanes,
    const R: usize,
    const H: usize,
    F: WeightFormat<H>,
    const LARGE: bool,
>(
    simd: S,
    (plan, rows): (&ChunkPlan, &[u32]),
    list_gradients: &[F],
    units: &[[S::f32s; H]; R],
    gradients: &mut [f32],
) {
    let list_gradients: &[[F::Vector<S>; R]] = F::as_vectors(list_gradients).as_chunks().0;
    let gradients = S::as_mut_simd_f32s(gradients).0.as_chunks_mut::<H>().0.as_chunks_mut::<R>().0;
    const { assert!(size_of::<[F::Vector<S>; R]>() == CACHE_LINE) }
    assert!(list_gradients.len() > plan.list_count());
    let quads: usize = plan.runs.iter().map(|run| usize::from(run.quads)).sum();
    assert_eq!(quads, plan.holders.len(), "the holders of all runs");
    let mut quad = plan.holders.as_ptr();
    for (run_index, &HolderRun { row, quads }) in plan.runs.iter().enumerate() {
        let mut ahead = plan.runs.get(run_index + AHEAD).map_or(row, |run| run.row) as usize;
        let mut row = row as usize;
        if LARGE {
            (ahead, row) = (rows[ahead] as usize, rows[row] as usize);
        }
        for line in 0..R * H {
            let lines = gradients.as_flattened().as_flattened();
            prefetch_line(lines, ahead * R * H + line, true);
        }
        let mut gradient = gradients[row];
        // SAFETY: runs are consecutive, and have as many quads in total as `holders`, as asserted.
        // Offsets come from `Planner` and `FirstPlanner` alone: those of the lists' rows, and of
        // the row after them, which exists, as asserted. Slices would make the loop slower.
        unsafe {
            let load = |quad: *const [u16; QUAD]| {
                u16::unpack_quad(&*quad)
                    .map(|holder| &*list_gradients.as_ptr().byte_add(holder * OFFSET_UNIT))
            };
            let end = quad.add(quads.into());
            while quad < end {
                // Several sums, so that an addition need not wait for the previous one.
                let mut sums = load(quad).map(|row| *row);
                let stop = match F::ADDENDS / QUAD {
                    quads if quads < usize::from(u16::MAX) => end.min(quad.wrapping_add(quads)),
                    _ => end,
                };
                quad = quad.add(1);
                while quad < stop {
                    for (sum, row) in sums.iter_mut().zip(load(quad)) {
                        for r in 0..R {
                            sum[r] = F::add(simd, sum[r], row[r]);
                        }
                    }
                    quad = quad.add(1);
                }
                for r in 0..R {
                    let left = F::add(simd, sums[0][r], sums[1][r]);
                    let right = F::add(simd, sums[2][r], sums[3][r]);
                    let sum = F::widen(simd, F::add(simd, left, right));
                    for h in 0..H {
                        gradient[r][h] = simd.multiply_add(sum[h], units[r][h], gradient[r][h]);
                    }
                }
            }
        }
        gradients[row] = gradient;
    }
}

/// Iterates over the sums of a block in each shard, where both blocks of a product are neighbours.
fn shards_of_block(
    sums: &[BlockSums],
    columns: Columns,
    block: usize,
) -> impl Iterator<Item = &BlockSums> {
    let (half, number) =
        (block / columns.blocks_of_perspective(), block % columns.blocks_of_perspective());
    let is_psqt = block >= columns.neuron_blocks();
    let index = if is_psqt { block } else { number * columns.runs + half };
    sums.chunks_exact(columns.block_count()).map(move |shard| &shard[index])
}

/// Block of columns of each shard, and its columns in an array.
type BlockColumns<'a> = (Vec<&'a BlockSums>, Range<usize>);

/// Adds the gradient of a pair to those of its parents; `rows` are `[rows, columns]`.
fn add_to_parents(rows: &mut [f32], each: usize, pair: &PairOfRows) {
    let (earlier, later) = rows.split_at_mut(pair.pair * each);
    for parent in pair.parents {
        let sums = &mut earlier[parent * each..][..each];
        sums.iter_mut().zip(&later[..each]).for_each(|(sum, term)| *sum += term);
    }
}

/// Sums the shards of each block, without the output's bias; of the maps only the first one's
/// weights.
pub(super) fn reduce_shards<F: Sync>(
    kernel: &Kernel,
    sums: &mut [BlockSums],
    packed: &PackedWeights<F>,
    touched: Option<&RowSet>,
    gradients: &mut SliceGradients,
) {
    let (net, columns) = (&kernel.net, packed.columns);
    let (hidden, each) = (net.hidden, columns.each);
    sums.par_iter_mut().for_each(|sums| {
        let rows = sums.rows.get_mut();
        // Later pairs first, as parents may be pairs.
        packed.pairs.iter().rev().for_each(|pair| add_to_parents(rows, each, pair));
    });
    let shards = &*sums;
    let SliceGradients { rows, factors, psqt, bias, maps } = gradients;
    let collect_shards = |block: usize| shards_of_block(shards, columns, block).collect();
    let neurons: Vec<BlockColumns> = (0..columns.neuron_blocks())
        .map(|block| (collect_shards(block), columns.neuron_range(block)))
        .collect();
    let values: Vec<BlockColumns> = (0..columns.psqt_blocks())
        .map(|block| (columns.neuron_blocks() + block, columns.psqt_columns(block)))
        .map(|(block, range)| (collect_shards(block), range))
        .collect();
    for ((set, rows), (factor, psqt)) in
        kernel.sets.iter().zip(rows).zip(factors.iter_mut().zip(psqt))
    {
        let range = set.rows.clone();
        add_shards(&neurons, [each, hidden], (range.clone(), set.is_sparse, touched), rows);
        if !values.is_empty() {
            add_shards(&values, [each, net.buckets], (range, false, touched), psqt);
        }
        let Some(FactorRows { factor_rows, sharing }) = set.factor.as_deref() else { continue };
        match set.touched_rows(touched) {
            None => add_sharing(factor, rows, hidden, sharing),
            Some(touched) => {
                let first = set.rows.start;
                let factor_rows = touched.iter().map(|row| factor_rows[*row as usize - first]);
                let sharing = by_factor(factor.len() / hidden, factor_rows);
                add_sharing(factor, rows, hidden, &sharing);
            }
        }
    }
    let [weights, _] = &mut maps[0];
    if net.walks_graph() {
        let each = weights.len() / net.buckets;
        weights.par_chunks_exact_mut(each).enumerate().for_each(|(bucket, sums)| {
            sum_first_map(net, shards, packed, bucket, sums);
        });
    }
    for (shards, neurons) in &neurons {
        for (shard, block) in shards.iter().enumerate() {
            add(&mut bias[neurons.clone()], block.bias.as_slice(), shard == 0);
            let rows = block.output.as_slice().chunks_exact(each).filter(|_| !net.walks_graph());
            for (sums, row) in weights.chunks_exact_mut(hidden).zip(rows) {
                add(&mut sums[neurons.clone()], row, shard == 0);
            }
        }
    }
}

/// Rows whose shards are summed at a time, as they are contiguous in a block.
const ROWS: usize = 32;

/// Sums the shards of blocks into the gradients of an array, `[rows, width]`. `rows` are those of a
/// set; if `is_sparse`, the array has only the touched ones.
fn add_shards(
    blocks: &[BlockColumns],
    [each, width]: [usize; 2],
    (rows, is_sparse, touched): (Range<usize>, bool, Option<&RowSet>),
    gradients: &mut [f32],
) {
    let start = rows.start;
    let first = touched.map_or(start, |touched| touched.index_of(start));
    // A dense set of a large net has sums of touched rows only; all others are 0.
    let occurring = touched.filter(|_| !is_sparse).map(|touched| touched.rows_within(rows));
    gradients.par_chunks_mut(ROWS * width).enumerate().for_each(|(tile, sums)| {
        let begin = tile * ROWS;
        let end = begin + sums.len() / width;
        if occurring.is_some() {
            sums.fill(0.0);
        }
        for (shards, columns) in blocks {
            for (shard, block) in shards.iter().enumerate() {
                let terms = block.rows.as_slice()[first * each..].chunks_exact(each);
                let Some(occurring) = occurring else {
                    for (sums, row) in sums.chunks_exact_mut(width).zip(terms.skip(begin)) {
                        // Prefetches the next tile, if rows exceed the caches.
                        let lines = if touched.is_some() { 0..each } else { 0..0 };
                        for line in lines.step_by(CACHE_LINE / size_of::<f32>()) {
                            prefetch_line(row, ROWS * each + line, true);
                        }
                        add(&mut sums[columns.clone()], row, shard == 0);
                    }
                    continue;
                };
                let before = occurring.partition_point(|row| (*row as usize) < start + begin);
                let rows = occurring[before..].iter().map(|row| *row as usize - start);
                for (row, terms) in rows.take_while(|row| *row < end).zip(terms.skip(before)) {
                    let sums = &mut sums[(row - begin) * width..][..width];
                    add(&mut sums[columns.clone()], terms, shard == 0);
                }
            }
        }
    });
}

/// Sums the gradients of the rows that share each row of a factor, in their order.
fn add_sharing(factor: &mut [f32], rows: &[f32], hidden: usize, sharing: &Grouped) {
    factor.par_chunks_mut(hidden).enumerate().for_each(|(row, sums)| {
        let members = sharing.members_of(row);
        if members.is_empty() {
            sums.fill(0.0);
        }
        for (index, &member) in members.iter().enumerate() {
            add(sums, &rows[member as usize * hidden..][..hidden], index == 0);
        }
    });
}

/// Sums the gradients of the first map of one output bucket, `[outputs, inputs]`.
fn sum_first_map<F>(
    net: &Architecture,
    shards: &[BlockSums],
    packed: &PackedWeights<F>,
    bucket: usize,
    sums: &mut [f32],
) {
    let (columns, map) = (packed.columns, &packed.maps.maps[0]);
    let (half_inputs, inputs) = (net.outputs_of_perspective(), net.feature_count());
    let size = columns.each * map.width;
    for block in 0..columns.blocks_of_perspective() {
        for side in 0..net.perspective_count() {
            for (shard, terms) in shards_of_block(shards, columns, block).enumerate() {
                let terms =
                    &terms.output.as_slice()[(side * net.buckets + bucket) * size..][..size];
                for (input, row) in columns.neuron_range(block).zip(terms.chunks_exact(map.width)) {
                    let offsets = (side * half_inputs + input..).step_by(inputs);
                    for (offset, &term) in offsets.zip(&row[..map.outputs]) {
                        sums[offset] = if shard == 0 { term } else { sums[offset] + term };
                    }
                }
            }
        }
    }
}

fn add(sums: &mut [f32], terms: &[f32], first: bool) {
    for (sum, &term) in sums.iter_mut().zip(terms) {
        *sum = if first { term } else { *sum + term };
    }
}
