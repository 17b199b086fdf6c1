//! From accumulators to the layers behind them, and back.

use std::marker::PhantomData;

use super::activation::Rho;
use super::backward::gather;
use super::chunk::{Chosen, Chunk, with_next};
use super::format::Format;
use super::forward::accumulate;
use super::head::{Head, Maps};
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::Kernel;
use super::packed::Packed;
use super::tally::{Slopes, Tally};
use crate::architecture::Architecture;
use crate::batch::ChunkPlan;

/// The way forward for one chunk, and back through the layers behind its accumulators.
pub(super) struct Deep<'a, F, P, const H: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub chosen: Chosen<'a>,
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
        let Deep { kernel, packed, chosen, chunk, .. } = self;
        let backward = chunk.order(kernel, chosen);
        forward::<S, R, H, F, P>(simd, &kernel.net, packed, chunk);
        let Chunk { plan, head, sums, .. } = &mut *chunk;
        // Compiled once for all that stands before the layers.
        kernel.level.run(LayersForward { maps: &packed.maps, plan, head, sums });
        chunk.judge(chosen, 0.0, kernel.net.buckets);
        if backward {
            let Chunk { plan, head, logit_gradients, .. } = &mut *chunk;
            kernel.level.run(LayersBackward { maps: &packed.maps, plan, head, logit_gradients });
        }
    }
}

/// From what the accumulators hand on to the logits, by place.
struct LayersForward<'a> {
    maps: &'a Maps,
    plan: &'a ChunkPlan,
    head: &'a mut Head,
    sums: &'a mut [f32],
}

impl Task for LayersForward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let LayersForward { maps, plan, head, sums } = self;
        for span in &plan.buckets {
            head.forward(simd, maps, span, &mut sums[span.range.clone()]);
        }
    }
}

/// And back.
struct LayersBackward<'a> {
    maps: &'a Maps,
    plan: &'a ChunkPlan,
    head: &'a mut Head,
    logit_gradients: &'a [f32],
}

impl Task for LayersBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let LayersBackward { maps, plan, head, logit_gradients } = self;
        head.upper.clear();
        head.upper.resize(maps.upper_len(), 0.0);
        for span in &plan.buckets {
            head.backward(simd, maps, span, &logit_gradients[span.range.clone()]);
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
    let (columns, unit) = (packed.columns, simd.splat_f32s(1.0 / F::ONE));
    let (each, of_view) = (columns.each, columns.blocks_of_view());
    let size = plan.lists() * each;
    accumulators.resize(columns.blocks() * size);
    head.resize(net, &packed.maps, plan);
    sums.clear();
    sums.resize(plan.positions.len(), 0.0);
    let panels = net.views() * head.rows * each;
    for block in 0..of_view {
        let other = net.pairwise.then_some(of_view + block);
        let order = [Some(block), other, Some((block + 1) % of_view)].into_iter().flatten();
        for (block, next) in order.clone().zip(order.skip(1)) {
            let room = &mut accumulators.get_mut()[block * size..][..size];
            accumulate::<S, R, H, F>(simd, plan, &packed.block(net, block, next), room);
        }
        let own = &accumulators.get()[block * size..][..size];
        let own = F::vectors(own).as_chunks::<R>().0;
        let others = &accumulators.get()[other.unwrap_or(block) * size..][..size];
        let others = F::vectors(others).as_chunks::<R>().0;
        let to = &mut head.features.get_mut()[block * panels..][..panels];
        let to = S::as_mut_simd_f32s(to).0.as_chunks_mut::<H>().0.as_chunks_mut::<R>().0;
        for ((own, others), &row) in own.iter().zip(others).zip(&head.list_rows) {
            let to = &mut to[row as usize];
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
}

/// The way back through some chunks from the first map's outputs: for one block, and for that of
/// the neurons by which its own are multiplied, if they are.
pub(super) struct DeepBackward<'a, C, F, P, const H: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub block: usize,
    pub chunks: C,
    pub room: &'a mut Slopes<F>,
    /// Of each half.
    pub tallies: &'a mut [Tally],
    pub rho: PhantomData<P>,
}

impl<'c, C, F, P, const H: usize> Task for DeepBackward<'_, C, F, P, H>
where
    C: Iterator<Item = &'c Chunk<F>> + Clone,
    F: Format<H>,
    P: Rho,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let DeepBackward { kernel, packed, block, chunks, room, tallies, .. } = self;
        let (each, of_view) = (packed.columns.each, packed.columns.blocks_of_view());
        let blocks = [block, if tallies.len() == 2 { of_view + block } else { block }];
        for (chunk, (later, before)) in with_next(chunks) {
            let Chunk { plan, head, .. } = chunk;
            // Compiled once for all that stands before the layers.
            let maps = &packed.maps;
            let (above, output) = (&mut room.above, tallies[0].output.get_mut());
            kernel.level.run(FirstMapBackward { maps, plan, head, block, above, output });
            let size = plan.lists() * each;
            let halves = blocks.map(|block| chunk.accumulators_of(block, packed.columns));
            let above = room.above.get();
            let list_rows = &head.list_rows[..plan.lists()];
            let [rows, others] = &mut room.rows;
            // One more row of zeros.
            for rows in [&mut *rows, others] {
                rows.resize(size + each);
                rows.get_mut()[size..].fill(F::default());
            }
            let rows = [rows.get_mut(), others.get_mut()];
            let [bias, units] = match tallies.len() {
                2 => slopes::<S, R, H, F, P, true>(simd, halves, list_rows, above, rows),
                _ => slopes::<S, R, H, F, P, false>(simd, halves, list_rows, above, rows),
            };
            for (half, tally) in tallies.iter_mut().enumerate() {
                let sums = S::as_mut_simd_f32s(tally.bias.get_mut()).0;
                for (sum, &bias) in sums.iter_mut().zip(bias[half].as_flattened()) {
                    *sum = simd.add_f32s(*sum, bias);
                }
                room.units.resize(each);
                let to = S::as_mut_simd_f32s(room.units.get_mut()).0;
                to.copy_from_slice(units[half].as_flattened());
                let (rows, units) = (room.rows[half].get(), room.units.get());
                let next = later.accumulators_before(blocks[half], before, packed.columns);
                gather::<S, R, H, F>(simd, plan, rows, units, 1.0, tally.rows.get_mut(), next);
            }
        }
    }
}

