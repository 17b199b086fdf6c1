//! From accumulators to the layers behind them, and back.

use std::marker::PhantomData;

use super::activation::Rho;
use super::chunk::{Chunk, Purpose};
use super::format::Format;
use super::forward::accumulate;
use super::head::{Head, Maps};
use super::lanes::Lanes;
use super::level::Task;
use super::net::{Kernel, Positions};
use super::packed::Packed;
use super::plan::Plan;
use crate::architecture::Architecture;

/// A block's share of what is handed on, and where it comes from and goes to.
struct Part {
    /// The block of its neurons.
    block: usize,
    /// The block of the neurons that they are multiplied by.
    other: Option<usize>,
    /// Its first column among those of a view.
    first: usize,
}

/// The parts of what a view hands on.
fn parts<F>(net: &Architecture, packed: &Packed<F>) -> impl Iterator<Item = Part> + use<F> {
    let (of_view, each) = (packed.columns.blocks_of_view(), packed.columns.each);
    let pairwise = net.pairwise;
    (0..of_view).map(move |block| Part {
        block,
        other: pairwise.then_some(of_view + block),
        first: block * each,
    })
}

/// The way forward for one chunk, and back through the layers behind its accumulators.
pub(super) struct Deep<'a, F, P, const H: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub positions: Positions<'a>,
    pub purpose: Purpose<'a>,
    pub chunk: &'a mut Chunk<F>,
    pub rho: PhantomData<P>,
}

impl<F, P, const H: usize> Task for Deep<'_, F, P, H>
where
    F: Format<H>,
    P: Rho,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Deep { kernel, packed, positions, purpose, chunk, .. } = self;
        let backward = matches!(purpose, Purpose::Gradients { .. });
        chunk.plan.order(kernel, positions);
        if backward {
            chunk.plan.invert();
        }
        forward::<S, R, H, F, P>(simd, &kernel.net, packed, chunk);
        let Chunk { plan, head, sums, .. } = &mut *chunk;
        // Compiled once for all that stands before the layers.
        kernel.level.run(Up { maps: &packed.maps, plan, head, sums });
        chunk.judge(purpose, 1.0, kernel.net.buckets);
        if backward {
            let Chunk { plan, head, logit_gradients, unit, .. } = &mut *chunk;
            for gradient in logit_gradients.iter_mut() {
                *gradient *= *unit;
            }
            *unit = 1.0;
            let (maps, buckets) = (&packed.maps, kernel.net.buckets);
            kernel.level.run(Down { maps, buckets, plan, head, logit_gradients });
            self::backward::<S, R, H, F, P>(simd, &kernel.net, packed, chunk);
        }
    }
}

/// From what the accumulators hand on to the logits, `[slots]`.
struct Up<'a> {
    maps: &'a Maps,
    plan: &'a Plan,
    head: &'a mut Head,
    sums: &'a mut [f32],
}

impl Task for Up<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Up { maps, plan, head, sums } = self;
        for set in &plan.sets {
            head.forward(simd, maps, set, &mut sums[set.slots.clone()]);
        }
    }
}

/// And back.
struct Down<'a> {
    maps: &'a Maps,
    buckets: usize,
    plan: &'a Plan,
    head: &'a mut Head,
    logit_gradients: &'a [f32],
}

impl Task for Down<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Down { maps, buckets, plan, head, logit_gradients } = self;
        head.upper.clear();
        head.upper.resize(maps.upper_len(buckets), 0.0);
        for set in &plan.sets {
            head.backward(simd, maps, buckets, set, &logit_gradients[set.slots.clone()]);
        }
    }
}

/// What the accumulators of a chunk hand on.
#[inline(always)]
fn forward<S, const R: usize, const H: usize, F, P>(
    simd: S,
    net: &Architecture,
    packed: &Packed<F>,
    chunk: &mut Chunk<F>,
) where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let Chunk { plan, accumulators, head, sums, .. } = chunk;
    let (views, each) = (net.views(), packed.columns.each);
    let lists = plan.lists();
    // One more row of zeros, for the way back.
    let size = (lists + 1) * each;
    let blocks = packed.columns.blocks();
    accumulators.resize(blocks * size);
    for (block, room) in accumulators.get_mut().chunks_exact_mut(size).enumerate() {
        let (room, missing) = room.split_at_mut(lists * each);
        missing.fill(F::default());
        accumulate::<S, R, H, F>(simd, plan, &packed.block(net, block), room);
    }

    let slots = lists / views;
    head.resize(&packed.maps, slots);
    let width = packed.columns.blocks_of_view() * each;
    let unit = simd.splat_f32s(1.0 / F::ONE);
    for Part { block, other, first } in parts(net, packed) {
        let own = &accumulators.get()[block * size..][..lists * each];
        let own = F::vectors(own).as_chunks::<R>().0;
        let others = &accumulators.get()[other.unwrap_or(block) * size..][..lists * each];
        let others = F::vectors(others).as_chunks::<R>().0;
        let to = head.features.get_mut().chunks_exact_mut(width);
        for ((own, others), to) in own.iter().zip(others).zip(to) {
            let to = S::as_mut_simd_f32s(&mut to[first..][..each]).0.as_chunks_mut::<H>().0;
            for r in 0..R {
                let (wide, wide_other) = (F::widen(simd, own[r]), F::widen(simd, others[r]));
                for h in 0..H {
                    let mut value = P::value(simd, simd.mul_f32s(wide[h], unit));
                    if other.is_some() {
                        let other = P::value(simd, simd.mul_f32s(wide_other[h], unit));
                        value = simd.mul_f32s(value, other);
                    }
                    to[r][h] = value;
                }
            }
        }
    }
    sums.clear();
    sums.resize(slots, 0.0);
}

