//! Backward pass: from the gradients of logits or layers to those of a block of columns.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use super::format::{Linear, Rho, WeightFormat};
use super::forward::ForwardChunk;
use super::head::FirstMapBackward;
use super::net::{FactorRows, Kernel, SliceGradients, by_factor};
use super::packed::{Aligned, Columns, PackedWeights};
use super::simd::{Lanes, Task};
use crate::architecture::Architecture;
use crate::batch::IndexWord;
use crate::batch::plan::{FOUR, HolderRun, KeyRange, LINE, STEP};
use crate::batch::{ChunkPlan, InputPairs, RowSet};
use crate::model::grouped::Grouped;
use crate::prefetch::prefetch_line;

#[derive(Default)]
pub(super) struct BlockSums {
    /// `[rows, columns]`, of inputs, then of pairs, or those that a batch touches
    rows: Aligned<f32>,
    /// `[columns]`
    bias: Aligned<f32>,
    /// `[buckets, perspectives, columns]`; in deep nets the share of the first map,
    /// `[perspectives, buckets, columns, width]`, and nothing for the second half of two.
    output: Aligned<f32>,
}

impl BlockSums {
    /// Sets all sums to zero. `has_map` says whether they are of inputs of the first map, once each.
    pub fn clear_sums<F>(&mut self, net: &Architecture, packed: &PackedWeights<F>, has_map: bool) {
        let columns = packed.columns.each;
        self.rows.resize_unspecified(packed.count * columns);
        self.bias.resize_unspecified(columns);
        let output = net.buckets * net.views() * columns;
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
    /// In deep nets the gradients of the first map's inputs, `[perspectives, rows, columns]`.
    above: Aligned<f32>,
}

/// The backward pass through some chunks, for one block, or both blocks of a pairwise product; or,
/// behind these, for a block of piece-square values.
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
        let (each, of_view) = (packed.columns.each, packed.columns.blocks_of_view());
        let BackwardBuffers { rows, above } = buffers;
        for chunk in chunks {
            let ForwardChunk { plan, head, .. } = chunk;
            let size = plan.list_count() * each;
            let psqt = block.checked_sub(of_view);
            let [own, other] = match psqt {
                Some(number) => [packed.columns.neuron_blocks() + number; 2],
                None => [block, if sums.len() == 2 { of_view + block } else { block }],
            };
            let halves = [own, other].map(|half| chunk.accumulators_of(half, packed.columns));
            for rows in &mut *rows {
                rows.resize_unspecified(size + each);
                rows.get_mut()[size..].fill(F::default());
            }
            let to = rows.each_mut().map(|rows| rows.get_mut());
            let units = if TOGETHER == 1 && kernel.net.walks_graph() {
                let (maps, output) = (&packed.maps, sums[0].output.get_mut());
                match psqt {
                    Some(number) => head.psqt_slopes(maps, plan, number, above),
                    // Compiled once for all formats and activations.
                    None => {
                        let task = FirstMapBackward { maps, plan, head, block, above, output };
                        kernel.level.run(task);
                    }
                }
                let (above, list_rows) = (above.as_slice(), &head.list_rows[..plan.list_count()]);
                let [bias, units] = match sums.len() {
                    _ if psqt.is_some() => {
                        deep_slopes::<S, R, H, F, Linear, false>(simd, halves, list_rows, above, to)
                    }
                    2 => deep_slopes::<S, R, H, F, P, true>(simd, halves, list_rows, above, to),
                    _ => deep_slopes::<S, R, H, F, P, false>(simd, halves, list_rows, above, to),
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
                let [ratios, factors] = packed.output_slopes(&kernel.net, block);
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
                let slopes = rows[half].as_slice();
                let (rows, to) = (&chunk.packed_rows[..], sums.rows.get_mut());
                // The branch is outside the loop over runs.
                match rows {
                    [] => gather_gradients::<S, R, H, F, false>(
                        simd,
                        (plan, &[]),
                        slopes,
                        &units[half],
                        to,
                    ),
                    _ => gather_gradients::<S, R, H, F, true>(
                        simd,
                        (plan, rows),
                        slopes,
                        &units[half],
                        to,
                    ),
                }
            }
        }
    }
}

