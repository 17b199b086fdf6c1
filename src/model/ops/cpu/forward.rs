//! Forward pass of a chunk: accumulators block by block, then all operations up to the losses.
//!
//! Why: the rows of a block stay in the first-level cache while all lists of the chunk are summed.
//! It equals the forward pass of the plain tensor operations, up to rounding. Index spaces are
//! those of [`ChunkPlan`]: slots, lists (`TOGETHER` per slot), logits and rows. Blocks of neurons
//! come first, all of the first half, then of the second, then blocks of piece-square values.

use std::marker::PhantomData;
use std::sync::Arc;

use super::format::{Linear, Rho, WeightFormat};
use super::head::{LayerBuffers, MapLayers};
use super::net::Kernel;
use super::packed::{Aligned, Columns, PackedWeights};
use super::simd::{Lanes, Task};
use crate::batch::plan::{CACHE_LINE, KeyRange, LISTS_PER_BUNDLE, OFFSET_UNIT, Planner, QUAD};
use crate::batch::{ChunkPlan, IndexWord, InputPairs, OneHot, RowSet, with_vector};
use crate::model::Aim;
use crate::prefetch::prefetch_line;

/// Results of a forward pass for the backward pass.
#[derive(Default)]
pub(super) struct ForwardChunk<F> {
    planner: Planner,
    /// Plan of this chunk alone, or a cached one.
    pub plan: Arc<ChunkPlan>,
    /// Rows of the plan as numbered in packed weights, in nets of many rows; else empty.
    pub packed_rows: Vec<u32>,
    /// Rows of a block and a blank, `[rows + 1, columns]`.
    rows: Aligned<F>,
    /// `[blocks, lists, columns]`; only one block if shallow nets compute logits only.
    pub accumulators: Aligned<F>,
    /// Partial logits, `[slots, lanes]`; none in deep nets.
    pub partial: Aligned<f32>,
    /// Logits in the plan's order, and one for empty slots.
    pub sums: Vec<f32>,
    /// Logits in the order of the selection; only if requested.
    pub logits: Vec<f32>,
    /// Logit gradients in the plan's order, in units of `unit`, and a zero for empty slots.
    pub logit_gradients: Vec<f32>,
    /// Logit gradients by slot; none in deep nets.
    pub slot_gradients: Vec<f32>,
    pub unit: f32,
    pub loss: f64,
    /// The gradients of the output biases, by bucket.
    pub output_bias: Vec<f64>,
    pub head: LayerBuffers,
}

/// Returns a plan to write into, never one that is cached for other batches.
fn writable_plan(plan: &mut Arc<ChunkPlan>) -> &mut ChunkPlan {
    if Arc::get_mut(plan).is_none() {
        *plan = Arc::default();
    }
    Arc::get_mut(plan).expect("it is not shared")
}

#[derive(Clone, Copy)]
pub(super) struct ChunkSelection<'a> {
    pub batch: OneHot<'a>,
    /// Index of the chunk in the batch.
    pub number: usize,
    pub positions: &'a [u32],
    pub pairs: &'a Arc<InputPairs>,
    /// Rows that the batch touches; None: all rows.
    pub touched: Option<&'a RowSet>,
    /// None: only logits are computed.
    pub aim: Option<Aim<'a>>,
}

impl<F: Copy + Default> ForwardChunk<F> {
    /// Returns the accumulators of a block, `[lists, columns]`.
    #[inline(always)]
    pub fn accumulators_of(&self, block: usize, columns: Columns) -> &[F] {
        let size = self.plan.list_count() * columns.each;
        &self.accumulators.as_slice()[block * size..][..size]
    }

