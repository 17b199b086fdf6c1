//! From accumulators and the gradients of the logits to the gradients of a block of columns.

use super::activation::Rho;
use super::format::Format;
use super::forward::times;
use super::lanes::Lanes;
use super::layout::{SOON, prefetch};
use crate::batch::ChunkPlan;
use crate::batch::plan::{FOUR, LINE, Run, STEP, Span, unpack};
use crate::prefetch::prefetch as fetch;

/// Gradients of a block, in the shapes of its weights; added to.
pub(super) struct BlockGradients<'a> {
    /// `[rows, columns]`
    pub rows: &'a mut [f32],
    /// `[columns]`
    pub bias: &'a mut [f32],
    /// `[buckets, views, columns]`
    pub output: &'a mut [f32],
}

/// The output weights of a block, as the way back needs them.
pub(super) struct Steepness<'a> {
    /// The weights over the factors, `[buckets, views, columns]`
    pub ratios: &'a [f32],
    /// What the gradients of the accumulators are in units of, `[columns]`
    pub factors: &'a [f32],
}

/// From the accumulators of a chunk, `[lists, columns]`, and whether they are far, finds their
/// gradients in the units of `steepness` times `unit`, given the gradient of each slot's logit in
/// that unit; adds up the gradients of biases and output.
#[inline(always)]
pub(super) fn slopes<S, const R: usize, const H: usize, F, P, const TOGETHER: usize>(
    simd: S,
    plan: &ChunkPlan,
    steepness: &Steepness,
    (logit_gradients, unit): (&[f32], f32),
    (accumulators, are_far): (&[F], bool),
    slopes: &mut [F],
    gradients: &mut BlockGradients,
) where
    S: Lanes,
    F: Format<H>,
    P: Rho,
{
    let ratios = S::as_simd_f32s(steepness.ratios).0.as_chunks::<H>().0.as_chunks::<R>().0;
    let ratios = ratios.as_chunks::<TOGETHER>().0;
    let mut bias = [[simd.splat_f32s(0.0); H]; R];
    let accumulators = F::vectors(accumulators).as_chunks::<R>().0.as_chunks::<TOGETHER>().0;
    let slopes = F::vectors_mut(slopes).as_chunks_mut::<R>().0.as_chunks_mut::<TOGETHER>().0;
    let [of_value, of_slope] = F::units::<P>();
    let of_slope = simd.splat_f32s(of_slope);
    let (whole, of_values) = (simd.splat_f32s(unit), simd.splat_f32s(unit * of_value));

    for Span { of, range } in &plan.spans {
        let ratios = times(simd, ratios[*of], of_slope);
        let mut outputs = [[[simd.splat_f32s(0.0); H]; R]; TOGETHER];
        let lists = accumulators[range.clone()].iter().zip(&mut slopes[range.clone()]);
        for ((accumulators, slopes), &gradient) in lists.zip(&logit_gradients[range.clone()]) {
            if are_far {
                for list in SOON..SOON + TOGETHER {
                    fetch(accumulators, list);
                }
            }
            let gradient = simd.splat_f32s(gradient);
            for view in 0..TOGETHER {
                for r in 0..R {
                    let (values, mut wide) = F::both::<S, P>(simd, accumulators[view][r]);
                    for h in 0..H {
                        let output = &mut outputs[view][r][h];
                        *output = simd.multiply_add(gradient, values[h], *output);
                        let steep = simd.mul_f32s(gradient, ratios[view][r][h]);
                        wide[h] = simd.mul_f32s(steep, wide[h]);
                        bias[r][h] = simd.add_f32s(bias[r][h], wide[h]);
                    }
                    slopes[view][r] = F::narrow(simd, wide);
                }
            }
        }
        // By number, as sums that an iterator was lent would live in memory, not in registers.
        let size = TOGETHER * R * H;
        let sums = &mut S::as_mut_simd_f32s(gradients.output).0[of * size..][..size];
        for view in 0..TOGETHER {
            for r in 0..R {
                for h in 0..H {
                    let sum = &mut sums[(view * R + r) * H + h];
                    *sum = simd.multiply_add(outputs[view][r][h], of_values, *sum);
                }
            }
        }
    }

    let factors = S::as_simd_f32s(steepness.factors).0;
    let sums = &mut S::as_mut_simd_f32s(gradients.bias).0[..R * H];
    for r in 0..R {
        for h in 0..H {
            let (sum, factor) = (&mut sums[r * H + h], factors[r * H + h]);
            *sum = simd.multiply_add(bias[r][h], simd.mul_f32s(factor, whole), *sum);
        }
    }
}

