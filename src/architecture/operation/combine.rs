//! Two inputs of one width, value by value.

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

    /// What a layer does with another's values, for messages.
    pub(in crate::architecture) fn verb(self) -> &'static str {
        match self {
            Combination::Sum => "adds",
            Combination::Difference => "subtracts",
            Combination::Product => "multiplies by",
        }
    }

    /// Derivative by one of the inputs, where the other has this value.
    #[inline(always)]
    fn derivative_f32(self, input: usize, other: f32) -> f32 {
        match self {
            Combination::Difference if input == 1 => -1.0,
            Combination::Sum | Combination::Difference => 1.0,
            Combination::Product => other,
        }
    }
}

#[inline(always)]
pub(super) fn forward(how: Combination, [x, y]: [ValueRows; 2], mut to: ValueRowsMut) {
    for ((x, y), to) in x.iter().zip(y.iter()).zip(to.iter_mut()) {
        to.iter_mut().zip(x).zip(y).for_each(|((to, x), y)| *to = how.apply(*x, *y));
    }
}

#[inline(always)]
pub(super) fn backward(
    how: Combination,
    input: usize,
    other: ValueRows,
    gradients: ValueRows,
    mut to: ValueRowsMut,
) {
    for ((other, gradients), to) in other.iter().zip(gradients.iter()).zip(to.iter_mut()) {
        for ((to, gradient), &other) in to.iter_mut().zip(gradients).zip(other) {
            *to += gradient * how.derivative_f32(input, other);
        }
    }
}

pub(super) fn engine_code(
    how: Combination,
    language: Language,
    [x, y]: [CodeValue; 2],
    to: CodeValue,
) -> String {
    let sign = match how {
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
    code_of_each(language, to, &format!("{}[i] {sign} {}", x.name, y_i(language)))
}
