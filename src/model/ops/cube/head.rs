//! Kernels after the accumulators of deep nets: the inputs of the first map and their gradients,
//! and all operations from the sums of the first map to the loss and back.
//!
//! A kernel walks the graph of a net as a table, one position per unit: maps are a few dozen
//! numbers wide, and the units of a tile read the same weights. Gradients of maps are sums of
//! products of two numbers of a position, tile by tile. Those of the first map's weights are a
//! product of matrices, see [`deep`](super::deep).

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::{NONE, TILE, UNITS};
use super::positions::{WrittenGradients, activate, derivative, loss_and_gradient};
use crate::architecture::{Architecture, Combination, Curve, HeadNode, Operation};

/// Words of a step of the table: its kind, and seven numbers.
const STEP: usize = 8;

/// Sums of the first map, with their bias: offset and number of the values, offset of the biases,
/// and offset of the gradients among the numbers that are written.
const FIRST: u32 = 0;
/// An affine map: offsets of inputs and outputs, number of outputs, offsets of weights and biases,
/// offset of the inputs among the written numbers, which the gradients follow, number of inputs.
const AFFINE: u32 = 1;
/// A curve, by its bits: offsets of inputs and outputs, and their number.
const CURVE: u32 = 2;
/// A copy: offsets of inputs and outputs, and their number.
const COPY: u32 = 3;
/// Two inputs, value by value: offsets of the first and of the outputs, their number, offset of the
/// second.
const SUM: u32 = 4;
const DIFFERENCE: u32 = 5;
const PRODUCT: u32 = 6;
/// Half of the difference of the perspectives' piece-square values: offset of the value.
const PIECE_SQUARES: u32 = 7;

/// The operations from the sums of the first map on, as tables of words.
pub(super) struct HeadTable {
    /// `[steps, STEP]`
    pub steps: Vec<u32>,
    /// `[columns, 2]`: indices of two written numbers whose products are summed over positions; the
    /// first alone if the second is [`NONE`]. Biases of the first map come first, then weights and
    /// biases of the other maps, then the loss.
    pub columns: Vec<u32>,
    pub shape: HeadShape,
}

/// Constants of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct HeadShape {
    pub buckets: usize,
    /// Outputs of the first map.
    pub outputs: usize,
    /// Values of a position in its unit.
    pub values: usize,
    /// Neurons of an accumulator, and the piece-square values that follow them.
    pub hidden: usize,
    pub psqt: usize,
    /// Numbers that are written of a position: its loss, and inputs and gradients of the maps.
    pub written: usize,
}

impl HeadTable {
    pub fn new(net: &Architecture) -> Self {
        let maps = net.maps();
        let shape = HeadShape {
            buckets: net.buckets,
            outputs: maps[0][1],
            values: 0,
            hidden: net.hidden,
            psqt: net.psqt_columns(),
            written: 1,
        };
        let mut table = Self { steps: Vec::new(), columns: Vec::new(), shape };
        let nodes = net.graph().head_nodes();
        // Offsets of each node's values, and of the next map's weights.
        let (mut offsets, mut packed) = (Vec::with_capacity(nodes.len()), 0);
        for HeadNode { operation, inputs, width } in &nodes {
            let (to, width) = (table.shape.values, *width);
            let locate = |input: &usize| (offsets[*input], nodes[*input].width);
            let inputs: Vec<(usize, usize)> = inputs.iter().map(locate).collect();
            match operation {
                Operation::Affine(0) => {
                    table.append_step(FIRST, [0, to, width, packed, table.shape.written, 0, 0]);
                    packed += net.buckets * width;
                    table.map_columns(0, width);
                }
                Operation::Affine(map) => {
                    let [depth, _] = maps[*map];
                    let biases = packed + net.buckets * depth * width;
                    let written = table.shape.written;
                    let x = inputs[0].0;
                    table.append_step(AFFINE, [x, to, width, packed, biases, written, depth]);
                    packed = biases + net.buckets * width;
                    table.map_columns(depth, width);
                }
                Operation::Activate(activation) => {
                    let (x, width) = inputs[0];
                    for (number, curve) in activation.curves().iter().enumerate() {
                        let to = to + number * width;
                        table.append_step(CURVE, [x, to, width, curve_bits(*curve), 0, 0, 0]);
                    }
                }
                Operation::Slice(columns) => {
                    let x = inputs[0].0 + columns.start;
                    table.append_step(COPY, [x, to, width, 0, 0, 0, 0]);
                }
                Operation::Concatenate => {
                    let mut to = to;
                    for (x, width) in inputs {
                        table.append_step(COPY, [x, to, width, 0, 0, 0, 0]);
                        to += width;
                    }
                }
                Operation::Combine(how) => {
                    let kind = match how {
                        Combination::Sum => SUM,
                        Combination::Difference => DIFFERENCE,
                        Combination::Product => PRODUCT,
                    };
                    let [x, y] = [0, 1].map(|input| inputs[input].0);
                    table.append_step(kind, [x, to, width, y, 0, 0, 0]);
                }
                Operation::PieceSquares => {
                    table.append_step(PIECE_SQUARES, [0, to, width, 0, 0, 0, 0]);
                }
                Operation::Neurons | Operation::Pairwise => {
                    unreachable!("{operation:?} comes before the first map")
                }
            }
            offsets.push(to);
            table.shape.values = to + width;
        }
        table.columns.extend([0, NONE]);
        table
    }

