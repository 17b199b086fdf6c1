//! Number systems for the operations of a [`Graph`](super::Graph), which is evaluated in terms of an
//! [`Arithmetic`]. Those are f64 (`floats`), Burn's
//! tensors with their autodiff (`model/head`), the integers of engines (`net/definition`) and
//! intervals, which prove that these do not overflow (`export/prove`).

use std::ops::Range;

use super::{Architecture, Curve};

/// A number system, whose values are those of one position or of a whole batch.
pub trait Arithmetic {
    type Values: Clone;
    /// Applies each curve; the results stand side by side.
    fn activate(&self, x: Self::Values, curves: &[Curve]) -> Self::Values;
    /// Selects columns of each of `parts` equal parts.
    fn columns(&self, x: &Self::Values, parts: usize, columns: Range<usize>) -> Self::Values;
    /// Multiplies columns of each part by others of it, one by one.
    fn multiply(&self, x: Self::Values, parts: usize, factors: [Range<usize>; 2]) -> Self::Values;
    fn add(&self, x: Self::Values, y: Self::Values) -> Self::Values;
    /// The values of all parts, side by side.
    fn concatenate(&self, parts: Vec<Self::Values>) -> Self::Values;
    /// The accumulators without the piece-square values behind them.
    fn neurons(&self, accumulators: Self::Values) -> Self::Values;
    /// Half the difference of the two sides' piece-square values of the position's output bucket.
    fn piece_squares(&self, accumulators: Self::Values) -> Self::Values;
    /// Affine map number `map`, with the weights of the position's output bucket.
    fn affine(&self, map: usize, x: Self::Values) -> Self::Values;
}

impl Architecture {
    /// Whether the fused kernels support the net; others are trained by Burn's operations.
    pub fn has_kernels(&self) -> bool {
        // Derivatives without a bound do not fit the kernels' fixed point. Layers take any curve.
        let Curve { inner, bounded, outer } = self.activation.curve();
        inner == 1 && (bounded || outer == 1) && !self.psqt && self.connections.is_chain()
    }
}

/// Implements [`Arithmetic::columns`] for slices.
#[inline(always)]
pub fn columns<T: Copy>(x: &[T], parts: usize, columns: Range<usize>) -> Vec<T> {
    x.chunks_exact(x.len() / parts).flat_map(|part| &part[columns.clone()]).copied().collect()
}

/// Implements [`Arithmetic::multiply`] for slices.
#[inline(always)]
pub fn multiply<T: Copy>(
    x: &[T],
    parts: usize,
    [one, other]: [Range<usize>; 2],
    product: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut products = Vec::with_capacity(parts * one.len());
    for part in x.chunks_exact(x.len() / parts) {
        let pairs = part[one.clone()].iter().zip(&part[other.clone()]);
        products.extend(pairs.map(|(x, y)| product(*x, *y)));
    }
    products
}
