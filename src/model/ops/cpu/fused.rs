//! The loss of a net over a batch with its gradients, or its logits, as one operation.
//!
//! The batch is cut into chunks, and these are shared out among a few shards, which follow from
//! the shapes alone. A shard takes some chunks at a time, all the way forward and back, while they
//! are in the caches; each of its chunks is a task on the way forward, and each of its blocks of
//! columns on the way back, so that a block's gradients are written by one thread at a time, chunk
//! after chunk. The shards' gradients are added up in the end. What is added to what, and in which
//! order, thus follows from the shapes, and the result has the same bits for any number of threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::activation::{CReLU, ReLU, Rho, SCReLU};
use super::chunk::{Chosen, Chunk, Forward, Purpose};
use super::cut::Cut;
use super::deep::{Deep, DeepBackward};
use super::format::Format;
use super::lanes::Lanes;
use super::level::Task;
use super::net::{Gradients, Kernel, Precision, Weights, pairs_of};
use super::packed::Packed;
use super::tally::{Backward, Slopes, Tally, reduce};
use crate::architecture::{Activation, Architecture};
use crate::batch::{ChunkPlan, OneHot, Pairs};
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
    /// Those that a shard has under way.
    chunks: Idle<Vec<Chunk<F>>>,
    slopes: Idle<Slopes<F>>,
}

/// What is worked in, one for each that works.
#[derive(Default)]
struct Idle<T>(Mutex<Vec<T>>);

impl<T: Default> Idle<T> {
    fn lend<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = || self.0.lock().expect("no thread panics while it holds the lock");
        // The last one that was given back, as the caches still have it.
        let mut lent = idle().pop().unwrap_or_default();
        let result = work(&mut lent);
        idle().push(lent);
        result
    }
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
    positions: OneHot,
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
    positions: OneHot,
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
    positions: OneHot,
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
    positions: OneHot<'a>,
    room: &'a mut Room<F>,
    tallies: &'a mut Vec<Tally>,
    cut: &'a mut Cut,
}

impl<F> Run<'_, F> {
    fn run<P: Rho, const H: usize, const TOGETHER: usize>(self, job: Job) -> f64
    where
        F: Format<H>,
    {
        let Run { kernel, weights, positions, room, tallies, cut } = self;
        let Room { packed, chunks, slopes } = room;
        let net = &kernel.net;
        let [each, lanes] = kernel.level.run(Sizes);
        let pairs = &pairs_of(positions, net);
        packed.pack(kernel, weights, pairs, each * H, lanes);
        cut.cut(kernel, positions, packed.columns.width() * net.views() * size_of::<F>());
        let ways = Ways { kernel, packed, positions, pairs, cut, chunks, slopes };
        match job {
            Job::Logits(logits) => {
                ways.logits::<P, H, TOGETHER>(logits);
                0.0
            }
            Job::Gradients(aim, gradients) => {
                let loss = ways.gradients::<P, H, TOGETHER>(aim, gradients, tallies);
                loss / positions.len() as f64
            }
        }
    }
}

/// The ways of a batch through a net.
struct Ways<'a, F> {
    kernel: &'a Kernel,
    packed: &'a Packed<F>,
    positions: OneHot<'a>,
    pairs: &'a Arc<Pairs>,
    cut: &'a Cut,
    chunks: &'a Idle<Vec<Chunk<F>>>,
    slopes: &'a Idle<Slopes<F>>,
}

