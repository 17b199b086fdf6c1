//! The operations behind the accumulators. Each has a file: its width, its value in any number
//! system, its derivative for the kernels, and its engine code.
//!
//! The number systems are an [`GraphArithmetic`] each: f64 (`floats`), Burn's tensors with their autodiff
//! (`model/head`), the integers of engines (`net/definition`) and intervals, which prove that these
//! do not overflow (`export/prove`).

mod activate;
mod affine;
mod combine;
mod concatenate;
mod piece_squares;
mod slice;

use std::ops::Range;

pub use combine::Combination;

use super::{Activation, Architecture, Curve, FixedMap, FixedValue};
use crate::features::Language;

/// An operation on values of a position, at first the accumulators, the side to move's first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The accumulators without the piece-square values behind them.
    Neurons,
    /// Half of the difference of both sides' piece-square values.
    PieceSquares,
    /// Multiplies the two halves of each perspective.
    Product,
    /// Affine map of this number, by output bucket.
    Affine(usize),
    /// Applies all curves, side by side.
    Activate(Activation),
    /// Some of the values.
    Slice(Range<usize>),
    /// The values of all inputs, side by side.
    Concatenate,
    /// Two inputs, value by value.
    Combine(Combination),
}

/// A number system, whose values are those of one position or of a whole batch.
pub trait GraphArithmetic {
    type Values: Clone;
    /// Applies each curve; the results stand side by side.
    fn activate(&self, x: Self::Values, curves: &[Curve]) -> Self::Values;
    /// Selects columns of each of `parts` equal parts.
    fn select_columns(&self, x: &Self::Values, parts: usize, columns: Range<usize>)
    -> Self::Values;
    /// Multiplies columns of each part by others of it, one by one.
    fn multiply(&self, x: Self::Values, parts: usize, factors: [Range<usize>; 2]) -> Self::Values;
    /// Combines values one by one.
    fn combine(&self, x: Self::Values, y: Self::Values, how: Combination) -> Self::Values;
    /// The values of all parts, side by side.
    fn concatenate(&self, parts: Vec<Self::Values>) -> Self::Values;
    /// The accumulators without the piece-square values behind them.
    fn select_neurons(&self, accumulators: Self::Values) -> Self::Values;
    /// Half the difference of the two sides' piece-square values of the position's output bucket.
    fn piece_squares(&self, accumulators: Self::Values) -> Self::Values;
    /// Affine map number `map`, with the weights of the position's output bucket.
    fn apply_map(&self, map: usize, x: Self::Values) -> Self::Values;
}

/// What engine code depends on besides the values.
#[derive(Clone, Copy)]
pub struct CodeContext<'a> {
    pub language: Language,
    /// Whether the inputs of the first map are bytes.
    pub bytes_in: bool,
    /// QA and QB.
    pub factors: [i32; 2],
    /// By affine map; none: in f32.
    pub maps: &'a [Option<FixedMap>],
    /// Whether piece-square values are no part of the output.
    pub psqt_apart: bool,
}

/// An array in engine code, of f32, or of i32 where a head is in fixed point.
#[derive(Clone, Copy)]
pub struct CodeValue<'a> {
    pub name: &'a str,
    pub width: usize,
    pub fixed: Option<FixedValue>,
}

impl CodeValue<'_> {
    /// The type of its numbers.
    fn number_type(&self, language: Language) -> &'static str {
        match self.fixed {
            None => language.choose_between("f32", "float"),
            Some(_) => language.choose_between("i32", "int32_t"),
        }
    }
}

/// Engine code that declares values and computes each by `value`, the one at `i`.
fn code_of_each(language: Language, to: CodeValue, value: &str) -> String {
    let (number, CodeValue { name, width, .. }) = (to.number_type(language), to);
    let rust = format!("let {name}: [{number}; {width}] = std::array::from_fn(|i| {value});\n");
    let rust = match rust.len() <= MOST_COLUMNS {
        true => rust,
        false => rust.replace("|i| ", "|i| {\n    ").replace(");\n", "\n});\n"),
    };
    let each = format!("for (int i = 0; i < {width}; i++) {name}[i] = {value};\n");
    let each = match each.len() <= MOST_COLUMNS {
        true => each,
        false => each.replace("++) ", "++)\n    "),
    };
    language.choose_between(rust, format!("{number} {name}[{width}];\n{each}"))
}

/// Columns of a line of code, with its end, in a method.
const MOST_COLUMNS: usize = 93;

/// Rows of f32 values, one a position, the first `width` columns of each `stride`.
#[derive(Clone, Copy)]
pub struct ValueRows<'a> {
    pub values: &'a [f32],
    pub stride: usize,
    pub width: usize,
}

impl<'a> ValueRows<'a> {
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = &'a [f32]> {
        self.values.chunks_exact(self.stride).map(move |row| &row[..self.width])
    }
}

/// Rows to be written; columns beyond the width are set to 0.
pub struct ValueRowsMut<'a> {
    pub values: &'a mut [f32],
    pub stride: usize,
    pub width: usize,
}

