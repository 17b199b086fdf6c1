//! Kernel from active inputs to the gradients of the accumulators, position by position.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{ABREAST, KernelForm, NONE, TILE, UnitLayout, is_nan};
use crate::architecture::Curve;
use crate::loss::LossShape;
use crate::model::{Aim, LossInputs};

/// Output of the kernels of positions and of heads; heads never write accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum WrittenGradients {
    /// Writes accumulators into `list_output`, `[positions, perspectives, hidden]`.
    Accumulators,
    /// Writes logits into `results`, `[batch]`.
    Logits,
    /// Writes the gradients of accumulators into `list_output`, `[positions, perspectives,
    /// hidden]`, and the sums of each tile into `results`, `[tiles, sums]`.
    Gradients(LossForm),
    /// Writes the same from upstream gradients in place of targets.
    Upstream,
}

/// Kind of the losses, without numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LossForm {
    pub shape: LossShape,
    /// Whether base logits follow the targets.
    pub has_base: bool,
    /// Whether sample weights follow them.
    pub has_weights: bool,
}

impl WrittenGradients {
    pub fn from_aim(aim: Aim) -> Self {
        let Some(LossInputs { base, weights, loss, .. }) = aim.loss_inputs() else {
            return Self::Upstream;
        };
        let (has_base, has_weights) = (!base.is_empty(), !weights.is_empty());
        Self::Gradients(LossForm { shape: loss.shape, has_base, has_weights })
    }
}

