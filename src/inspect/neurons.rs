//! Neurons over many positions: dead and saturated ones, their use, and weights of the most used.

use serde::Serialize;

use crate::architecture::{Activation, Architecture, ArrayKind, Curve, Layer, Operation, PIECES};
use crate::floats::Float;
use crate::sample::Sample;

/// Bound on rounding errors of sums near 0 and 1. Quantised weights are multiples of some 0.004.
const ROUNDING: f64 = 1e-5;
const MAPS: usize = 10;

/// Statistics of a layer's neurons over the positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeuronLayer {
    /// Name: "hidden", or "head.0" and so on.
    pub name: String,
    pub activation: &'static str,
    /// Neurons, bucket by bucket if there are output buckets; buckets without positions are absent.
    pub neurons: Vec<Neuron>,
}

/// Statistics of a neuron over the positions; shares are over both perspectives together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neuron {
    pub neuron: usize,
    pub bucket: usize,
    /// Share of activations that are 0.
    pub zero_share: f64,
    /// Share of activations at the upper clip; 0 if there is no clip.
    pub clipped_share: f64,
    /// Standard deviation, in centipawns, of the neuron's contribution to the output. If more layers
    /// follow: standard deviation of its output times the root mean square of the weights on it.
    #[serde(rename = "use")]
    pub usage: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeuronMap {
    pub neuron: usize,
    /// Boards of own pieces, pawn to king, then of enemy ones, from a1; means over king buckets.
    pub boards: Vec<Vec<f32>>,
}

impl NeuronLayer {
    /// Counts neurons that are 0 in every position.
    pub fn count_dead(&self) -> usize {
        self.neurons.iter().filter(|it| it.zero_share == 1.0).count()
    }

    /// Counts neurons at the upper clip in every position.
    pub fn count_saturated(&self) -> usize {
        self.neurons.iter().filter(|it| it.clipped_share == 1.0).count()
    }

    pub fn by_use(&self) -> Vec<&Neuron> {
        let mut neurons: Vec<&Neuron> = self.neurons.iter().collect();
        neurons.sort_by(|a, b| b.usage.total_cmp(&a.usage));
        neurons
    }
}

/// Sums of a neuron: numbers of activations, of zeros and of clips; then number, sum and sum of
/// squares of its outputs, or of its contributions to the evaluation.
type ActivationSums = [f64; 6];

fn add_activations(sums: &mut ActivationSums, value: f64, curves: &[Curve]) {
    let bounded = curves.iter().filter(|it| it.bounded);
    let is_full = bounded.clone().all(|it| it.value(value) >= 1.0 - ROUNDING);
    let is_zero = curves.iter().all(|it| it.value(value) <= ROUNDING);
    let is_clipped = bounded.count() > 0 && is_full;
    let new = [1.0, f64::from(is_zero), f64::from(is_clipped)];
    sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
}

fn add_output(sums: &mut ActivationSums, out: f64) {
    sums[3..].iter_mut().zip([1.0, out, out * out]).for_each(|(sum, new)| *sum += new);
}

impl Neuron {
    fn new([all, zero, clipped, count, sum, squares]: ActivationSums, factor: f64) -> Self {
        let mean = sum / count;
        let usage = factor * (squares / count - mean * mean).max(0.0).sqrt();
        Self { neuron: 0, bucket: 0, zero_share: zero / all, clipped_share: clipped / all, usage }
    }
}

/// Measures all layers, and returns the boards of the hidden neurons with the most use.
pub(super) fn inspect_neurons(
    float: &Float,
    scale: f64,
    samples: &[Sample],
) -> (Vec<NeuronLayer>, Vec<NeuronMap>) {
    let net = &float.net;
    let sums = super::sum_over_chunks(samples, |samples| sum_activations(float, samples));
    let (hidden, mut rest) = sums.split_at(net.hidden);
    let hidden = hidden.iter().enumerate().map(|(neuron, sums)| {
        let factor = if net.has_layers() { output_weight(float, neuron) } else { scale };
        Neuron { neuron, ..Neuron::new(*sums, factor) }
    });
    let activation = net.activation.name();
    let mut layers =
        vec![NeuronLayer { name: "hidden".into(), activation, neurons: hidden.collect() }];
    for ActivatedLayer { number, activation, size } in activated_layers(net) {
        let sums;
        (sums, rest) = rest.split_at(net.buckets * size);
        let active = sums.iter().enumerate().filter(|(_, sums)| sums[0] > 0.0);
        let neurons = active.map(|(i, sums)| {
            let (bucket, neuron) = (i / size, i % size);
            Neuron { bucket, neuron, ..Neuron::new(*sums, scale) }
        });
        let (name, activation) = (net.name_of_layer(number), activation.name());
        layers.push(NeuronLayer { name, activation, neurons: neurons.collect() });
    }
    let maps = layers[0].by_use().into_iter().take(MAPS);
    let maps = maps.filter_map(|it| neuron_map(float, it.neuron)).collect();
    (layers, maps)
}