/// The gradients of a chunk's accumulators, in their place, and of their biases, from those of what
/// they handed on.
#[inline(always)]
fn backward<S, const R: usize, const H: usize, F, P>(
    simd: S,
    net: &Architecture,
    packed: &Packed<F>,
    chunk: &mut Chunk<F>,
) where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let Chunk { plan, accumulators, head, factors, bias, .. } = chunk;
    let each = packed.columns.each;
    let lists = plan.lists();
    let size = (lists + 1) * each;
    let width = packed.columns.blocks_of_view() * each;
    factors.resize(packed.columns.width());
    bias.resize(packed.columns.width());
    let zero = [[simd.splat_f32s(0.0); H]; R];
    for Part { block, other, first } in parts(net, packed) {
        let blocks = [block, other.unwrap_or(block)];
        // What is rounded is rounded to a share of the largest.
        let mut largest = [zero; 2];
        if F::LARGEST_SLOPE > 0.0 {
            for list in 0..lists {
                let above = &head.feature_slopes.get()[list * width + first..][..each];
                let places = blocks.map(|block| block * size + list * each);
                for r in 0..R {
                    let (accumulators, halves) = (accumulators.get(), other.is_some());
                    let slopes =
                        slopes::<S, H, F, P>(simd, accumulators, places, each, r, halves, above);
                    for (largest, slopes) in largest.iter_mut().zip(slopes) {
                        for h in 0..H {
                            let size = simd.abs_f32s(slopes[h]);
                            largest[r][h] = simd.max_f32s(largest[r][h], size);
                        }
                    }
                }
            }
        }
        let (one, least) = (simd.splat_f32s(1.0), simd.splat_f32s(f32::MIN_POSITIVE));
        let (mut units, mut over) = ([[[one; H]; R]; 2], [[[one; H]; R]; 2]);
        if F::LARGEST_SLOPE > 0.0 {
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
        let halves = if other.is_some() { 2 } else { 1 };
        let mut sums = [zero; 2];
        for list in 0..lists {
            let above = &head.feature_slopes.get()[list * width + first..][..each];
            let places = blocks.map(|block| block * size + list * each);
            for r in 0..R {
                let found = slopes::<S, H, F, P>(
                    simd,
                    accumulators.get(),
                    places,
                    each,
                    r,
                    halves == 2,
                    above,
                );
                for half in 0..halves {
                    let mut narrow = found[half];
                    for h in 0..H {
                        sums[half][r][h] = simd.add_f32s(sums[half][r][h], found[half][h]);
                        if F::LARGEST_SLOPE > 0.0 {
                            narrow[h] = simd.mul_f32s(found[half][h], over[half][r][h]);
                        }
                    }
                    let row = &mut accumulators.get_mut()[places[half]..][..each];
                    F::vectors_mut(row)[r] = F::narrow(simd, narrow);
                }
            }
        }
        for half in 0..halves {
            let block = blocks[half];
            let to = S::as_mut_simd_f32s(&mut factors.get_mut()[block * each..][..each]).0;
            to.copy_from_slice(units[half].as_flattened());
            let to = S::as_mut_simd_f32s(&mut bias.get_mut()[block * each..][..each]).0;
            to.copy_from_slice(sums[half].as_flattened());
        }
    }
}

/// The gradients of a list's neurons, a vector of its row, and of those that they are multiplied
/// by, if there are two halves; the rows begin at `places`, and what they handed on has the
/// gradients `above`.
#[inline(always)]
fn slopes<S, const H: usize, F, P>(
    simd: S,
    accumulators: &[F],
    places: [usize; 2],
    each: usize,
    r: usize,
    halves: bool,
    above: &[f32],
) -> [[S::f32s; H]; 2]
where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let unit = simd.splat_f32s(1.0 / F::ONE);
    let above = S::as_simd_f32s(above).0.as_chunks::<H>().0[r];
    let own = F::widen(simd, F::vectors(&accumulators[places[0]..][..each])[r]);
    let other = F::widen(simd, F::vectors(&accumulators[places[1]..][..each])[r]);
    let mut slopes = [[simd.splat_f32s(0.0); H]; 2];
    for h in 0..H {
        let (value, slope) = P::both(simd, simd.mul_f32s(own[h], unit));
        if halves {
            let (other, other_slope) = P::both(simd, simd.mul_f32s(other[h], unit));
            slopes[0][h] = simd.mul_f32s(simd.mul_f32s(above[h], other), slope);
            slopes[1][h] = simd.mul_f32s(simd.mul_f32s(above[h], value), other_slope);
        } else {
            slopes[0][h] = simd.mul_f32s(above[h], slope);
        }
    }
    slopes
}
