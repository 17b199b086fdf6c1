//! Neurons over many positions: dead, saturated, use, and weights of the most used.

use serde::Serialize;

use super::by_chunk;
use crate::architecture::{ArrayKind, Curve, Operation, PIECES};
use crate::floats::Float;
use crate::sample::Sample;

/// Rounding errors of sums near 0 and 1; a quantised weight is a multiple of some 0.004.
const ROUNDING: f64 = 1e-5;
/// Neurons whose weights are shown as boards.
const MAPS: usize = 10;

/// Statistics of a layer's neurons over the positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
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
pub struct Map {
    pub neuron: usize,
    /// Own pawn to king, then the other side's; a1 first; mean over king buckets.
    pub boards: Vec<Vec<f32>>,
}

impl Layer {
    /// Neurons that are 0 in every position.
    pub fn dead(&self) -> usize {
        self.neurons.iter().filter(|it| it.zero_share == 1.0).count()
    }

    /// Neurons at the upper clip in every position.
    pub fn saturated(&self) -> usize {
        self.neurons.iter().filter(|it| it.clipped_share == 1.0).count()
    }

    pub fn by_use(&self) -> Vec<&Neuron> {
        let mut neurons: Vec<&Neuron> = self.neurons.iter().collect();
        neurons.sort_by(|one, other| other.usage.total_cmp(&one.usage));
        neurons
    }
}

#[derive(Clone, Copy, Default)]
struct Sums {
    activations: u64,
    zero: u64,
    clipped: u64,
    /// Count, sum and sum of squares of its output, or of its contribution to the evaluation.
    out: [f64; 3],
}

impl Sums {
    /// Adds a value before its activation.
    fn activate(&mut self, value: f64, curves: &[Curve]) {
        let bounded = curves.iter().filter(|it| it.bounded);
        let is_full = bounded.clone().all(|it| it.value(value) >= 1.0 - ROUNDING);
        self.activations += 1;
        self.zero += u64::from(curves.iter().all(|it| it.value(value) <= ROUNDING));
        self.clipped += u64::from(bounded.count() > 0 && is_full);
    }

    fn add(&mut self, out: f64) {
        let new = [1.0, out, out * out];
        self.out.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
    }

    fn join(&mut self, other: &Self) {
        self.activations += other.activations;
        self.zero += other.zero;
        self.clipped += other.clipped;
        self.out.iter_mut().zip(other.out).for_each(|(sum, new)| *sum += new);
    }

    fn neuron(&self, bucket: usize, neuron: usize, factor: f64) -> Neuron {
        let [count, sum, squares] = self.out;
        let mean = sum / count;
        Neuron {
            bucket,
            neuron,
            zero_share: self.zero as f64 / self.activations as f64,
            clipped_share: self.clipped as f64 / self.activations as f64,
            usage: factor * (squares / count - mean * mean).max(0.0).sqrt(),
        }
    }
}

/// All layers, and the boards of the hidden neurons with the most use.
pub(super) fn neurons(float: &Float, scale: f64, samples: &[Sample]) -> (Vec<Layer>, Vec<Map>) {
    let net = &float.net;
    let chunks = by_chunk(samples, |samples| sums(float, samples));
    let mut sums = chunks.into_iter().reduce(|mut all, chunk| {
        let pairs = all.iter_mut().flatten().zip(chunk.iter().flatten());
        pairs.for_each(|(sum, other)| sum.join(other));
        all
    });
    let mut sums = sums.as_mut().expect("there are positions").drain(..);
    let hidden = sums.next().expect("there are hidden neurons").into_iter().enumerate();
    let hidden = hidden.map(|(neuron, it)| match net.has_layers() {
        true => it.neuron(0, neuron, weight(float, neuron)),
        false => it.neuron(0, neuron, scale),
    });
    let activation = net.activation.name();
    let mut layers = vec![Layer { name: "hidden".into(), activation, neurons: hidden.collect() }];
    for (number, (layer, sums)) in net.head.iter().zip(sums).enumerate() {
        let seen = sums.iter().enumerate().filter(|(_, it)| it.activations > 0);
        let of = |(i, it): (usize, &Sums)| it.neuron(i / layer.size, i % layer.size, scale);
        let (name, activation) = (format!("head.{number}"), layer.activation.name());
        layers.push(Layer { name, activation, neurons: seen.map(of).collect() });
    }
    let maps = layers[0].by_use().into_iter().take(MAPS);
    let maps = maps.filter_map(|it| map(float, it.neuron)).collect();
    (layers, maps)
}

/// Sums of the hidden neurons, then those of each layer of the head, bucket by bucket.
fn sums(float: &Float, samples: &[Sample]) -> Vec<Vec<Sums>> {
    let net = &float.net;
    let head = net.head.iter().map(|layer| net.buckets * layer.size);
    let sizes = std::iter::once(net.hidden).chain(head);
    let mut sums: Vec<Vec<Sums>> = sizes.map(|size| vec![Sums::default(); size]).collect();
    let (hidden, head) = sums.split_first_mut().expect("there are hidden neurons");
    let (curve, each) = (net.activation.curve(), net.outputs_of_view());
    for Sample { position, .. } in samples {
        let accumulators = float.accumulators(position);
        let x = float.activations(&accumulators);
        let bucket = net.bucket_of(position);
        let output = float.get(ArrayKind::Output);
        let output = &output[bucket * output.len() / net.buckets..];
        for (neuron, sums) in hidden.iter_mut().enumerate() {
            accumulators.iter().for_each(|it| sums.activate(it[neuron], &[curve]));
            let places = (neuron % each..x.len()).step_by(each);
            match net.has_layers() {
                true => places.for_each(|place| sums.add(x[place])),
                false => sums.add(places.map(|place| x[place] * f64::from(output[place])).sum()),
            }
        }
        let mut activations = 0;
        float.output(&accumulators, bucket, |operation, values| {
            let Operation::Activate(activation) = operation else { return };
            activations += 1;
            // The hidden neurons come first.
            if activations == 1 {
                return;
            }
            let (layer, curves) = (activations - 2, activation.curves());
            let is_last = layer + 1 == net.head.len();
            for (neuron, &value) in values.iter().enumerate() {
                let sums = &mut head[layer][bucket * values.len() + neuron];
                sums.activate(value, curves);
                let weights = output.iter().skip(neuron).step_by(values.len());
                let outs =
                    curves.iter().zip(weights).map(|(it, w)| it.value(value) * f64::from(*w));
                sums.add(if is_last { outs.sum() } else { 0.0 });
            }
        });
    }
    sums
}

/// Root mean square of the weights of a neuron's output.
fn weight(float: &Float, neuron: usize) -> f64 {
    let weights = float.get(ArrayKind::Layer(0));
    let each = float.net.outputs_of_view();
    let taken = weights.iter().skip(neuron % each).step_by(each);
    let count = taken.len() as f64;
    (taken.map(|weight| f64::from(*weight).powi(2)).sum::<f64>() / count).sqrt()
}

fn map(float: &Float, neuron: usize) -> Option<Map> {
    let (set, kings) = float.net.inputs.pieces()?;
    let (first, buckets) = (float.net.inputs.first_row(*set), kings.count());
    let mean = |input: usize| {
        let rows = (0..buckets).map(|bucket| float.row(first + bucket * PIECES + input)[neuron]);
        rows.sum::<f32>() / buckets as f32
    };
    let weights: Vec<f32> = (0..PIECES).map(mean).collect();
    Some(Map { neuron, boards: weights.chunks_exact(64).map(<[f32]>::to_vec).collect() })
}
