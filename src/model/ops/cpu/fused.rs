//! Loss and gradients of a net over a batch, or its logits, as one operation: accumulators of a few
//! chunks stay in the caches between the passes. It equals the plain tensor operations, up to
//! rounding. The batch is split into chunks, and these into a few shards, by the shapes alone. A
//! shard takes a group of chunks at a time through both passes. Each chunk is a task of the forward
//! pass, and each block of columns a task of the backward pass, so that a block's gradients have
//! one writer, chunk after chunk. Finally the gradients of shards are summed. So the shapes
//! determine the order of all sums, and the result has the same bits for any number of threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::backward::{Backward, BackwardBuffers, BlockSums, reduce_shards};
use super::format::{Clamped, Rho, WeightFormat};
use super::forward::{ChunkSelection, Forward, ForwardChunk};
use super::net::{Kernel, Precision, SliceGradients, SliceWeights, pairs_of};
use super::packed::PackedWeights;
use super::partition::Partition;
use crate::batch::{ChunkPlan, InputPairs, OneHot, RowSet};
use crate::model::Aim;

/// Memory that calls reuse, for nets and batches of any size.
#[derive(Default)]
pub struct Scratch {
    single: Buffers<f32>,
    mixed: Buffers<i16>,
    sums: Vec<BlockSums>,
    partition: Partition,
}

#[derive(Default)]
struct Buffers<F> {
    packed: PackedWeights<F>,
    chunks: Pool<Vec<ForwardChunk<F>>>,
    backward: Pool<BackwardBuffers<F>>,
}

/// Unused buffers, at most one per thread.
#[derive(Default)]
struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    fn lend_item<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = || self.0.lock().expect("no thread panics while it holds the lock");
        // The most recently returned one, which the caches still contain.
        let mut lent = idle().pop().unwrap_or_default();
        let result = work(&mut lent);
        idle().push(lent);
        result
    }
}

/// Computes the mean loss of a batch and its gradients, or only the gradients of the sum of
/// `upstream * y`. The positions come with the rows that they [touch](Kernel::find_touched). The
/// aim has `[batch]` numbers. The loss of an empty batch is NaN. The result has the same bits for
/// any number of rayon's threads. Panics if a slice does not fit the net, or an index is beyond the
/// rows.
pub fn loss_and_gradients(
    kernel: &Kernel,
    weights: &SliceWeights,
    (positions, touched): (OneHot, Option<&RowSet>),
    aim: Aim,
    gradients: SliceGradients,
    scratch: &mut Scratch,
) -> f64 {
    let batch = kernel.check_shapes(positions);
    aim.check_lengths(batch);
    for (set, gradients) in kernel.sets.iter().zip(&gradients.rows) {
        let rows = set.touched_rows(touched).map_or(set.rows.len(), |rows| rows.len());
        assert_eq!(gradients.len(), rows * kernel.net.hidden, "gradients of rows");
    }
    let job = FusedTask::Gradients(aim, gradients);
    dispatch_job(kernel, weights, (positions, touched), job, scratch)
}

/// Computes the logits `y` of a batch, `[batch]`. Panics if a slice does not fit the net, or an
/// index is beyond the rows.
pub fn compute_logits(
    kernel: &Kernel,
    weights: &SliceWeights,
    positions: OneHot,
    logits: &mut [f32],
    scratch: &mut Scratch,
) {
    let batch = kernel.check_shapes(positions);
    assert_eq!(logits.len(), batch, "logits");
    let touched = kernel.find_touched(positions);
    let positions = (positions, touched.as_ref());
    dispatch_job(kernel, weights, positions, FusedTask::Logits(logits), scratch);
}

enum FusedTask<'a> {
    Logits(&'a mut [f32]),
    Gradients(Aim<'a>, SliceGradients<'a>),
}

/// Runs the job in code compiled for the number format. Returns the mean loss, if requested.
fn dispatch_job(
    kernel: &Kernel,
    weights: &SliceWeights,
    positions: (OneHot, Option<&RowSet>),
    job: FusedTask,
    scratch: &mut Scratch,
) -> f64 {
    let Scratch { single, mixed, sums, partition } = scratch;
    // On a thread of the pool: from outside, each parallel loop would suspend and wake the caller.
    rayon::scope(|_| match kernel.precision {
        Precision::F32 => run_format(kernel, weights, positions, job, (single, sums, partition)),
        Precision::Mixed => run_format(kernel, weights, positions, job, (mixed, sums, partition)),
    })
}