/// A cube takes a tile of positions, a unit some columns of the hidden layer.
///
/// # Buffers
/// - `weight`: `[rows, hidden]`; `bias`: `[hidden]`; `output`: `[buckets, perspectives, hidden]`, and
///   `output_bias`: `[buckets]`, which are not read for accumulators
/// - `batch`: targets or upstream gradients, `[batch]`, as bits of floats, then base logits and sample
///   weights, if any; from `table` on the tiles, if there are several buckets; from `lists` on the
///   lists, `[batch, perspectives, width]`, two rows per word, the first one low, or one if `wide`
///
/// WGSL guarantees eight buffers, one of which is for the numbers. `first` is the first position,
/// `positions` their number; `list_output` begins with the first one. `first_tile` and `tiles` are
/// those of the tiles. Gradients are those of losses times `share`; losses are multiplied by
/// `over_rated` if the expected result exceeds the target. `power` is the exponent of losses.
#[cube(launch_unchecked)]
pub(super) fn positions(
    weight: &[f32],
    bias: &[f32],
    output: &[f32],
    output_bias: &[f32],
    batch: &[u32],
    list_output: &mut [f32],
    results: &mut [f32],
    table: u32,
    lists: u32,
    first: u32,
    positions: u32,
    first_tile: u32,
    tiles: u32,
    share: f32,
    power: f32,
    over_rated: f32,
    #[comptime] form: KernelForm,
    #[comptime] written: WrittenGradients,
) {
    let KernelForm { rows, perspectives, width, wide, curve, buckets, spread } = comptime!(form);
    let UnitLayout { hidden, units, columns } = comptime!(spread);
    let padded = comptime!(form.padded_width());
    let unrolled = comptime!(spread.is_unrolled());
    let has_output = comptime!(written != WrittenGradients::Accumulators);
    let loss_form = comptime!(match written {
        WrittenGradients::Gradients(loss_form) => Some(loss_form),
        _ => None,
    });
    let gradients = comptime!(loss_form.is_some() || written == WrittenGradients::Upstream);
    let listed = comptime!(buckets > 1);
    let none = comptime!(rows as u32);
    let last = comptime!(hidden - 1);

    let unit = UNIT_POS_X as usize;
    let tile = CUBE_POS;
    let first = first as usize;
    let positions = positions as usize;
    let first_tile = first_tile as usize;
    let tiles = tiles as usize;
    let entry = table as usize + (first_tile + tile) * comptime!(TILE + 1);
    let mut bucket = 0usize;
    if listed && tile < tiles {
        bucket = batch[entry] as usize;
    }

    let mut active = Shared::<[u32]>::new_slice(comptime!(perspectives * padded));
    let mut tree = Shared::<[f32]>::new_slice(units);

    let mut weights = Array::<f32>::new(comptime!(perspectives * columns));
    let mut output_sums = Array::<f32>::new(comptime!(perspectives * columns));
    let mut bias_sums = Array::<f32>::new(columns);
    let mut values = Array::<f32>::new(comptime!(perspectives * columns));
    let mut output_bias_sum = 0.0f32;
    let mut loss = 0.0f32;
    #[unroll(unrolled)]
    for c in 0..columns {
        let column = min(unit + c * units, last);
        bias_sums[c] = 0.0f32;
        #[unroll]
        for perspective in 0..perspectives {
            if has_output {
                let row = bucket * perspectives + perspective;
                weights[perspective * columns + c] = output[row * hidden + column];
            }
            output_sums[perspective * columns + c] = 0.0f32;
        }
    }

    for step in 0..TILE {
        let mut position = tile * TILE + step;
        let mut here = position < positions;
        if listed {
            here = false;
            if tile < tiles {
                let listed_position = batch[entry + 1 + step];
                here = listed_position != NONE;
                position = listed_position as usize - first;
            }
        }

        // The lists, one number per word, padded with blank inputs.
        let mut i = unit;
        while i < comptime!(perspectives * padded) {
            let perspective = i / padded;
            let slot = i % padded;
            let mut input = none.runtime();
            if here && slot < width {
                let entry = ((first + position) * perspectives + perspective) * width + slot;
                if comptime!(wide) {
                    input = batch[lists as usize + entry];
                } else {
                    let word = batch[lists as usize + entry / 2];
                    input = (word >> ((entry % 2) as u32 * 16u32)) & 65535u32;
                }
            }
            active[i] = input;
            i += units;
        }
        sync_cube();

        // Accumulators.
        #[unroll(unrolled)]
        for c in 0..columns {
            let column = min(unit + c * units, last);
            #[unroll]
            for perspective in 0..perspectives {
                values[perspective * columns + c] = bias[column];
            }
        }
        #[unroll]
        for perspective in 0..perspectives {
            for four in 0..comptime!(padded / ABREAST) {
                let at = perspective * padded + four * ABREAST;
                let a = active[at];
                let b = active[at + 1];
                let c = active[at + 2];
                let d = active[at + 3];
                if min(min(a, b), min(c, d)) < none {
                    #[unroll(unrolled)]
                    for k in 0..columns {
                        let column = min(unit + k * units, last);
                        let a = row(weight, a, column, form);
                        let b = row(weight, b, column, form);
                        let c = row(weight, c, column, form);
                        let d = row(weight, d, column, form);
                        values[perspective * columns + k] += (a + b) + (c + d);
                    }
                }
            }
        }

        if has_output {
            // The output, summed over the units in a fixed order.
            let mut dot = 0.0f32;
            #[unroll(unrolled)]
            for c in 0..columns {
                if unit + c * units < hidden {
                    #[unroll]
                    for perspective in 0..perspectives {
                        let k = perspective * columns + c;
                        dot += activate(values[k], curve) * weights[k];
                    }
                }
            }
            tree[unit] = dot;
            sync_cube();
            let mut half = comptime!(units.next_power_of_two() / 2).runtime();
            while half > 0 {
                if unit < half && unit + half < units {
                    tree[unit] += tree[unit + half];
                }
                sync_cube();
                half /= 2;
            }
            let logit = tree[0] + output_bias[bucket];

            if here {
                if gradients {
                    let target = f32::reinterpret(batch[first + position]);
                    let mut gradient = target;
                    if comptime!(loss_form.is_some()) {
                        let (at, labels) = (first + position, table as usize);
                        let form = comptime!(loss_form.unwrap());
                        let position_loss =
                            loss_and_gradient(batch, at, labels, logit, power, over_rated, form);
                        loss += position_loss.loss;
                        gradient = position_loss.gradient * share;
                    }
                    output_bias_sum += gradient;
                    #[unroll(unrolled)]
                    for c in 0..columns {
                        let column = unit + c * units;
                        if column < hidden {
                            #[unroll]
                            for perspective in 0..perspectives {
                                let k = perspective * columns + c;
                                let by_sum = gradient * weights[k] * derivative(values[k], curve);
                                output_sums[k] += gradient * activate(values[k], curve);
                                bias_sums[c] += by_sum;
                                list_output
                                    [(position * perspectives + perspective) * hidden + column] =
                                    by_sum;
                            }
                        }
                    }
                } else if unit == 0 {
                    results[first + position] = logit;
                }
            }
        } else if here {
            #[unroll(unrolled)]
            for c in 0..columns {
                let column = unit + c * units;
                if column < hidden {
                    #[unroll]
                    for perspective in 0..perspectives {
                        let list = position * perspectives + perspective;
                        list_output[list * hidden + column] = values[perspective * columns + c];
                    }
                }
            }
        }
        // The next position overwrites the shared memory.
        sync_cube();
    }

    if gradients && tile < tiles {
        let start = (first_tile + tile) * comptime!(form.sum_count());
        #[unroll(unrolled)]
        for c in 0..columns {
            let column = unit + c * units;
            if column < hidden {
                #[unroll]
                for perspective in 0..perspectives {
                    results[start + perspective * hidden + column] =
                        output_sums[perspective * columns + c];
                }
                results[start + perspectives * hidden + column] = bias_sums[c];
            }
        }
        if unit == 0 {
            results[start + (perspectives + 1) * hidden] = output_bias_sum;
            results[start + (perspectives + 1) * hidden + 1] = loss;
        }
    }
}

