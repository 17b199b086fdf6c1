//! From active inputs to the gradients of the accumulators, position by position.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{ABREAST, Form, Spread, TILE};
use super::tiles::NONE;
use crate::architecture::Activation;

/// What is asked of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Its accumulators, into `slopes`, `[positions, views, hidden]`.
    Accumulators,
    /// Its logit, into `results`, `[batch]`.
    Logits,
    /// The gradients of its accumulators, into `slopes`, `[positions, views, hidden]`; and the sums of
    /// its tile, into `results`, `[tiles, sums]`.
    Gradients,
    /// The same, where behind the targets stands what is added to the logits.
    Added,
    /// The same, where the targets are forces on the logits.
    Pull,
}

/// A cube takes a tile of positions, a unit some columns of the hidden layer.
///
/// # Buffers
/// - `weight`: `[rows, hidden]`, `bias`: `[hidden]`, `output`: `[buckets, views, hidden]`,
///   `output_bias`: `[buckets]`; for accumulators the last two are not read
/// - `batch`: the lists, `[batch, views, places]`, two rows a word, the first one low; from
///   `targets` on the targets or forces, `[batch]`, as bits of floats, and behind them what is added
///   to the logits, if anything; and from `table` on, where there are several buckets, that of the
///   tiles. WGSL guarantees no more than eight buffers, one of which is for the numbers below.
///
/// `first` is the first position, `positions` their number; `slopes` begin with the first one.
/// `first_tile` and `tiles` are those of the tiles. A squared error counts `share`.
#[cube(launch_unchecked)]
pub(super) fn positions(
    weight: &[f32],
    bias: &[f32],
    output: &[f32],
    output_bias: &[f32],
    batch: &[u32],
    slopes: &mut [f32],
    results: &mut [f32],
    targets: u32,
    table: u32,
    first: u32,
    positions: u32,
    first_tile: u32,
    tiles: u32,
    share: f32,
    #[comptime] form: Form,
    #[comptime] purpose: Purpose,
) {
    let Form { rows, views, places, buckets, spread, .. } = comptime!(form);
    let Spread { hidden, units, columns } = comptime!(spread);
    let padded = comptime!(form.padded());
    let unrolled = comptime!(spread.unrolled());
    let judged = comptime!(purpose != Purpose::Accumulators);
    let pulls = comptime!(purpose == Purpose::Pull);
    let added = comptime!(purpose == Purpose::Added);
    let gradients = comptime!(pulls || added || purpose == Purpose::Gradients);
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

    let mut active = Shared::<[u32]>::new_slice(comptime!(views * padded));
    let mut tree = Shared::<[f32]>::new_slice(units);

    let mut steepness = Array::<f32>::new(comptime!(views * columns));
    let mut output_sums = Array::<f32>::new(comptime!(views * columns));
    let mut bias_sums = Array::<f32>::new(columns);
    let mut values = Array::<f32>::new(comptime!(views * columns));
    let mut output_bias_sum = 0.0f32;
    let mut loss = 0.0f32;
    #[unroll(unrolled)]
    for c in 0..columns {
        let column = min(unit + c * units, last);
        bias_sums[c] = 0.0f32;
        #[unroll]
        for view in 0..views {
            if judged {
                let row = bucket * views + view;
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

        // The lists, as numbers a word each, padded with inputs that are not there.
        let mut i = unit;
        while i < comptime!(views * padded) {
            let view = i / padded;
            let place = i % padded;
            let mut input = none.runtime();
            if here && place < places {
                let entry = ((first + position) * views + view) * places + place;
                let word = batch[entry / 2];
                input = (word >> ((entry % 2) as u32 * 16u32)) & 65535u32;
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
            for view in 0..views {
                values[view * columns + c] = bias[column];
            }
        }
        #[unroll]
        for view in 0..views {
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
                    for view in 0..views {
                        let k = view * columns + c;
                        dot += activate(values[k], form) * steepness[k];
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
                    let target = f32::reinterpret(batch[targets as usize + first + position]);
                    let mut gradient = target;
                    if !pulls {
                        let mut sum = logit;
                        if added {
                            let base = (targets + table) as usize / 2 + first + position;
                            sum += f32::reinterpret(batch[base]);
                        }
                        let expected = 1.0f32 / (1.0f32 + (-sum).exp());
                        let error = expected - target;
                        gradient = 2.0f32 * error * expected * (1.0f32 - expected) * share;
                        loss += error * error;
                    }
                    output_bias_sum += gradient;
                    #[unroll(unrolled)]
                    for c in 0..columns {
                        let column = unit + c * units;
                        if column < hidden {
                            #[unroll]
                            for view in 0..views {
                                let k = view * columns + c;
                                let slope = gradient * steepness[k] * derivative(values[k], form);
                                output_sums[k] += gradient * activate(values[k], form);
                                bias_sums[c] += slope;
                                slopes[(position * views + view) * hidden + column] = slope;
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
                    for view in 0..views {
                        let list = position * views + view;
                        slopes[list * hidden + column] = values[view * columns + c];
                    }
                }
            }
        }
        // The next position overwrites what is shared.
        sync_cube();
    }

    if gradients && tile < tiles {
        let start = (first_tile + tile) * comptime!(form.sums());
        #[unroll(unrolled)]
        for c in 0..columns {
            let column = unit + c * units;
            if column < hidden {
                #[unroll]
                for view in 0..views {
                    results[start + view * hidden + column] = output_sums[view * columns + c];
                }
                results[start + views * hidden + column] = bias_sums[c];
            }
        }
        if unit == 0 {
            results[start + (views + 1) * hidden] = output_bias_sum;
            results[start + (views + 1) * hidden + 1] = loss;
        }
    }
}

/// A weight of a row; 0 where there is none.
#[cube]
fn row(weight: &[f32], input: u32, column: usize, #[comptime] form: Form) -> f32 {
    let Form { rows, spread, .. } = comptime!(form);
    let there = min(input as usize, comptime!(rows - 1));
    select(
        input < comptime!(rows as u32),
        weight[there * comptime!(spread.hidden) + column],
        0.0f32,
    )
}

/// The activation. What is not a number stays so, and a training that diverges shows it.
#[cube]
fn activate(a: f32, #[comptime] form: Form) -> f32 {
    let positive = select(a <= 0.0f32, 0.0f32, a);
    match comptime!(form.activation) {
        Activation::ReLU => positive,
        Activation::CReLU => select(a >= 1.0f32, 1.0f32, positive),
        Activation::SCReLU => {
            let clamped = select(a >= 1.0f32, 1.0f32, positive);
            clamped * clamped
        }
    }
}

/// Its derivative; at the kinks that of the CPU's kernels.
#[cube]
fn derivative(a: f32, #[comptime] form: Form) -> f32 {
    let inside = a >= 0.0f32 && a <= 1.0f32;
    match comptime!(form.activation) {
        Activation::ReLU => select(a > 0.0f32, 1.0f32, 0.0f32),
        Activation::CReLU => select(inside, 1.0f32, 0.0f32),
        Activation::SCReLU => select(inside, a + a, 0.0f32),
    }
}
