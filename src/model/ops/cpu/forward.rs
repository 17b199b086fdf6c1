//! Forward pass of a chunk: accumulators block by block, and what follows them up to the losses.

use std::marker::PhantomData;

use super::chunk::{Chunk, Selection};
use super::format::{Format, Rho};
use super::head::Layers;
use super::lanes::Lanes;
use super::level::Task;
use super::net::Kernel;
use super::packed::Packed;
use crate::batch::ChunkPlan;
use crate::batch::plan::{ABREAST, FOUR, LINE, STEP, Span, unpack};
use crate::prefetch::prefetch_second;

/// The weights of a block.
pub(super) struct Block<'a, F> {
    /// `[rows + 1, columns]`, the last row zero
    pub rows: &'a [F],
    /// The rows of the block that is computed next.
    pub next: &'a [F],
    /// `[columns]`
    pub bias: &'a [F],
    /// `[buckets, views, columns]`; none in deep nets
    pub output: &'a [f32],
}

/// The forward pass of one chunk. In deep nets it includes the backward pass of the layers.
pub(super) struct Forward<'a, F, P, const H: usize, const TOGETHER: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub selection: Selection<'a>,
    pub chunk: &'a mut Chunk<F>,
    pub rho: PhantomData<P>,
}

impl<F, P, const H: usize, const TOGETHER: usize> Task for Forward<'_, F, P, H, TOGETHER>
where
    F: Format<H>,
    P: Rho,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Forward { kernel, packed, selection, chunk, .. } = self;
        let (net, columns, maps) = (&kernel.net, packed.columns, &packed.maps);
        let (blocks, of_view, deep) = (columns.blocks(), columns.blocks_of_view(), net.is_deep());
        let backward = chunk.order(kernel, selection);
        let Chunk { plan, accumulators, partial, sums, head, .. } = &mut *chunk;
        let size = plan.lists() * columns.each;
        let keeps_all = backward || deep;
        accumulators.resize(if keeps_all { blocks * size } else { size });
        partial.resize(if deep { 0 } else { plan.places.len() * S::F32_LANES });
        partial.get_mut().fill(0.0);
        if deep {
            head.resize(net, maps, plan);
        }
        for block in 0..of_view {
            for half in (block..blocks).step_by(of_view) {
                let next = if half + of_view < blocks { half + of_view } else { block + 1 };
                let start = if keeps_all { half * size } else { 0 };
                let to = &mut accumulators.get_mut()[start..][..size];
                let weights = packed.block(net, half, next % blocks);
                accumulate::<S, R, H, F, P, TOGETHER>(simd, plan, &weights, to, partial.get_mut());
            }
            if deep {
                let halves = [block, if net.pairwise { of_view + block } else { block }]
                    .map(|half| &accumulators.get()[half * size..][..size]);
                let panels = net.views() * head.rows * columns.each;
                let to = &mut head.features.get_mut()[block * panels..][..panels];
                features::<S, R, H, F, P>(simd, halves, net.pairwise, &head.list_rows, to);
            }
        }
        sums.clear();
        sums.resize(plan.positions.len() + 1, 0.0);
        if deep {
            // Compiled once for all formats and activations.
            let logits = &mut sums[..];
            kernel.level.run(Layers { maps, plan, head, logits, backward: false });
        } else {
            // No iterator's closure: what is not inlined does not use the instructions.
            for (&sum, &place) in S::as_simd_f32s(partial.get()).0.iter().zip(&plan.places) {
                sums[usize::from(place)] += simd.reduce_sum_f32s(sum);
            }
            for Span { of, range } in &plan.buckets {
                for sum in &mut sums[range.clone()] {
                    *sum += packed.output_bias[*of];
                }
            }
        }
        chunk.judge(
            selection,
            if deep { 0.0 } else { F::LARGEST_SLOPE / P::STEEPEST },
            net.buckets,
        );
        let Chunk { plan, head, logit_gradients, slot_gradients, .. } = chunk;
        if backward && deep {
            let logits = &mut logit_gradients[..];
            kernel.level.run(Layers { maps, plan, head, logits, backward: true });
        } else if backward {
            slot_gradients.clear();
            let places = plan.places.iter().map(|place| usize::from(*place));
            slot_gradients.extend(places.map(|place| logit_gradients[place]));
        }
    }
}

