//! Activation functions. Each curve is applied to all values, and the results are concatenated.

use super::{CodeContext, CodeValue, ValueRows, ValueRowsMut};
use crate::architecture::Activation;

#[inline(always)]
pub(super) fn forward(activation: Activation, x: ValueRows, mut output: ValueRowsMut) {
    for (x, output) in x.iter().zip(output.iter_mut()) {
        for (curve, output) in activation.curves().iter().zip(output.chunks_exact_mut(x.len())) {
            for (output, &x) in output.iter_mut().zip(x) {
                *output = curve.value_f32(x);
            }
        }
    }
}

#[inline(always)]
pub(super) fn backward(
    activation: Activation,
    x: ValueRows,
    gradients: ValueRows,
    mut output: ValueRowsMut,
) {
    for ((x, gradients), output) in x.iter().zip(gradients.iter()).zip(output.iter_mut()) {
        for (curve, gradients) in activation.curves().iter().zip(gradients.chunks_exact(x.len())) {
            for ((output, &gradient), &x) in output.iter_mut().zip(gradients).zip(x) {
                *output += gradient * curve.derivative_f32(x);
            }
        }
    }
}

pub(super) fn engine_code(
    activation: Activation,
    context: &CodeContext,
    x: CodeValue,
    output: CodeValue,
) -> String {
    let language = context.language;
    let map = x.fixed.and_then(|value| context.maps[value.map].as_ref());
    let number = output.number_type(language);
    let CodeValue { name: x, width, .. } = x;
    let CodeValue { name: output, width: size, .. } = output;
    let values = activation.curves().iter().enumerate().map(|(number, curve)| {
        let index = if number == 0 { "i".into() } else { format!("{} + i", number * width) };
        let value = match map {
            None => curve.engine_code(language, "z"),
            Some(map) => map.engine_code(*curve, language, "z"),
        };
        format!("    {output}[{index}] = {value};\n")
    });
    let values = values.collect::<String>();
    language.choose_between(
        format!(
            "let mut {output} = [0_{number}; {size}];\n\
             for (i, &z) in {x}.iter().enumerate() {{\n{values}}}\n"
        ),
        format!(
            "{number} {output}[{size}];\n\
             for (int i = 0; i < {width}; i++) {{\n    {number} z = {x}[i];\n{values}}}\n"
        ),
    )
}
