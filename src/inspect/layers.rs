//! What the weights are like: their spread, those at the clip, and the largest.

use std::cmp::Reverse;

use serde::Serialize;

use super::histogram::Histogram;
use super::rows::impossible;
use crate::architecture::{Architecture, Array, Factor, Inputs, Part};
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// Steps of a histogram, from the most negative possible weight to the largest.
const STEPS: usize = 40;
/// The largest weights of a layer that are named.
const NAMED: usize = 5;
/// From this share of the clip on a weight is near it.
const NEAR: f64 = 0.95;

/// The weights of one array; rows that no position can switch on are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// As in [`Weights`].
    pub name: String,
    pub weights: usize,
    pub mean: f64,
    /// Standard deviation.
    pub spread: f64,
    pub low: f64,
    pub high: f64,
    /// Weights as large as the clip, give or take half a step of the integers.
    pub at_clip: usize,
    /// Weights smaller than that by a twentieth at most.
    pub near_clip: usize,
    /// Symmetric about 0, up to the largest weight.
    pub histogram: Histogram,
    /// Largest magnitude first.
    pub largest: Vec<Large>,
}

/// A large weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Large {
    pub value: f64,
    /// None where `what` names it, and for the bias of the output.
    pub neuron: Option<usize>,
    /// What it weighs, such as "own queen on d4", "side to move" or "input 7 to neuron 3".
    pub what: String,
}

/// The arrays of a net, from inputs to output, as training has them.
pub(super) fn layers(
    weights: &Weights,
    net: &Architecture,
    scales: Scales,
    clip: f64,
) -> Result<Vec<Layer>, WeightsError> {
    let layer = |array: Array| {
        let values = weights.get(&array.name, &array.shape)?;
        let factor = match array.factor {
            Factor::Qa => f64::from(scales.qa),
            Factor::Qb => f64::from(scales.qb),
            Factor::QaQb => f64::from(scales.qa) * f64::from(scales.qb),
        };
        let without = match array.part {
            Part::Accumulator => impossible(&net.inputs),
            Part::Factoriser => impossible(&Inputs::of(net.inputs.views)),
            _ => Vec::new(),
        };
        let possible = |i: &usize| !without.get(i / net.hidden).is_some_and(|it| *it);
        let places: Vec<usize> = (0..values.len()).filter(possible).collect();
        Ok(of_array(net, &array, values, places, clip - 0.5 / factor))
    };
    net.arrays().into_iter().map(layer).collect()
}

/// `clip` is the least magnitude that counts as clipped.
fn of_array(
    net: &Architecture,
    array: &Array,
    values: &[f32],
    places: Vec<usize>,
    clip: f64,
) -> Layer {
    let value = |place: &usize| f64::from(values[*place]);
    let values: Vec<f64> = places.iter().map(value).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // All weights may be 0.
    let end = if low == high && high == 0.0 { 1.0 } else { high.max(-low) };
    let mut histogram = Histogram::new(-end, end, STEPS);
    values.iter().for_each(|value| histogram.add(*value));
    let beyond = |least: f64| values.iter().filter(|value| value.abs() >= least).count();
    let at_clip = beyond(clip);
    let largest = most(places.into_iter(), NAMED, |place| ordered(value(&place).abs()));
    let large = |place: &usize| {
        let (neuron, what) = meaning(net, array.part, *place);
        Large { value: value(place), neuron, what }
    };
    Layer {
        name: array.name.clone(),
        weights: values.len(),
        mean,
        spread: variance.sqrt(),
        low,
        high,
        at_clip,
        near_clip: beyond(clip * NEAR) - at_clip,
        histogram,
        largest: largest.iter().map(large).collect(),
    }
}

/// Whose weight it is, and what it weighs.
fn meaning(net: &Architecture, part: Part, i: usize) -> (Option<usize>, String) {
    let (hidden, each, maps) = (net.hidden, net.outputs_of_view(), net.maps());
    let of_bucket = |bucket: usize| match net.buckets {
        1 => String::new(),
        _ => format!(" of bucket {bucket}"),
    };
    let what = match part {
        Part::Accumulator => return (Some(i % hidden), net.inputs.describe(i / hidden)),
        Part::Factoriser => {
            return (Some(i % hidden), Inputs::of(net.inputs.views).describe(i / hidden));
        }
        Part::AccumulatorBias => return (Some(i), "bias".to_string()),
        Part::Layer(layer) => {
            let [inputs, outputs] = maps[layer];
            let (output, bucket) = (i / inputs % outputs, of_bucket(i / inputs / outputs));
            format!("input {} to neuron {output}{bucket}", i % inputs)
        }
        Part::LayerBias(layer) => {
            let [_, outputs] = maps[layer];
            format!("neuron {}{}", i % outputs, of_bucket(i / outputs))
        }
        Part::Output => {
            let [inputs, _] = maps[maps.len() - 1];
            let (input, bucket) = (i % inputs, of_bucket(i / inputs));
            let view = match (net.views(), input / each) {
                (1, _) => "the only view",
                (_, 0) => "side to move",
                _ => "other side",
            };
            match (net.has_layers(), net.buckets) {
                (true, _) => format!("neuron {input}{bucket}"),
                (false, 1) => return (Some(input % each), view.to_string()),
                (false, _) => format!("neuron {} ({view}){bucket}", input % each),
            }
        }
        Part::OutputBias if net.buckets == 1 => "bias".to_string(),
        Part::OutputBias => format!("bucket {i}"),
    };
    (None, what)
}

/// The places with the largest keys, the largest first; of equal ones the first.
pub(super) fn most(
    places: impl Iterator<Item = usize>,
    count: usize,
    key: impl Fn(usize) -> u64,
) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    let order = |place: &usize| (Reverse(key(*place)), *place);
    if count < places.len() {
        places.select_nth_unstable_by_key(count, order);
        places.truncate(count);
    }
    places.sort_unstable_by_key(order);
    places
}

/// The bits of a number that is not negative, which stand in its order.
pub(super) fn ordered(value: f64) -> u64 {
    value.to_bits()
}
