//! The layers behind the accumulators, by Burn's tensor operations. It reads like the definition.

use burn::tensor::{Tensor, TensorData, activation::relu};

use crate::architecture::{Architecture, Curve};

/// Weights, `[buckets * outputs * inputs]`, and biases, `[buckets * outputs]`, of an affine map.
pub type Map = [Tensor<1>; 2];

/// The output before the sigmoid, one a position.
///
/// # Shapes
/// - `maps`: those of [`Architecture::maps`]
/// - `accumulators`: `[batch * views, N]`
/// - `buckets`: `[batch]`, or empty where there is one bucket
/// - output: `[batch]`
pub fn logits(
    net: &Architecture,
    maps: &[Map],
    accumulators: Tensor<2>,
    buckets: &[u8],
) -> Tensor<1> {
    let batch = accumulators.dims()[0] / net.views();
    let mut chosen = vec![0.0_f32; batch * net.buckets];
    for (position, chosen) in chosen.chunks_exact_mut(net.buckets).enumerate() {
        chosen[buckets.get(position).map_or(0, |bucket| usize::from(*bucket))] = 1.0;
    }
    let chosen = TensorData::new(chosen, [batch, net.buckets, 1]);
    let chosen = Tensor::<3>::from_data(chosen, &accumulators.device());
    let (output, layers) = maps.split_last().expect("a net has an output");

    let mut x = features(net, accumulators); // [batch, views * outputs]
    let mut skipped = None;
    for (i, (layer, map_of_layer)) in net.head.iter().zip(layers).enumerate() {
        let mut z = map(map_of_layer, x, &chosen); // [batch, outputs]
        if net.skip && i == 0 {
            skipped = Some(z.clone().narrow(1, layer.size, 1));
            z = z.narrow(1, 0, layer.size);
        }
        let curves = layer.activation.curves();
        x = Tensor::cat(curves.iter().map(|curve| activate(*curve, z.clone())).collect(), 1);
    }
    let mut y = map(output, x, &chosen); // [batch, 1]
    if let Some(skipped) = skipped {
        y = y + skipped;
    }
    y.reshape([batch])
}

/// The inputs of the first layer, views side by side: their accumulators, activated, and the halves
/// multiplied if the net is pairwise.
fn features(net: &Architecture, accumulators: Tensor<2>) -> Tensor<2> {
    let [lists, _] = accumulators.dims();
    let h = activate(net.activation.curve(), accumulators); // [batch * views, N]
    let handed_on = match net.pairwise {
        false => h,
        true => {
            let half = net.outputs_of_view();
            h.clone().narrow(1, 0, half) * h.narrow(1, half, half)
        }
    };
    handed_on.reshape([lists / net.views(), net.features()])
}

/// An affine map of each position by the weights of its output bucket: `[batch, inputs]` to
/// `[batch, outputs]`. `chosen` is `[batch, buckets, 1]`, one where the bucket is a position's.
fn map([weight, bias]: &Map, x: Tensor<2>, chosen: &Tensor<3>) -> Tensor<2> {
    let [batch, inputs] = x.dims();
    let [_, buckets, _] = chosen.dims();
    let outputs = bias.dims()[0] / buckets;
    let weight = weight.clone().reshape([buckets * outputs, inputs]);
    let all = x.matmul(weight.transpose()) + bias.clone().unsqueeze(); // all buckets
    let all = all.reshape([batch, buckets, outputs]) * chosen.clone();
    all.sum_dim(1).reshape([batch, outputs])
}

/// Applies a curve element by element.
fn activate(curve: Curve, x: Tensor<2>) -> Tensor<2> {
    let raised = if curve.inner == 2 { x.clone() * x } else { x };
    let clamped = if curve.bounded { raised.clamp(0.0, 1.0) } else { relu(raised) };
    if curve.outer == 2 { clamped.clone() * clamped } else { clamped }
}
