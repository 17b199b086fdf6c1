//! Gradients of a block of columns: the way back.

use std::marker::PhantomData;

use rayon::prelude::*;

use super::activation::Rho;
use super::backward::{BlockGradients, gather, slopes};
use super::chunk::Chunk;
use super::format::Format;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::{Gradients, Net};
use super::packed::Packed;

/// Gradients of a block over some of the chunks.
#[derive(Default)]
pub(super) struct Tally {
    /// `[inputs, columns]`
    pub rows: Aligned<f32>,
    /// `[columns]`
    pub bias: Aligned<f32>,
    /// `[views, columns]`
    pub output: Aligned<f32>,
}

impl Tally {
    pub fn clear(&mut self, net: &Net, columns: usize) {
        self.rows.resize(net.inputs * columns);
        self.bias.resize(columns);
        self.output.resize(net.views * columns);
        for sums in [&mut self.rows, &mut self.bias, &mut self.output] {
            sums.get_mut().fill(0.0);
        }
    }
}

/// The way back through some chunks for one block.
pub(super) struct Backward<'a, C, F, P, const H: usize, const VIEWS: usize> {
    pub net: &'a Net,
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
        let Backward { net, packed, block, chunks, room, tally, .. } = self;
        let steepness = packed.steepness(net, block);
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
                &steepness,
                &chunk.logit_gradients,
                chunk.unit,
                accumulators,
                rows,
                &mut gradients,
            );
            let rows = &mut *gradients.rows;
            gather::<S, R, H, F>(simd, &chunk.plan, room.get(), &steepness, chunk.unit, rows);
        }
    }
}

/// Adds up the shards of each block, in order. Leaves out the gradient of the output bias.
pub(super) fn reduce(
    net: &Net,
    tallies: &[Tally],
    shards: usize,
    columns: usize,
    gradients: Gradients,
) {
    let hidden = net.hidden;
    let Gradients { accumulator, bias, output, .. } = gradients;
    // Some rows at a time, as they lie side by side in a block.
    const ROWS: usize = 32;
    accumulator.par_chunks_mut(ROWS * hidden).enumerate().for_each(|(part, sums)| {
        for (block, tallies) in tallies.chunks(shards).enumerate() {
            for (shard, tally) in tallies.iter().enumerate() {
                let rows = tally.rows.get().chunks_exact(columns).skip(part * ROWS);
                for (sums, row) in sums.chunks_exact_mut(hidden).zip(rows) {
                    add(&mut sums[block * columns..], row, shard == 0);
                }
            }
        }
    });
    for (block, tallies) in tallies.chunks(shards).enumerate() {
        for (shard, tally) in tallies.iter().enumerate() {
            add(&mut bias[block * columns..], tally.bias.get(), shard == 0);
            let rows = tally.output.get().chunks_exact(columns);
            for (sums, row) in output.chunks_exact_mut(hidden).zip(rows) {
                add(&mut sums[block * columns..], row, shard == 0);
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
