//! What the layers behind the accumulators do over many positions: which of their neurons are
//! silent or saturated, and what the last of them and the skip neuron add.
//!
//! Each output bucket has neurons of its own, which its own positions alone reach. Positions go by
//! in chunks of a fixed size whose sums are added in their order: the same bits for any number of
//! threads.

use rayon::prelude::*;
use serde::Serialize;

use super::activity::{HIGH, LOW, NEARLY, ROUNDING, STEPS};
use super::forward::{Forward, Room};
use super::histogram::Histogram;
use crate::architecture::Curve;
use crate::features::MAX_ACTIVE;

/// Positions whose sums are added up before they join those of others.
const CHUNK: usize = 4096;

/// Nothing is said of neurons that fewer positions reach: in so few many are silent by chance.
const LEAST: u64 = 100;

/// The layers behind the accumulators, over the positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Head {
    /// From the accumulators on, without the output.
    pub layers: Vec<HeadLayer>,
    /// What the skip neuron adds, by bucket; none without it, and None where no position is of the
    /// bucket.
    pub skip: Vec<Option<Adds>>,
}

/// One layer; its counts leave out the buckets of fewer than 100 positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadLayer {
    pub activation: &'static str,
    /// Neurons that hand on 0 in every position of their bucket, through every curve of the
    /// activation.
    pub dead: usize,
    /// Neurons that do so in all but less than one of 1,000.
    pub nearly_dead: usize,
    /// Neurons that always hand on the same, which is not 0: each curve is at one of its ends.
    pub saturated: usize,
    /// Neurons that do so in all but less than one of 1,000.
    pub nearly_saturated: usize,
    /// Values before the activation.
    pub before: Histogram,
    /// Bucket by bucket, those left out that no position is of.
    pub neurons: Vec<HeadNeuron>,
}

/// One neuron of a bucket, over the positions of the bucket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadNeuron {
    pub bucket: usize,
    pub neuron: usize,
    /// Positions of the bucket.
    pub positions: u64,
    /// Share of positions in which a curve of the activation gives 0; `dual` has two, the clamped
    /// value and its clamped square.
    pub zero_share: Vec<f64>,
    /// Share of positions in which a curve gives its upper end; 0 where it has none.
    pub clipped_share: Vec<f64>,
    /// Mean and standard deviation before the activation.
    pub mean: f64,
    pub spread: f64,
    /// What it adds to the evaluation; None where more layers stand behind it.
    pub adds: Option<Adds>,
}

/// What a number adds to the evaluation, in centipawns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Adds {
    pub mean_cp: f64,
    /// Standard deviation: how much it moves the evaluation.
    pub use_cp: f64,
}

/// How a neuron is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Too few positions reach it to tell.
    Unknown,
    Live,
    NearlyDead,
    Dead,
    NearlySaturated,
    Saturated,
}

impl HeadNeuron {
    pub fn state(&self) -> State {
        let all = |least: f64, clipped: bool| {
            let mut shares = self.zero_share.iter().zip(&self.clipped_share);
            shares.all(|(zero, top)| *zero >= least || clipped && *top >= least)
        };
        match 1.0 - NEARLY {
            _ if self.positions < LEAST => State::Unknown,
            _ if all(1.0, false) => State::Dead,
            _ if all(1.0, true) => State::Saturated,
            nearly if all(nearly, false) => State::NearlyDead,
            nearly if all(nearly, true) => State::NearlySaturated,
            _ => State::Live,
        }
    }
}

/// Sums of one neuron, or of one number that adds to the evaluation.
#[derive(Clone, Default)]
struct Sums {
    /// By curve.
    zero: [u64; 2],
    clipped: [u64; 2],
    value: [f64; 2],
    added: [f64; 2],
}

/// Sums over some positions.
struct Chunk {
    /// By layer, bucket and neuron; the skip neuron is one of the first layer.
    neurons: Vec<Vec<Sums>>,
    before: Vec<Histogram>,
}

/// Looks at positions given as lists of active rows; None where the output follows the
/// accumulators at once. `positions` are those of each bucket, and `seen` is told of each once.
pub(super) fn head(
    forward: &Forward,
    lists: &[u16],
    positions: &[u64],
    seen: &(dyn Fn(u64) + Sync),
) -> Option<Head> {
    let net = &forward.net;
    if !net.has_layers() {
        return None;
    }
    let place = net.views() * MAX_ACTIVE;
    let chunks = lists.par_chunks(CHUNK * place).map(|lists| {
        let mut chunk = Chunk::of(forward);
        let mut room = forward.room();
        for list in lists.chunks_exact(place) {
            forward.see_listed(list, &mut room);
            chunk.add(forward, &mut room);
        }
        seen((lists.len() / place) as u64);
        chunk
    });
    let chunks: Vec<Chunk> = chunks.collect();
    let mut all = Chunk::of(forward);
    chunks.iter().for_each(|chunk| all.join(chunk));
    let skip = (0..net.buckets).filter(|_| net.skip).map(|bucket| {
        let sums = &all.neurons[0][(bucket + 1) * outputs(forward, 0) - 1];
        (positions[bucket] > 0).then(|| adds(sums, positions[bucket], forward))
    });
    Some(Head {
        skip: skip.collect(),
        layers: (0..net.head.len()).map(|it| all.layer(forward, it, positions)).collect(),
    })
}