/// Writes the gradients of accumulators `[lists, columns]` in `units`, and adds those of biases and
/// output. `ratios` are output weights over a column's largest, `[buckets, perspectives, columns]`.
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
    slopes: &mut [F],
    gradients: &mut BlockSums,
) {
    let ratios = S::as_simd_f32s(ratios).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let ratios = ratios.as_chunks::<TOGETHER>().0;
    let mut bias = [[simd.splat_f32s(0.0); H]; R];
    let accumulators = F::as_vectors(accumulators).as_chunks::<R>().0.as_chunks::<TOGETHER>().0;
    let slopes = F::vectors_mut(slopes).as_chunks_mut::<R>().0.as_chunks_mut::<TOGETHER>().0;
    let [of_value, of_slope] = P::units_of_rho(F::ONE);
    let (unit, of_slope) = (simd.splat_f32s(chunk.unit * of_value), simd.splat_f32s(of_slope));

    for KeyRange { key: of, range } in &chunk.plan.weight_ranges {
        let mut ratios = ratios[*of];
        for ratio in ratios.as_flattened_mut().as_flattened_mut() {
            *ratio = simd.mul_f32s(*ratio, of_slope);
        }
        let mut outputs = [[[simd.splat_f32s(0.0); H]; R]; TOGETHER];
        let lists = accumulators[range.clone()].iter().zip(&mut slopes[range.clone()]);
        for ((accumulators, slopes), &gradient) in lists.zip(&chunk.slot_gradients[range.clone()]) {
            let gradient = simd.splat_f32s(gradient);
            for view in 0..TOGETHER {
                for r in 0..R {
                    let (values, mut wide) = F::both::<S, P>(simd, accumulators[view][r]);
                    for h in 0..H {
                        let output = &mut outputs[view][r][h];
                        *output = simd.multiply_add(gradient, values[h], *output);
                        let steep = simd.mul_f32s(gradient, ratios[view][r][h]);
                        wide[h] = simd.mul_f32s(steep, wide[h]);
                        bias[r][h] = simd.add_f32s(bias[r][h], wide[h]);
                    }
                    slopes[view][r] = F::narrow(simd, wide);
                }
            }
        }
        // By number: sums borrowed by an iterator would be in memory, not in registers.
        let size = TOGETHER * R * H;
        let sums = &mut S::as_mut_simd_f32s(gradients.output.get_mut()).0[of * size..][..size];
        for view in 0..TOGETHER {
            for r in 0..R {
                for h in 0..H {
                    let sum = &mut sums[(view * R + r) * H + h];
                    *sum = simd.multiply_add(outputs[view][r][h], unit, *sum);
                }
            }
        }
    }

    let sums = &mut S::as_mut_simd_f32s(gradients.bias.get_mut()).0[..R * H];
    for r in 0..R {
        for h in 0..H {
            let sum = &mut sums[r * H + h];
            *sum = simd.multiply_add(bias[r][h], units[r][h], *sum);
        }
    }
}

/// Writes the gradients of accumulators of two halves, `[lists, columns]` each, from those of the
/// first map's inputs; returns their sums, and units. Without `PAIR` there is only the first half.
#[inline(always)]
fn deep_slopes<
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
    above: &[f32],
    rows: [&mut [F]; 2],
) -> [Halves<S::f32s, R, H>; 2] {
    let halves = halves.map(|half| F::as_vectors::<S>(half).as_chunks::<R>().0);
    let above = S::as_simd_f32s(above).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let zero = [[simd.splat_f32s(0.0); H]; R];
    let (one, least) = (simd.splat_f32s(1.0), simd.splat_f32s(f32::MIN_POSITIVE));
    let (mut units, mut over) = ([[[one; H]; R]; 2], [[[one; H]; R]; 2]);
    // Gradients are rounded to a share of the largest.
    if F::LARGEST_SLOPE > 0.0 {
        let mut largest = [zero; 2];
        for ((&row, own), other) in list_rows.iter().zip(halves[0]).zip(halves[1]) {
            for r in 0..R {
                let above = above[row as usize][r];
                let found = neuron_slopes::<S, H, F, P, PAIR>(simd, [own[r], other[r]], above);
                for half in 0..2 {
                    for h in 0..H {
                        let size = simd.abs_f32s(found[half][h]);
                        largest[half][r][h] = simd.max_f32s(largest[half][r][h], size);
                    }
                }
            }
        }
        let share = simd.splat_f32s(1.0 / F::LARGEST_SLOPE);
        for half in 0..2 {
            for r in 0..R {
                for h in 0..H {
                    let unit = simd.mul_f32s(largest[half][r][h], share);
                    units[half][r][h] = simd.max_f32s(least, unit);
                    over[half][r][h] = simd.div_f32s(one, units[half][r][h]);
                }
            }
        }
    }
    let mut sums = [zero; 2];
    let [first, second] = rows;
    let first = F::vectors_mut::<S>(first).as_chunks_mut::<R>().0.iter_mut();
    let second = F::vectors_mut::<S>(second).as_chunks_mut::<R>().0.iter_mut();
    let lists = list_rows.iter().zip(halves[0]).zip(halves[1]);
    for (((&row, own), other), (first, second)) in lists.zip(first.zip(second)) {
        for r in 0..R {
            let above = above[row as usize][r];
            let mut found = neuron_slopes::<S, H, F, P, PAIR>(simd, [own[r], other[r]], above);
            for half in 0..2 {
                for h in 0..H {
                    sums[half][r][h] = simd.add_f32s(sums[half][r][h], found[half][h]);
                    if F::LARGEST_SLOPE > 0.0 {
                        found[half][h] = simd.mul_f32s(found[half][h], over[half][r][h]);
                    }
                }
            }
            first[r] = F::narrow(simd, found[0]);
            if PAIR {
                second[r] = F::narrow(simd, found[1]);
            }
        }
    }
    [sums, units]
}

