//! A range of the values.

use std::ops::Range;

use super::{CodeValue, ValueRows, ValueRowsMut};
use crate::features::Language;

#[inline(always)]
pub(super) fn forward(columns: &Range<usize>, x: ValueRows, mut output: ValueRowsMut) {
    let rows = x.iter().zip(output.iter_mut());
    rows.for_each(|(x, output)| output.copy_from_slice(&x[columns.clone()]));
}

#[inline(always)]
pub(super) fn backward(columns: &Range<usize>, gradients: ValueRows, mut output: ValueRowsMut) {
    for (gradients, output) in gradients.iter().zip(output.iter_mut()) {
        let sums = output[columns.clone()].iter_mut();
        sums.zip(gradients).for_each(|(sum, gradient)| *sum += gradient);
    }
}

pub(super) fn engine_code(
    columns: &Range<usize>,
    language: Language,
    x: CodeValue,
    output: CodeValue,
) -> String {
    let [x, number] = [x.name, output.number_type(language)];
    let CodeValue { name: output, width, .. } = output;
    let start = columns.start;
    language.choose_between(
        format!("let {output}: [{number}; {width}] = std::array::from_fn(|i| {x}[{start} + i]);\n"),
        format!("const {number} *{output} = {x} + {start};\n"),
    )
}
