//! Heads of deep nets: a chunk's logits, and the backward pass down to the accumulators, operation
//! by operation of the net's graph. It equals `model/head`. Layers are small, and positions of one
//! output bucket are contiguous, so each affine map is a dense product of a few dozen rows. The
//! first map is large, and its gradients are computed block by block. Rows are logits of the plan;
//! a panel holds the inputs of one block and perspective; steps are the operations, and inputs
//! their indices.

use std::ops::Range;

use rayon::prelude::*;

use super::dense::{PanelMatrix, gather_products, multiply_panels};
use super::net::{Kernel, SliceWeights};
use super::packed::{Aligned, Columns};
use super::simd::{Lanes, Task};
use crate::architecture::{Architecture, HeadNode, Operation, ValueRows, ValueRowsMut};
use crate::batch::ChunkPlan;
use crate::batch::plan::KeyRange;

#[derive(Default)]
pub(super) struct Maps {
    pub maps: Vec<PackedMap>,
    /// The operations of [`head_nodes`](crate::architecture::Graph::head_nodes).
    steps: Vec<HeadStep>,
    perspectives: usize,
    buckets: usize,
    columns: Columns,
    /// Start of each map's gradients, and the end of all; of the first map only the biases.
    starts: Vec<usize>,
    /// Zeros, as many as the deepest map needs.
    zeros: Vec<f32>,
}

struct HeadStep {
    operation: Operation,
    inputs: Vec<usize>,
    width: usize,
    /// The width, padded to whole vectors.
    stride: usize,
}

#[derive(Default)]
pub(super) struct PackedMap {
    /// Inputs, padded as in a chunk.
    pub inputs: usize,
    pub outputs: usize,
    /// Outputs, padded to whole vectors.
    pub width: usize,
    /// Inputs of a panel, padded to whole vectors; only the first map has more than one.
    pub depth: usize,
    /// `[buckets, inputs, width]`
    weights: Vec<f32>,
    /// `[buckets, panels, outputs, depth]`
    transposed: Vec<f32>,
    /// `[buckets, width]`
    bias: Vec<f32>,
}

impl PackedMap {
    /// Resizes the buffers; padding is zero.
    fn resize_map(&mut self, [inputs, outputs, buckets]: [usize; 3], depth: usize, lanes: usize) {
        let (width, panels) = (outputs.next_multiple_of(lanes), inputs.div_ceil(depth));
        let sizes = [inputs * width, panels * outputs * depth, width].map(|size| size * buckets);
        let old_sizes = [&self.weights, &self.transposed, &self.bias].map(Vec::len);
        let (old, new) = ([self.inputs, self.outputs, self.depth], [inputs, outputs, depth]);
        if old == new && old_sizes == sizes {
            return;
        }
        let [weights, transposed, bias] = sizes.map(|size| vec![0.0; size]);
        *self = PackedMap { inputs, outputs, width, depth, weights, transposed, bias };
    }

    /// Copies biases, and weights `[buckets, outputs, inputs]`; input `i` gets row `input_rows[i]`.
    fn fill_weights(&mut self, input_rows: &[usize], values: &[f32], biases: &[f32]) {
        let rows = self.row_count();
        let PackedMap { inputs, outputs, width, depth, weights, transposed, bias } = self;
        let (outputs, width, depth) = (*outputs, *width, *depth);
        // Offsets of the first output of each input; outputs are `depth` apart.
        let offset = |row: &usize| row / depth * outputs * depth + row % depth;
        let offsets: Vec<usize> = input_rows.iter().map(offset).collect();
        for (bias, biases) in bias.chunks_exact_mut(width).zip(biases.chunks_exact(outputs)) {
            bias[..outputs].copy_from_slice(biases);
        }
        weights
            .par_chunks_exact_mut(*inputs * width)
            .zip(transposed.par_chunks_exact_mut(rows * depth))
            .zip(values.par_chunks_exact(outputs * input_rows.len()))
            .for_each(|((weights, transposed), values)| {
                for (output, row) in values.chunks_exact(input_rows.len()).enumerate() {
                    for ((&row, &offset), &weight) in input_rows.iter().zip(&offsets).zip(row) {
                        weights[row * width + output] = weight;
                        transposed[offset + output * depth] = weight;
                    }
                }
            });
    }

    pub fn bucket_weights(&self, bucket: usize) -> &[f32] {
        let size = self.inputs * self.width;
        &self.weights[bucket * size..][..size]
    }

