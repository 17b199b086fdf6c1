//! Gradients of a block of columns: the way back.

use std::marker::PhantomData;

use rayon::prelude::*;

use super::activation::Rho;
use super::backward::{BlockGradients, gather, slopes};
use super::chunk::{Chunk, with_next};
use super::format::Format;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::{Gradients, Kernel};
use super::packed::{Columns, Packed};
use crate::architecture::{Architecture, PIECES};
use crate::batch::Pairs;

/// Gradients of a block over some of the chunks.
#[derive(Default)]
pub(super) struct Tally {
    /// `[rows, columns]`, of inputs, then of pairs
    pub rows: Aligned<f32>,
    /// `[columns]`
    pub bias: Aligned<f32>,
    /// `[buckets, views, columns]`; in deep nets the share of the first map,
    /// `[views, buckets, columns, width]`, and nothing for the second half of two.
    pub output: Aligned<f32>,
}

/// Room for the gradients of a chunk's accumulators.
#[derive(Default)]
pub(super) struct Slopes<F> {
    /// `[lists + 1, columns]`, the last row zero; in deep nets of each half.
    pub rows: [Aligned<F>; 2],
    /// Of deep nets, what the rows are in units of: `[columns]`.
    pub units: Aligned<f32>,
    /// Of deep nets, the gradients of what the accumulators hand on: `[views, rows, columns]`.
    pub above: Aligned<f32>,
}

impl Tally {
    /// `width` is that of the first map of a deep net.
    pub fn clear(
        &mut self,
        net: &Architecture,
        rows: usize,
        columns: Columns,
        half: usize,
        width: usize,
    ) {
        self.rows.resize(rows * columns.each);
        self.bias.resize(columns.each);
        let output = net.buckets * net.views() * columns.each;
        self.output.resize(match (net.is_deep(), half) {
            (false, _) => output,
            (true, 0) => output * width,
            (true, _) => 0,
        });
        for sums in [&mut self.rows, &mut self.bias, &mut self.output] {
            sums.get_mut().fill(0.0);
        }
    }
}

/// The way back through some chunks for one block.
pub(super) struct Backward<'a, C, F, P, const H: usize, const TOGETHER: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub block: usize,
    pub chunks: C,
    pub room: &'a mut Slopes<F>,
    pub tally: &'a mut Tally,
    pub rho: PhantomData<P>,
}

impl<'c, C, F, P, const H: usize, const TOGETHER: usize> Task for Backward<'_, C, F, P, H, TOGETHER>
where
    C: Iterator<Item = &'c Chunk<F>> + Clone,
    F: Format<H>,
    P: Rho,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Backward { kernel, packed, block, chunks, room, tally, .. } = self;
        let steepness = packed.steepness(&kernel.net, block);
        let mut gradients = BlockGradients {
            rows: tally.rows.get_mut(),
            bias: tally.bias.get_mut(),
            output: tally.output.get_mut(),
        };
        for (chunk, (later, before)) in with_next(chunks) {
            let size = chunk.plan.lists() * R * H * S::F32_LANES;
            let accumulators = chunk.accumulators_of(block, packed.columns);
            let columns = R * H * S::F32_LANES;
            let room = &mut room.rows[0];
            room.resize(size + columns);
            let (rows, missing) = room.get_mut().split_at_mut(size);
            missing.fill(F::default());
            slopes::<S, R, H, F, P, TOGETHER>(
                simd,
                &chunk.plan,
                &steepness,
                (&chunk.slot_gradients, chunk.unit),
                (accumulators, chunk.is_far),
                rows,
                &mut gradients,
            );
            let (rows, factors) = (&mut *gradients.rows, steepness.factors);
            let next = later.accumulators_before(block, before, packed.columns);
            gather::<S, R, H, F>(simd, &chunk.plan, room.get(), factors, chunk.unit, rows, next);
        }
    }
}

/// The tallies of a block, one a shard. Shards stand one behind the other; in each those of a block
/// and of the one by which its neurons are multiplied stand together.
fn of_block(tallies: &[Tally], columns: Columns, block: usize) -> impl Iterator<Item = &Tally> {
    let (half, block) = (block / columns.blocks_of_view(), block % columns.blocks_of_view());
    let place = block * columns.halves() + half;
    tallies.chunks_exact(columns.blocks()).map(move |shard| &shard[place])
}