    /// Orders the positions, for the backward pass too if there is an aim.
    #[inline(always)]
    pub fn order_positions(&mut self, kernel: &Kernel, selection: ChunkSelection) {
        let backward = selection.aim.is_some();
        match selection.batch {
            OneHot::Plans(plans) => {
                self.plan = plans[selection.number].clone();
                assert!(self.plan.is_inverted || !backward, "a plan for the forward pass alone");
            }
            OneHot::Lists(lists) => {
                let plan = writable_plan(&mut self.plan);
                let ChunkSelection { positions, pairs, .. } = selection;
                self.planner.order_items(&kernel.net, lists, positions, pairs, plan);
                if backward {
                    self.planner.invert_lists(plan);
                }
            }
            OneHot::First(first_views) => {
                // They are consecutive in the batch.
                let first = selection.positions.first().map_or(0, |it| *it as usize);
                let range = first..first + selection.positions.len();
                first_views.plan_chunk(&kernel.net, range, writable_plan(&mut self.plan));
            }
        }
        self.packed_rows.clone_from(&self.plan.occurring);
        if let Some(touched) = selection.touched {
            for row in &mut self.packed_rows {
                *row = touched.index_of(*row as usize) as u32;
            }
        }
    }

    /// Computes losses and gradients, in a unit in which the largest is `top` unless that is 0; or
    /// collects logits.
    #[inline(always)]
    pub fn compute_losses(&mut self, selection: ChunkSelection, top: f32, buckets: usize) {
        let ForwardChunk {
            plan, sums, logits: requested, logit_gradients, loss, output_bias, ..
        } = self;
        let logits = plan.positions.iter().map(|position| position.get()).zip(&*sums);
        let Some(aim) = selection.aim else {
            requested.resize(plan.positions.len(), 0.0);
            return logits.for_each(|(position, &logit)| requested[position] = logit);
        };
        *loss = 0.0;
        logit_gradients.clear();
        let batch_index = |position: usize| selection.positions[position] as usize;
        match aim.loss_inputs() {
            Some(inputs) => {
                let logits = logits.map(|(position, &it)| (batch_index(position), it));
                *loss = inputs.sum_losses(logits, logit_gradients);
            }
            None => {
                let upstream = aim.target_numbers();
                logit_gradients.extend(logits.map(|(position, _)| upstream[batch_index(position)]));
            }
        }
        let largest = logit_gradients.iter().fold(0f32, |largest, it| largest.max(it.abs()));
        output_bias.clear();
        output_bias.resize(buckets, 0.0);
        for KeyRange { key: bucket, range } in &plan.bucket_ranges {
            for &gradient in &logit_gradients[range.clone()] {
                output_bias[*bucket] += f64::from(gradient);
            }
        }
        self.unit = match top {
            0.0 => 1.0,
            top => (largest / top).max(f32::MIN_POSITIVE),
        };
        for gradient in &mut *logit_gradients {
            *gradient /= self.unit;
        }
        logit_gradients.push(0.0);
    }
}

pub(super) struct ForwardBlock<'a, F> {
    /// `[rows + 1, columns]`, the last row zero.
    pub rows: &'a [F],
    /// Rows of the next block; empty if plans number rows differently.
    pub next: &'a [F],
    /// `[columns]`
    pub bias: &'a [F],
    /// `[buckets, perspectives, columns]`; none in deep nets.
    pub output: &'a [f32],
}

/// Forward pass of a chunk with `TOGETHER` lists per slot; in deep nets also backward to the
/// layers.
pub(super) struct Forward<'a, F, P, const H: usize, const TOGETHER: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a PackedWeights<F>,
    pub selection: ChunkSelection<'a>,
    pub chunk: &'a mut ForwardChunk<F>,
    pub rho: PhantomData<P>,
}