    /// `[outputs, depth]`
    fn transposed_panel(&self, bucket: usize, panel: usize) -> &[f32] {
        let size = self.outputs * self.depth;
        &self.transposed[bucket * self.row_count() * self.depth + panel * size..][..size]
    }

    fn row_count(&self) -> usize {
        self.panel_count() * self.outputs
    }

    fn panel_count(&self) -> usize {
        self.inputs.div_ceil(self.depth)
    }

    fn bucket_bias(&self, bucket: usize) -> &[f32] {
        &self.bias[bucket * self.width..][..self.width]
    }

    /// Numbers of the gradients of one bucket: weights `[inputs, width]`, then biases `[width]`.
    pub fn gradient_count(&self) -> usize {
        (self.inputs + 1) * self.width
    }
}

impl Maps {
    pub fn pack_maps(&mut self, kernel: &Kernel, weights: &SliceWeights, columns: Columns) {
        let (net, lanes) = (&kernel.net, kernel.level.lane_count());
        (self.perspectives, self.buckets, self.columns) =
            (net.perspective_count(), net.buckets, columns);
        let step = |HeadNode { operation, inputs, width }| HeadStep {
            operation,
            inputs,
            width,
            stride: width.next_multiple_of(lanes),
        };
        self.steps = net.graph().head_nodes().into_iter().map(step).collect();
        self.maps.resize_with(weights.maps.len(), PackedMap::default);
        self.starts = vec![0];
        let shapes = net.maps();
        for (i, (map, [values, bias])) in self.maps.iter_mut().zip(&weights.maps).enumerate() {
            let [inputs, outputs] = shapes[i];
            let (padded_inputs, depth, input_rows): (_, _, Vec<usize>) = match i {
                0 => {
                    let padded_inputs =
                        net.perspective_count() * columns.blocks_of_perspective() * columns.each;
                    let input_rows = (0..inputs).map(|input| input_row(net, columns, input));
                    (padded_inputs, columns.each, input_rows.collect())
                }
                _ => (inputs, inputs.next_multiple_of(lanes), (0..inputs).collect()),
            };
            map.resize_map([padded_inputs, outputs, net.buckets], depth, lanes);
            map.fill_weights(&input_rows, values, bias);
            let each = if i == 0 { map.width } else { map.gradient_count() };
            self.starts.push(self.starts[i] + net.buckets * each);
        }
        let deepest = self.maps.iter().map(|map| map.depth).max().unwrap_or(0);
        self.zeros.resize(deepest, 0.0);
    }

    /// Writes the gradients of the upper maps, `[outputs, inputs]` per bucket, and the first
    /// biases.
    pub fn spread_gradients(&self, upper: &[f32], to: &mut [[&mut [f32]; 2]]) {
        for (i, (map, [weights, biases])) in self.maps.iter().zip(to).enumerate() {
            let map_gradients = &upper[self.starts[i]..self.starts[i + 1]];
            for bucket in 0..self.buckets {
                let (rows, bias) = match i {
                    0 => (&[][..], &map_gradients[bucket * map.width..][..map.width]),
                    _ => {
                        let size = map.gradient_count();
                        map_gradients[bucket * size..][..size].split_at(map.inputs * map.width)
                    }
                };
                let outputs = bucket * map.outputs..(bucket + 1) * map.outputs;
                biases[outputs.clone()].copy_from_slice(&bias[..map.outputs]);
                for (input, row) in rows.chunks_exact(map.width).enumerate() {
                    for (output, &sum) in outputs.clone().zip(row) {
                        weights[output * map.inputs + input] = sum;
                    }
                }
            }
        }
    }

    pub fn propagate_nan(&mut self) {
        self.maps.last_mut().expect("a net has an output").bias.fill(f32::NAN);
    }

    /// Size of the gradients that [`Maps::spread_gradients`] takes.
    pub fn upper_len(&self) -> usize {
        self.starts[self.maps.len()]
    }
}

/// Returns the row of an input in a packed first map, in the order of [`LayerBuffers::features`].
fn input_row(net: &Architecture, columns: Columns, input: usize) -> usize {
    let (side, neuron) =
        (input / net.outputs_of_perspective(), input % net.outputs_of_perspective());
    let (block, column) = (neuron / columns.each, neuron % columns.each);
    (block * net.perspective_count() + side) * columns.each + column
}

/// Task that computes a chunk's logits, or the gradients of the first outputs and the upper maps.
pub(super) struct MapLayers<'a> {
    pub maps: &'a Maps,
    pub plan: &'a ChunkPlan,
    pub head: &'a mut LayerBuffers,
    pub logits: &'a mut [f32],
    pub backward: bool,
}

