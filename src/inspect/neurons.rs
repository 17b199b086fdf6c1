//! Neurons over many positions: dead, saturated, use, and weights of the most used.

use serde::Serialize;

use crate::architecture::{Activation, Architecture, ArrayKind, Curve, Layer, Operation, PIECES};
use crate::floats::Float;
use crate::sample::Sample;

/// Rounding errors of sums near 0 and 1; a quantised weight is a multiple of some 0.004.
const ROUNDING: f64 = 1e-5;
const MAPS: usize = 10;

/// Statistics of a layer's neurons over the positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeuronLayer {
    /// "hidden", or "head.0" and so on.
    pub name: String,
    pub activation: &'static str,
    /// Neurons bucket by bucket if the head has output buckets, without buckets of no position.
    pub neurons: Vec<Neuron>,
}

/// Statistics of a neuron over the positions; shares are over both perspectives together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neuron {
    pub neuron: usize,
    pub bucket: usize,
    /// Share of activations that are 0.
    pub zero_share: f64,
    /// Share of activations at the upper clip; 0 if there is none.
    pub clipped_share: f64,
    /// Standard deviation, in centipawns, of the neuron's contribution to the output. Before
    /// further layers: standard deviation of its output times the root mean square of the weights
    /// on it.
    #[serde(rename = "use")]
    pub usage: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeuronMap {
    pub neuron: usize,
    /// Own pawn to king, then the other side's; a1 first; mean over king buckets.
    pub boards: Vec<Vec<f32>>,
}

impl NeuronLayer {
    /// Neurons that are 0 in every position.
    pub fn count_dead(&self) -> usize {
        self.neurons.iter().filter(|it| it.zero_share == 1.0).count()
    }

    /// Neurons at the upper clip in every position.
    pub fn count_saturated(&self) -> usize {
        self.neurons.iter().filter(|it| it.clipped_share == 1.0).count()
    }

    pub fn by_use(&self) -> Vec<&Neuron> {
        let mut neurons: Vec<&Neuron> = self.neurons.iter().collect();
        neurons.sort_by(|one, other| other.usage.total_cmp(&one.usage));
        neurons
    }
}

/// Number of activations, of those that are 0, of those at the clip; number, sum and sum of squares
/// of a neuron's outputs, or of its contributions to the evaluation.
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

/// All layers, and the boards of the hidden neurons with the most use.
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
        let seen = sums.iter().enumerate().filter(|(_, sums)| sums[0] > 0.0);
        let of = |(i, sums): (usize, &ActivationSums)| {
            let (bucket, neuron) = (i / size, i % size);
            Neuron { bucket, neuron, ..Neuron::new(*sums, scale) }
        };
        let (name, activation) = (net.name_of_layer(number), activation.name());
        layers.push(NeuronLayer { name, activation, neurons: seen.map(of).collect() });
    }
    let maps = layers[0].by_use().into_iter().take(MAPS);
    let maps = maps.filter_map(|it| neuron_map(float, it.neuron)).collect();
    (layers, maps)
}

/// A layer of the head with an activation.
struct ActivatedLayer {
    number: usize,
    activation: Activation,
    /// Its neurons.
    size: usize,
}

fn activated_layers(net: &Architecture) -> Vec<ActivatedLayer> {
    let of = |(number, layer): (usize, &Layer)| {
        let activation = layer.activation?;
        let size = net.width_of_layer(number) / activation.curves().len();
        Some(ActivatedLayer { number, activation, size })
    };
    net.head.iter().enumerate().filter_map(of).collect()
}

/// Sums of the hidden neurons, then those of each layer of the head, bucket by bucket.
fn sum_activations(float: &Float, samples: &[Sample]) -> Vec<ActivationSums> {
    let net = &float.net;
    let layers = activated_layers(net);
    let head: usize = layers.iter().map(|layer| net.buckets * layer.size).sum();
    // The values that the output takes, each the number of its layer and its own there.
    let taken: Vec<(usize, usize)> = (net.inputs_of_layer(net.head.len()).into_iter())
        .flat_map(|layer| (0..net.width_of_layer(layer)).map(move |value| (layer, value)))
        .collect();
    let taken = &taken[net.output.columns.clone().unwrap_or(0..taken.len())];
    let mut sums = vec![[0.0; 6]; net.hidden + head];
    let (hidden, head) = sums.split_at_mut(net.hidden);
    let (curve, each) = (net.activation.curve(), net.outputs_of_view());
    for Sample { position, .. } in samples {
        let accumulators = float.accumulators(position);
        let x = float.first_inputs(&accumulators);
        let bucket = net.bucket_of(position);
        let output = float.get_array(ArrayKind::Output);
        let output = &output[bucket * output.len() / net.buckets..];
        for (neuron, sums) in hidden.iter_mut().enumerate() {
            accumulators.iter().for_each(|it| add_activations(sums, it[neuron], &[curve]));
            let places = (neuron % each..x.len()).step_by(each);
            let part = |place: usize| x[place] * f64::from(output[place]);
            match net.has_layers() {
                true => places.for_each(|place| add_output(sums, x[place])),
                false => add_output(sums, places.map(part).sum()),
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
                let out = |(curve, it): (usize, &Curve)| {
                    let own = (layer, curve * values.len() + neuron);
                    let column = taken.iter().position(|taken| *taken == own)?;
                    Some(it.value(value) * f64::from(output[column]))
                };
                add_output(sums, curves.iter().enumerate().filter_map(out).sum());
            }
            first += net.buckets * values.len();
        });
    }
    sums
}

/// Root mean square of the weights of a neuron's output.
fn output_weight(float: &Float, neuron: usize) -> f64 {
    let weights = float.get_array(ArrayKind::Layer(0));
    let each = float.net.outputs_of_view();
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