/// Writes the accumulators `[lists, columns]` of a block, and adds each slot's share of the logit to
/// `logits`, `[slots, lanes]`, if there are any. A slot has `TOGETHER` lists.
#[inline(always)]
fn accumulate<S, const R: usize, const H: usize, F, P, const TOGETHER: usize>(
    simd: S,
    plan: &ChunkPlan,
    block: &Block<F>,
    accumulators: &mut [F],
    logits: &mut [f32],
) where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let output = S::as_simd_f32s(block.output).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let output: &[[[[S::f32s; H]; R]; TOGETHER]] = output.as_chunks::<TOGETHER>().0;
    let accumulators = F::vectors_mut(accumulators).as_chunks_mut::<R>().0;
    let accumulators = accumulators.as_chunks_mut::<ABREAST>().0;
    let mut logits = S::as_mut_simd_f32s(logits).0.chunks_exact_mut(ABREAST / TOGETHER);
    let kinds = plan.weights.chunks_exact(ABREAST / TOGETHER);
    assert!(size_of_val(block.rows) >= (plan.rows + 1) * LINE);

    // The rows of the next block that occur are prefetched meanwhile, some for each `ABREAST` lists.
    let each = plan.runs.len().div_ceil(plan.walks.len().max(1)).max(1);
    let mut ahead = plan.runs.chunks(each);
    let (mut kind, mut weights) = (usize::MAX, [[[simd.splat_f32s(0.0); H]; R]; TOGETHER]);
    for (((walk, lists), accumulators), kinds) in plan.walks().zip(accumulators).zip(kinds) {
        for run in ahead.next().unwrap_or_default() {
            prefetch_second(block.next, usize::from(run.input) * (LINE / size_of::<F>()));
        }
        // SAFETY: `Planner::order` wrote no row beyond the blank one, which is there, see above; and
        // so many entries of `ABREAST` lists.
        let sums = unsafe {
            match plan.step {
                STEP => sum::<S, R, H, F, STEP>(simd, lists, walk, block),
                _ => sum::<S, R, H, F, LINE>(simd, lists, walk, block),
            }
        };
        if let Some(logits) = logits.next() {
            let slots = sums.as_chunks::<TOGETHER>().0.iter().zip(logits).zip(kinds);
            for ((sums, logit), &of) in slots {
                // Neighbours share their weights nearly always: these stay in registers.
                if usize::from(of) != kind {
                    kind = of.into();
                    weights = output[kind];
                }
                for view in 0..TOGETHER {
                    for r in 0..R {
                        let (values, _) = F::both::<S, P>(simd, sums[view][r]);
                        for (value, weight) in values.into_iter().zip(weights[view][r]) {
                            *logit = simd.multiply_add(value, weight, *logit);
                        }
                    }
                }
            }
        }
        *accumulators = sums;
    }
}

/// The bias and the rows of each of some lists, added up.
///
/// # Safety
/// The lists must have as many entries as `walk`, as [`ChunkPlan::walks`] returns them, and these be
/// offsets of the block's rows, in units of `UNIT` bytes.
#[inline(always)]
unsafe fn sum<S, const R: usize, const H: usize, F, const UNIT: usize>(
    simd: S,
    lists: &[[u16; FOUR]],
    walk: usize,
    block: &Block<F>,
) -> [[F::Vector<S>; R]; ABREAST]
where
    S: Lanes,
    F: Format<H>,
{
    const { assert!(size_of::<[F::Vector<S>; R]>() == LINE) }
    let bias: [F::Vector<S>; R] = F::vectors(block.bias).as_chunks().0[0];
    let weights: &[[F::Vector<S>; R]] = F::vectors(block.rows).as_chunks().0;
    let mut sums = [bias; ABREAST];
    let add = |sum: &mut [F::Vector<S>; R], entry: usize| {
        // SAFETY: see above.
        let row = unsafe { &*weights.as_ptr().byte_add(entry * UNIT) };
        for r in 0..R {
            sum[r] = F::add_saturating(simd, sum[r], row[r]);
        }
    };
    // SAFETY: see above.
    let four =
        |abreast: usize, four: usize| unsafe { lists.get_unchecked(four * ABREAST + abreast) };
    let fours = walk / FOUR;
    for place in 0..fours {
        for (abreast, sum) in sums.iter_mut().enumerate() {
            for entry in unpack(four(abreast, place)) {
                add(sum, entry);
            }
        }
    }
    // The first few of the last four; the compiler knows how many.
    macro_rules! first {
        ($count:literal) => {
            for (abreast, sum) in sums.iter_mut().enumerate() {
                for &entry in &unpack(four(abreast, fours))[..$count] {
                    add(sum, entry);
                }
            }
        };
    }
    match walk % FOUR {
        1 => first!(1),
        2 => first!(2),
        3 => first!(3),
        _ => {}
    }
    sums
}

/// The inputs of the first layer, `[views, rows, columns]`, from the accumulators of a block and of
/// the one by which its neurons are multiplied if the net is pairwise.
#[inline(always)]
fn features<S, const R: usize, const H: usize, F, P>(
    simd: S,
    halves: [&[F]; 2],
    pairwise: bool,
    list_rows: &[u32],
    to: &mut [f32],
) where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let [own, others] = halves.map(|half| F::vectors::<S>(half).as_chunks::<R>().0);
    let to = S::as_mut_simd_f32s(to).0.as_chunks_mut::<H>().0.as_chunks_mut::<R>().0;
    for ((own, others), &row) in own.iter().zip(others).zip(list_rows) {
        let to = &mut to[row as usize];
        for r in 0..R {
            let (mut values, _) = F::both::<S, P>(simd, own[r]);
            if pairwise {
                let (others, _) = F::both::<S, P>(simd, others[r]);
                for h in 0..H {
                    values[h] = simd.mul_f32s(values[h], others[h]);
                }
            }
            to[r] = values;
        }
    }
}