impl Task for MapLayers<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let MapLayers { maps, plan, head, logits, backward } = self;
        if backward {
            head.upper.clear();
            head.upper.resize(maps.upper_len(), 0.0);
        }
        for bucket_range in &plan.bucket_ranges {
            let logits = &mut logits[bucket_range.range.clone()];
            match backward {
                false => head.forward_bucket(simd, maps, bucket_range, logits),
                true => head.backward_bucket(simd, maps, bucket_range, logits),
            }
        }
    }
}

/// Task of the first map's backward pass, for the inputs of a block and their weights.
pub(super) struct FirstMapBackward<'a> {
    pub maps: &'a Maps,
    pub plan: &'a ChunkPlan,
    pub head: &'a LayerBuffers,
    pub block: usize,
    /// `[perspectives, rows, columns]`, replaced.
    pub upstream: &'a mut Aligned<f32>,
    /// `[perspectives, buckets, columns, width]`, added to.
    pub output: &'a mut [f32],
}

impl Task for FirstMapBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let FirstMapBackward { maps, plan, head, block, upstream, output } = self;
        let (map, rows) = (&maps.maps[0], head.rows);
        let (size, share) = (rows * map.depth, map.depth * map.width);
        upstream.resize_unspecified(maps.perspectives * size);
        for (side, upstream) in upstream.get_mut().chunks_exact_mut(size).enumerate() {
            let panel = block * maps.perspectives + side;
            let features = &head.features.as_slice()[panel * size..][..size];
            for KeyRange { key: bucket, range } in &plan.bucket_ranges {
                let gradients = rows_in_range(head.gradients[0].as_slice(), map.width, range);
                let a = PanelMatrix::single_panel(gradients, map.width);
                let b = map.transposed_panel(*bucket, panel);
                let c = rows_mut(upstream, map.depth, range);
                multiply_panels(simd, range.len(), [1, map.outputs], a, b, &head.penalty, c);
                let a =
                    PanelMatrix::single_panel(rows_in_range(features, map.depth, range), map.depth);
                let sums = &mut output[(side * maps.buckets + bucket) * share..][..share];
                gather_products(simd, range.len(), a, gradients, map.width, sums);
            }
            upstream[(rows - 1) * map.depth..].fill(0.0);
        }
    }
}

/// Buffers of a chunk's layers. Rows are positions in the order of logits, and one row of zeros.
#[derive(Default)]
pub(super) struct LayerBuffers {
    pub rows: usize,
    /// Inputs of the first map, `[blocks of a half, perspectives, rows, columns]`.
    pub features: Aligned<f32>,
    /// Piece-square values in the same layout, in separate blocks.
    pub psqt: Aligned<f32>,
    /// Row of each list in a block, `perspective * rows + row`.
    pub list_rows: Vec<u32>,
    /// Values of each step, `[rows, stride]`.
    values: Vec<Aligned<f32>>,
    /// Gradients of the logits by the values of each step, `[rows, stride]`.
    gradients: Vec<Aligned<f32>>,
    /// Gradients that a step adds to existing ones, `[rows, stride]`.
    terms: Aligned<f32>,
    /// Gradient of the objective by each input of the first map itself, `[columns]`.
    penalty: Vec<f32>,
    /// Gradients of the upper maps and of the biases of the first, see [`Maps::spread_gradients`].
    pub upper: Vec<f32>,
}

impl LayerBuffers {
    pub fn resize_buffers(&mut self, net: &Architecture, maps: &Maps, plan: &ChunkPlan) {
        let rows = plan.positions.len() + 1;
        self.rows = rows;
        self.list_rows.clear();
        let (together, shift) = (ChunkPlan::parallel_perspectives(net), ChunkPlan::item_shift(net));
        let sides = plan.order.iter().map(|item| item.perspective_index(shift));
        for (side, logit) in sides.chain(std::iter::repeat(0)).zip(&plan.slot_logits) {
            for side in side..side + together {
                self.list_rows.push((side * rows + logit.get()) as u32);
            }
        }

        // All at once: a buffer that grows later may lose its contents.
        self.features.resize_unspecified(rows * maps.maps[0].inputs);
        let psqt_columns = net.perspective_count() * maps.columns.psqt_blocks() * maps.columns.each;
        self.psqt.resize_unspecified(rows * psqt_columns);
        for list in [&mut self.values, &mut self.gradients] {
            list.resize_with(maps.steps.len(), Aligned::default);
            for (values, step) in list.iter_mut().zip(&maps.steps) {
                values.resize_unspecified(rows * step.stride);
            }
        }
        let widest = maps.steps.iter().map(|step| step.stride).max().unwrap_or(0);
        self.terms.resize_unspecified(rows * widest);
    }