    fn append_step(&mut self, kind: u32, words: [usize; STEP - 1]) {
        self.steps.push(kind);
        self.steps.extend(words.map(|word| word as u32));
    }

    /// Appends the columns of a map of `depth` inputs, 0 for the first map.
    fn map_columns(&mut self, depth: usize, outputs: usize) {
        let inputs = self.shape.written as u32;
        let gradients = inputs + depth as u32;
        for output in 0..outputs as u32 {
            let weight = |input: u32| [gradients + output, inputs + input];
            self.columns.extend((0..depth as u32).flat_map(weight));
        }
        self.columns.extend((0..outputs as u32).flat_map(|output| [gradients + output, NONE]));
        self.shape.written += depth + outputs;
    }

    pub fn step_count(&self) -> usize {
        self.steps.len() / STEP
    }

    /// Numbers that are summed over positions.
    pub fn sum_count(&self) -> usize {
        self.columns.len() / 2
    }
}

const INNER: u32 = 1;
const BOUNDED: u32 = 2;
const OUTER: u32 = 4;
const GATED: u32 = 8;

/// A curve as bits: whether the square is inside, whether it is bounded, whether the square is
/// outside, whether it is gated.
fn curve_bits(curve: Curve) -> usize {
    let Curve { inner, bounded, outer, gated } = curve;
    let flags = [(inner == 2, INNER), (bounded, BOUNDED), (outer == 2, OUTER), (gated, GATED)];
    flags.into_iter().filter(|(is, _)| *is).map(|(_, flag)| flag as usize).sum()
}

/// Offsets of tables in the words of a batch.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct HeadOffsets {
    /// Numbers of labels, which come first.
    labels: u32,
    /// The tiles of all parts, if there are several buckets.
    tiles: u32,
    steps: u32,
    step_count: u32,
    columns: u32,
}

