//! Some of the values.

use std::ops::Range;

use super::{CodeValue, ValueRows, ValueRowsMut};
use crate::features::Language;

#[inline(always)]
pub(super) fn forward(columns: &Range<usize>, x: ValueRows, mut to: ValueRowsMut) {
    x.iter().zip(to.iter_mut()).for_each(|(x, to)| to.copy_from_slice(&x[columns.clone()]));
}

#[inline(always)]
pub(super) fn backward(columns: &Range<usize>, gradients: ValueRows, mut to: ValueRowsMut) {
    for (gradients, to) in gradients.iter().zip(to.iter_mut()) {
        to[columns.clone()].iter_mut().zip(gradients).for_each(|(to, it)| *to += it);
    }
}

pub(super) fn engine_code(
    columns: &Range<usize>,
    language: Language,
    x: CodeValue,
    to: CodeValue,
) -> String {
    let (x, number, CodeValue { name: to, width, .. }) = (x.name, to.number_type(language), to);
    let start = columns.start;
    language.choose_between(
        format!("let {to}: [{number}; {width}] = std::array::from_fn(|i| {x}[{start} + i]);\n"),
        format!("const {number} *{to} = {x} + {start};\n"),
    )
}