    /// Returns the offset of a bucket's first piece-square value, of perspective `side`.
    fn psqt_offset(&self, maps: &Maps, side: usize, bucket: usize) -> usize {
        let each = maps.columns.each;
        (bucket / each * maps.perspectives + side) * self.rows * each + bucket % each
    }

    /// Writes the gradients of the piece-square values of a block, `[perspectives, rows, columns]`.
    pub fn write_psqt(&self, maps: &Maps, plan: &ChunkPlan, block: usize, to: &mut Aligned<f32>) {
        let Maps { steps, columns, perspectives, .. } = maps;
        let size = self.rows * columns.each;
        to.resize_unspecified(perspectives * size);
        let to = to.get_mut();
        to.fill(0.0);
        let is_psqt = |step: &HeadStep| step.operation == Operation::PieceSquares;
        let step = steps.iter().position(is_psqt).expect("the net has piece-square values");
        let (gradients, stride) = (self.gradients[step].as_slice(), steps[step].stride);
        let buckets = columns.psqt_columns(block);
        for KeyRange { key: bucket, range } in &plan.bucket_ranges {
            let Some(column) = bucket.checked_sub(buckets.start) else { continue };
            for row in range.clone().filter(|_| *bucket < buckets.end) {
                let gradient = 0.5 * gradients[row * stride];
                to[row * columns.each + column] = gradient;
                to[size + row * columns.each + column] = -gradient;
            }
        }
    }

    /// Sets the gradient of the features' mean in the objective; returns the sum of the features.
    pub fn penalise_features(&mut self, maps: &Maps, gradient: f32) -> f64 {
        let depth = maps.maps[0].depth;
        self.penalty.clear();
        self.penalty.resize(depth, gradient);
        if gradient == 0.0 {
            return 0.0;
        }
        // The last row of each panel belongs to no position.
        let panels = self.features.as_slice().chunks_exact(self.rows * depth);
        let sum_panel = |panel: &[f32]| -> f64 {
            panel[..(self.rows - 1) * depth].iter().map(|it| f64::from(*it)).sum()
        };
        panels.map(sum_panel).sum()
    }

    /// Computes the logits of positions of one bucket from the features.
    #[inline(always)]
    pub fn forward_bucket<S: Lanes>(
        &mut self,
        simd: S,
        maps: &Maps,
        bucket_range: &KeyRange,
        logits: &mut [f32],
    ) {
        let KeyRange { key: bucket, range } = bucket_range;
        let [first, second] = [0, 1].map(|side| self.psqt_offset(maps, side, *bucket));
        for (i, step) in maps.steps.iter().enumerate() {
            let (earlier, values) = self.values.split_at_mut(i);
            let to = rows_mut(values[0].get_mut(), step.stride, range);
            if step.operation == Operation::PieceSquares {
                let psqt = self.psqt.as_slice();
                for (row, to) in range.clone().zip(to.chunks_exact_mut(step.stride)) {
                    let offset = row * maps.columns.each;
                    to[0] = (psqt[first + offset] - psqt[second + offset]) * 0.5;
                }
                continue;
            }
            let Operation::Affine(map) = step.operation else {
                let inputs = rows_of(maps, earlier, &step.inputs, range);
                let to = ValueRowsMut { values: to, stride: step.stride, width: step.width };
                step.operation.forward(&inputs[..step.inputs.len()], to);
                continue;
            };
            let map = &maps.maps[map];
            let (a, depth) = match step.inputs[..] {
                [] => {
                    let values = &self.features.as_slice()[range.start * map.depth..];
                    let apart = self.rows * map.depth;
                    let panels = PanelMatrix { values, stride: map.depth, apart };
                    (panels, [map.panel_count(), map.depth])
                }
                [input, ..] => {
                    let values = rows_in_range(earlier[input].as_slice(), map.depth, range);
                    (PanelMatrix::single_panel(values, map.depth), [1, map.inputs])
                }
            };
            let (weights, bias) = (map.bucket_weights(*bucket), map.bucket_bias(*bucket));
            multiply_panels(simd, range.len(), depth, a, weights, bias, to);
        }
        let last = maps.steps.len() - 1;
        let stride = maps.steps[last].stride;
        let values = rows_in_range(self.values[last].as_slice(), stride, range);
        for (row, logit) in values.chunks_exact(stride).zip(logits) {
            *logit = row[0];
        }
    }

