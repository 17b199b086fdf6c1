//! Affine maps, with weights by output bucket. The kernels of `model/ops` multiply batches by them.

use super::{CodeContext, CodeValue};

/// Calls the function of the templates, which has one for inputs in bytes.
pub(super) fn code(map: usize, context: &CodeContext, x: CodeValue, to: CodeValue) -> String {
    let number = map + 1;
    let CodeValue { name: x, width: inputs } = x;
    let CodeValue { name: to, width: outputs } = to;
    let call = match map == 0 && context.bytes_in {
        true => format!("nnue_affine_bytes({x}, bucket, {to});\n"),
        false => format!(
            "nnue_affine({x}, {inputs}, nnue.weights{number}[bucket][0], nnue.bias{number}[bucket], \
             {outputs}, {to});\n"
        ),
    };
    context.language.choose(
        format!("let {to} = net.map{number}[bucket].apply(&{x});\n"),
        format!("float {to}[{outputs}];\n{call}"),
    )
}
