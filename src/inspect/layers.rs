//! What the weights are like: their spread, those at the clip, the largest, and rows that no
//! position ever trained.

use std::cmp::Reverse;

use serde::Serialize;
use shakmaty::Role;

use super::forward::Forward;
use super::histogram::Histogram;
use crate::features::MAX_ACTIVE;
use crate::scales::Scales;

/// Steps of a histogram, from the most negative possible weight to the largest.
const STEPS: usize = 40;
/// The largest weights of a layer that are named.
const NAMED: usize = 5;
/// The inputs that are named for each neuron.
const MOVERS: usize = 3;
/// From this share of the clip on a weight is near it.
const NEAR: f64 = 0.95;

/// The weights of one array; rows that no position can switch on are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// As in [`Weights`](crate::weights::Weights).
    pub name: &'static str,
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
    /// None for the bias of the output.
    pub neuron: Option<usize>,
    /// What it weighs, such as "own queen on d4" or "side to move".
    pub what: String,
}

/// An input that moves a neuron, and its weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mover {
    pub input: usize,
    pub weight: f64,
    /// Such as "own queen on d4".
    pub what: String,
    /// Such as "Qd4": capitals for own men, or White's where the net sees as White does.
    pub short: String,
}

/// The rows of the accumulator's weights.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rows {
    pub rows: usize,
    /// Rows of pawns on the first and last rank, which no position has.
    pub impossible: usize,
    /// Mean magnitude of the weights in them; decay alone moves these.
    pub impossible_magnitude: f64,
    /// Mean magnitude of all others.
    pub magnitude: f64,
    /// Possible rows that none of the positions looked at switches on.
    pub unseen: usize,
    /// By input: how many views switch it on.
    pub seen: Vec<u64>,
}

/// The layers of a net, from inputs to output.
pub(super) fn layers(forward: &Forward, scales: Scales, clip: f64) -> Vec<Layer> {
    let features = forward.architecture.features;
    let hidden = forward.architecture.hidden;
    let rows = (0..features.inputs).filter(|input| !impossible(forward, *input));
    let weight = |input: usize| (0..hidden).map(move |neuron| input * hidden + neuron);
    let [qa, qb] = [scales.qa, scales.qb].map(|scale| 0.5 / f64::from(scale));
    let view = |i: usize| match (features.views, i / hidden) {
        (1, _) => "the only view".to_string(),
        (_, 0) => "side to move".to_string(),
        _ => "other side".to_string(),
    };
    let output_bias = [forward.output_bias];
    vec![
        Array { name: "accumulator.weight", values: forward.rows, clip: clip - qa }
            .layer(rows.flat_map(weight), |i| (Some(i % hidden), features.describe(i / hidden))),
        Array { name: "accumulator.bias", values: forward.bias, clip: clip - qa }
            .layer(0..hidden, |i| (Some(i), "bias".to_string())),
        Array { name: "output.weight", values: forward.output, clip: clip - qb }
            .layer(0..forward.output.len(), |i| (Some(i % hidden), view(i))),
        Array { name: "output.bias", values: &output_bias, clip: clip - qa * qb }
            .layer(0..1, |_| (None, "bias".to_string())),
    ]
}

/// The rows of a net, and how often the positions given as lists of active inputs use them.
pub(super) fn rows(forward: &Forward, lists: &[u16]) -> Rows {
    let inputs = forward.architecture.features.inputs;
    // One place more, for the padding.
    let mut seen = vec![0; inputs + 1];
    for list in lists.chunks_exact(MAX_ACTIVE) {
        for input in list {
            seen[usize::from(*input)] += 1;
        }
    }
    seen.truncate(inputs);
    let magnitude = |wanted: bool| {
        let rows = (0..inputs).filter(|input| impossible(forward, *input) == wanted);
        let values = rows.flat_map(|input| forward.row(input as u16));
        let (count, sum) = values
            .fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + f64::from(value.abs())));
        if count > 0.0 { sum / count } else { 0.0 }
    };
    let no_position = |input: &usize| impossible(forward, *input);
    Rows {
        rows: inputs,
        impossible: (0..inputs).filter(no_position).count(),
        impossible_magnitude: magnitude(true),
        magnitude: magnitude(false),
        unseen: (0..inputs).filter(|input| !no_position(input) && seen[*input] == 0).count(),
        seen,
    }
}