/// Gradients of neurons, and of their factors in pairwise nets, from the first map's inputs.
#[inline(always)]
fn neuron_slopes<S: Lanes, const H: usize, F: WeightFormat<H>, P: Rho, const PAIR: bool>(
    simd: S,
    neurons: [F::Vector<S>; 2],
    above: [S::f32s; H],
) -> [[S::f32s; H]; 2] {
    let [of_value, of_slope] = P::units_of_rho(F::ONE);
    let unit = simd.splat_f32s(if PAIR { of_value * of_slope } else { of_slope });
    // Not by a closure: only inlined code uses the instructions.
    let (values, slopes) = F::both::<S, P>(simd, neurons[0]);
    let (others, other_slopes) =
        if PAIR { F::both::<S, P>(simd, neurons[1]) } else { (values, slopes) };
    let mut found = [[simd.splat_f32s(0.0); H]; 2];
    for h in 0..H {
        let above = simd.mul_f32s(above[h], unit);
        if PAIR {
            found[0][h] = simd.mul_f32s(simd.mul_f32s(above, others[h]), slopes[h]);
            found[1][h] = simd.mul_f32s(simd.mul_f32s(above, values[h]), other_slopes[h]);
        } else {
            found[0][h] = simd.mul_f32s(above, slopes[h]);
        }
    }
    found
}

/// Distance in runs at which a row of gradients is prefetched.
const AHEAD: usize = 32;