impl<F: WeightFormat<H>, P: Rho, const H: usize, const TOGETHER: usize> Task
    for Forward<'_, F, P, H, TOGETHER>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Forward { kernel, packed, selection, chunk, .. } = self;
        let (net, columns, maps) = (&kernel.net, packed.columns, &packed.maps);
        let (blocks, half_blocks) = (columns.block_count(), columns.blocks_of_perspective());
        // Constant for slots of several lists, which have no code for deep nets.
        let deep = TOGETHER == 1 && net.walks_graph();
        let backward = selection.aim.is_some();
        chunk.order_positions(kernel, selection);
        let ForwardChunk { plan, packed_rows, rows, accumulators, partial, sums, head, .. } =
            &mut *chunk;
        let is_large = net.inputs.is_large();
        rows.resize_unspecified(if is_large { (plan.rows + 1) * columns.each } else { 0 });
        let size = plan.list_count() * columns.each;
        let keeps_all = backward || deep;
        accumulators.resize_unspecified(if keeps_all { blocks * size } else { size });
        partial.resize_unspecified(if deep { 0 } else { plan.slot_logits.len() * S::F32_LANES });
        partial.get_mut().fill(0.0);
        if deep {
            head.resize_buffers(net, maps, plan);
        }
        for block in 0..half_blocks + columns.psqt_blocks() {
            for half in columns.blocks_of_turn(block) {
                let next = if half + half_blocks < columns.neuron_blocks() {
                    half + half_blocks
                } else {
                    block + 1
                };
                let start = if keeps_all { half * size } else { 0 };
                let to = &mut accumulators.get_mut()[start..][..size];
                let mut weights = packed.block_of(net, half, next % blocks);
                if is_large {
                    gather_rows::<S, R, H, F>(packed_rows, weights.rows, rows.get_mut());
                    (weights.rows, weights.next) = (rows.as_slice(), &[]);
                }
                let logits = partial.get_mut();
                accumulate_block::<S, R, H, F, P, TOGETHER>(simd, plan, &weights, to, logits);
            }
            if !deep {
                continue;
            }
            let lists_of = |block: usize| &accumulators.as_slice()[block * size..][..size];
            let (panels, rows) =
                (net.perspective_count() * head.rows * columns.each, &head.list_rows);
            match block.checked_sub(half_blocks) {
                None => {
                    let second = if net.pairwise { half_blocks + block } else { block };
                    let halves = [block, second].map(lists_of);
                    let to = &mut head.features.get_mut()[block * panels..][..panels];
                    first_map_inputs::<S, R, H, F, P>(simd, halves, net.pairwise, rows, to);
                }
                Some(number) => {
                    let halves = [lists_of(columns.neuron_blocks() + number); 2];
                    let to = &mut head.psqt.get_mut()[number * panels..][..panels];
                    first_map_inputs::<S, R, H, F, Linear>(simd, halves, false, rows, to);
                }
            }
        }
        sums.clear();
        sums.resize(plan.positions.len() + 1, 0.0);
        if deep {
            // Compiled once for all formats and activations.
            let logits = &mut sums[..];
            kernel.level.run(MapLayers { maps, plan, head, logits, backward: false });
        } else {
            // No iterator's closure: only inlined code uses the instructions.
            for (&sum, logit) in S::as_simd_f32s(partial.as_slice()).0.iter().zip(&plan.slot_logits)
            {
                sums[logit.get()] += simd.reduce_sum_f32s(sum);
            }
            for KeyRange { key: bucket, range } in &plan.bucket_ranges {
                for sum in &mut sums[range.clone()] {
                    *sum += packed.output_bias[*bucket];
                }
            }
        }
        let top = if deep { 0.0 } else { F::LARGEST_GRADIENT / P::LARGEST_DERIVATIVE };
        chunk.compute_losses(selection, top, net.buckets);
        let ForwardChunk { plan, head, logit_gradients, slot_gradients, loss, .. } = chunk;
        if backward && deep {
            // A net without layers walks its graph for the piece-square values alone.
            let aim = selection.aim.filter(|_| net.is_deep());
            let sparsity = aim.map_or(0.0, Aim::sparsity_weight) / net.feature_count() as f32;
            let batch = selection.batch.len() as f32;
            *loss += f64::from(sparsity) * head.penalise_features(maps, sparsity / batch);
            let logits = &mut logit_gradients[..];
            kernel.level.run(MapLayers { maps, plan, head, logits, backward: true });
        } else if backward {
            slot_gradients.clear();
            let logits = plan.slot_logits.iter();
            slot_gradients.extend(logits.map(|logit| logit_gradients[logit.get()]));
        }
    }
}

