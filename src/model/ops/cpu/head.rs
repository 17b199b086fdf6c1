//! The layers behind the accumulators, where there are more than the output: a chunk's logits, and
//! the way back to the accumulators and to the weights of the upper layers.
//!
//! Layers are small, and positions of one output bucket stand together, so each layer is a dense
//! product of a few dozen rows. Gradients of the first map, the large one, are left to the tasks of
//! the way back, which own its columns.

use std::ops::Range;

use super::dense::{Matrix, gather_products, multiply};
use super::lanes::Lanes;
use super::layout::Aligned;
use super::net::{Kernel, Weights};
use super::plan::Set;
use crate::architecture::Curve;

/// The affine maps of a net as the kernels want them.
#[derive(Default)]
pub(super) struct Maps {
    pub maps: Vec<Map>,
    /// The activation of each map but the last.
    pub curves: Vec<&'static [Curve]>,
    /// Whether the last output of the first map is added to the logit as it is.
    pub skip: bool,
}

/// One affine map, by output bucket.
#[derive(Default)]
pub(super) struct Map {
    /// Inputs, padded as they lie in a chunk.
    pub inputs: usize,
    pub outputs: usize,
    /// Outputs, padded to whole vectors.
    pub width: usize,
    /// Inputs, padded to whole vectors.
    pub depth: usize,
    /// `[buckets, inputs, width]`
    weights: Vec<f32>,
    /// `[buckets, outputs, depth]`
    transposed: Vec<f32>,
    /// `[buckets, width]`
    bias: Vec<f32>,
}

impl Map {
    pub fn weights(&self, bucket: usize) -> &[f32] {
        let size = self.inputs * self.width;
        &self.weights[bucket * size..][..size]
    }

    fn transposed(&self, bucket: usize) -> &[f32] {
        let size = self.outputs * self.depth;
        &self.transposed[bucket * size..][..size]
    }

    fn bias(&self, bucket: usize) -> &[f32] {
        &self.bias[bucket * self.width..][..self.width]
    }

    /// Numbers of the gradients of one bucket: weights `[inputs, width]`, then biases `[width]`.
    pub fn gradients(&self) -> usize {
        (self.inputs + 1) * self.width
    }
}

impl Maps {
    /// `place` tells where the inputs of the first map lie among those of a chunk, which are so many.
    pub fn pack(
        &mut self,
        kernel: &Kernel,
        weights: &Weights,
        lanes: usize,
        features: usize,
        place: impl Fn(usize) -> usize,
    ) {
        let net = &kernel.net;
        self.skip = net.skip;
        self.curves = net.head.iter().map(|layer| layer.activation.curves()).collect();
        self.maps.resize_with(weights.maps.len(), Map::default);
        let shapes = net.maps();
        for (i, (map, [values, bias])) in self.maps.iter_mut().zip(&weights.maps).enumerate() {
            let [inputs, outputs] = shapes[i];
            let all = if i == 0 { features } else { inputs };
            let (width, depth) = (outputs.next_multiple_of(lanes), all.next_multiple_of(lanes));
            *map = Map {
                inputs: all,
                outputs,
                width,
                depth,
                weights: refill(&mut map.weights, net.buckets * all * width),
                transposed: refill(&mut map.transposed, net.buckets * outputs * depth),
                bias: refill(&mut map.bias, net.buckets * width),
            };
            for bucket in 0..net.buckets {
                for output in 0..outputs {
                    map.bias[bucket * width + output] = bias[bucket * outputs + output];
                    let row = &values[(bucket * outputs + output) * inputs..][..inputs];
                    for (input, &weight) in row.iter().enumerate() {
                        let input = if i == 0 { place(input) } else { input };
                        map.weights[(bucket * all + input) * width + output] = weight;
                        map.transposed[(bucket * outputs + output) * depth + input] = weight;
                    }
                }
            }
        }
    }

    /// Where the gradients of each map but the first begin, in a chunk's; of the first map they are
    /// the biases alone.
    fn starts(&self, buckets: usize) -> Vec<usize> {
        let mut starts = vec![0];
        for (i, map) in self.maps.iter().enumerate() {
            let each = if i == 0 { map.width } else { map.gradients() };
            starts.push(starts[i] + buckets * each);
        }
        starts
    }

