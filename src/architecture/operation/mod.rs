//! The operations after the accumulators. Each has a file with its width, its value in any number
//! system, its derivative for the kernels, and its engine code.
//!
//! Each number system implements [`GraphArithmetic`]: f64 (`floats`), Burn's tensors with autodiff
//! (`model/head`), the integers of engines (`net/definition`), and intervals, which prove that these
//! integers do not overflow (`export/prove`).

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

/// An operation on values of a position; first on the accumulators, with the side to move's first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The accumulators without the piece-square values behind them.
    Neurons,
    /// Half of the difference between both sides' piece-square values.
    PieceSquares,
    /// The product of the two halves of each perspective.
    Pairwise,
    /// The affine map of this number, with weights by output bucket.
    Affine(usize),
    /// The concatenated results of all curves.
    Activate(Activation),
    /// A range of the values.
    Slice(Range<usize>),
    Concatenate,
    /// An elementwise combination of two inputs.
    Combine(Combination),
}

/// A number system for the values of one position or of a whole batch.
pub trait GraphArithmetic {
    type Values: Clone;
    /// Applies each curve and concatenates the results.
    fn activate(&self, x: Self::Values, curves: &[Curve]) -> Self::Values;
    /// Selects a range of the values.
    fn select_columns(&self, x: Self::Values, columns: Range<usize>) -> Self::Values;
    /// Multiplies the first half of each perspective's values elementwise by the second.
    fn multiply_halves(&self, x: Self::Values) -> Self::Values;
    fn combine(&self, x: Self::Values, y: Self::Values, combination: Combination) -> Self::Values;
    fn concatenate(&self, parts: Vec<Self::Values>) -> Self::Values;
    /// Selects the accumulators without the piece-square values behind them.
    fn select_neurons(&self, accumulators: Self::Values) -> Self::Values;
    /// Halves the difference of both sides' piece-square values of the position's output bucket.
    fn piece_squares(&self, accumulators: Self::Values) -> Self::Values;
    /// Applies affine map number `map`, with the weights of the position's output bucket.
    fn apply_map(&self, map: usize, x: Self::Values) -> Self::Values;
}

/// The inputs of engine code besides the values.
#[derive(Clone, Copy)]
pub struct CodeContext<'a> {
    pub language: Language,
    /// Whether the inputs of the first map are bytes.
    pub bytes_in: bool,
    /// QA and QB.
    pub factors: [i32; 2],
    /// The integers of each affine map; none: f32.
    pub maps: &'a [Option<FixedMap>],
    /// Whether piece-square values are separate from the output.
    pub psqt_apart: bool,
}

/// An array in engine code: of f32, or of i32 if the head is in fixed point.
#[derive(Clone, Copy)]
pub struct CodeValue<'a> {
    pub name: &'a str,
    pub width: usize,
    pub fixed: Option<FixedValue>,
}

impl CodeValue<'_> {
    fn number_type(&self, language: Language) -> &'static str {
        match self.fixed {
            None => language.choose_between("f32", "float"),
            Some(_) => language.choose_between("i32", "int32_t"),
        }
    }
}

/// Writes engine code that declares an array; `value` is the code of element `i`.
fn code_of_each(language: Language, output: CodeValue, value: &str) -> String {
    let number = output.number_type(language);
    let CodeValue { name, width, .. } = output;
    let rust = format!("let {name}: [{number}; {width}] = std::array::from_fn(|i| {value});\n");
    let rust = match rust.len() <= MAX_COLUMNS {
        true => rust,
        false => rust.replace("|i| ", "|i| {\n    ").replace(");\n", "\n});\n"),
    };
    let each = format!("for (int i = 0; i < {width}; i++) {name}[i] = {value};\n");
    let each = if each.len() <= MAX_COLUMNS { each } else { each.replace("++) ", "++)\n    ") };
    language.choose_between(rust, format!("{number} {name}[{width}];\n{each}"))
}

/// The maximum number of columns of a line of code in a method, with its line break.
const MAX_COLUMNS: usize = 93;

/// Rows of f32 values, one per position: the first `width` columns of each `stride`.
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