    /// Backward pass of one bucket's positions from logits to the first map's outputs.
    #[inline(always)]
    pub fn backward_bucket<S: Lanes>(
        &mut self,
        simd: S,
        maps: &Maps,
        bucket_range: &KeyRange,
        logit_gradients: &[f32],
    ) {
        let KeyRange { key: bucket, range } = bucket_range;
        let Maps { steps, starts, zeros, .. } = maps;
        let last = steps.len() - 1;
        let stride = steps[last].stride;
        let gradients = rows_mut(self.gradients[last].get_mut(), stride, range);
        gradients.fill(0.0);
        for (row, &gradient) in gradients.chunks_exact_mut(stride).zip(logit_gradients) {
            row[0] = gradient;
        }
        let mut has_gradients = [false; MAX_STEPS];
        for (i, step) in steps.iter().enumerate().rev() {
            let (earlier, rest) = self.gradients.split_at_mut(i);
            let gradients = rows_in_range(rest[0].as_slice(), step.stride, range);
            let Operation::Affine(number) = step.operation else {
                // Piece-square values have no inputs; `write_psqt` reads their gradients.
                let inputs = rows_of(maps, &self.values, &step.inputs, range);
                for (index, &input) in step.inputs.iter().enumerate() {
                    let HeadStep { stride, width, .. } = steps[input];
                    let values = rows_mut(earlier[input].get_mut(), stride, range);
                    if !std::mem::replace(&mut has_gradients[input], true) {
                        values.fill(0.0);
                    }
                    let to = ValueRowsMut { values, stride, width };
                    let upstream =
                        ValueRows { values: gradients, stride: step.stride, width: step.width };
                    step.operation.backward(index, &inputs[..step.inputs.len()], upstream, to);
                }
                continue;
            };
            let map = &maps.maps[number];
            let upper = &mut self.upper[starts[number]..starts[number + 1]];
            let bias = match step.inputs[..] {
                [] => &mut upper[bucket * map.width..][..map.width],
                [input, ..] => {
                    let all = &mut upper[bucket * map.gradient_count()..][..map.gradient_count()];
                    let (weights, bias) = all.split_at_mut(map.inputs * map.width);
                    let values = rows_in_range(self.values[input].as_slice(), map.depth, range);
                    let a = PanelMatrix::single_panel(values, map.depth);
                    gather_products(simd, range.len(), a, gradients, map.width, weights);
                    bias
                }
            };
            for row in gradients.chunks_exact(map.width) {
                bias.iter_mut().zip(row).for_each(|(sum, gradient)| *sum += gradient);
            }
            let [input, ..] = step.inputs[..] else { continue };
            let a = PanelMatrix::single_panel(gradients, map.width);
            let (b, zeros) = (map.transposed_panel(*bucket, 0), &zeros[..map.depth]);
            let to = rows_mut(earlier[input].get_mut(), map.depth, range);
            let is_first = !std::mem::replace(&mut has_gradients[input], true);
            let terms = rows_mut(self.terms.get_mut(), map.depth, range);
            let c = if is_first { &mut *to } else { &mut *terms };
            multiply_panels(simd, range.len(), [1, map.outputs], a, b, zeros, c);
            if !is_first {
                to.iter_mut().zip(terms).for_each(|(sum, term)| *sum += *term);
            }
        }
    }
}

/// Maximum number of steps of a head.
const MAX_STEPS: usize = 128;
/// Maximum number of inputs of a step.
const MAX_INPUTS: usize = 16;

/// Returns the rows of the values of the steps `inputs`.
#[inline(always)]
fn rows_of<'a>(
    maps: &Maps,
    values: &'a [Aligned<f32>],
    inputs: &[usize],
    range: &Range<usize>,
) -> [ValueRows<'a>; MAX_INPUTS] {
    let mut rows = [ValueRows { values: &[], stride: 1, width: 0 }; MAX_INPUTS];
    for (rows, &input) in rows.iter_mut().zip(inputs) {
        let HeadStep { stride, width, .. } = maps.steps[input];
        let values = rows_in_range(values[input].as_slice(), stride, range);
        *rows = ValueRows { values, stride, width };
    }
    rows
}

#[inline(always)]
fn rows_in_range<'a>(all: &'a [f32], width: usize, rows: &Range<usize>) -> &'a [f32] {
    &all[rows.start * width..rows.end * width]
}

#[inline(always)]
fn rows_mut<'a>(all: &'a mut [f32], width: usize, rows: &Range<usize>) -> &'a mut [f32] {
    &mut all[rows.start * width..rows.end * width]
}