/// Loss of a position, and its derivative with respect to the logit.
#[derive(CubeType, Clone, Copy)]
pub(super) struct LossGradient {
    pub loss: f32,
    pub gradient: f32,
}

/// Computes the loss of a position from its logit and labels. Its target is word `target_word`;
/// each further kind of labels follows those of all positions, and all kinds have `labels` numbers.
#[cube]
pub(super) fn loss_and_gradient(
    batch: &[u32],
    target_word: usize,
    labels: usize,
    logit: f32,
    power: f32,
    over_rated: f32,
    #[comptime] form: LossForm,
) -> LossGradient {
    let LossForm { shape, has_base, has_weights } = comptime!(form);
    let stride = labels / comptime!(1 + has_base as usize + has_weights as usize);
    let target = f32::reinterpret(batch[target_word]);
    let mut word = target_word;
    let mut sum = logit;
    if has_base {
        word += stride;
        sum += f32::reinterpret(batch[word]);
    }
    let mut weight = 1.0f32;
    if has_weights {
        word += stride;
        weight = f32::reinterpret(batch[word]);
    }
    let expected = 1.0f32 / (1.0f32 + (-sum).exp());
    weight *= select(expected > target, over_rated, 1.0f32);
    LossGradient {
        loss: cost(sum, expected, target, power, shape) * weight,
        gradient: by_logit(expected, target, power, shape) * weight,
    }
}

#[cube]
fn cost(logit: f32, expected: f32, target: f32, power: f32, #[comptime] shape: LossShape) -> f32 {
    let error = expected - target;
    let size = select(error < 0.0f32, -error, error);
    match comptime!(shape) {
        LossShape::Squared => error * error,
        LossShape::Power => size.powf(power),
        LossShape::CrossEntropy => {
            let positive = select(logit < 0.0f32, 0.0f32, logit);
            let negative = select(logit < 0.0f32, logit, -logit);
            positive - target * logit + (1.0f32 + negative.exp()).ln()
        }
    }
}

#[cube]
fn by_logit(expected: f32, target: f32, power: f32, #[comptime] shape: LossShape) -> f32 {
    let error = expected - target;
    let size = select(error < 0.0f32, -error, error);
    let sign = select(error > 0.0f32, 1.0f32, select(error < 0.0f32, -1.0f32, 0.0f32));
    let by_sum = expected * (1.0f32 - expected);
    match comptime!(shape) {
        LossShape::Squared => 2.0f32 * error * by_sum,
        LossShape::Power => power * size.powf(power - 1.0f32) * sign * by_sum,
        LossShape::CrossEntropy => error,
    }
}

#[cube]
fn row(weight: &[f32], input: u32, column: usize, #[comptime] form: KernelForm) -> f32 {
    let KernelForm { rows, spread, .. } = comptime!(form);
    let readable = min(input as usize, comptime!(rows - 1));
    let number = weight[readable * comptime!(spread.hidden) + column];
    select(input < comptime!(rows as u32), number, 0.0f32)
}

/// The activation. NaN stays NaN, so that a divergence is visible.
#[cube]
pub(super) fn activate(a: f32, #[comptime] curve: Curve) -> f32 {
    let Curve { bounded, outer, .. } = comptime!(curve);
    let mut active = select(a <= 0.0f32, 0.0f32, a);
    if bounded {
        active = select(a >= 1.0f32, 1.0f32, active);
    }
    if comptime!(outer == 2) {
        active *= active;
    }
    select(is_nan(a), a, active)
}

/// Derivative of the activation; at the kinks as in the CPU's kernels.
#[cube]
pub(super) fn derivative(a: f32, #[comptime] curve: Curve) -> f32 {
    let Curve { bounded, outer, .. } = comptime!(curve);
    let mut value = 1.0f32;
    if comptime!(outer == 2) {
        value = a + a;
    }
    let mut inside = a > 0.0f32;
    if bounded {
        inside = a >= 0.0f32 && a <= 1.0f32;
    }
    select(inside, value, 0.0f32)
}