/// By neuron: the inputs that move it most over the positions, by weight times the standard
/// deviation of the input. A large weight of an input that is hardly ever on moves nothing.
pub(super) fn moved_by(forward: &Forward, seen: &[u64], views: u64) -> Vec<Vec<Mover>> {
    let features = forward.architecture.features;
    let deviation = |seen: &u64| {
        let share = *seen as f64 / views as f64;
        (share * (1.0 - share)).sqrt()
    };
    let deviations: Vec<f64> = seen.iter().map(deviation).collect();
    let of_neuron = |neuron: usize| {
        let weight = |input: usize| f64::from(forward.row(input as u16)[neuron]);
        let moves = |input: usize| ordered((weight(input) * deviations[input]).abs());
        let inputs = most(0..features.inputs, MOVERS, moves);
        let mover = |input: usize| Mover {
            input,
            weight: weight(input),
            what: features.describe(input),
            short: features.man(input).map_or_else(String::new, |man| {
                format!(
                    "{}{}",
                    man.color.fold_wb(man.role.upper_char(), man.role.char()),
                    man.square
                )
            }),
        };
        inputs.into_iter().map(mover).collect()
    };
    (0..forward.architecture.hidden).map(of_neuron).collect()
}

/// The weights of one neuron as boards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    pub neuron: usize,
    /// By view, the side to move's first.
    pub output: Vec<f32>,
    /// Pawn to king of the owner of the view, then of the other side; a1 first.
    pub boards: Vec<Vec<f32>>,
}

pub(super) fn map(forward: &Forward, neuron: usize) -> Map {
    let hidden = forward.architecture.hidden;
    let column: Vec<f32> = forward.rows.iter().copied().skip(neuron).step_by(hidden).collect();
    Map {
        neuron,
        output: forward.output.iter().copied().skip(neuron).step_by(hidden).collect(),
        boards: column.chunks_exact(64).map(<[f32]>::to_vec).collect(),
    }
}

/// The places with the largest keys, the largest first; of equal ones the first.
fn most(
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

/// Whether no position can switch an input on.
fn impossible(forward: &Forward, input: usize) -> bool {
    let man = forward.architecture.features.man(input);
    man.is_some_and(|man| man.role == Role::Pawn && matches!(man.square as u32 / 8, 0 | 7))
}

struct Array<'a> {
    name: &'static str,
    values: &'a [f32],
    /// The least magnitude that counts as clipped.
    clip: f64,
}

impl Array<'_> {
    fn layer(
        &self,
        places: impl Iterator<Item = usize>,
        meaning: impl Fn(usize) -> (Option<usize>, String),
    ) -> Layer {
        let places: Vec<usize> = places.collect();
        let value = |place: &usize| f64::from(self.values[*place]);
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
        let at_clip = beyond(self.clip);
        let largest = most(places.into_iter(), NAMED, |place| ordered(value(&place).abs()));
        let large = |place: &usize| {
            let (neuron, what) = meaning(*place);
            Large { value: value(place), neuron, what }
        };
        Layer {
            name: self.name,
            weights: values.len(),
            mean,
            spread: variance.sqrt(),
            low,
            high,
            at_clip,
            near_clip: beyond(self.clip * NEAR) - at_clip,
            histogram,
            largest: largest.iter().map(large).collect(),
        }
    }
}

/// The bits of a number that is not negative, which stand in its order.
fn ordered(value: f64) -> u64 {
    value.to_bits()
}