/// Packs the weights, and runs the job in code compiled for the kind of net.
fn run_format<F: WeightFormat<H>, const H: usize>(
    kernel: &Kernel,
    weights: &SliceWeights,
    (positions, touched): (OneHot, Option<&RowSet>),
    job: FusedTask,
    (buffers, sums, partition): (&mut Buffers<F>, &mut Vec<BlockSums>, &mut Partition),
) -> f64 {
    let Buffers { packed, chunks, backward } = buffers;
    let (net, pairs) = (&kernel.net, &pairs_of(positions, &kernel.net));
    packed.pack_weights(kernel, weights, (pairs, touched));
    partition.split_batch(kernel, positions, packed.bytes_of_position(net));
    let pass = FusedPass { kernel, packed, positions, pairs, touched, partition, chunks, backward };
    let curve = net.activation.curve();
    let together = if net.walks_graph() { 1 } else { ChunkPlan::parallel_perspectives(net) };
    match (curve.bounded, curve.outer, together) {
        (false, 1, 1) => pass.run_job::<Clamped<false, false>, 1>(job, sums),
        (false, 1, _) => pass.run_job::<Clamped<false, false>, 2>(job, sums),
        (false, _, 1) => pass.run_job::<Clamped<false, true>, 1>(job, sums),
        (false, _, _) => pass.run_job::<Clamped<false, true>, 2>(job, sums),
        (true, 1, 1) => pass.run_job::<Clamped<true, false>, 1>(job, sums),
        (true, 1, _) => pass.run_job::<Clamped<true, false>, 2>(job, sums),
        (true, _, 1) => pass.run_job::<Clamped<true, true>, 1>(job, sums),
        (true, _, _) => pass.run_job::<Clamped<true, true>, 2>(job, sums),
    }
}

struct FusedPass<'a, F, const H: usize> {
    kernel: &'a Kernel,
    packed: &'a PackedWeights<F>,
    positions: OneHot<'a>,
    pairs: &'a Arc<InputPairs>,
    touched: Option<&'a RowSet>,
    partition: &'a Partition,
    chunks: &'a Pool<Vec<ForwardChunk<F>>>,
    backward: &'a Pool<BackwardBuffers<F>>,
}

