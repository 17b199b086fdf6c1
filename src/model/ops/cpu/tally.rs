//! Gradients of a block of columns: the way back.

use std::marker::PhantomData;

use rayon::prelude::*;

use super::activation::Rho;
use super::backward::{BlockGradients, gather, slopes};
use super::chunk::Chunk;
use super::dense::{Matrix, gather_products};
use super::format::Format;
use super::head::part;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::{Gradients, Kernel};
use super::packed::{Columns, Packed};
use crate::architecture::{Architecture, PIECES};

/// Gradients of a block over some of the chunks.
#[derive(Default)]
pub(super) struct Tally {
    /// `[rows, columns]`
    pub rows: Aligned<f32>,
    /// `[columns]`
    pub bias: Aligned<f32>,
    /// `[buckets, views, columns]`; where more layers follow the share of the first map,
    /// `[parts, buckets, columns, width]`, see [`parts`].
    pub output: Aligned<f32>,
}

impl Tally {
    /// `width` is that of the first of more layers; 0 where there are none.
    pub fn clear(&mut self, net: &Architecture, columns: Columns, width: usize) {
        self.rows.resize(net.rows() * columns.each);
        self.bias.resize(columns.each);
        self.output.resize(match width {
            0 => net.buckets * net.views() * columns.each,
            _ => parts(net, columns, 0).count() * net.buckets * columns.each * width,
        });
        for sums in [&mut self.rows, &mut self.bias, &mut self.output] {
            sums.get_mut().fill(0.0);
        }
    }
}

/// The columns of what the views hand on, a block's worth each, that belong to the task of a block:
/// all blocks together have each once, the first has the most.
fn parts(
    net: &Architecture,
    columns: Columns,
    block: usize,
) -> impl Iterator<Item = usize> + use<> {
    (block..net.views() * columns.blocks_of_view()).step_by(columns.blocks())
}

/// The way back through some chunks for one block.
pub(super) struct Backward<'a, C, F, P, const H: usize, const VIEWS: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub block: usize,
    pub chunks: C,
    /// Room for the gradients of a chunk's accumulators.
    pub room: &'a mut Aligned<F>,
    pub tally: &'a mut Tally,
    pub rho: PhantomData<P>,
}

impl<'c, C, F, P, const H: usize, const VIEWS: usize> Task for Backward<'_, C, F, P, H, VIEWS>
where
    C: Iterator<Item = &'c Chunk<F>>,
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
        for chunk in chunks {
            let size = chunk.plan.lists() * R * H * S::F32_LANES;
            let accumulators = &chunk.accumulators.get()[block * size..][..size];
            let columns = R * H * S::F32_LANES;
            room.resize(size + columns);
            let (rows, missing) = room.get_mut().split_at_mut(size);
            missing.fill(F::default());
            slopes::<S, R, H, F, P, VIEWS>(
                simd,
                &chunk.plan,
                &steepness,
                (&chunk.logit_gradients, chunk.unit),
                accumulators,
                rows,
                &mut gradients,
            );
            let (rows, factors) = (&mut *gradients.rows, steepness.factors);
            gather::<S, R, H, F>(simd, &chunk.plan, room.get(), factors, chunk.unit, rows);
        }
    }
}

/// The same where more layers follow: the chunks hold the gradients of their accumulators.
pub(super) struct DeepBackward<'a, C, F, const H: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub block: usize,
    pub chunks: C,
    pub tally: &'a mut Tally,
}

impl<'c, C, F, const H: usize> Task for DeepBackward<'_, C, F, H>
where
    C: Iterator<Item = &'c Chunk<F>>,
    F: Format<H>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let DeepBackward { kernel, packed, block, chunks, tally } = self;
        let Packed { columns, maps, .. } = packed;
        let each = columns.each;
        let map = &maps.maps[0];
        for chunk in chunks {
            let size = (chunk.plan.lists() + 1) * each;
            let slopes = &chunk.accumulators.get()[block * size..][..size];
            let factors = &chunk.factors.get()[block * each..][..each];
            let rows = tally.rows.get_mut();
            gather::<S, R, H, F>(simd, &chunk.plan, slopes, factors, 1.0, rows);
            let bias = &chunk.bias.get()[block * each..][..each];
            tally.bias.get_mut().iter_mut().zip(bias).for_each(|(sum, bias)| *sum += bias);
            let mut sums = tally.output.get_mut().chunks_exact_mut(each * map.width);
            for from in parts(&kernel.net, *columns, block) {
                let mut of_part = sums.by_ref().take(kernel.net.buckets).collect::<Vec<_>>();
                for set in &chunk.plan.sets {
                    let slots = &set.slots;
                    let features = part(chunk.head.features.get(), map.inputs, slots);
                    let a = Matrix { values: &features[from * each..], stride: map.inputs };
                    let b = part(chunk.head.slopes[0].get(), map.width, slots);
                    let sums = &mut *of_part[set.bucket];
                    gather_products(simd, [slots.len(), each], a, b, map.width, sums);
                }
            }
        }
    }
}

/// Adds up the shards of each block, in order. Leaves out the output's bias, and of more layers all
/// but the weights of the first map.
pub(super) fn reduce<F>(
    net: &Architecture,
    tallies: &[Tally],
    shards: usize,
    packed: &Packed<F>,
    gradients: &mut Gradients,
) {
    let (hidden, columns) = (net.hidden, packed.columns);
    let each = columns.each;
    let Gradients { accumulator, factoriser, bias, maps } = gradients;
    // Some rows at a time, as they lie side by side in a block.
    const ROWS: usize = 32;
    accumulator.par_chunks_mut(ROWS * hidden).enumerate().for_each(|(part, sums)| {
        for (block, tallies) in tallies.chunks(shards).enumerate() {
            let neurons = columns.neurons(block);
            for (shard, tally) in tallies.iter().enumerate() {
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
    for (block, tallies) in tallies.chunks(shards).enumerate() {
        let neurons = columns.neurons(block);
        for (shard, tally) in tallies.iter().enumerate() {
            add(&mut bias[neurons.clone()], tally.bias.get(), shard == 0);
            if net.is_deep() {
                first_map(net, packed, block, tally, shard == 0, weights);
                continue;
            }
            let rows = tally.output.get().chunks_exact(each);
            for (sums, row) in weights.chunks_exact_mut(hidden).zip(rows) {
                add(&mut sums[neurons.clone()], row, shard == 0);
            }
        }
    }
}

/// Adds a task's share of the gradients of the first map, `[buckets, outputs, inputs]`.
fn first_map<F>(
    net: &Architecture,
    packed: &Packed<F>,
    block: usize,
    tally: &Tally,
    first: bool,
    sums: &mut [f32],
) {
    let (columns, map) = (packed.columns, &packed.maps.maps[0]);
    let of_view = net.outputs_of_view();
    let mut shares = tally.output.get().chunks_exact(columns.each * map.width);
    for part in parts(net, columns, block) {
        let (view, block) = (part / columns.blocks_of_view(), part % columns.blocks_of_view());
        let neurons = columns.neurons(block);
        for (bucket, share) in shares.by_ref().take(net.buckets).enumerate() {
            for (input, row) in neurons.clone().zip(share.chunks_exact(map.width)) {
                let input = view * of_view + input;
                for (output, &term) in row[..map.outputs].iter().enumerate() {
                    let place = (bucket * map.outputs + output) * net.features() + input;
                    sums[place] = if first { term } else { sums[place] + term };
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
