//! The values of several inputs, side by side.

use super::{CodeValue, ValueRows, ValueRowsMut};
use crate::features::Language;

#[inline(always)]
pub(super) fn forward(inputs: &[ValueRows], mut to: ValueRowsMut) {
    let mut start = 0;
    for x in inputs {
        let end = start + x.width;
        x.iter().zip(to.iter_mut()).for_each(|(x, to)| to[start..end].copy_from_slice(x));
        start = end;
    }
}

/// Gradients of the input whose values begin at `start`.
#[inline(always)]
pub(super) fn backward(start: usize, gradients: ValueRows, mut to: ValueRowsMut) {
    for (gradients, to) in gradients.iter().zip(to.iter_mut()) {
        to.iter_mut().zip(&gradients[start..]).for_each(|(to, it)| *to += it);
    }
}

pub(super) fn engine_code(language: Language, inputs: &[CodeValue], to: CodeValue) -> String {
    let (number, CodeValue { name: to, width: size, .. }) = (to.number_type(language), to);
    let mut lines = language.choose_between(
        format!("let mut {to} = [0_{number}; {size}];\n"),
        format!("{number} {to}[{size}];\n"),
    );
    let mut start = 0;
    for CodeValue { name: x, width, .. } in inputs {
        let end = start + width;
        lines += &language.choose_between(
            format!("{to}[{start}..{end}].copy_from_slice(&{x});\n"),
            format!("memcpy({to} + {start}, {x}, {width} * sizeof *{x});\n"),
        );
        start = end;
    }
    lines
}