/// Hands the gradient of each pair to its parents, `[rows, columns]`: later ones first, as they may
/// be pairs themselves.
fn hand_down(rows: &mut [f32], pairs: &Pairs) {
    let each = rows.len() / pairs.rows();
    let inputs = pairs.rows() - pairs.parents().len();
    for (number, parents) in pairs.parents().iter().enumerate().rev() {
        let (before, pair) = rows.split_at_mut((inputs + number) * each);
        for parent in parents {
            let sums = &mut before[usize::from(*parent) * each..][..each];
            sums.iter_mut().zip(&*pair).for_each(|(sum, term)| *sum += term);
        }
    }
}

/// Adds up the shards of each block, in order. Leaves out the output's bias, and of deep nets all
/// but the weights of the first map.
pub(super) fn reduce<F: Sync>(
    net: &Architecture,
    tallies: &mut [Tally],
    packed: &Packed<F>,
    pairs: &Pairs,
    gradients: &mut Gradients,
) {
    tallies.par_iter_mut().for_each(|tally| hand_down(tally.rows.get_mut(), pairs));
    let tallies = &*tallies;
    let (hidden, columns) = (net.hidden, packed.columns);
    let each = columns.each;
    let Gradients { accumulator, factoriser, bias, maps } = gradients;
    // Some rows at a time, as they lie side by side in a block.
    const ROWS: usize = 32;
    accumulator.par_chunks_mut(ROWS * hidden).enumerate().for_each(|(part, sums)| {
        for block in 0..columns.blocks() {
            let neurons = columns.neurons(block);
            for (shard, tally) in of_block(tallies, columns, block).enumerate() {
                let rows = tally.rows.get().chunks_exact(each).skip(part * ROWS);
                for (sums, row) in sums.chunks_exact_mut(hidden).zip(rows) {
                    add(&mut sums[neurons.clone()], row, shard == 0);
                }
            }
        }
    });
    // The shared rows count in every bucket.
    let accumulator = &**accumulator;
    factoriser.par_chunks_mut(hidden).enumerate().for_each(|(row, sums)| {
        for (bucket, rows) in accumulator.chunks_exact(PIECES * hidden).enumerate() {
            add(sums, &rows[row * hidden..][..hidden], bucket == 0);
        }
    });
    let [weights, _] = &mut maps[0];
    if net.is_deep() {
        let each = weights.len() / net.buckets;
        weights.par_chunks_exact_mut(each).enumerate().for_each(|(bucket, sums)| {
            first_map(net, tallies, packed, bucket, sums);
        });
    }
    for block in 0..columns.blocks() {
        let neurons = columns.neurons(block);
        for (shard, tally) in of_block(tallies, columns, block).enumerate() {
            add(&mut bias[neurons.clone()], tally.bias.get(), shard == 0);
            if net.is_deep() {
                continue;
            }
            let rows = tally.output.get().chunks_exact(each);
            for (sums, row) in weights.chunks_exact_mut(hidden).zip(rows) {
                add(&mut sums[neurons.clone()], row, shard == 0);
            }
        }
    }
}

/// Adds up the gradients of the first map of one output bucket, `[outputs, inputs]`.
fn first_map<F>(
    net: &Architecture,
    tallies: &[Tally],
    packed: &Packed<F>,
    bucket: usize,
    sums: &mut [f32],
) {
    let (columns, map) = (packed.columns, &packed.maps.maps[0]);
    let (of_view, inputs) = (net.outputs_of_view(), net.features());
    let size = columns.each * map.width;
    for block in 0..columns.blocks_of_view() {
        for view in 0..net.views() {
            for (shard, tally) in of_block(tallies, columns, block).enumerate() {
                let share = &tally.output.get()[(view * net.buckets + bucket) * size..][..size];
                for (input, row) in columns.neurons(block).zip(share.chunks_exact(map.width)) {
                    let places = (view * of_view + input..).step_by(inputs);
                    for (place, &term) in places.zip(&row[..map.outputs]) {
                        sums[place] = if shard == 0 { term } else { sums[place] + term };
                    }
                }
            }
        }
    }
}

/// Adds the terms to as many sums as there are, or replaces these.
fn add(sums: &mut [f32], terms: &[f32], first: bool) {
    for (sum, &term) in sums.iter_mut().zip(terms) {
        *sum = if first { term } else { *sum + term };
    }
}