/// Rows of f32 values to be written; columns beyond the width are set to 0.
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
    /// The number of values per position, from the widths of the inputs.
    pub(super) fn output_width(&self, net: &Architecture, inputs: &[usize]) -> usize {
        match self {
            Operation::Neurons => net.perspective_count() * net.hidden,
            Operation::PieceSquares => 1,
            Operation::Pairwise => net.feature_count(),
            Operation::Affine(_) => unreachable!("its layer defines the width"),
            Operation::Activate(activation) => activation.curves().len() * inputs[0],
            Operation::Slice(columns) => columns.len(),
            Operation::Concatenate => inputs.iter().sum(),
            Operation::Combine(_) => inputs[0],
        }
    }

    #[inline(always)]
    pub(super) fn evaluate<A: GraphArithmetic>(
        &self,
        arithmetic: &A,
        x: A::Values,
        mut other_inputs: impl Iterator<Item = A::Values>,
    ) -> A::Values {
        match self {
            Operation::Neurons => arithmetic.select_neurons(x),
            Operation::PieceSquares => arithmetic.piece_squares(x),
            Operation::Pairwise => arithmetic.multiply_halves(x),
            Operation::Affine(map) => arithmetic.apply_map(*map, x),
            Operation::Activate(activation) => arithmetic.activate(x, activation.curves()),
            Operation::Slice(columns) => arithmetic.select_columns(x, columns.clone()),
            Operation::Concatenate => {
                let mut parts = vec![x];
                parts.extend(other_inputs);
                arithmetic.concatenate(parts)
            }
            Operation::Combine(combination) => {
                arithmetic.combine(x, other_inputs.next().expect("two inputs"), *combination)
            }
        }
    }

    /// Computes rows of values. The operations up to the first map, and maps, have other kernels.
    #[inline(always)]
    pub fn forward(&self, inputs: &[ValueRows], output: ValueRowsMut) {
        match self {
            Operation::Activate(activation) => activate::forward(*activation, inputs[0], output),
            Operation::Slice(columns) => slice::forward(columns, inputs[0], output),
            Operation::Concatenate => concatenate::forward(inputs, output),
            Operation::Combine(combination) => {
                combine::forward(*combination, [inputs[0], inputs[1]], output)
            }
            Operation::Neurons
            | Operation::PieceSquares
            | Operation::Pairwise
            | Operation::Affine(_) => unreachable!("{self:?} has kernels"),
        }
    }

    /// Adds the gradients of an input, computed from the gradients of the values.
    #[inline(always)]
    pub fn backward(
        &self,
        input: usize,
        inputs: &[ValueRows],
        gradients: ValueRows,
        output: ValueRowsMut,
    ) {
        match self {
            Operation::Activate(activation) => {
                activate::backward(*activation, inputs[0], gradients, output);
            }
            Operation::Slice(columns) => slice::backward(columns, gradients, output),
            Operation::Concatenate => {
                let start = inputs[..input].iter().map(|it| it.width).sum();
                concatenate::backward(start, gradients, output);
            }
            Operation::Combine(combination) => {
                combine::backward(*combination, input, inputs[1 - input], gradients, output);
            }
            Operation::Neurons
            | Operation::PieceSquares
            | Operation::Pairwise
            | Operation::Affine(_) => unreachable!("{self:?} has kernels"),
        }
    }

    /// Writes lines of engine code that declare and compute values.
    pub fn engine_code(
        &self,
        context: &CodeContext,
        inputs: &[CodeValue],
        output: CodeValue,
    ) -> String {
        let language = context.language;
        match self {
            Operation::PieceSquares => piece_squares::engine_code(context, output),
            Operation::Affine(map) => affine::engine_code(*map, context, inputs[0], output),
            Operation::Activate(activation) => {
                activate::engine_code(*activation, context, inputs[0], output)
            }
            Operation::Slice(columns) => slice::engine_code(columns, language, inputs[0], output),
            Operation::Concatenate => concatenate::engine_code(language, inputs, output),
            Operation::Combine(combination) => {
                combine::engine_code(*combination, language, [inputs[0], inputs[1]], output)
            }
            Operation::Neurons | Operation::Pairwise => unreachable!("templates have {self:?}"),
        }
    }
}

impl Architecture {
    /// Whether the CPU's kernels can compute the net in 16-bit fixed point.
    pub fn fits_mixed_precision(&self) -> bool {
        // Unbounded derivatives and piece-square values do not fit. Layers are floats.
        let Curve { bounded, outer, .. } = self.activation.curve();
        (bounded || outer == 1) && !self.psqt
    }
}

/// Implements [`GraphArithmetic::multiply_halves`] for slices.
#[inline(always)]
pub fn multiply_halves<T: Copy>(
    net: &Architecture,
    x: &[T],
    product: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut products = Vec::with_capacity(x.len() / 2);
    for values in x.chunks_exact(x.len() / net.perspective_count()) {
        let (left, right) = values.split_at(values.len() / 2);
        products.extend(left.iter().zip(right).map(|(x, y)| product(*x, *y)));
    }
    products
}
