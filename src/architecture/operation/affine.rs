//! Affine maps with weights by output bucket. The kernels of `model/ops` apply them to batches.

use super::{CodeContext, CodeValue, code_of_each};
use crate::architecture::FixedMap;

/// Writes a call of a function of the templates. They have one for floats, one for bytes and one for
/// other integers; the last two return sums without biases.
pub(super) fn engine_code(
    map: usize,
    context: &CodeContext,
    x: CodeValue,
    output: CodeValue,
) -> String {
    let language = context.language;
    let number = map + 1;
    let output_value = output;
    let CodeValue { name: x, width: inputs, .. } = x;
    let CodeValue { name: output, width: outputs, .. } = output;
    let fixed = context.maps[map].as_ref();
    let is_bytes = map == 0 && context.bytes_in;
    if fixed.is_none() && !is_bytes {
        return language.choose_between(
            format!("let {output} = net.map{number}[bucket].apply(&{x});\n"),
            format!(
                "float {output}[{outputs}];\n\
                 nnue_affine({x}, {inputs}, nnue.weights{number}[bucket][0], \
                 nnue.bias{number}[bucket], {outputs}, {output});\n"
            ),
        );
    }
    let [mut lines, mut x] = [String::new(), x.to_string()];
    if let Some(shift) = fixed.map(|map| map.input_shift).filter(|shift| *shift > 0) {
        lines += &language.choose_between(
            format!("let {output}_inputs = {x}.map(|x| x >> {shift});\n"),
            format!(
                "int32_t {output}_inputs[{inputs}];\n\
                 for (int i = 0; i < {inputs}; i++) {output}_inputs[i] = {x}[i] >> {shift};\n"
            ),
        );
        x = format!("{output}_inputs");
    }
    let lanes = if is_bytes { "NNUE_LANES".into() } else { outputs.to_string() };
    let call = match is_bytes {
        true => format!("nnue_affine_bytes({x}, bucket, {output}_sums);\n"),
        false => format!(
            "nnue_affine_integers({x}, {inputs}, nnue.weights{number}[bucket][0], {outputs}, \
             {output}_sums);\n"
        ),
    };
    lines += &language.choose_between(
        format!("let map = &net.map{number}[bucket];\nlet {output}_sums = map.sum(&{x});\n"),
        format!("int32_t {output}_sums[{lanes}];\n{call}"),
    );
    let sum = format!("{output}_sums[i]");
    let bias =
        language.choose_between("map.bias[i]".into(), format!("nnue.bias{number}[bucket][i]"));
    let value = match fixed {
        None => language.choose_between(
            format!("{sum} as f32 * UNIT + {bias}"),
            format!("(float){sum} * unit + {bias}"),
        ),
        Some(map) => map.output_code(context, &sum, &bias),
    };
    lines + &code_of_each(language, output_value, &value)
}

impl FixedMap {
    /// Writes engine code of an output from a sum and a bias.
    fn output_code(&self, context: &CodeContext, sum: &str, bias: &str) -> String {
        let (language, from, to) = (context.language, self.sums, self.unit);
        let reduce = |sum: &str| match self.shift {
            _ if from == to => sum.to_string(),
            None => language.choose_between(
                format!("(i64::from({sum}) * {to} / {from}) as i32"),
                format!("(int32_t)((int64_t)({sum}) * {to} / {from})"),
            ),
            Some(shift) if sum.contains(' ') => format!("({sum}) >> {shift}"),
            Some(shift) => format!("{sum} >> {shift}"),
        };
        let output = match self.biases_first() {
            true => reduce(&format!("{sum} + {bias}")),
            false if from != to && self.shift.is_some() => format!("({}) + {bias}", reduce(sum)),
            false => format!("{} + {bias}", reduce(sum)),
        };
        if !self.floats {
            return output;
        }
        language.choose_between(
            format!("({output}) as f32 * (1.0_f64 / {to}.0) as f32"),
            format!("(float)({output}) * (float)(1.0 / {to}.0)"),
        )
    }
}
