//! The loss of a net over a batch with its gradients, or its logits, as one operation.
//!
//! The batch is cut into chunks. Forward, each chunk is a task that walks over all blocks of
//! columns; backward, each block is a task that walks over the chunks, so that a block's gradients
//! are written by one thread only and need not be added up over threads. Where there are few
//! blocks, each is several tasks, its shards: the first takes the first of as many parts of the
//! chunks, and so on, so that few threads, which take some chunks at a time, have the gradients of
//! one shard in their caches and not those of all. What is added to what, and in which order, thus
//! follows from the shapes alone, and the result has the same bits for any number of threads.

use std::marker::PhantomData;
use std::mem::take;
use std::sync::Mutex;

use rayon::prelude::*;

use super::activation::{CReLU, ReLU, Rho, SCReLU};
use super::chunk::{Chosen, Chunk, Forward, Purpose};
use super::cut::Cut;
use super::deep::{Deep, DeepBackward};
use super::format::Format;
use super::lanes::Lanes;
use super::level::Task;
use super::net::{Gradients, Kernel, Positions, Precision, Weights};
use super::packed::Packed;
use super::tally::{Backward, Slopes, Tally, reduce};
use crate::architecture::Activation;
use crate::batch::ChunkPlan;
use crate::model::Aim;

/// Memory that is kept from call to call, for nets and batches of any size.
#[derive(Default)]
pub struct Scratch {
    single: Room<f32>,
    half: Room<i16>,
    tallies: Vec<Tally>,
    cut: Cut,
}

#[derive(Default)]
struct Room<F> {
    packed: Packed<F>,
    chunks: Vec<Chunk<F>>,
    /// One for each thread that goes backward.
    idle: Mutex<Vec<Slopes<F>>>,
}

/// The mean over the batch of the losses, and its gradients; or those of the sum of
/// `force * y`, whose own value is not computed.
///
/// The aim has `[batch]` numbers. The loss of an empty batch is not a number. The result has the
/// same bits for any number of rayon's threads.
///
/// # Panics
/// When a slice does not fit the net, or an index is beyond the rows.
pub fn loss(
    kernel: &Kernel,
    weights: &Weights,
    positions: Positions,
    aim: Aim,
    gradients: Gradients,
    scratch: &mut Scratch,
) -> f64 {
    let batch = kernel.check(positions);
    aim.check(batch);
    dispatch(kernel, weights, positions, Job::Gradients(aim, gradients), scratch)
}

/// The logits `y` of a batch, `[batch]`.
///
/// # Panics
/// When a slice does not fit the net, or an index is beyond the rows.
pub fn logits(
    kernel: &Kernel,
    weights: &Weights,
    positions: Positions,
    logits: &mut [f32],
    scratch: &mut Scratch,
) {
    let batch = kernel.check(positions);
    assert_eq!(logits.len(), batch, "logits");
    dispatch(kernel, weights, positions, Job::Logits(logits), scratch);
}

enum Job<'a> {
    Logits(&'a mut [f32]),
    Gradients(Aim<'a>, Gradients<'a>),
}

/// Does the job with the code compiled for the kind of net. Gives the mean loss, if it is asked for.
fn dispatch(
    kernel: &Kernel,
    weights: &Weights,
    positions: Positions,
    job: Job,
    scratch: &mut Scratch,
) -> f64 {
    let Scratch { single, half, tallies, cut } = scratch;
    macro_rules! run {
        ($format:ty, $h:literal, $room:expr) => {
            match (kernel.net.activation, ChunkPlan::together(&kernel.net)) {
                (Activation::ReLU, 1) => run!($format, $h, $room, ReLU, 1),
                (Activation::ReLU, _) => run!($format, $h, $room, ReLU, 2),
                (Activation::CReLU, 1) => run!($format, $h, $room, CReLU, 1),
                (Activation::CReLU, _) => run!($format, $h, $room, CReLU, 2),
                (Activation::SCReLU, 1) => run!($format, $h, $room, SCReLU, 1),
                (Activation::SCReLU, _) => run!($format, $h, $room, SCReLU, 2),
            }
        };
        ($format:ty, $h:literal, $room:expr, $rho:ty, $together:literal) => {
            Run::<$format> { kernel, weights, positions, room: $room, tallies, cut }
                .run::<$rho, $h, $together>(job)
        };
    }
    // On a thread of the pool: from outside it each of the many parallel loops would put the caller
    // to sleep and wake it again, which takes as long as the smallest of them.
    rayon::scope(|_| match kernel.precision {
        Precision::F32 => run!(f32, 1, single),
        Precision::Mixed => run!(i16, 2, half),
    })
}

/// A job's surroundings.
struct Run<'a, F> {
    kernel: &'a Kernel,
    weights: &'a Weights<'a>,
    positions: Positions<'a>,
    room: &'a mut Room<F>,
    tallies: &'a mut Vec<Tally>,
    cut: &'a mut Cut,
}