impl ValueRowsMut<'_> {
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let width = self.width;
        self.values.chunks_exact_mut(self.stride).map(move |row| {
            let (row, padding) = row.split_at_mut(width);
            padding.fill(0.0);
            row
        })
    }
}

impl Operation {
    /// Values of a position from the widths of the inputs; an affine map's are those of its array.
    pub(super) fn output_width(&self, net: &Architecture, inputs: &[usize]) -> usize {
        match self {
            Operation::Neurons => net.views() * net.hidden,
            Operation::PieceSquares => 1,
            Operation::Product => net.feature_count(),
            Operation::Affine(_) => unreachable!("its layer says how many"),
            Operation::Activate(activation) => activation.curves().len() * inputs[0],
            Operation::Slice(columns) => columns.len(),
            Operation::Concatenate => inputs.iter().sum(),
            Operation::Combine(_) => inputs[0],
        }
    }

    #[inline(always)]
    pub(super) fn evaluate<A: GraphArithmetic>(
        &self,
        net: &Architecture,
        arithmetic: &A,
        x: A::Values,
        mut others: impl Iterator<Item = A::Values>,
    ) -> A::Values {
        match self {
            Operation::Neurons => arithmetic.select_neurons(x),
            Operation::PieceSquares => arithmetic.piece_squares(x),
            Operation::Product => {
                let half = net.outputs_of_view();
                arithmetic.multiply(x, net.views(), [0..half, half..2 * half])
            }
            Operation::Affine(map) => arithmetic.apply_map(*map, x),
            Operation::Activate(activation) => arithmetic.activate(x, activation.curves()),
            Operation::Slice(columns) => arithmetic.select_columns(&x, 1, columns.clone()),
            Operation::Concatenate => {
                let mut parts = vec![x];
                parts.extend(others);
                arithmetic.concatenate(parts)
            }
            Operation::Combine(how) => {
                arithmetic.combine(x, others.next().expect("two inputs"), *how)
            }
        }
    }

    /// Computes rows of values from rows of the inputs. Maps and what is before the first of them
    /// have kernels of their own.
    #[inline(always)]
    pub fn forward(&self, inputs: &[ValueRows], to: ValueRowsMut) {
        match self {
            Operation::Activate(activation) => activate::forward(*activation, inputs[0], to),
            Operation::Slice(columns) => slice::forward(columns, inputs[0], to),
            Operation::Concatenate => concatenate::forward(inputs, to),
            Operation::Combine(how) => combine::forward(*how, [inputs[0], inputs[1]], to),
            Operation::Neurons
            | Operation::PieceSquares
            | Operation::Product
            | Operation::Affine(_) => unreachable!("{self:?} has kernels"),
        }
    }

    /// Adds the gradients of one input from those of the values.
    #[inline(always)]
    pub fn backward(
        &self,
        input: usize,
        inputs: &[ValueRows],
        gradients: ValueRows,
        to: ValueRowsMut,
    ) {
        match self {
            Operation::Activate(activation) => {
                activate::backward(*activation, inputs[0], gradients, to);
            }
            Operation::Slice(columns) => slice::backward(columns, gradients, to),
            Operation::Concatenate => {
                let start = inputs[..input].iter().map(|it| it.width).sum();
                concatenate::backward(start, gradients, to);
            }
            Operation::Combine(how) => {
                combine::backward(*how, input, inputs[1 - input], gradients, to);
            }
            Operation::Neurons
            | Operation::PieceSquares
            | Operation::Product
            | Operation::Affine(_) => unreachable!("{self:?} has kernels"),
        }
    }

    /// Lines of engine code that declare and compute values.
    pub fn engine_code(
        &self,
        context: &CodeContext,
        inputs: &[CodeValue],
        to: CodeValue,
    ) -> String {
        let language = context.language;
        match self {
            Operation::PieceSquares => piece_squares::engine_code(context, to),
            Operation::Affine(map) => affine::engine_code(*map, context, inputs[0], to),
            Operation::Activate(activation) => {
                activate::engine_code(*activation, context, inputs[0], to)
            }
            Operation::Slice(columns) => slice::engine_code(columns, language, inputs[0], to),
            Operation::Concatenate => concatenate::engine_code(language, inputs, to),
            Operation::Combine(how) => {
                combine::engine_code(*how, language, [inputs[0], inputs[1]], to)
            }
            Operation::Neurons | Operation::Product => unreachable!("templates have {self:?}"),
        }
    }
}

impl Architecture {
    /// Whether the CPU's kernels can compute the net in 16-bit fixed point.
    pub fn fits_mixed_precision(&self) -> bool {
        // Derivatives and piece-square values without a bound do not fit. Layers are floats.
        let Curve { bounded, outer, .. } = self.activation.curve();
        (bounded || outer == 1) && !self.psqt
    }
}

/// Implements [`GraphArithmetic::select_columns`] for slices.
#[inline(always)]
pub fn select_columns<T: Copy>(x: &[T], parts: usize, columns: Range<usize>) -> Vec<T> {
    x.chunks_exact(x.len() / parts).flat_map(|part| &part[columns.clone()]).copied().collect()
}

/// Implements [`GraphArithmetic::multiply`] for slices.
#[inline(always)]
pub fn multiply_columns<T: Copy>(
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
