//! Activation functions, one after the other over all values: as many times the width as there are
//! curves.

use super::{CodeContext, CodeValue, ValueRows, ValueRowsMut};
use crate::architecture::Activation;

#[inline(always)]
pub(super) fn forward(activation: Activation, x: ValueRows, mut to: ValueRowsMut) {
    for (x, to) in x.iter().zip(to.iter_mut()) {
        for (curve, to) in activation.curves().iter().zip(to.chunks_exact_mut(x.len())) {
            for (to, &x) in to.iter_mut().zip(x) {
                *to = curve.value_f32(x);
            }
        }
    }
}

#[inline(always)]
pub(super) fn backward(
    activation: Activation,
    x: ValueRows,
    gradients: ValueRows,
    mut to: ValueRowsMut,
) {
    for ((x, gradients), to) in x.iter().zip(gradients.iter()).zip(to.iter_mut()) {
        for (curve, gradients) in activation.curves().iter().zip(gradients.chunks_exact(x.len())) {
            for ((to, &gradient), &x) in to.iter_mut().zip(gradients).zip(x) {
                *to += gradient * curve.derivative_f32(x);
            }
        }
    }
}

pub(super) fn engine_code(
    activation: Activation,
    context: &CodeContext,
    x: CodeValue,
    to: CodeValue,
) -> String {
    let language = context.language;
    let map = x.fixed.and_then(|of| context.maps[of.map].as_ref());
    let number = to.number_type(language);
    let (CodeValue { name: x, width, .. }, CodeValue { name: to, width: size, .. }) = (x, to);
    let values = activation.curves().iter().enumerate().map(|(number, curve)| {
        let index = if number == 0 { "i".into() } else { format!("{} + i", number * width) };
        let value = match map {
            None => curve.engine_code(language, "z"),
            Some(map) => map.engine_code(*curve, language, "z"),
        };
        format!("    {to}[{index}] = {value};\n")
    });
    let values = values.collect::<String>();
    language.choose_between(
        format!(
            "let mut {to} = [0_{number}; {size}];\n\
             for (i, &z) in {x}.iter().enumerate() {{\n{values}}}\n"
        ),
        format!(
            "{number} {to}[{size}];\n\
             for (int i = 0; i < {width}; i++) {{\n    {number} z = {x}[i];\n{values}}}\n"
        ),
    )
}