/// Computes a position per unit, a tile side by side: logits into `gradients`,
/// `[positions]`, or all gradients.
///
/// # Buffers
/// - `sums`: `[positions, buckets * outputs]`, of the first map without its biases
/// - `accumulators`: `[positions, 2, hidden + psqt]`; not read without piece-square values
/// - `weights`: biases of the first map, then weights and biases of the others, `[buckets, ...]`
/// - `batch`: labels, and the tables at `offsets`
/// - `gradients`: by the sums, `[positions, buckets * outputs]`; those of other buckets are 0
/// - `written`: `[positions, written]`
/// - `psqt_gradients`: by the piece-square values of the first perspective, `[positions, psqt]`
///
/// `first` is the first position, `positions` their number; `first_tile` and `tiles` are those of
/// the tiles. For `share`, `power` and `over_rated` see `positions.rs`.
#[cube(launch_unchecked)]
pub(super) fn head(
    sums: &[f32],
    accumulators: &[f32],
    weights: &[f32],
    batch: &[u32],
    gradients: &mut [f32],
    written: &mut [f32],
    psqt_gradients: &mut [f32],
    offsets: HeadOffsets,
    first: u32,
    positions: u32,
    first_tile: u32,
    tiles: u32,
    share: f32,
    power: f32,
    over_rated: f32,
    #[comptime] shape: HeadShape,
    #[comptime] output: WrittenGradients,
) {
    let HeadShape { buckets, outputs, values, written: width, psqt, .. } = comptime!(shape);
    let unit = CUBE_POS * UNITS + UNIT_POS_X as usize;
    let tile = unit / TILE;
    let mut position = unit;
    let mut bucket = 0usize;
    let mut here = position < positions as usize;
    if comptime!(buckets > 1) {
        here = false;
        if tile < tiles as usize {
            let entry = offsets.tiles as usize + (first_tile as usize + tile) * comptime!(TILE + 1);
            bucket = batch[entry] as usize;
            let listed_position = batch[entry + 1 + unit % TILE];
            here = listed_position != NONE;
            position = listed_position as usize - first as usize;
        }
    }
    if here {
        let mut x = Array::<f32>::new(values);
        let mut step = 0usize;
        let steps = offsets.step_count as usize;
        let first_step = offsets.steps as usize;
        while step < steps {
            let word = first_step + step * STEP;
            forward(sums, accumulators, weights, batch, &mut x, word, position, bucket, shape);
            step += 1;
        }
        let logit = x[comptime!(values - 1)];
        if comptime!(output == WrittenGradients::Logits) {
            gradients[position] = logit;
        } else {
            let target_word = first as usize + position;
            let mut gradient = f32::reinterpret(batch[target_word]);
            let mut loss = 0.0f32;
            if comptime!(output != WrittenGradients::Upstream) {
                let form = comptime!(match output {
                    WrittenGradients::Gradients(form) => form,
                    _ => unreachable!(),
                });
                let labels = offsets.labels as usize;
                let position_loss =
                    loss_and_gradient(batch, target_word, labels, logit, power, over_rated, form);
                loss = position_loss.loss;
                gradient = position_loss.gradient * share;
            }
            let row = position * width;
            written[row] = loss;
            let mut value_gradients = Array::<f32>::new(values);
            for i in 0..values {
                value_gradients[i] = 0.0f32;
            }
            value_gradients[comptime!(values - 1)] = gradient;
            let sum_row = position * comptime!(buckets * outputs);
            for i in 0..comptime!(buckets * outputs) {
                gradients[sum_row + i] = 0.0f32;
            }
            for i in 0..psqt {
                psqt_gradients[position * psqt + i] = 0.0f32;
            }
            while step > 0 {
                step -= 1;
                let word = first_step + step * STEP;
                backward(weights, batch, &x, &mut value_gradients, written, word, row, bucket);
            }
            // The values of the first map come first, and then the piece-square value.
            for i in 0..outputs {
                gradients[sum_row + bucket * outputs + i] = value_gradients[i];
            }
            if comptime!(psqt > 0) {
                psqt_gradients[position * psqt + bucket] = value_gradients[outputs] * 0.5f32;
            }
        }
    }
}

/// Computes the values of the step whose words begin at `word`.
#[cube]
fn forward(
    sums: &[f32],
    accumulators: &[f32],
    weights: &[f32],
    batch: &[u32],
    x: &mut Array<f32>,
    word: usize,
    position: usize,
    bucket: usize,
    #[comptime] shape: HeadShape,
) {
    let HeadShape { buckets, outputs, hidden, psqt, .. } = comptime!(shape);
    let kind = batch[word];
    let from = batch[word + 1] as usize;
    let to = batch[word + 2] as usize;
    let width = batch[word + 3] as usize;
    let a = batch[word + 4];
    if kind == FIRST {
        let row = position * comptime!(buckets * outputs) + bucket * outputs;
        for i in 0..width {
            x[to + i] = sums[row + i] + weights[a as usize + bucket * outputs + i];
        }
    } else if kind == PIECE_SQUARES {
        if comptime!(psqt > 0) {
            let first = position * comptime!(2 * (hidden + psqt)) + hidden + bucket;
            let second = first + comptime!(hidden + psqt);
            x[to] = (accumulators[first] - accumulators[second]) * 0.5f32;
        }
    } else if kind == AFFINE {
        let biases = batch[word + 5] as usize + bucket * width;
        let depth = batch[word + 7] as usize;
        let first = a as usize + bucket * width * depth;
        for output in 0..width {
            let mut sum = weights[biases + output];
            for i in 0..depth {
                sum += weights[first + output * depth + i] * x[from + i];
            }
            x[to + output] = sum;
        }
    } else if kind == CURVE {
        for i in 0..width {
            x[to + i] = value_of(x[from + i], a);
        }
    } else if kind == COPY {
        for i in 0..width {
            x[to + i] = x[from + i];
        }
    } else {
        for i in 0..width {
            let left = x[from + i];
            let right = x[a as usize + i];
            let sum = select(kind == DIFFERENCE, left - right, left + right);
            x[to + i] = select(kind == PRODUCT, left * right, sum);
        }
    }
}

