//! From active inputs to accumulators and partial logits, one block of columns.

use super::activation::Rho;
use super::format::Format;
use super::lanes::Lanes;
use super::layout::{SOON, prefetch};
use crate::batch::ChunkPlan;
use crate::batch::plan::{ABREAST, FOUR, LINE, Run, STEP, unpack};
use crate::prefetch::prefetch as fetch;

/// The weights of a block.
pub(super) struct Block<'a, F> {
    /// `[rows + 1, columns]`, the last row zero
    pub rows: &'a [F],
    /// The rows of the block that comes next.
    pub next: &'a [F],
    /// `[columns]`
    pub bias: &'a [F],
    /// `[buckets, views, columns]`; none in deep nets
    pub output: &'a [f32],
}

/// Writes the accumulators `[lists, columns]`, and adds each slot's share of the logit to
/// `logits`, `[slots, lanes]`. A slot has `TOGETHER` lists. The lines of far accumulators are asked
/// for before they are written: a store would wait for them, and all later ones for it.
#[inline(always)]
pub(super) fn forward<S, const R: usize, const H: usize, F, P, const TOGETHER: usize>(
    simd: S,
    plan: &ChunkPlan,
    block: &Block<F>,
    accumulators: &mut [F],
    is_far: bool,
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
    let logits = S::as_mut_simd_f32s(logits).0.chunks_exact_mut(ABREAST / TOGETHER);
    let kinds = plan.weights.chunks_exact(ABREAST / TOGETHER);
    let lists = plan.walks();
    let unit = simd.splat_f32s(F::units::<P>()[0]);
    assert!(size_of_val(block.rows) > plan.rows * LINE);

    let (mut kind, mut weights) = (0, times(simd, output[0], unit));
    let mut ahead = Ahead::new(plan, block);
    for ((((walk, lists), accumulators), logits), kinds) in
        lists.zip(accumulators).zip(logits).zip(kinds)
    {
        ahead.fetch();
        if is_far {
            for list in SOON..SOON + ABREAST {
                fetch(accumulators, list);
            }
        }
        // SAFETY: `Planner::order` found no row beyond the last one, and made room for `ABREAST`
        // lists of so many entries; `Kernel::check` saw that the plan is one for this net.
        let sums = unsafe {
            match plan.step {
                STEP => sum::<S, R, H, F, STEP>(simd, lists, walk, block),
                _ => sum::<S, R, H, F, LINE>(simd, lists, walk, block),
            }
        };
        for (slot, (sums, logit)) in sums.as_chunks::<TOGETHER>().0.iter().zip(logits).enumerate() {
            // Neighbours share their weights nearly always: these stay in registers.
            if kinds[slot] != kind {
                (kind, weights) =
                    (kinds[slot], times(simd, output[usize::from(kinds[slot])], unit));
            }
            for view in 0..TOGETHER {
                for r in 0..R {
                    let values = F::value::<S, P>(simd, sums[view][r]);
                    for (value, weight) in values.into_iter().zip(weights[view][r]) {
                        *logit = simd.multiply_add(value, weight, *logit);
                    }
                }
            }
        }
        *accumulators = sums;
    }
}

/// Output weights of a block, all times a factor.
#[inline(always)]
pub(super) fn times<S: Lanes, const R: usize, const H: usize, const TOGETHER: usize>(
    simd: S,
    mut weights: [[[S::f32s; H]; R]; TOGETHER],
    factor: S::f32s,
) -> [[[S::f32s; H]; R]; TOGETHER] {
    for weight in weights.as_flattened_mut().as_flattened_mut() {
        *weight = simd.mul_f32s(*weight, factor);
    }
    weights
}

/// Writes the accumulators `[lists, columns]`.
#[inline(always)]
pub(super) fn accumulate<S, const R: usize, const H: usize, F>(
    simd: S,
    plan: &ChunkPlan,
    block: &Block<F>,
    accumulators: &mut [F],
) where
    S: Lanes,
    F: Format<H>,
{
    let accumulators = F::vectors_mut(accumulators).as_chunks_mut::<R>().0;
    let accumulators = accumulators.as_chunks_mut::<ABREAST>().0;
    let lists = plan.walks();
    assert!(size_of_val(block.rows) > plan.rows * LINE);
    let mut ahead = Ahead::new(plan, block);
    for ((walk, lists), accumulators) in lists.zip(accumulators) {
        ahead.fetch();
        // SAFETY: as above.
        *accumulators = unsafe {
            match plan.step {
                STEP => sum::<S, R, H, F, STEP>(simd, lists, walk, block),
                _ => sum::<S, R, H, F, LINE>(simd, lists, walk, block),
            }
        };
    }
}

/// Asks for the rows of the next block that occur, some for each [`ABREAST`] lists.
struct Ahead<'a, F> {
    runs: std::slice::Chunks<'a, Run>,
    next: &'a [F],
}

impl<'a, F> Ahead<'a, F> {
    #[inline(always)]
    fn new(plan: &'a ChunkPlan, block: &Block<'a, F>) -> Self {
        let each = plan.runs.len().div_ceil(plan.walks.len().max(1)).max(1);
        Self { runs: plan.runs.chunks(each), next: block.next }
    }

    #[inline(always)]
    fn fetch(&mut self) {
        for run in self.runs.next().unwrap_or_default() {
            let columns = LINE / size_of::<F>();
            let row = usize::from(run.input) * columns;
            prefetch(self.next, row..row + columns);
        }
    }
}

/// The bias and the rows of each of some lists, added up.
///
/// # Safety
/// The lists must have room for a walk each, as [`ChunkPlan::walks`] gives them, and their entries
/// be offsets of the block's rows, in units of `UNIT` bytes.
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
    // Of the last four the first few, how many is known to the compiler.
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