/// Distance in rows at which rows are prefetched.
const AHEAD: usize = 48;

/// Copies a plan's rows of a block together, and a blank: scattered rows are in separate pages.
#[inline(always)]
fn gather_rows<S: Lanes, const R: usize, const H: usize, F: WeightFormat<H>>(
    packed_rows: &[u32],
    all: &[F],
    rows: &mut [F],
) {
    let each = R * (size_of::<F::Vector<S>>() / size_of::<F>());
    let (rows, blank) = rows.split_at_mut(packed_rows.len() * each);
    blank.fill(F::default());
    let to: &mut [[F::Vector<S>; R]] = F::vectors_mut(rows).as_chunks_mut().0;
    let from: &[[F::Vector<S>; R]] = F::as_vectors(all).as_chunks().0;
    for (number, (to, &row)) in to.iter_mut().zip(packed_rows).enumerate() {
        let later = packed_rows.get(number + AHEAD).map_or(row, |row| *row) as usize;
        prefetch_line(from, later, true);
        *to = from[row as usize];
    }
}

/// Writes the accumulators of a block, `[lists, columns]`, and adds its terms of each slot's logit
/// to `logits`, `[slots, lanes]`, if there are any. A slot has `TOGETHER` lists.
#[inline(always)]
fn accumulate_block<S, const R: usize, const H: usize, F, P, const TOGETHER: usize>(
    simd: S,
    plan: &ChunkPlan,
    block: &ForwardBlock<F>,
    accumulators: &mut [F],
    logits: &mut [f32],
) where
    S: Lanes,
    F: WeightFormat<H>,
    P: Rho,
{
    let output = S::as_simd_f32s(block.output).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let output: &[[[[S::f32s; H]; R]; TOGETHER]] = output.as_chunks::<TOGETHER>().0;
    let accumulators = F::vectors_mut(accumulators).as_chunks_mut::<R>().0;
    let accumulators = accumulators.as_chunks_mut::<LISTS_PER_BUNDLE>().0;
    let mut logits = S::as_mut_simd_f32s(logits).0.chunks_exact_mut(LISTS_PER_BUNDLE / TOGETHER);
    let mut keys = plan.weights.chunks_exact(LISTS_PER_BUNDLE / TOGETHER);
    assert!(size_of_val(block.rows) >= (plan.rows + 1) * CACHE_LINE);

    // Meanwhile the rows of the next block are prefetched, `each` for every bundle of lists.
    let each = plan.runs.len().div_ceil(plan.lengths.len().max(1)).max(1);
    let runs = if block.next.is_empty() { &[] } else { &plan.runs[..] };
    let mut ahead = runs.chunks(each);
    let unit = simd.splat_f32s(P::units_of_rho(F::ONE)[0]);
    let (mut key, mut weights) = (usize::MAX, [[[unit; H]; R]; TOGETHER]);
    for ((length, quads), accumulators) in plan.bundle_ranges().zip(accumulators) {
        for run in ahead.next().unwrap_or_default() {
            prefetch_line(block.next, run.row as usize * (CACHE_LINE / size_of::<F>()), false);
        }
        // SAFETY: only `Planner` and `FirstPlanner` write entries: offsets of rows up to the blank
        // one, which exists, as asserted, and `length` entries for each list of a bundle.
        let sums = unsafe {
            with_vector!(&plan.entries, entries => {
                sum_rows(simd, &entries.as_chunks().0[quads], length, block)
            })
        };
        if let (Some(logits), Some(keys)) = (logits.next(), keys.next()) {
            let slots = sums.as_chunks::<TOGETHER>().0.iter().zip(logits).zip(keys);
            for ((sums, logit), &slot_key) in slots {
                // Neighbours nearly always share their weights, which stay in registers.
                if usize::from(slot_key) != key {
                    key = slot_key.into();
                    weights = output[key];
                    for weight in weights.as_flattened_mut().as_flattened_mut() {
                        *weight = simd.mul_f32s(*weight, unit);
                    }
                }
                for list in 0..TOGETHER {
                    for r in 0..R {
                        let (values, _) = F::both::<S, P>(simd, sums[list][r]);
                        for (value, weight) in values.into_iter().zip(weights[list][r]) {
                            *logit = simd.multiply_add(value, weight, *logit);
                        }
                    }
                }
            }
        }
        *accumulators = sums;
    }
}