/// Outputs of a layer's map, with the skip neuron.
fn outputs(forward: &Forward, layer: usize) -> usize {
    forward.map(layer)[1].len() / forward.net.buckets
}

impl Chunk {
    fn of(forward: &Forward) -> Self {
        let layers = 0..forward.net.head.len();
        let count = |layer: usize| forward.net.buckets * outputs(forward, layer);
        Self {
            neurons: layers.clone().map(|it| vec![Sums::default(); count(it)]).collect(),
            before: layers.map(|_| Histogram::new(LOW.into(), HIGH.into(), STEPS)).collect(),
        }
    }

    fn add(&mut self, forward: &Forward, room: &mut Room) {
        let net = &forward.net;
        let bucket = net.bucket(room.pieces);
        let [output, _] = forward.map(net.head.len());
        let width = output.len() / net.buckets;
        let output = &output[bucket * width..][..width];
        forward.value_with_layers(room, &mut |layer, values| {
            let size = net.head[layer].size;
            let curves = net.head[layer].activation.curves();
            let last = layer + 1 == net.head.len();
            let neurons = &mut self.neurons[layer][bucket * values.len()..][..values.len()];
            for (neuron, (sums, &value)) in neurons.iter_mut().zip(values).enumerate() {
                // The skip neuron takes no activation.
                let (curves, mut added) = match neuron < size {
                    true => (curves, 0.0),
                    false => (&[][..], f64::from(value)),
                };
                for (place, curve) in curves.iter().enumerate() {
                    let [zero, clipped] = ends(*curve, value);
                    sums.zero[place] += u64::from(zero);
                    sums.clipped[place] += u64::from(clipped);
                    if last {
                        let weight = output[place * size + neuron];
                        added += f64::from(curve.value_f32(value)) * f64::from(weight);
                    }
                }
                sums.value = more(sums.value, value.into());
                sums.added = more(sums.added, added);
                if neuron < size {
                    self.before[layer].add(value.into());
                }
            }
        });
    }

    fn join(&mut self, other: &Self) {
        let both = self.neurons.iter_mut().flatten().zip(other.neurons.iter().flatten());
        for (sums, other) in both {
            for place in 0..2 {
                sums.zero[place] += other.zero[place];
                sums.clipped[place] += other.clipped[place];
                sums.value[place] += other.value[place];
                sums.added[place] += other.added[place];
            }
        }
        let before = self.before.iter_mut().zip(&other.before);
        before.for_each(|(before, other)| before.join(other));
    }

    fn layer(&self, forward: &Forward, layer: usize, positions: &[u64]) -> HeadLayer {
        let shape = &forward.net.head[layer];
        let curves = shape.activation.curves().len();
        let last = layer + 1 == forward.net.head.len();
        let of_bucket = |(bucket, sums): (usize, &[Sums])| -> Vec<HeadNeuron> {
            let count = positions[bucket];
            let neuron = |(neuron, sums): (usize, &Sums)| {
                let share = |of: &[u64; 2]| {
                    of[..curves].iter().map(|it| *it as f64 / count as f64).collect()
                };
                let [mean, spread] = moments(sums.value, count);
                let adds = last.then(|| adds(sums, count, forward));
                let (zero_share, clipped_share) = (share(&sums.zero), share(&sums.clipped));
                HeadNeuron {
                    bucket,
                    neuron,
                    positions: count,
                    zero_share,
                    clipped_share,
                    mean,
                    spread,
                    adds,
                }
            };
            let seen = sums[..shape.size].iter().enumerate().filter(|_| count > 0);
            seen.map(neuron).collect()
        };
        let buckets = self.neurons[layer].chunks_exact(outputs(forward, layer)).enumerate();
        let neurons: Vec<HeadNeuron> = buckets.flat_map(of_bucket).collect();
        let count = |state| neurons.iter().filter(|it| it.state() == state).count();
        HeadLayer {
            activation: shape.activation.name(),
            dead: count(State::Dead),
            nearly_dead: count(State::NearlyDead),
            saturated: count(State::Saturated),
            nearly_saturated: count(State::NearlySaturated),
            before: self.before[layer].clone(),
            neurons,
        }
    }
}

/// Whether a curve gives 0, and whether its upper end.
fn ends(curve: Curve, value: f32) -> [bool; 2] {
    let inside = if curve.inner == 2 { value * value } else { value };
    [inside <= ROUNDING, curve.bounded && inside >= 1.0 - ROUNDING]
}

fn more([sum, squares]: [f64; 2], value: f64) -> [f64; 2] {
    [sum + value, squares + value * value]
}

/// Mean and standard deviation.
fn moments([sum, squares]: [f64; 2], count: u64) -> [f64; 2] {
    let mean = sum / count as f64;
    [mean, (squares / count as f64 - mean * mean).max(0.0).sqrt()]
}

fn adds(sums: &Sums, count: u64, forward: &Forward) -> Adds {
    let scale = f64::from(forward.scale);
    let [mean_cp, use_cp] = moments(sums.added, count).map(|it| it * scale);
    Adds { mean_cp, use_cp }
}
