//! Half of the difference between both sides' piece-square values, in units of the output.

use super::{CodeContext, CodeValue};

pub(super) fn engine_code(context: &CodeContext, output: CodeValue) -> String {
    let CodeContext { language, factors: [qa, qb], psqt_apart, .. } = *context;
    let value = match output.fixed {
        Some(_) if psqt_apart => "0".into(),
        Some(_) => "psqt / 2".into(),
        None => language.choose_between(
            format!("psqt as f32 * (0.5_f64 / ({qa}.0 * {qb}.0)) as f32"),
            format!("(float)psqt * (float)(0.5 / ({qa}.0 * {qb}.0))"),
        ),
    };
    let (name, number) = (output.name, output.number_type(language));
    language.choose_between(
        format!("let {name} = [{value}];\n"),
        format!("{number} {name}[1] = {{{value}}};\n"),
    )
}
