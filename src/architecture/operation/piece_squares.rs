//! Half of the difference of both sides' piece-square values, as a number of the output.

use super::{CodeContext, CodeValue};

pub(super) fn code(context: &CodeContext, to: CodeValue) -> String {
    let (to, [qa, qb]) = (to.name, context.factors);
    context.language.choose(
        format!("let {to} = [psqt as f32 * (0.5_f64 / ({qa}.0 * {qb}.0)) as f32];\n"),
        format!("float {to}[1] = {{(float)psqt * (float)(0.5 / ({qa}.0 * {qb}.0))}};\n"),
    )
}
