//! Half of the difference of both sides' piece-square values, as a number of the output.

use super::{CodeContext, CodeValue};

pub(super) fn engine_code(context: &CodeContext, to: CodeValue) -> String {
    let (is_fixed, CodeValue { name: to, .. }, [qa, qb]) =
        (to.fixed.is_some(), to, context.factors);
    if is_fixed && context.psqt_apart {
        return context
            .language
            .choose_between(format!("let {to} = [0];\n"), format!("int32_t {to}[1] = {{0}};\n"));
    }
    if is_fixed {
        return context.language.choose_between(
            format!("let {to} = [psqt / 2];\n"),
            format!("int32_t {to}[1] = {{psqt / 2}};\n"),
        );
    }
    context.language.choose_between(
        format!("let {to} = [psqt as f32 * (0.5_f64 / ({qa}.0 * {qb}.0)) as f32];\n"),
        format!("float {to}[1] = {{(float)psqt * (float)(0.5 / ({qa}.0 * {qb}.0))}};\n"),
    )
}