/// A layer of the head with an activation.
struct ActivatedLayer {
    number: usize,
    activation: Activation,
    /// Number of its neurons.
    size: usize,
}

fn activated_layers(net: &Architecture) -> Vec<ActivatedLayer> {
    let activated = |(number, layer): (usize, &Layer)| {
        let activation = layer.activation?;
        let size = net.layer_width(number) / activation.curves().len();
        Some(ActivatedLayer { number, activation, size })
    };
    net.head.iter().enumerate().filter_map(activated).collect()
}

/// Sums the hidden neurons, then each layer of the head, bucket by bucket.
fn sum_activations(float: &Float, samples: &[Sample]) -> Vec<ActivationSums> {
    let net = &float.net;
    let layers = activated_layers(net);
    let head: usize = layers.iter().map(|layer| net.buckets * layer.size).sum();
    // The values that the output takes, each given by its layer and its number there.
    let outputs: Vec<(usize, usize)> = (net.inputs_of_layer(net.head.len()).into_iter())
        .flat_map(|layer| (0..net.layer_width(layer)).map(move |value| (layer, value)))
        .collect();
    let [start, end] = net.output.columns.unwrap_or([0, outputs.len()]);
    let outputs = &outputs[start..end];
    let mut sums = vec![[0.0; 6]; net.hidden + head];
    let (hidden, head) = sums.split_at_mut(net.hidden);
    let curve = net.activation.curve();
    let outputs_per_perspective = net.outputs_of_perspective();
    for Sample { position, .. } in samples {
        let accumulators = float.accumulators(position);
        let x = float.first_inputs(&accumulators);
        let bucket = net.bucket_of(position);
        let output = float.get_array(ArrayKind::Output);
        let output = &output[bucket * output.len() / net.buckets..];
        for (neuron, sums) in hidden.iter_mut().enumerate() {
            accumulators.iter().for_each(|it| add_activations(sums, it[neuron], &[curve]));
            let inputs =
                (neuron % outputs_per_perspective..x.len()).step_by(outputs_per_perspective);
            match net.has_layers() {
                true => inputs.for_each(|input| add_output(sums, x[input])),
                false => {
                    add_output(sums, inputs.map(|input| x[input] * f64::from(output[input])).sum())
                }
            }
        }
        let (mut activations, mut first) = (0, 0);
        float.evaluate_output(&accumulators, bucket, |operation, values| {
            let &Operation::Activate(activation) = operation else { return };
            activations += 1;
            // The hidden neurons come first.
            if activations == 1 {
                return;
            }
            let curves = activation.curves();
            let layer = layers[activations - 2].number;
            for (neuron, &value) in values.iter().enumerate() {
                let sums = &mut head[first + bucket * values.len() + neuron];
                add_activations(sums, value, curves);
                let contribution = |(i, curve): (usize, &Curve)| {
                    let source = (layer, i * values.len() + neuron);
                    let column = outputs.iter().position(|output| *output == source)?;
                    Some(curve.value(value) * f64::from(output[column]))
                };
                add_output(sums, curves.iter().enumerate().filter_map(contribution).sum());
            }
            first += net.buckets * values.len();
        });
    }
    sums
}

/// Returns the root mean square of the weights on a neuron's output.
fn output_weight(float: &Float, neuron: usize) -> f64 {
    let weights = float.get_array(ArrayKind::Layer(0));
    let each = float.net.outputs_of_perspective();
    let taken = weights.iter().skip(neuron % each).step_by(each);
    let count = taken.len() as f64;
    (taken.map(|weight| f64::from(*weight).powi(2)).sum::<f64>() / count).sqrt()
}

fn neuron_map(float: &Float, neuron: usize) -> Option<NeuronMap> {
    let (set, kings) = float.net.inputs.pieces()?;
    let (first, buckets) = (float.net.inputs.first_row(*set), kings.bucket_count());
    let mean = |input: usize| {
        let rows =
            (0..buckets).map(|it| float.row_weights(first + kings.row_of(it, input))[neuron]);
        rows.sum::<f32>() / buckets as f32
    };
    let weights: Vec<f32> = (0..PIECES).map(mean).collect();
    Some(NeuronMap { neuron, boards: weights.chunks_exact(64).map(<[f32]>::to_vec).collect() })
}
