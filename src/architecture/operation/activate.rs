//! Activation functions, one after the other over all values: as many times the width as there are
//! curves.

use super::{CodeValue, ValueRows, ValueRowsMut};
use crate::architecture::Activation;
use crate::features::Language;

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

pub(super) fn code(
    activation: Activation,
    language: Language,
    x: CodeValue,
    to: CodeValue,
) -> String {
    let (CodeValue { name: x, width }, CodeValue { name: to, width: size }) = (x, to);
    let values = activation.curves().iter().enumerate().map(|(number, curve)| {
        let index = if number == 0 { "i".into() } else { format!("{} + i", number * width) };
        format!("    {to}[{index}] = {};\n", curve.code(language, "z"))
    });
    let values = values.collect::<String>();
    language.choose(
        format!(
            "let mut {to} = [0_f32; {size}];\n\
             for (i, &z) in {x}.iter().enumerate() {{\n{values}}}\n"
        ),
        format!(
            "float {to}[{size}];\n\
             for (int i = 0; i < {width}; i++) {{\n    float z = {x}[i];\n{values}}}\n"
        ),
    )
}