/// From the gradients of the first map's outputs to those of what a block hands on, and of the
/// map's weights.
struct FirstMapBackward<'a> {
    maps: &'a Maps,
    plan: &'a ChunkPlan,
    head: &'a Head,
    block: usize,
    /// `[views, rows, columns]`, replaced.
    above: &'a mut Aligned<f32>,
    /// `[views, buckets, columns, width]`, added to.
    output: &'a mut [f32],
}

impl Task for FirstMapBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let FirstMapBackward { maps, plan, head, block, above, output } = self;
        head.feature_slopes(simd, maps, &plan.buckets, block, above);
        head.first_products(simd, maps, &plan.buckets, block, output);
    }
}

/// A row of columns of each half.
type Halves<V, const R: usize, const H: usize> = [[[V; H]; R]; 2];

/// The gradients of the accumulators of two halves, `[lists, columns]` each, written to `rows`, from
/// those of what they hand on: sums over the lists, and the units that those of a column are in.
/// Without `PAIRS` there is only the first half.
#[inline(always)]
fn slopes<S, const R: usize, const H: usize, F, P, const PAIRS: bool>(
    simd: S,
    halves: [&[F]; 2],
    list_rows: &[u32],
    above: &[f32],
    rows: [&mut [F]; 2],
) -> [Halves<S::f32s, R, H>; 2]
where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let halves = halves.map(|half| F::vectors::<S>(half).as_chunks::<R>().0);
    let above = S::as_simd_f32s(above).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let zero = [[simd.splat_f32s(0.0); H]; R];
    let (one, least) = (simd.splat_f32s(1.0), simd.splat_f32s(f32::MIN_POSITIVE));
    let (mut units, mut over) = ([[[one; H]; R]; 2], [[[one; H]; R]; 2]);
    // What is rounded is rounded to a share of the largest.
    if F::LARGEST_SLOPE > 0.0 {
        let mut largest = [zero; 2];
        for ((&row, own), other) in list_rows.iter().zip(halves[0]).zip(halves[1]) {
            for r in 0..R {
                let above = above[row as usize][r];
                let found = neuron_slopes::<S, H, F, P, PAIRS>(simd, [own[r], other[r]], above);
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
            let mut found = neuron_slopes::<S, H, F, P, PAIRS>(simd, [own[r], other[r]], above);
            for half in 0..2 {
                for h in 0..H {
                    sums[half][r][h] = simd.add_f32s(sums[half][r][h], found[half][h]);
                    if F::LARGEST_SLOPE > 0.0 {
                        found[half][h] = simd.mul_f32s(found[half][h], over[half][r][h]);
                    }
                }
            }
            first[r] = F::narrow(simd, found[0]);
            if PAIRS {
                second[r] = F::narrow(simd, found[1]);
            }
        }
    }
    [sums, units]
}

/// The gradients of some neurons, and of those by which they are multiplied if they are, from those
/// of what they hand on.
#[inline(always)]
fn neuron_slopes<S, const H: usize, F, P, const PAIRS: bool>(
    simd: S,
    [own, other]: [F::Vector<S>; 2],
    above: [S::f32s; H],
) -> [[S::f32s; H]; 2]
where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let unit = simd.splat_f32s(1.0 / F::ONE);
    let (own, other) = (F::widen(simd, own), F::widen(simd, other));
    let mut slopes = [[simd.splat_f32s(0.0); H]; 2];
    for h in 0..H {
        let (value, slope) = P::both(simd, simd.mul_f32s(own[h], unit));
        if PAIRS {
            let (other, other_slope) = P::both(simd, simd.mul_f32s(other[h], unit));
            slopes[0][h] = simd.mul_f32s(simd.mul_f32s(above[h], other), slope);
            slopes[1][h] = simd.mul_f32s(simd.mul_f32s(above[h], value), other_slope);
        } else {
            slopes[0][h] = simd.mul_f32s(above[h], slope);
        }
    }
    slopes
}