impl<F> Ways<'_, F> {
    /// The way forward of these chunks of the batch.
    fn forward<P: Rho, const H: usize, const TOGETHER: usize>(
        &self,
        purpose: Purpose,
        numbers: Range<usize>,
        chunks: &mut Vec<Chunk<F>>,
    ) where
        F: Format<H>,
    {
        let Ways { kernel, packed, positions: batch, pairs, cut, .. } = *self;
        chunks.resize_with(chunks.len().max(numbers.len()), Chunk::default);
        let chunks = chunks.par_iter_mut().with_max_len(1).zip(numbers);
        chunks.for_each(|(chunk, number)| {
            let positions = cut.chunk(number);
            let chosen = Chosen { batch, number, positions, pairs, purpose };
            let rho = PhantomData::<P>;
            match kernel.net.is_deep() {
                true => kernel.level.run(Deep::<_, _, H> { kernel, packed, chosen, chunk, rho }),
                false => {
                    let task = Forward::<_, _, H, TOGETHER> { kernel, packed, chosen, chunk, rho };
                    kernel.level.run(task);
                }
            }
        });
    }

    fn logits<P: Rho, const H: usize, const TOGETHER: usize>(&self, logits: &mut [f32])
    where
        F: Format<H>,
    {
        self.chunks.lend(|chunks| {
            for numbers in groups(0..self.cut.chunks(), rayon::current_num_threads()) {
                self.forward::<P, H, TOGETHER>(Purpose::Logits, numbers.clone(), chunks);
                for (chunk, number) in chunks.iter().zip(numbers) {
                    for (&position, &logit) in self.cut.chunk(number).iter().zip(&chunk.logits) {
                        logits[position as usize] = logit;
                    }
                }
            }
        });
    }

    /// Gives the sum of the losses.
    fn gradients<P: Rho, const H: usize, const TOGETHER: usize>(
        &self,
        aim: Aim,
        mut gradients: Gradients,
        tallies: &mut Vec<Tally>,
    ) -> f64
    where
        F: Format<H>,
    {
        let Ways { kernel, packed, pairs, cut, .. } = *self;
        let (net, blocks) = (&kernel.net, packed.columns.blocks());
        let bytes = packed.columns.width() * pairs.rows() * size_of::<f32>();
        let count = cut.chunks();
        let shards = TASKS.div_ceil(blocks).max(APART).min(SHARDS / bytes).min(count).max(1);
        let start = |shard: usize| (shard * count).div_ceil(shards);
        tallies.resize_with(tallies.len().max(blocks * shards), Tally::default);
        let tallies = &mut tallies[..blocks * shards];

        let of_shards = tallies.par_chunks_exact_mut(blocks).enumerate().with_max_len(1);
        let sums: Vec<Sums> = of_shards
            .map(|(shard, tallies)| {
                let numbers = start(shard)..start(shard + 1);
                self.shard::<P, H, TOGETHER>(aim, numbers, shards, tallies)
            })
            .collect();
        let Sums { loss, output_bias, upper } = sums.into_iter().reduce(Sums::add).expect("one");

        reduce(net, tallies, packed, pairs, &mut gradients);
        if net.is_deep() {
            packed.maps.spread(&upper, &mut gradients.maps);
        } else {
            let [_, biases] = &mut gradients.maps[0];
            biases.iter_mut().zip(output_bias).for_each(|(to, sum)| *to = sum as f32);
        }
        loss
    }

    /// Both ways of these chunks; `tallies` are of the blocks, the halves of each side by side.
    fn shard<P: Rho, const H: usize, const TOGETHER: usize>(
        &self,
        aim: Aim,
        numbers: Range<usize>,
        shards: usize,
        tallies: &mut [Tally],
    ) -> Sums
    where
        F: Format<H>,
    {
        let Ways { kernel, packed, cut, .. } = *self;
        let (net, columns) = (&kernel.net, packed.columns);
        let (deep, halves) = (net.is_deep(), columns.halves());
        let width = if deep { packed.maps.maps[0].width } else { 0 };
        let each = cut.turns() * rayon::current_num_threads().div_ceil(shards);
        let mut sums = Sums::of(net, packed);
        self.chunks.lend(|chunks| {
            // Once without chunks, where there are none.
            for group in groups(numbers.clone(), each) {
                self.forward::<P, H, TOGETHER>(Purpose::Gradients(aim), group.clone(), chunks);
                let chunks = &chunks[..group.len()];
                chunks.iter().for_each(|chunk| sums.count(chunk));
                let of_blocks = tallies.par_chunks_exact_mut(halves).enumerate().with_max_len(1);
                // Those that were written last are still in the nearest caches.
                of_blocks.rev().for_each(|(block, tallies)| {
                    if group.start == numbers.start {
                        // Here, where it brings them into the cache of who adds to them.
                        for (half, tally) in tallies.iter_mut().enumerate() {
                            tally.clear(net, self.pairs.rows(), columns, half, width);
                        }
                    }
                    let (chunks, rho) = (chunks.iter(), PhantomData::<P>);
                    self.slopes.lend(|room| match deep {
                        true => kernel.level.run(DeepBackward::<_, _, _, H> {
                            kernel,
                            packed,
                            block,
                            chunks,
                            room,
                            tallies,
                            rho,
                        }),
                        false => kernel.level.run(Backward::<_, _, _, H, TOGETHER> {
                            kernel,
                            packed,
                            block,
                            chunks,
                            room,
                            tally: &mut tallies[0],
                            rho,
                        }),
                    });
                });
            }
        });
        sums
    }
}

/// The numbers, `each` at a time; no numbers once, if there are none.
fn groups(numbers: Range<usize>, each: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = numbers;
    let starts = (start..end.max(start + 1)).step_by(each.max(1));
    starts.map(move |first| first..end.min(first + each))
}

/// What chunks find beside the tallies, added up.
struct Sums {
    loss: f64,
    /// The gradients of the output biases, by bucket; of shallow nets.
    output_bias: Vec<f64>,
    /// The gradients of all that stands above the weights of the first map; of deep nets.
    upper: Vec<f32>,
}

impl Sums {
    /// Of no chunk.
    fn of<F>(net: &Architecture, packed: &Packed<F>) -> Self {
        let upper = if net.is_deep() { packed.maps.upper_len() } else { 0 };
        Self { loss: 0.0, output_bias: vec![0.0; net.buckets], upper: vec![0.0; upper] }
    }

    fn count<F>(&mut self, chunk: &Chunk<F>) {
        self.loss += chunk.loss;
        let terms = self.output_bias.iter_mut().zip(&chunk.output_bias);
        terms.for_each(|(sum, bias)| *sum += bias);
        let terms = self.upper.iter_mut().zip(&chunk.head.upper);
        terms.for_each(|(sum, term)| *sum += term);
    }

    fn add(mut self, other: Self) -> Self {
        self.loss += other.loss;
        let terms = self.output_bias.iter_mut().zip(other.output_bias);
        terms.for_each(|(sum, bias)| *sum += bias);
        let terms = self.upper.iter_mut().zip(other.upper);
        terms.for_each(|(sum, term)| *sum += term);
        self
    }
}

/// Tasks of the way back, at least. More keep more threads busy, at the price of more gradients
/// to add up.
const TASKS: usize = 16;

/// Shards, at least. What a thread does on the way forward and back then stays in its own caches: to
/// hand accumulators and gradients to the other of two threads costs little where these share a
/// cache, and a quarter of a step where they do not.
const APART: usize = 2;

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