/// Runs before its turn that a row of gradients is asked for.
const AHEAD: usize = 32;

/// Adds, to the row of each input, the gradients of the accumulators that hold it, in the units
/// of `factors`, `[columns]`, times `unit`: `[lists + 1, columns]`, the last row zero. The
/// accumulators `next` are asked for meanwhile where those of a chunk share the caches with too
/// many rows to be still there.
#[inline(always)]
pub(super) fn gather<S, const R: usize, const H: usize, F>(
    simd: S,
    plan: &ChunkPlan,
    slopes: &[F],
    factors: &[f32],
    unit: f32,
    gradients: &mut [f32],
    next: &[F],
) where
    S: Lanes,
    F: Format<H>,
{
    let slopes: &[[F::Vector<S>; R]] = F::vectors(slopes).as_chunks().0;
    let factors = S::as_simd_f32s(factors).0.as_chunks::<H>().0;
    let factors: [[S::f32s; H]; R] = factors.try_into().expect("a row");
    let unit = simd.splat_f32s(unit);
    let factors = factors.map(|factors| factors.map(|factor| simd.mul_f32s(factor, unit)));
    let gradients = S::as_mut_simd_f32s(gradients).0.as_chunks_mut::<H>().0.as_chunks_mut::<R>().0;
    const { assert!(size_of::<[F::Vector<S>; R]>() == LINE) }
    assert!(slopes.len() > plan.lists());
    let far = plan.far();
    let each = next.len().div_ceil(far.len().max(1)).max(1);
    let mut next = next.chunks(each.next_multiple_of(LINE / size_of::<F>()));
    let mut four = plan.holders.as_ptr();
    for (number, &Run { input, fours }) in plan.runs.iter().enumerate() {
        let later = plan.runs.get(number + AHEAD).map_or(input, |run| run.input);
        for line in 0..R * H {
            let lines = gradients.as_flattened().as_flattened();
            fetch(lines, usize::from(later) * R * H + line);
        }
        if !far.is_empty() {
            let next = next.next().unwrap_or_default();
            prefetch(next, 0..next.len());
        }
        let mut gradient = gradients[usize::from(input)];
        // SAFETY: `Planner::invert` wrote as many fours as the runs have, one behind the other, and
        // in them no offset but those of the lists' rows and of the row behind, which is there, see
        // above. With slices in the place of pointers the loop takes longer.
        unsafe {
            let rows = |four: *const [u16; FOUR]| {
                unpack(&*four).map(|holder| &*slopes.as_ptr().byte_add(holder * STEP))
            };
            let end = four.add(fours.into());
            while four < end {
                // Several sums, so that an addition need not wait for the one before.
                let mut sums = rows(four).map(|row| *row);
                let stop = match F::ADDENDS / FOUR {
                    fours if fours < usize::from(u16::MAX) => end.min(four.wrapping_add(fours)),
                    _ => end,
                };
                four = four.add(1);
                while four < stop {
                    for (sum, row) in sums.iter_mut().zip(rows(four)) {
                        for r in 0..R {
                            sum[r] = F::add(simd, sum[r], row[r]);
                        }
                    }
                    four = four.add(1);
                }
                for r in 0..R {
                    let left = F::add(simd, sums[0][r], sums[1][r]);
                    let right = F::add(simd, sums[2][r], sums[3][r]);
                    let sum = F::widen(simd, F::add(simd, left, right));
                    for h in 0..H {
                        gradient[r][h] = simd.multiply_add(sum[h], factors[r][h], gradient[r][h]);
                    }
                }
            }
        }
        gradients[usize::from(input)] = gradient;
    }
}
