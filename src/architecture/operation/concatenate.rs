//! Concatenation of the values of several inputs.

use super::{CodeValue, ValueRows, ValueRowsMut};
use crate::features::Language;

#[inline(always)]
pub(super) fn forward(inputs: &[ValueRows], mut output: ValueRowsMut) {
    let mut start = 0;
    for x in inputs {
        let end = start + x.width;
        let rows = x.iter().zip(output.iter_mut());
        rows.for_each(|(x, output)| output[start..end].copy_from_slice(x));
        start = end;
    }
}

/// Adds the gradients of the input whose values begin at `start`.
#[inline(always)]
pub(super) fn backward(start: usize, gradients: ValueRows, mut output: ValueRowsMut) {
    for (gradients, output) in gradients.iter().zip(output.iter_mut()) {
        output.iter_mut().zip(&gradients[start..]).for_each(|(sum, gradient)| *sum += gradient);
    }
}

pub(super) fn engine_code(language: Language, inputs: &[CodeValue], output: CodeValue) -> String {
    let number = output.number_type(language);
    let CodeValue { name: output, width: size, .. } = output;
    let mut lines = language.choose_between(
        format!("let mut {output} = [0_{number}; {size}];\n"),
        format!("{number} {output}[{size}];\n"),
    );
    let mut start = 0;
    for CodeValue { name: x, width, .. } in inputs {
        let end = start + width;
        lines += &language.choose_between(
            format!("{output}[{start}..{end}].copy_from_slice(&{x});\n"),
            format!("memcpy({output} + {start}, {x}, {width} * sizeof *{x});\n"),
        );
        start = end;
    }
    lines
}
