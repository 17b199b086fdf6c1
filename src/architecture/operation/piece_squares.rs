//! Half of the difference between both sides' piece-square values, in units of the output.

use super::{CodeContext, CodeValue};

pub(super) fn engine_code(context: &CodeContext, output: CodeValue) -> String {
    let is_fixed = output.fixed.is_some();
    let output = output.name;
    let [qa, qb] = context.factors;
    if is_fixed && context.psqt_apart {
        return context.language.choose_between(
            format!("let {output} = [0];\n"),
            format!("int32_t {output}[1] = {{0}};\n"),
        );
    }
    if is_fixed {
        return context.language.choose_between(
            format!("let {output} = [psqt / 2];\n"),
            format!("int32_t {output}[1] = {{psqt / 2}};\n"),
        );
    }
    context.language.choose_between(
        format!("let {output} = [psqt as f32 * (0.5_f64 / ({qa}.0 * {qb}.0)) as f32];\n"),
        format!("float {output}[1] = {{(float)psqt * (float)(0.5 / ({qa}.0 * {qb}.0))}};\n"),
    )
}
