//! Kernel from active inputs to the gradients of the accumulators, position by position.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{ABREAST, KernelForm, NONE, TILE, UnitLayout, is_nan};
use crate::architecture::Curve;
use crate::loss::LossShape;
use crate::model::LossInputs;

/// Values that the kernels of positions and of heads write; these never accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum WrittenGradients {
    /// Writes accumulators into `slopes`, `[positions, perspectives, hidden]`.
    Accumulators,
    /// Writes logits into `results`, `[batch]`.
    Logits,
    /// Writes the gradients of accumulators into `slopes`, `[positions, perspectives, hidden]`, and the
    /// sums of each tile into `results`, `[tiles, sums]`.
    Gradients(LossForm),
    /// The same for targets that are forces on the logits.
    Pull,
}

/// Kind of the losses, without numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LossForm {
    pub shape: LossShape,
    /// Whether base logits follow the targets.
    pub added: bool,
    /// Whether factors of the losses follow these.
    pub weighted: bool,
}

impl LossForm {
    pub fn from_inputs(judged: LossInputs) -> Self {
        let LossInputs { base, weights, loss, .. } = judged;
        Self { shape: loss.shape, added: !base.is_empty(), weighted: !weights.is_empty() }
    }
}

/// A cube takes a tile of positions, a unit some columns of the hidden layer.
///
/// # Buffers
/// - `weight`: `[rows, hidden]`; `bias`: `[hidden]`, `output`: `[buckets, perspectives, hidden]`,
///   `output_bias`: `[buckets]`; for accumulators the last two are not read
/// - `batch`: the targets or forces, `[batch]`, as bits of floats, and behind them what is added to
///   the logits, if anything, and what losses are multiplied by, if not 1; from `table` on, where
///   there are several buckets, that of the tiles; from `lists` on the lists, `[batch, views,
///   places]`, two rows a word, the first one low. WGSL guarantees no more than eight buffers, one of which is for the numbers
///   below.
///
/// `first` is the first position, `positions` their number; `slopes` begin with the first one.
/// `first_tile` and `tiles` are those of the tiles. The losses of a mean count `share` each, times
/// `over_rated` where more is expected than the target; `power` is their exponent, if they have one.
#[cube(launch_unchecked)]
pub(super) fn positions(
    weight: &[f32],
    bias: &[f32],
    output: &[f32],
    output_bias: &[f32],
    batch: &[u32],
    slopes: &mut [f32],
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
    let KernelForm { rows, perspectives, places, wide, curve, buckets, spread } = comptime!(form);
    let UnitLayout { hidden, units, columns } = comptime!(spread);
    let padded = comptime!(form.padded_width());
    let unrolled = comptime!(spread.is_unrolled());
    let judged = comptime!(written != WrittenGradients::Accumulators);
    let judging = comptime!(match written {
        WrittenGradients::Gradients(judging) => Some(judging),
        _ => None,
    });
    let gradients = comptime!(judging.is_some() || written == WrittenGradients::Pull);
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

    let mut steepness = Array::<f32>::new(comptime!(perspectives * columns));
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
        for view in 0..perspectives {
            if judged {
                let row = bucket * perspectives + view;
                steepness[view * columns + c] = output[row * hidden + column];
            }
            output_sums[view * columns + c] = 0.0f32;
        }
    }

    for step in 0..TILE {
        let mut position = tile * TILE + step;
        let mut here = position < positions;
        if listed {
            here = false;
            if tile < tiles {
                let at = batch[entry + 1 + step];
                here = at != NONE;
                position = at as usize - first;
            }
        }

        // The lists, one number a word, padded with blank inputs.
        let mut i = unit;
        while i < comptime!(perspectives * padded) {
            let view = i / padded;
            let place = i % padded;
            let mut input = none.runtime();
            if here && place < places {
                let entry = ((first + position) * perspectives + view) * places + place;
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
            for view in 0..perspectives {
                values[view * columns + c] = bias[column];
            }
        }
        #[unroll]
        for view in 0..perspectives {
            for group in 0..comptime!(padded / ABREAST) {
                let at = view * padded + group * ABREAST;
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
                        values[view * columns + k] += (a + b) + (c + d);
                    }
                }
            }
        }

        if judged {
            // The output, added up over the units in a fixed order.
            let mut dot = 0.0f32;
            #[unroll(unrolled)]
            for c in 0..columns {
                if unit + c * units < hidden {
                    #[unroll]
                    for view in 0..perspectives {
                        let k = view * columns + c;
                        dot += activate(values[k], curve) * steepness[k];
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
                    if comptime!(judging.is_some()) {
                        let (at, labels) = (first + position, table as usize);
                        let form = comptime!(judging.unwrap());
                        let judged = judge(batch, at, labels, logit, power, over_rated, form);
                        loss += judged.loss;
                        gradient = judged.gradient * share;
                    }
                    output_bias_sum += gradient;
                    #[unroll(unrolled)]
                    for c in 0..columns {
                        let column = unit + c * units;
                        if column < hidden {
                            #[unroll]
                            for view in 0..perspectives {
                                let k = view * columns + c;
                                let slope = gradient * steepness[k] * derivative(values[k], curve);
                                output_sums[k] += gradient * activate(values[k], curve);
                                bias_sums[c] += slope;
                                slopes[(position * perspectives + view) * hidden + column] = slope;
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
                    for view in 0..perspectives {
                        let list = position * perspectives + view;
                        slopes[list * hidden + column] = values[view * columns + c];
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
                for view in 0..perspectives {
                    results[start + view * hidden + column] = output_sums[view * columns + c];
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

/// The loss of a position, and its derivative by the logit.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Judged {
    pub loss: f32,
    pub gradient: f32,
}

/// Judges the logit of a position by its labels, which are at `at` and, of further kinds, behind all
/// of the first; all kinds together have `labels` numbers.
#[cube]
pub(super) fn judge(
    batch: &[u32],
    at: usize,
    labels: usize,
    logit: f32,
    power: f32,
    over_rated: f32,
    #[comptime] form: LossForm,
) -> Judged {
    let LossForm { shape, added, weighted } = comptime!(form);
    let stride = labels / comptime!(1 + added as usize + weighted as usize);
    let target = f32::reinterpret(batch[at]);
    let mut place = at;
    let mut sum = logit;
    if added {
        place += stride;
        sum += f32::reinterpret(batch[place]);
    }
    let mut weight = 1.0f32;
    if weighted {
        place += stride;
        weight = f32::reinterpret(batch[place]);
    }
    let expected = 1.0f32 / (1.0f32 + (-sum).exp());
    weight *= select(expected > target, over_rated, 1.0f32);
    Judged {
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
            let (above, below) =
                (select(logit < 0.0f32, 0.0f32, logit), select(logit < 0.0f32, logit, -logit));
            above - target * logit + (1.0f32 + below.exp()).ln()
        }
    }
}

#[cube]
fn by_logit(expected: f32, target: f32, power: f32, #[comptime] shape: LossShape) -> f32 {
    let error = expected - target;
    let size = select(error < 0.0f32, -error, error);
    let sign = select(error > 0.0f32, 1.0f32, select(error < 0.0f32, -1.0f32, 0.0f32));
    let steepness = expected * (1.0f32 - expected);
    match comptime!(shape) {
        LossShape::Squared => 2.0f32 * error * steepness,
        LossShape::Power => power * size.powf(power - 1.0f32) * sign * steepness,
        LossShape::CrossEntropy => error,
    }
}

#[cube]
fn row(weight: &[f32], input: u32, column: usize, #[comptime] form: KernelForm) -> f32 {
    let KernelForm { rows, spread, .. } = comptime!(form);
    let there = min(input as usize, comptime!(rows - 1));
    let number = weight[there * comptime!(spread.hidden) + column];
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
    let mut steep = 1.0f32;
    if comptime!(outer == 2) {
        steep = a + a;
    }
    let mut inside = a > 0.0f32;
    if bounded {
        inside = a >= 0.0f32 && a <= 1.0f32;
    }
    select(inside, steep, 0.0f32)
}