/// Adds, to the row of each input, the gradients of its accumulators: `[lists + 1, columns]` in
/// `units`, the last row zero. Plans of large nets number the rows that occur in a chunk, and these
/// are the packed `rows`.
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
    slopes: &[F],
    units: &[[S::f32s; H]; R],
    gradients: &mut [f32],
) {
    let slopes: &[[F::Vector<S>; R]] = F::as_vectors(slopes).as_chunks().0;
    let gradients = S::as_mut_simd_f32s(gradients).0.as_chunks_mut::<H>().0.as_chunks_mut::<R>().0;
    const { assert!(size_of::<[F::Vector<S>; R]>() == LINE) }
    assert!(slopes.len() > plan.list_count());
    let fours: usize = plan.runs.iter().map(|run| usize::from(run.fours)).sum();
    assert_eq!(fours, plan.holders.len(), "the holders of all runs");
    let mut four = plan.holders.as_ptr();
    for (number, &HolderRun { row, fours }) in plan.runs.iter().enumerate() {
        let mut later = plan.runs.get(number + AHEAD).map_or(row, |run| run.row) as usize;
        let mut row = row as usize;
        if LARGE {
            (later, row) = (rows[later] as usize, rows[row] as usize);
        }
        for line in 0..R * H {
            let lines = gradients.as_flattened().as_flattened();
            prefetch_line(lines, later * R * H + line, true);
        }
        let mut gradient = gradients[row];
        // SAFETY: the runs have as many fours as there are, see above, one behind the other.
        // `Planner` and `FirstPlanner` wrote in them no offset but those of the lists' rows and of
        // the row behind, which is there, see above. With slices in the place of pointers the loop takes
        // longer.
        unsafe {
            let load = |four: *const [u16; FOUR]| {
                u16::unpack_four(&*four).map(|holder| &*slopes.as_ptr().byte_add(holder * STEP))
            };
            let end = four.add(fours.into());
            while four < end {
                // Several sums, so that an addition need not wait for the one before.
                let mut sums = load(four).map(|row| *row);
                let stop = match F::ADDENDS / FOUR {
                    fours if fours < usize::from(u16::MAX) => end.min(four.wrapping_add(fours)),
                    _ => end,
                };
                four = four.add(1);
                while four < stop {
                    for (sum, row) in sums.iter_mut().zip(load(four)) {
                        for r in 0..R {
                            sum[r] = F::add(simd, sum[r], row[r]);
                        }
                    }
                    four = four.add(1);
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

/// Sums of a block in each shard, where both blocks of a pairwise product are neighbours.
fn of_block(
    sums: &[BlockSums],
    columns: Columns,
    block: usize,
) -> impl Iterator<Item = &BlockSums> {
    let (half, number) = (block / columns.blocks_of_view(), block % columns.blocks_of_view());
    let is_psqt = block >= columns.neuron_blocks();
    let place = if is_psqt { block } else { number * columns.half_count() + half };
    sums.chunks_exact(columns.block_count()).map(move |shard| &shard[place])
}

/// A block of columns of each shard, and the columns of an array that it has.
type BlockColumns<'a> = (Vec<&'a BlockSums>, Range<usize>);

/// Adds the gradient of a pair to its parents, `[rows, columns]`.
fn add_to_parents(rows: &mut [f32], each: usize, parents: [usize; 2], pair: usize) {
    let (before, pair_and_others) = rows.split_at_mut(pair * each);
    for parent in parents {
        let sums = &mut before[parent * each..][..each];
        sums.iter_mut().zip(&pair_and_others[..each]).for_each(|(sum, term)| *sum += term);
    }
}

/// Adds up the shards of each block, without the output's bias; in deep nets the first map only.
pub(super) fn reduce_shards<F: Sync>(
    kernel: &Kernel,
    sums: &mut [BlockSums],
    packed: &PackedWeights<F>,
    (pairs, touched): (&InputPairs, Option<&RowSet>),
    gradients: &mut SliceGradients,
) {
    let (net, columns) = (&kernel.net, packed.columns);
    let (hidden, each) = (net.hidden, columns.each);
    let index_of = |row: usize| touched.map_or(row, |touched| touched.index_of(row));
    let of_pairs = |pair: usize| {
        let parents = pairs.parents()[pair - pairs.input_count()];
        (parents.map(|row| index_of(row as usize)), index_of(pair))
    };
    // Later pairs first, as parents may be pairs.
    let occurring: Vec<([usize; 2], usize)> = match touched {
        None => (pairs.input_count()..pairs.row_count()).rev().map(of_pairs).collect(),
        Some(touched) => {
            touched.touched_pairs().iter().rev().map(|it| of_pairs(*it as usize)).collect()
        }
    };
    sums.par_iter_mut().for_each(|sums| {
        let rows = sums.rows.get_mut();
        occurring.iter().for_each(|(parents, pair)| add_to_parents(rows, each, *parents, *pair));
    });
    let shards = &*sums;
    let SliceGradients { rows, factors, psqt, bias, maps } = gradients;
    let of = |block: usize, here: Range<usize>| (of_block(shards, columns, block).collect(), here);
    let neurons = 0..columns.neuron_blocks();
    let neurons: Vec<BlockColumns> =
        neurons.map(|block| of(block, columns.neuron_range(block))).collect();
    let values = 0..columns.psqt_blocks();
    let values: Vec<BlockColumns> = values
        .map(|block| of(columns.neuron_blocks() + block, columns.psqt_columns(block)))
        .collect();
    for ((set, rows), (factor, psqt)) in
        kernel.sets.iter().zip(rows).zip(factors.iter_mut().zip(psqt))
    {
        let here = set.rows.clone();
        add_shards(&neurons, [each, hidden], (here.clone(), set.is_sparse, touched), rows);
        if !values.is_empty() {
            add_shards(&values, [each, net.buckets], (here, false, touched), psqt);
        }
        let Some(FactorRows { of, sharing }) = set.factor.as_deref() else { continue };
        match set.touched_rows(touched) {
            None => add_sharing(factor, rows, hidden, sharing),
            Some(touched) => {
                let first = set.rows.start;
                let of_touched = touched.iter().map(|row| of[*row as usize - first]);
                let sharing = by_factor(factor.len() / hidden, of_touched);
                add_sharing(factor, rows, hidden, &sharing);
            }
        }
    }
    let [weights, _] = &mut maps[0];
    if net.walks_graph() {
        let each = weights.len() / net.buckets;
        weights.par_chunks_exact_mut(each).enumerate().for_each(|(bucket, sums)| {
            first_map(net, shards, packed, bucket, sums);
        });
    }
    for (shards, neurons) in &neurons {
        for (shard, of) in shards.iter().enumerate() {
            add(&mut bias[neurons.clone()], of.bias.as_slice(), shard == 0);
            let rows = of.output.as_slice().chunks_exact(each).filter(|_| !net.walks_graph());
            for (sums, row) in weights.chunks_exact_mut(hidden).zip(rows) {
                add(&mut sums[neurons.clone()], row, shard == 0);
            }
        }
    }
}

/// Rows whose shards are added up at a time, as they are contiguous in a block.
const ROWS: usize = 32;

/// Adds up the shards of some blocks into the gradients of an array, `[rows, width]`; `rows` are those
/// of a set, and `is_sparse` says whether the array has the touched ones alone.
fn add_shards(
    blocks: &[BlockColumns],
    [each, width]: [usize; 2],
    (rows, is_sparse, touched): (Range<usize>, bool, Option<&RowSet>),
    gradients: &mut [f32],
) {
    let start = rows.start;
    let first = touched.map_or(start, |touched| touched.index_of(start));
    // A dense set of a large net has sums of touched rows only; all others are 0.
    let some = touched.filter(|_| !is_sparse).map(|touched| touched.rows_within(rows));
    gradients.par_chunks_mut(ROWS * width).enumerate().for_each(|(part, sums)| {
        let begin = part * ROWS;
        let end = begin + sums.len() / width;
        if some.is_some() {
            sums.fill(0.0);
        }
        for (shards, columns) in blocks {
            for (shard, of) in shards.iter().enumerate() {
                let of = of.rows.as_slice()[first * each..].chunks_exact(each);
                let Some(some) = some else {
                    for (sums, row) in sums.chunks_exact_mut(width).zip(of.skip(begin)) {
                        // Prefetches the next part, if it exceeds the caches.
                        let lines = if touched.is_some() { 0..each } else { 0..0 };
                        for line in lines.step_by(LINE / size_of::<f32>()) {
                            prefetch_line(row, ROWS * each + line, true);
                        }
                        add(&mut sums[columns.clone()], row, shard == 0);
                    }
                    continue;
                };
                let before = some.partition_point(|row| (*row as usize) < start + begin);
                let here = some[before..].iter().map(|row| *row as usize - start);
                for (row, of) in here.take_while(|row| *row < end).zip(of.skip(before)) {
                    let sums = &mut sums[(row - begin) * width..][..width];
                    add(&mut sums[columns.clone()], of, shard == 0);
                }
            }
        }
    });
}

/// Adds up the gradients of the rows that share each row of a factor, in their order.
fn add_sharing(factor: &mut [f32], rows: &[f32], hidden: usize, sharing: &Grouped) {
    factor.par_chunks_mut(hidden).enumerate().for_each(|(row, sums)| {
        let numbers = sharing.members_of(row);
        if numbers.is_empty() {
            sums.fill(0.0);
        }
        for (place, &number) in numbers.iter().enumerate() {
            add(sums, &rows[number as usize * hidden..][..hidden], place == 0);
        }
    });
}

/// Adds up the gradients of the first map of one output bucket, `[outputs, inputs]`.
fn first_map<F>(
    net: &Architecture,
    shards: &[BlockSums],
    packed: &PackedWeights<F>,
    bucket: usize,
    sums: &mut [f32],
) {
    let (columns, map) = (packed.columns, &packed.maps.maps[0]);
    let (of_view, inputs) = (net.outputs_of_view(), net.feature_count());
    let size = columns.each * map.width;
    for block in 0..columns.blocks_of_view() {
        for view in 0..net.views() {
            for (shard, of) in of_block(shards, columns, block).enumerate() {
                let share = &of.output.as_slice()[(view * net.buckets + bucket) * size..][..size];
                for (input, row) in columns.neuron_range(block).zip(share.chunks_exact(map.width)) {
                    let places = (view * of_view + input..).step_by(inputs);
                    for (place, &term) in places.zip(&row[..map.outputs]) {
                        sums[place] = if shard == 0 { term } else { sums[place] + term };
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
