//! The operations after the accumulators on Burn's tensors: they define the kernels, and train nets
//! that kernels do not support.

use std::ops::Range;

use burn::tensor::{Tensor, TensorData, activation::relu};

use super::aim::HeadOutputs;
use super::net::Affine;
use crate::architecture::{Architecture, Combination, Curve, GraphArithmetic, Operation};

/// Computes the outputs before the sigmoid, one per position, and the inputs of the first map.
///
/// # Shapes
/// - `maps`: as [`Architecture::maps`]
/// - `accumulators`: `[batch * perspectives, N]`, neurons, then piece-square values
/// - `buckets`: `[batch]`, or empty for one bucket
pub fn head_outputs(
    net: &Architecture,
    maps: &[Affine],
    accumulators: Tensor<2>,
    buckets: &[u8],
) -> HeadOutputs {
    let [lists, columns] = accumulators.dims();
    let batch = lists / net.perspective_count();
    let mut chosen = vec![0.0_f32; batch * net.buckets];
    for (position, chosen) in chosen.chunks_exact_mut(net.buckets).enumerate() {
        chosen[buckets.get(position).map_or(0, |bucket| usize::from(*bucket))] = 1.0;
    }
    let chosen = TensorData::new(chosen, [batch, net.buckets, 1]);
    let chosen = Tensor::from_data(chosen, &accumulators.device());
    let x = accumulators.reshape([batch, net.perspective_count() * columns]);
    let mut activations = None;
    let tensors = TensorArithmetic { net, maps, chosen };
    let logits = net.graph().evaluate(&tensors, x, |operation, values| {
        if *operation == Operation::Affine(0) && net.is_deep() {
            activations = Some(values.clone());
        }
    });
    HeadOutputs { logits: logits.reshape([batch]), activations }
}

/// Tensors `[batch, values]`.
struct TensorArithmetic<'a> {
    net: &'a Architecture,
    maps: &'a [Affine],
    /// `[batch, buckets, 1]`, one at a position's bucket.
    chosen: Tensor<3>,
}

/// Selects columns of each of `parts` equal parts.
fn columns_of_parts(x: Tensor<2>, parts: usize, columns: Range<usize>) -> Tensor<2> {
    let [batch, width] = x.dims();
    let x = x.reshape([batch * parts, width / parts]);
    x.narrow(1, columns.start, columns.len()).reshape([batch, parts * columns.len()])
}

impl GraphArithmetic for TensorArithmetic<'_> {
    type Values = Tensor<2>;

    fn activate(&self, x: Tensor<2>, curves: &[Curve]) -> Tensor<2> {
        let apply = |curve: &Curve| {
            if curve.gated {
                return x.clone() * (x.clone() / 6.0 + 0.5).clamp(0.0, 1.0);
            }
            let raised = if curve.inner == 2 { x.clone() * x.clone() } else { x.clone() };
            let clamped = if curve.bounded { raised.clamp(0.0, 1.0) } else { relu(raised) };
            if curve.outer == 2 { clamped.clone() * clamped } else { clamped }
        };
        match curves {
            [curve] => apply(curve),
            _ => Tensor::cat(curves.iter().map(apply).collect(), 1),
        }
    }

    fn select_columns(&self, x: Tensor<2>, columns: Range<usize>) -> Tensor<2> {
        columns_of_parts(x, 1, columns)
    }

    fn multiply_halves(&self, x: Tensor<2>) -> Tensor<2> {
        let (parts, half) = (self.net.perspective_count(), self.net.outputs_of_perspective());
        let left = columns_of_parts(x.clone(), parts, 0..half);
        left * columns_of_parts(x, parts, half..2 * half)
    }

    fn combine(&self, x: Tensor<2>, y: Tensor<2>, how: Combination) -> Tensor<2> {
        how.apply(x, y)
    }

    fn concatenate(&self, parts: Vec<Tensor<2>>) -> Tensor<2> {
        Tensor::cat(parts, 1)
    }

    fn select_neurons(&self, x: Tensor<2>) -> Tensor<2> {
        columns_of_parts(x, 2, 0..self.net.hidden)
    }

    fn piece_squares(&self, x: Tensor<2>) -> Tensor<2> {
        let (batch, hidden, buckets) = (x.dims()[0], self.net.hidden, self.net.buckets);
        let values = columns_of_parts(x, 2, hidden..hidden + buckets).reshape([batch, 2, buckets]);
        let halved = values.matmul(self.chosen.clone()).reshape([batch, 2]) / 2.0;
        halved.clone().narrow(1, 0, 1) - halved.narrow(1, 1, 1)
    }

    fn apply_map(&self, map: usize, x: Tensor<2>) -> Tensor<2> {
        let Affine { weight, bias } = &self.maps[map];
        let (weight, bias) = (weight.val(), bias.val());
        let ([batch, inputs], [_, buckets, _]) = (x.dims(), self.chosen.dims());
        let outputs = bias.dims()[0] / buckets;
        let weight = weight.reshape([buckets * outputs, inputs]);
        let all = x.matmul(weight.transpose()) + bias.unsqueeze(); // all buckets
        let all = all.reshape([batch, buckets, outputs]) * self.chosen.clone();
        all.sum_dim(1).reshape([batch, outputs])
    }
}
