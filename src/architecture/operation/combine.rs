//! Elementwise combinations of two inputs of the same width.

use std::ops::{Add, Mul, Sub};

use super::{CodeValue, ValueRows, ValueRowsMut, code_of_each};
use crate::features::Language;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combination {
    Sum,
    /// The first minus the second.
    Difference,
    Product,
}

impl Combination {
    #[inline(always)]
    pub fn apply<T, U>(self, x: T, y: U) -> T
    where
        T: Add<U, Output = T> + Sub<U, Output = T> + Mul<U, Output = T>,
    {
        match self {
            Combination::Sum => x + y,
            Combination::Difference => x - y,
            Combination::Product => x * y,
        }
    }

    /// The verb in messages for what a layer does with the values of another layer.
    pub(in crate::architecture) fn verb(self) -> &'static str {
        match self {
            Combination::Sum => "adds",
            Combination::Difference => "subtracts",
            Combination::Product => "multiplies by",
        }
    }

    /// Returns the derivative with respect to input `input`, 0 or 1; `factor` is the value of the
    /// other input.
    #[inline(always)]
    fn derivative_f32(self, input: usize, factor: f32) -> f32 {
        match self {
            Combination::Difference if input == 1 => -1.0,
            Combination::Sum | Combination::Difference => 1.0,
            Combination::Product => factor,
        }
    }
}

#[inline(always)]
pub(super) fn forward(combination: Combination, [x, y]: [ValueRows; 2], mut output: ValueRowsMut) {
    for ((x, y), output) in x.iter().zip(y.iter()).zip(output.iter_mut()) {
        let pairs = output.iter_mut().zip(x).zip(y);
        pairs.for_each(|((output, x), y)| *output = combination.apply(*x, *y));
    }
}

#[inline(always)]
pub(super) fn backward(
    combination: Combination,
    input: usize,
    factors: ValueRows,
    gradients: ValueRows,
    mut output: ValueRowsMut,
) {
    let rows = factors.iter().zip(gradients.iter()).zip(output.iter_mut());
    for ((factors, gradients), sums) in rows {
        for ((sum, gradient), &factor) in sums.iter_mut().zip(gradients).zip(factors) {
            *sum += gradient * combination.derivative_f32(input, factor);
        }
    }
}

pub(super) fn engine_code(
    combination: Combination,
    language: Language,
    [x, y]: [CodeValue; 2],
    output: CodeValue,
) -> String {
    let sign = match combination {
        Combination::Sum => "+",
        Combination::Difference => "-",
        Combination::Product => "*",
    };
    // In fixed point the second input is converted to the unit of the first.
    let units = x.fixed.zip(y.fixed).map(|(x, y)| [y.unit, x.unit]).filter(|[y, x]| x != y);
    let y_i = |language: Language| match units {
        None => format!("{}[i]", y.name),
        Some([from, to]) => language.choose_between(
            format!("(i64::from({}[i]) * {to} / {from}) as i32", y.name),
            format!("(int32_t)((int64_t){}[i] * {to} / {from})", y.name),
        ),
    };
    code_of_each(language, output, &format!("{}[i] {sign} {}", x.name, y_i(language)))
}