    /// Adds the gradients of a chunk's upper maps, and the biases of the first, to sums in the
    /// order of the arrays, `[outputs, inputs]` a bucket.
    pub fn spread(&self, buckets: usize, upper: &[f32], sums: &mut [[&mut [f32]; 2]]) {
        let starts = self.starts(buckets);
        for (i, (map, [weights, biases])) in self.maps.iter().zip(sums).enumerate() {
            for bucket in 0..buckets {
                let of_bucket = &upper[starts[i]..starts[i + 1]];
                let (rows, bias) = match i {
                    0 => (&[][..], &of_bucket[bucket * map.width..][..map.width]),
                    _ => {
                        let all = &of_bucket[bucket * map.gradients()..][..map.gradients()];
                        all.split_at(map.inputs * map.width)
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

    /// Lets it show that a weight is not a number.
    pub fn poison(&mut self) {
        self.maps.last_mut().expect("a net has an output").bias.fill(f32::NAN);
    }

    pub fn upper_len(&self, buckets: usize) -> usize {
        *self.starts(buckets).last().expect("it has an end")
    }
}

fn refill(vec: &mut Vec<f32>, len: usize) -> Vec<f32> {
    let mut vec = std::mem::take(vec);
    vec.clear();
    vec.resize(len, 0.0);
    vec
}

/// What a chunk keeps of its layers.
#[derive(Default)]
pub(super) struct Head {
    /// What the accumulators hand on, `[slots, features]`; after the way back its gradients.
    pub features: Aligned<f32>,
    /// What each map gives, `[slots, width]`.
    values: Vec<Aligned<f32>>,
    /// What each map but the first takes, `[slots, depth]`.
    taken: Vec<Aligned<f32>>,
    /// Gradients of what each map gives, `[slots, width]`.
    pub slopes: Vec<Aligned<f32>>,
    /// Gradients of the features, `[slots, features]`.
    pub feature_slopes: Aligned<f32>,
    /// Gradients of the upper maps and of the biases of the first, see [`Maps::spread`].
    pub upper: Vec<f32>,
    room: Aligned<f32>,
}

impl Head {
    pub fn resize(&mut self, maps: &Maps, slots: usize) {
        // All at once: a buffer that grows in between may lose what it holds.
        self.features.resize(slots * maps.maps[0].inputs);
        self.feature_slopes.resize(slots * maps.maps[0].inputs);
        for list in [&mut self.values, &mut self.taken, &mut self.slopes] {
            list.resize_with(maps.maps.len(), Aligned::default);
        }
        for (i, map) in maps.maps.iter().enumerate() {
            self.values[i].resize(slots * map.width);
            self.taken[i].resize(if i == 0 { 0 } else { slots * map.depth });
            self.slopes[i].resize(slots * map.width);
        }
    }

    /// The logits of some slots of one bucket, `[slots]`, from the features.
    #[inline(always)]
    pub fn forward<S: Lanes>(&mut self, simd: S, maps: &Maps, set: &Set, logits: &mut [f32]) {
        let Set { bucket, slots } = set;
        for (i, map) in maps.maps.iter().enumerate() {
            if i > 0 {
                let below = &maps.maps[i - 1];
                let values = part(self.values[i - 1].get(), below.width, slots);
                let taken = part_mut(self.taken[i].get_mut(), map.depth, slots);
                activate(maps.curves[i - 1], below, maps.skip && i == 1, values, taken, map.depth);
            }
            let (from, stride) = match i {
                0 => (self.features.get(), map.inputs),
                _ => (self.taken[i].get(), map.depth),
            };
            let a = Matrix { values: part(from, stride, slots), stride };
            let c = part_mut(self.values[i].get_mut(), map.width, slots);
            let (weights, bias) = (map.weights(*bucket), map.bias(*bucket));
            multiply(simd, [slots.len(), map.inputs], a, weights, bias, c);
        }
        let last = maps.maps.len() - 1;
        let values = part(self.values[last].get(), maps.maps[last].width, slots);
        for (row, logit) in values.chunks_exact(maps.maps[last].width).zip(&mut *logits) {
            *logit = row[0];
        }
        if maps.skip {
            let map = &maps.maps[0];
            let values = part(self.values[0].get(), map.width, slots);
            for (row, logit) in values.chunks_exact(map.width).zip(logits) {
                *logit += row[map.outputs - 1];
            }
        }
    }

    /// From the gradients of the logits of some slots, `[slots]`, to those of the features, of the
    /// first map's outputs, and of the upper maps.
    #[inline(always)]
    pub fn backward<S: Lanes>(
        &mut self,
        simd: S,
        maps: &Maps,
        buckets: usize,
        set: &Set,
        logit_gradients: &[f32],
    ) {
        let Set { bucket, slots } = set;
        let starts = maps.starts(buckets);
        let last = maps.maps.len() - 1;
        let width = maps.maps[last].width;
        let slopes = part_mut(self.slopes[last].get_mut(), width, slots);
        slopes.fill(0.0);
        for (row, &gradient) in slopes.chunks_exact_mut(width).zip(logit_gradients) {
            row[0] = gradient;
        }
        for i in (0..maps.maps.len()).rev() {
            let map = &maps.maps[i];
            let upper = &mut self.upper[starts[i]..starts[i + 1]];
            let slopes = part(self.slopes[i].get(), map.width, slots);
            let bias = match i {
                0 => &mut upper[bucket * map.width..][..map.width],
                _ => {
                    let all = &mut upper[bucket * map.gradients()..][..map.gradients()];
                    let (weights, bias) = all.split_at_mut(map.inputs * map.width);
                    let taken = part(self.taken[i].get(), map.depth, slots);
                    let a = Matrix { values: taken, stride: map.depth };
                    let size = [slots.len(), map.inputs];
                    gather_products(simd, size, a, slopes, map.width, weights);
                    bias
                }
            };
            for row in slopes.chunks_exact(map.width) {
                bias.iter_mut().zip(row).for_each(|(sum, slope)| *sum += slope);
            }
            // To what the map takes.
            let a = Matrix { values: slopes, stride: map.width };
            let size = [slots.len(), map.outputs];
            let zeros = &mut self.room;
            zeros.resize(map.depth);
            zeros.get_mut().fill(0.0);
            let transposed = map.transposed(*bucket);
            if i == 0 {
                debug_assert_eq!(map.depth, map.inputs);
                let c = part_mut(self.feature_slopes.get_mut(), map.depth, slots);
                multiply(simd, size, a, transposed, zeros.get(), c);
                return;
            }
            let below = &maps.maps[i - 1];
            // What was taken is no longer needed: its gradients stand in its place.
            let c = part_mut(self.taken[i].get_mut(), map.depth, slots);
            multiply(simd, size, a, transposed, zeros.get(), c);
            let values = part(self.values[i - 1].get(), below.width, slots);
            let to = part_mut(self.slopes[i - 1].get_mut(), below.width, slots);
            let skip = maps.skip && i == 1;
            steepen(maps.curves[i - 1], below, skip, values, [&*c, logit_gradients], map.depth, to);
        }
    }
}

/// The rows of some slots.
#[inline(always)]
pub(super) fn part<'a>(all: &'a [f32], width: usize, slots: &Range<usize>) -> &'a [f32] {
    &all[slots.start * width..slots.end * width]
}

#[inline(always)]
fn part_mut<'a>(all: &'a mut [f32], width: usize, slots: &Range<usize>) -> &'a mut [f32] {
    &mut all[slots.start * width..slots.end * width]
}

/// The activations of a map's values: those of each curve side by side, zeros behind them.
#[inline(always)]
fn activate(
    curves: &[Curve],
    map: &Map,
    skip: bool,
    values: &[f32],
    taken: &mut [f32],
    depth: usize,
) {
    let neurons = map.outputs - usize::from(skip);
    for (values, taken) in values.chunks_exact(map.width).zip(taken.chunks_exact_mut(depth)) {
        let (there, behind) = taken.split_at_mut(neurons * curves.len());
        for (curve, to) in curves.iter().zip(there.chunks_exact_mut(neurons)) {
            for (to, &x) in to.iter_mut().zip(values) {
                *to = curve.value_f32(x);
            }
        }
        behind.fill(0.0);
    }
}

/// The gradients of a map's values from those of their activations and of the logits.
#[inline(always)]
fn steepen(
    curves: &[Curve],
    map: &Map,
    skip: bool,
    values: &[f32],
    [above, logits]: [&[f32]; 2],
    depth: usize,
    slopes: &mut [f32],
) {
    let neurons = map.outputs - usize::from(skip);
    let rows = values.chunks_exact(map.width).zip(above.chunks_exact(depth)).zip(logits);
    for (((values, above), logit), slopes) in rows.zip(slopes.chunks_exact_mut(map.width)) {
        slopes.fill(0.0);
        for (curve, above) in curves.iter().zip(above.chunks_exact(neurons)) {
            for ((slope, &above), &x) in slopes.iter_mut().zip(above).zip(values) {
                *slope += above * curve.slope_f32(x);
            }
        }
        if skip {
            slopes[neurons] = *logit;
        }
    }
}
