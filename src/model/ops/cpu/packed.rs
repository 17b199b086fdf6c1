//! The weights of a net, block by block.

use rayon::prelude::*;

use super::backward::Steepness;
use super::format::Number;
use super::forward::Block;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::{Net, Weights};

/// Weights as the kernels want them. Columns beyond the hidden neurons hold zeros.
#[derive(Default)]
pub(super) struct Packed<F> {
    /// `[blocks, inputs + 1, columns]`, each block's last row zero
    rows: Aligned<F>,
    /// `[blocks, columns]`
    bias: Aligned<F>,
    /// `[blocks, views, columns]`
    output: Aligned<f32>,
    /// `[blocks, views, columns]`
    ratios: Aligned<f32>,
    /// `[blocks, columns]`
    factors: Aligned<f32>,
    pub output_bias: f32,
    columns: usize,
}

impl<F: Number> Packed<F> {
    pub fn pack(&mut self, net: &Net, weights: Weights, columns: usize) {
        let Net { inputs, hidden, views, .. } = *net;
        let blocks = hidden.div_ceil(columns);
        self.columns = columns;
        self.rows.resize(blocks * (inputs + 1) * columns);
        self.bias.resize(blocks * columns);
        self.output.resize(blocks * views * columns);
        self.ratios.resize(blocks * views * columns);
        self.factors.resize(blocks * columns);

        let rows = self.rows.get_mut().par_chunks_exact_mut((inputs + 1) * columns);
        rows.enumerate().for_each(|(block, rows)| {
            net.level.run(Rows { rows, columns, block, weights: weights.accumulator, hidden });
        });
        let biases = self.bias.get_mut().chunks_exact_mut(columns);
        biases.enumerate().for_each(|(block, row)| take(row, weights.bias, block, F::weight));
        let outputs = self.output.get_mut().chunks_exact_mut(columns);
        outputs.enumerate().for_each(|(row, to)| {
            let from = &weights.output[row % views * hidden..][..hidden];
            take(to, from, row / views, |weight| weight);
        });
        // Integers cannot be not-a-number, so it must show elsewhere that a training diverged; and
        // not all machines let it pass through a clamp.
        let parts = weights.accumulator.par_chunks(1 << 14).chain([weights.bias]);
        let poisoned = parts.any(|part| net.level.run(Poison(part)).is_nan());
        self.output_bias = if poisoned { f32::NAN } else { weights.output_bias };

        let outputs = self.output.get().chunks_exact(views * columns);
        let ratios = self.ratios.get_mut().chunks_exact_mut(views * columns);
        let factors = self.factors.get_mut().chunks_exact_mut(columns);
        for ((outputs, ratios), factors) in outputs.zip(ratios).zip(factors) {
            for (column, factor) in factors.iter_mut().enumerate() {
                let of = |view: usize| outputs[view * columns + column];
                *factor = match F::LARGEST_SLOPE {
                    0.0 => 1.0,
                    _ => (0..views).map(|view| of(view).abs()).fold(f32::MIN_POSITIVE, f32::max),
                };
                for view in 0..views {
                    ratios[view * columns + column] = of(view) / *factor;
                }
            }
        }
    }

    pub fn blocks(&self) -> usize {
        self.bias.get().len() / self.columns
    }

    /// Hidden neurons and padding.
    pub fn width(&self) -> usize {
        self.bias.get().len()
    }

    #[inline(always)]
    pub fn block(&self, net: &Net, block: usize) -> Block<'_, F> {
        let columns = self.columns;
        Block {
            rows: part(self.rows.get(), (net.inputs + 1) * columns, block),
            bias: part(self.bias.get(), columns, block),
            output: part(self.output.get(), net.views * columns, block),
        }
    }

    #[inline(always)]
    pub fn steepness(&self, net: &Net, block: usize) -> Steepness<'_> {
        Steepness {
            ratios: part(self.ratios.get(), net.views * self.columns, block),
            factors: part(self.factors.get(), self.columns, block),
        }
    }
}

#[inline(always)]
fn part<T>(all: &[T], size: usize, index: usize) -> &[T] {
    &all[index * size..][..size]
}

/// The rows of one block.
struct Rows<'a, F> {
    rows: &'a mut [F],
    columns: usize,
    block: usize,
    weights: &'a [f32],
    hidden: usize,
}

impl<F: Number> Task for Rows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) {
        let Rows { rows, columns, block, weights, hidden } = self;
        let mut rows = rows.chunks_exact_mut(columns);
        for weights in weights.chunks_exact(hidden) {
            let row = rows.next().expect("a row an input");
            take(row, weights, block, F::weight);
        }
        rows.next().expect("a blank row").fill(F::default());
    }
}

/// Not a number if any of these is not a finite number, else zero.
struct Poison<'a>(&'a [f32]);

impl Task for Poison<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) -> f32 {
        let (body, tail) = S::as_simd_f32s(self.0);
        let zero = simd.splat_f32s(0.0);
        let (body, rest) = body.as_chunks::<4>();
        let mut sums = [zero; 4];
        for four in body {
            for (sum, &vector) in sums.iter_mut().zip(four) {
                *sum = simd.multiply_add(vector, zero, *sum);
            }
        }
        for &vector in rest.iter().chain(&[simd.partial_load_f32s(tail)]) {
            sums[0] = simd.multiply_add(vector, zero, sums[0]);
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}

/// Copies the columns of a block, and zero for those there are not.
#[inline(always)]
fn take<F: Number>(to: &mut [F], from: &[f32], block: usize, convert: impl Fn(f32) -> F) {
    let from = &from[block * to.len()..];
    let (there, missing) = to.split_at_mut(from.len().min(to.len()));
    for (to, &from) in there.iter_mut().zip(from) {
        *to = convert(from);
    }
    missing.fill(F::default());
}