/// Sums the bias and the rows of each list of a bundle.
///
/// # Safety
/// Lists must have `length` entries, as [`ChunkPlan::bundle_ranges`] returns them, and entries must
/// be offsets of the block's rows, in units of [`OFFSET_UNIT`] bytes.
#[inline(always)]
unsafe fn sum_rows<S: Lanes, const R: usize, const H: usize, F: WeightFormat<H>, E: IndexWord>(
    simd: S,
    lists: &[[E; QUAD]],
    length: usize,
    block: &ForwardBlock<F>,
) -> [[F::Vector<S>; R]; LISTS_PER_BUNDLE] {
    const { assert!(size_of::<[F::Vector<S>; R]>() == CACHE_LINE) }
    let bias: [F::Vector<S>; R] = F::as_vectors(block.bias).as_chunks().0[0];
    let weights: &[[F::Vector<S>; R]] = F::as_vectors(block.rows).as_chunks().0;
    let mut sums = [bias; LISTS_PER_BUNDLE];
    let add = |sum: &mut [F::Vector<S>; R], entry: usize| {
        // SAFETY: the entry is the offset of a row, as the caller guarantees.
        let row = unsafe { &*weights.as_ptr().byte_add(entry * OFFSET_UNIT) };
        for r in 0..R {
            sum[r] = F::add_saturating(simd, sum[r], row[r]);
        }
    };
    // SAFETY: below `length` there are entries of all lists, as the caller guarantees.
    let quad =
        |list: usize, quad: usize| unsafe { lists.get_unchecked(quad * LISTS_PER_BUNDLE + list) };
    let quads = length / QUAD;
    for index in 0..quads {
        for (list, sum) in sums.iter_mut().enumerate() {
            for entry in E::unpack_quad(quad(list, index)) {
                add(sum, entry);
            }
        }
    }
    // The first `$count` of the last quad, a number that the compiler knows.
    macro_rules! first {
        ($count:literal) => {
            for (list, sum) in sums.iter_mut().enumerate() {
                for &entry in &E::unpack_quad(quad(list, quads))[..$count] {
                    add(sum, entry);
                }
            }
        };
    }
    match length % QUAD {
        1 => first!(1),
        2 => first!(2),
        3 => first!(3),
        _ => {}
    }
    sums
}

/// Writes the inputs of the first layer, `[perspectives, rows, columns]`, from the accumulators of
/// a block, or their products.
#[inline(always)]
fn first_map_inputs<S: Lanes, const R: usize, const H: usize, F: WeightFormat<H>, P: Rho>(
    simd: S,
    halves: [&[F]; 2],
    pairwise: bool,
    list_rows: &[u32],
    to: &mut [f32],
) {
    let [first, second] = halves.map(|half| F::as_vectors::<S>(half).as_chunks::<R>().0);
    let to = S::as_mut_simd_f32s(to).0.as_chunks_mut::<H>().0.as_chunks_mut::<R>().0;
    let [unit, _] = P::units_of_rho(F::ONE);
    let unit = simd.splat_f32s(if pairwise { unit * unit } else { unit });
    for ((first, second), &row) in first.iter().zip(second).zip(list_rows) {
        let to = &mut to[row as usize];
        for r in 0..R {
            let (mut values, _) = F::both::<S, P>(simd, first[r]);
            if pairwise {
                let (factors, _) = F::both::<S, P>(simd, second[r]);
                for (value, factor) in values.iter_mut().zip(factors) {
                    *value = simd.mul_f32s(*value, factor);
                }
            }
            for value in &mut values {
                *value = simd.mul_f32s(*value, unit);
            }
            to[r] = values;
        }
    }
}