impl<F: WeightFormat<H>, const H: usize> FusedPass<'_, F, H> {
    fn run_job<P: Rho, const TOGETHER: usize>(
        &self,
        job: FusedTask,
        sums: &mut Vec<BlockSums>,
    ) -> f64 {
        match job {
            FusedTask::Logits(logits) => {
                self.write_logits::<P, TOGETHER>(logits);
                0.0
            }
            FusedTask::Gradients(aim, gradients) => {
                let loss = self.compute_gradients::<P, TOGETHER>(aim, gradients, sums);
                loss / self.positions.len() as f64
            }
        }
    }

    fn forward_chunks<P: Rho, const TOGETHER: usize>(
        &self,
        aim: Option<Aim>,
        numbers: Range<usize>,
        chunks: &mut Vec<ForwardChunk<F>>,
    ) {
        let FusedPass { kernel, packed, positions: batch, pairs, touched, partition, .. } = *self;
        chunks.resize_with(chunks.len().max(numbers.len()), ForwardChunk::default);
        let chunks = chunks.par_iter_mut().with_max_len(1).zip(numbers);
        chunks.for_each(|(chunk, number)| {
            let positions = partition.chunk_positions(number);
            let selection = ChunkSelection { batch, number, positions, pairs, touched, aim };
            let rho = PhantomData;
            let task = Forward::<_, P, H, TOGETHER> { kernel, packed, selection, chunk, rho };
            kernel.level.run(task);
        });
    }

    fn write_logits<P: Rho, const TOGETHER: usize>(&self, logits: &mut [f32]) {
        let partition = self.partition;
        self.chunks.lend_item(|chunks| {
            for numbers in group_ranges(0..partition.chunk_count(), rayon::current_num_threads()) {
                self.forward_chunks::<P, TOGETHER>(None, numbers.clone(), chunks);
                for (chunk, number) in chunks.iter().zip(numbers) {
                    for (&position, &logit) in
                        partition.chunk_positions(number).iter().zip(&chunk.logits)
                    {
                        logits[position as usize] = logit;
                    }
                }
            }
        });
    }

    /// Computes all gradients; returns the sum of the losses.
    fn compute_gradients<P: Rho, const TOGETHER: usize>(
        &self,
        aim: Aim,
        mut gradients: SliceGradients,
        sums: &mut Vec<BlockSums>,
    ) -> f64 {
        let FusedPass { kernel, packed, touched, partition, .. } = *self;
        let (net, blocks) = (&kernel.net, packed.columns.block_count());
        let bytes = packed.columns.block_width() * packed.count * size_of::<f32>();
        let count = partition.chunk_count();
        let shards = MIN_TASKS.div_ceil(blocks).max(MIN_SHARDS);
        let shards = shards.min(MAX_SHARD_BYTES / bytes.max(1)).min(count).max(1);
        let start = |shard: usize| (shard * count).div_ceil(shards);
        sums.resize_with(sums.len().max(blocks * shards), BlockSums::default);
        let sums = &mut sums[..blocks * shards];

        let sums_of_shards = sums.par_chunks_exact_mut(blocks).enumerate().with_max_len(1);
        let totals: Vec<Totals> = sums_of_shards
            .map(|(shard, sums)| {
                let numbers = start(shard)..start(shard + 1);
                self.run_shard::<P, TOGETHER>(aim, numbers, shards, sums)
            })
            .collect();
        let totals = totals.into_iter().reduce(|mut all, shard| {
            all.add(shard.loss, &shard.output_bias, &shard.upper);
            all
        });
        let Totals { loss, output_bias, upper } = totals.expect("there is a shard");

        reduce_shards(kernel, sums, packed, touched, &mut gradients);
        if net.walks_graph() {
            packed.maps.spread_gradients(&upper, &mut gradients.maps);
        } else {
            let [_, biases] = &mut gradients.maps[0];
            biases.iter_mut().zip(output_bias).for_each(|(to, sum)| *to = sum as f32);
        }
        loss
    }

    /// Takes chunks through both passes. `sums` has both halves of each block side by side.
    fn run_shard<P: Rho, const TOGETHER: usize>(
        &self,
        aim: Aim,
        numbers: Range<usize>,
        shards: usize,
        sums: &mut [BlockSums],
    ) -> Totals {
        let FusedPass { kernel, packed, partition, .. } = *self;
        let net = &kernel.net;
        let each = partition.chunks_per_group(net) * rayon::current_num_threads().div_ceil(shards);
        let upper = if net.walks_graph() { packed.maps.upper_len() } else { 0 };
        let mut totals =
            Totals { loss: 0.0, output_bias: vec![0.0; net.buckets], upper: vec![0.0; upper] };
        self.chunks.lend_item(|chunks| {
            // Once without chunks, if there are none.
            for group in group_ranges(numbers.clone(), each) {
                self.forward_chunks::<P, TOGETHER>(Some(aim), group.clone(), chunks);
                let chunks = &chunks[..group.len()];
                for chunk in chunks {
                    totals.add(chunk.loss, &chunk.output_bias, &chunk.head.upper);
                }
                let (neurons, psqt) = sums.split_at_mut(packed.columns.neuron_blocks());
                let neurons = neurons.par_chunks_exact_mut(packed.columns.runs);
                let block_tasks = neurons.chain(psqt.par_chunks_exact_mut(1)).enumerate();
                let block_tasks = block_tasks.with_max_len(1);
                // The blocks written last are still in the nearest caches.
                block_tasks.rev().for_each(|(block, sums)| {
                    if group.start == numbers.start {
                        // Cleared here, into the cache of the thread that adds to them.
                        for (half, sums) in sums.iter_mut().enumerate() {
                            let is_psqt = block >= packed.columns.blocks_of_perspective();
                            sums.clear_sums(net, packed, half == 0 && !is_psqt);
                        }
                    }
                    self.backward.lend_item(|buffers| {
                        kernel.level.run(Backward::<_, P, H, TOGETHER> {
                            kernel,
                            packed,
                            block,
                            chunks,
                            buffers,
                            sums,
                            rho: PhantomData,
                        });
                    });
                });
            }
        });
        totals
    }
}

/// Splits numbers into groups of `each`; returns one empty group if there are none.
fn group_ranges(numbers: Range<usize>, each: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = numbers;
    let starts = (start..end.max(start + 1)).step_by(each.max(1));
    starts.map(move |first| first..end.min(first + each))
}

/// Sums over chunks, besides the sums of blocks.
struct Totals {
    loss: f64,
    /// The gradients of the output biases, by bucket; in shallow nets.
    output_bias: Vec<f64>,
    /// The gradients of all parameters after the weights of the first map; in deep nets.
    upper: Vec<f32>,
}

impl Totals {
    fn add(&mut self, loss: f64, output_bias: &[f64], upper: &[f32]) {
        self.loss += loss;
        self.output_bias.iter_mut().zip(output_bias).for_each(|(sum, term)| *sum += term);
        self.upper.iter_mut().zip(upper).for_each(|(sum, term)| *sum += term);
    }
}

/// Minimum number of tasks of the backward pass: more use more threads, but sum more gradients.
const MIN_TASKS: usize = 16;
/// Minimum number of shards. A thread's work then stays in its caches: passing gradients to a
/// thread without a shared cache costs a quarter of a step.
const MIN_SHARDS: usize = 2;
/// Maximum bytes of gradients of all shards: summing more costs more than threads gain.
const MAX_SHARD_BYTES: usize = 8 << 20;