impl<F> Run<'_, F> {
    fn run<P: Rho, const H: usize, const TOGETHER: usize>(self, mut job: Job) -> f64
    where
        F: Format<H>,
    {
        let Run { kernel, weights, positions, room, tallies, cut } = self;
        let (Room { packed, chunks, idle }, batch) = (room, positions);
        let (net, idle) = (&kernel.net, &*idle);
        let [each, lanes] = kernel.level.run(Sizes);
        let pairs = &batch.pairs(net);
        packed.pack(kernel, weights, pairs, each * H, lanes);
        let packed = &*packed;
        let (columns, deep) = (packed.columns, net.is_deep());

        cut.cut(kernel, positions, columns.width() * net.views() * size_of::<F>());
        let (cut, count, group) = (&*cut, cut.chunks(), cut.group);
        if chunks.len() < group {
            chunks.resize_with(group, Chunk::default);
        }
        let (blocks, halves) = (columns.blocks(), columns.halves());
        let most = SHARDS / (columns.width() * pairs.rows() * size_of::<f32>());
        let shards = TASKS.div_ceil(blocks).min(most).min(count).max(1);
        let tasks = blocks * shards;
        if matches!(job, Job::Gradients(..)) && tallies.len() < tasks {
            tallies.resize_with(tasks, Tally::default);
        }

        let purpose = match &job {
            Job::Logits(_) => Purpose::Logits,
            Job::Gradients(aim, _) => Purpose::Gradients(*aim),
        };
        let width = if deep { packed.maps.maps[0].width } else { 0 };
        let mut loss = 0.0;
        let mut output_bias = vec![0.0; net.buckets];
        let mut upper = vec![0.0; if deep { packed.maps.upper_len() } else { 0 }];
        // Once without chunks, where there are none.
        for first in (0..count.max(1)).step_by(group.max(1)) {
            let chunks = &mut chunks[..group.min(count - first)];
            chunks.par_iter_mut().enumerate().with_max_len(1).for_each(|(i, chunk)| {
                let (number, positions) = (first + i, cut.chunk(first + i));
                let chosen = Chosen { batch, number, positions, pairs, purpose };
                let rho = PhantomData::<P>;
                if deep {
                    kernel.level.run(Deep::<_, _, H> { kernel, packed, chosen, chunk, rho });
                } else {
                    let task = Forward::<_, _, H, TOGETHER> { kernel, packed, chosen, chunk, rho };
                    kernel.level.run(task);
                }
            });
            for (chunk, i) in chunks.iter_mut().zip(first..) {
                loss += chunk.loss;
                if let Job::Logits(logits) = &mut job {
                    for (&position, &logit) in cut.chunk(i).iter().zip(&chunk.logits) {
                        logits[position as usize] = logit;
                    }
                }
                if let Job::Gradients(..) = job {
                    let terms = output_bias.iter_mut().zip(&chunk.output_bias);
                    terms.for_each(|(sum, bias)| *sum += bias);
                    let terms = upper.iter_mut().zip(&chunk.head.upper);
                    terms.for_each(|(sum, term)| *sum += term);
                }
            }
            if let Job::Gradients(..) = job {
                let chunks = &*chunks;
                let tallies = tallies[..tasks].par_chunks_mut(halves).enumerate().with_max_len(1);
                tallies.for_each(|(task, tallies)| {
                    let (block, shard) = (task / shards, task % shards);
                    let start = |shard: usize| (shard * count).div_ceil(shards);
                    let here = |chunk: usize| chunk.saturating_sub(first).min(chunks.len());
                    let chunks = &chunks[here(start(shard))..here(start(shard + 1))];
                    if start(shard) >= first && chunks.is_empty() == (count == 0) {
                        // Here, where it brings them into the cache of who adds to them.
                        for (half, tally) in tallies.iter_mut().enumerate() {
                            tally.clear(net, pairs.rows(), columns, half, width);
                        }
                    }
                    let chunks = chunks.iter();
                    let room = &mut idle.lock().expect(WHOLE).pop().unwrap_or_default();
                    let rho = PhantomData::<P>;
                    if deep {
                        kernel.level.run(DeepBackward::<_, _, _, H> {
                            kernel,
                            packed,
                            block,
                            chunks,
                            room,
                            tallies,
                            rho,
                        });
                    } else {
                        kernel.level.run(Backward::<_, _, _, H, TOGETHER> {
                            kernel,
                            packed,
                            block,
                            chunks,
                            room,
                            tally: &mut tallies[0],
                            rho,
                        });
                    }
                    idle.lock().expect(WHOLE).push(take(room));
                });
            }
        }

        if let Job::Gradients(_, mut gradients) = job {
            reduce(net, &mut tallies[..tasks], shards, packed, pairs, &mut gradients);
            if deep {
                packed.maps.spread(&upper, &mut gradients.maps);
            } else {
                let [_, biases] = &mut gradients.maps[0];
                biases.iter_mut().zip(output_bias).for_each(|(to, sum)| *to = sum as f32);
            }
        }
        loss / positions.len(net.views()) as f64
    }
}

const WHOLE: &str = "no thread panics while it holds the lock";

/// Tasks of the way back, at least. More keep more threads busy, at the price of more gradients
/// to add up.
const TASKS: usize = 32;

/// Bytes of gradients, at most, that blocks of several tasks may have: to add up more costs more
/// than the threads are worth that it would keep busy.
const SHARDS: usize = 8 << 20;

/// Columns a block, and lanes of a vector, of 32-bit numbers.
struct Sizes;

impl Task for Sizes {
    type Output = [usize; 2];

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) -> [usize; 2] {
        [R * S::F32_LANES, S::F32_LANES]
    }
}