/// Adds the gradients of a step's inputs from those of its values, and writes the numbers whose
/// products are the gradients of its weights.
#[cube]
fn backward(
    weights: &[f32],
    batch: &[u32],
    x: &Array<f32>,
    value_gradients: &mut Array<f32>,
    written: &mut [f32],
    word: usize,
    row: usize,
    bucket: usize,
) {
    let kind = batch[word];
    let from = batch[word + 1] as usize;
    let to = batch[word + 2] as usize;
    let width = batch[word + 3] as usize;
    let a = batch[word + 4];
    if kind == FIRST {
        for i in 0..width {
            written[row + batch[word + 5] as usize + i] = value_gradients[to + i];
        }
    } else if kind == AFFINE {
        let depth = batch[word + 7] as usize;
        let first = a as usize + bucket * width * depth;
        let offset = row + batch[word + 6] as usize;
        for i in 0..depth {
            written[offset + i] = x[from + i];
        }
        for output in 0..width {
            let upstream = value_gradients[to + output];
            written[offset + depth + output] = upstream;
            for i in 0..depth {
                value_gradients[from + i] += weights[first + output * depth + i] * upstream;
            }
        }
    } else if kind == PIECE_SQUARES {
        // Its gradient is read in the end.
    } else if kind == CURVE {
        for i in 0..width {
            value_gradients[from + i] += value_gradients[to + i] * derivative_of(x[from + i], a);
        }
    } else if kind == COPY {
        for i in 0..width {
            value_gradients[from + i] += value_gradients[to + i];
        }
    } else {
        for i in 0..width {
            let upstream = value_gradients[to + i];
            let left = x[from + i];
            let right = x[a as usize + i];
            value_gradients[from + i] += select(kind == PRODUCT, upstream * right, upstream);
            let signed = select(kind == DIFFERENCE, -upstream, upstream);
            value_gradients[a as usize + i] += select(kind == PRODUCT, upstream * left, signed);
        }
    }
}

/// Computes the value of a curve by its bits. NaN stays NaN.
#[cube]
fn value_of(x: f32, bits: u32) -> f32 {
    let raised = select(bits & INNER != 0u32, x * x, x);
    let positive = select(raised <= 0.0f32, 0.0f32, raised);
    let is_above = bits & BOUNDED != 0u32 && positive >= 1.0f32;
    let clamped = select(is_above, 1.0f32, positive);
    let value = select(bits & OUTER != 0u32, clamped * clamped, clamped);
    select(bits & GATED != 0u32, x * gate(x), value)
}

/// Computes the derivative of a curve by its bits; at the ends as the CPU's kernels.
#[cube]
fn derivative_of(x: f32, bits: u32) -> f32 {
    let raised = select(bits & INNER != 0u32, x * x, x);
    let between = raised >= 0.0f32 && raised <= 1.0f32;
    let is_inside = select(bits & BOUNDED != 0u32, between, raised > 0.0f32);
    let outer = select(bits & OUTER != 0u32, raised + raised, 1.0f32);
    let inner = select(bits & INNER != 0u32, x + x, 1.0f32);
    let value = select(is_inside, outer * inner, 0.0f32);
    let slanted = x / 6.0f32 + 0.5f32;
    let inside = select(slanted >= 0.0f32 && slanted <= 1.0f32, x / 6.0f32, 0.0f32);
    select(bits & GATED != 0u32, gate(x) + inside, value)
}

/// Computes `clamp(x / 6 + 1/2, 0, 1)`.
#[cube]
fn gate(x: f32) -> f32 {
    let slanted = x / 6.0f32 + 0.5f32;
    let positive = select(slanted <= 0.0f32, 0.0f32, slanted);
    select(positive >= 1.0f32, 1.0f32, positive)
}

