//! The operations behind the accumulators, and one evaluation of them for all number systems. An
//! operation is written once, in terms of an [`Arithmetic`]. Those are f64 (`floats`), Burn's
//! tensors with their autodiff (`model/head`), the integers of engines (`net/definition`) and
//! intervals, which prove that these do not overflow (`export/prove`).

use std::ops::Range;

use super::{Activation, Architecture, Curve};

/// An operation on the values of a position, at first the accumulators, the side to move's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Removes the piece-square values; half of their difference is added to the output.
    PieceSquares,
    /// Applies all curves, side by side.
    Activate(Activation),
    /// Multiplies the two halves of each perspective.
    Product,
    /// Affine map of this number, by output bucket.
    Affine(usize),
    /// Removes the last value, which is added to the output.
    Skip,
}

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
    /// Splits off the piece-square values; returns the other values, and half the difference of the
    /// two sides' values of the position's output bucket.
    fn piece_squares(&self, accumulators: Self::Values) -> [Self::Values; 2];
    /// Affine map number `map`, with the weights of the position's output bucket.
    fn affine(&self, map: usize, x: Self::Values) -> Self::Values;
}

impl Architecture {
    /// Operations behind the accumulators, in order.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<'_> {
        let of_layer = |(i, layer): (usize, &super::Layer)| {
            let skip = (self.skip && i == 0).then_some(Operation::Skip);
            let first = std::iter::once(Operation::Affine(i)).chain(skip);
            first.chain([Operation::Activate(layer.activation)])
        };
        let piece_squares = self.psqt.then_some(Operation::PieceSquares);
        piece_squares
            .into_iter()
            .chain([Operation::Activate(self.activation)])
            .chain(self.pairwise.then_some(Operation::Product))
            .chain(self.head.iter().enumerate().flat_map(of_layer))
            .chain([Operation::Affine(self.head.len())])
    }

    /// The output from the accumulators; `see` receives each operation with the values before it.
    #[inline]
    pub fn output<A: Arithmetic>(
        &self,
        arithmetic: &A,
        accumulators: A::Values,
        mut see: impl FnMut(Operation, &A::Values),
    ) -> A::Values {
        let (mut x, mut kept) = (accumulators, None);
        let mut keep = |it| {
            kept = Some(match kept.take() {
                None => it,
                Some(kept) => arithmetic.add(kept, it),
            });
        };
        for operation in self.operations() {
            see(operation, &x);
            x = match operation {
                Operation::PieceSquares => {
                    let [neurons, values] = arithmetic.piece_squares(x);
                    keep(values);
                    neurons
                }
                Operation::Activate(activation) => arithmetic.activate(x, activation.curves()),
                Operation::Product => {
                    let half = self.outputs_of_view();
                    arithmetic.multiply(x, self.views(), [0..half, half..2 * half])
                }
                Operation::Affine(map) => arithmetic.affine(map, x),
                Operation::Skip => {
                    let last = self.head[0].size;
                    keep(arithmetic.columns(&x, 1, last..last + 1));
                    arithmetic.columns(&x, 1, 0..last)
                }
            };
        }
        match kept {
            None => x,
            Some(kept) => arithmetic.add(x, kept),
        }
    }

    /// Whether the fused kernels support the net; others are trained by Burn's operations.
    pub fn has_kernels(&self) -> bool {
        // Derivatives without a bound do not fit the kernels' fixed point. Layers take any curve.
        let Curve { inner, bounded, outer } = self.activation.curve();
        inner == 1 && (bounded || outer == 1) && !self.psqt
    }
}

/// Implements [`Arithmetic::columns`] for slices.
pub fn columns<T: Copy>(x: &[T], parts: usize, columns: Range<usize>) -> Vec<T> {
    x.chunks_exact(x.len() / parts).flat_map(|part| &part[columns.clone()]).copied().collect()
}

/// Implements [`Arithmetic::multiply`] for slices.
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