/// Sums the columns of the table over the positions of each tile, into `[tiles, columns]`. A cube
/// takes a tile, a unit some columns.
#[cube(launch_unchecked)]
pub(super) fn sums_of_tiles(
    written: &[f32],
    batch: &[u32],
    sums: &mut [f32],
    offsets: HeadOffsets,
    first: u32,
    positions: u32,
    first_tile: u32,
    tiles: u32,
    columns: u32,
    #[comptime] shape: HeadShape,
) {
    let HeadShape { buckets, written: width, .. } = comptime!(shape);
    let tile = CUBE_POS;
    let columns = columns as usize;
    if tile < tiles as usize {
        let number = first_tile as usize + tile;
        let entry = offsets.tiles as usize + number * comptime!(TILE + 1) + 1;
        let mut column = UNIT_POS_X as usize;
        while column < columns {
            let pair = offsets.columns as usize + 2 * column;
            let left = batch[pair] as usize;
            let right = batch[pair + 1];
            let alone = right == NONE;
            let read = select(alone, 0u32, right) as usize;
            let mut sum = 0.0f32;
            for step in 0..TILE {
                let mut position = tile * TILE + step;
                let mut here = position < positions as usize;
                if comptime!(buckets > 1) {
                    let listed_position = batch[entry + step];
                    here = listed_position != NONE;
                    position = listed_position as usize - first as usize;
                }
                if here {
                    let row = position * width;
                    let factor = select(alone, 1.0f32, written[row + read]);
                    sum += written[row + left] * factor;
                }
            }
            sums[number * columns + column] = sum;
            column += UNITS;
        }
    }
}

/// Constants of the kernels before the first map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FeatureShape {
    pub hidden: usize,
    /// Piece-square values, which follow the neurons.
    pub psqt: usize,
    /// Inputs of the first map per perspective.
    pub outputs: usize,
    pub curve: Curve,
    /// Whether the first half of the neurons is multiplied by the second.
    pub pairwise: bool,
}

impl FeatureShape {
    pub fn of_net(net: &Architecture) -> Self {
        let (outputs, curve) = (net.outputs_of_perspective(), net.activation.curve());
        let (hidden, psqt, pairwise) = (net.hidden, net.psqt_columns(), net.pairwise);
        Self { hidden, psqt, outputs, curve, pairwise }
    }
}

/// Computes the inputs of the first map, `[lists, outputs]`, from accumulators, `[lists, hidden +
/// psqt]`; one per unit.
#[cube(launch_unchecked)]
pub(super) fn features(
    accumulators: &[f32],
    to: &mut [f32],
    len: u32,
    #[comptime] shape: FeatureShape,
) {
    let FeatureShape { hidden, psqt, outputs, curve, pairwise } = comptime!(shape);
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let neuron = i / outputs * comptime!(hidden + psqt) + i % outputs;
        let mut value = activate(accumulators[neuron], curve);
        if pairwise {
            value *= activate(accumulators[neuron + outputs], curve);
        }
        to[i] = value;
    }
}

/// Computes the gradients of accumulators, `[lists, hidden + psqt]`, one number per unit. They come
/// from those of the first map's inputs, plus `penalty`, and of the first perspective's
/// piece-square values.
#[cube(launch_unchecked)]
pub(super) fn accumulator_gradients(
    accumulators: &[f32],
    gradients: &[f32],
    psqt_gradients: &[f32],
    to: &mut [f32],
    penalty: f32,
    len: u32,
    #[comptime] shape: FeatureShape,
) {
    let FeatureShape { hidden, psqt, outputs, curve, pairwise } = comptime!(shape);
    let columns = comptime!(hidden + psqt);
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < len as usize {
        let list = i / columns;
        let column = i % columns;
        if comptime!(psqt > 0) && column >= hidden {
            let gradient = psqt_gradients[list / 2 * psqt + column - hidden];
            to[i] = select(list % 2 == 1, -gradient, gradient);
        } else {
            let mut gradient = gradients[list * outputs + column % outputs] + penalty;
            if pairwise {
                let factor = (column + outputs) % hidden;
                gradient *= activate(accumulators[list * columns + factor], curve);
            }
            to[i] = gradient * derivative(accumulators[i], curve);
        }
    }
}
