//! What every neuron does over many positions: how often it is silent or saturated, what it adds.
//!
//! Neurons go by in blocks whose weights fit a core's cache, positions in chunks of a fixed size
//! whose sums are added in their order: the result has the same bits for any number of threads.

use rayon::prelude::*;
use serde::Serialize;

use super::forward::Forward;
use super::histogram::Histogram;
use crate::architecture::Activation;
use crate::features::MAX_ACTIVE;

/// Neurons that go by together: their rows, 192 KiB, fit a core's second cache.
const BLOCK: usize = 64;
/// Positions whose sums are added up before they join those of others.
const CHUNK: usize = 4096;

/// Sums of floats miss 0 and 1 by rounding where the integers of an engine meet them; a quantised
/// weight is a multiple of some 0.004.
const ROUNDING: f32 = 1e-5;

/// Ends and steps of the histograms: an eighth each, with 0 and 1 as edges.
const LOW: f32 = -2.0;
const HIGH: f32 = 3.0;
const STEPS: usize = 40;

/// Below this share of active views a neuron is nearly dead, and nearly saturated below this
/// share of views away from the clip.
const NEARLY: f64 = 0.001;

/// What the hidden layer does over the positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    pub positions: u64,
    /// Views looked at: the positions times the net's views.
    pub views: u64,
    /// Neurons that are active in no view of any position.
    pub dead: usize,
    /// Neurons that are active, but in less than one of 1,000 views.
    pub nearly_dead: usize,
    /// Neurons that are at the upper clip in every view.
    pub saturated: usize,
    /// Neurons that leave the upper clip, but in less than one of 1,000 views.
    pub nearly_saturated: usize,
    /// Over all neurons and views.
    pub zero_share: f64,
    pub clipped_share: f64,
    /// All neurons' values before the activation.
    pub before: Histogram,
    pub neurons: Vec<Neuron>,
}

/// What one neuron does; shares and means are over both views together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neuron {
    pub neuron: usize,
    /// Share of views in which its activation is 0.
    pub zero_share: f64,
    /// Share of views in which it is at the upper clip; 0 where the activation has none.
    pub clipped_share: f64,
    /// Mean activation.
    pub mean: f64,
    /// Mean of what it adds to the evaluation, in centipawns: activation times output weight,
    /// the views added up.
    pub mean_cp: f64,
    /// Standard deviation of the same: how much the neuron moves the evaluation. One that always
    /// adds the same has no use.
    pub use_cp: f64,
    /// Values before the activation.
    pub before: Histogram,
}

/// Sums over some positions, by neuron of a block.
struct Sums {
    positions: u32,
    zero: [u32; BLOCK],
    clipped: [u32; BLOCK],
    activation: [f64; BLOCK],
    added: [f64; BLOCK],
    squares: [f64; BLOCK],
    before: Box<[[u32; STEPS]; BLOCK]>,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            positions: 0,
            zero: [0; BLOCK],
            clipped: [0; BLOCK],
            activation: [0.0; BLOCK],
            added: [0.0; BLOCK],
            squares: [0.0; BLOCK],
            before: Box::new([[0; STEPS]; BLOCK]),
        }
    }
}

/// Looks at positions given as lists of active inputs, `MAX_ACTIVE` places a view; `seen` is told
/// of positions, each once in all.
pub(super) fn activity(forward: &Forward, lists: &[u16], seen: &(dyn Fn(u64) + Sync)) -> Activity {
    let hidden = forward.architecture.hidden;
    let place = forward.architecture.features.views * MAX_ACTIVE;
    let positions = lists.len() / place;
    let neurons: Vec<Neuron> = (0..hidden.div_ceil(BLOCK))
        .into_par_iter()
        .flat_map_iter(|block| {
            let neurons = block * BLOCK..hidden.min((block + 1) * BLOCK);
            let weights = Weights::of(forward, neurons.clone());
            let chunks: Vec<Sums> = lists
                .par_chunks(CHUNK * place)
                .map(|lists| {
                    let sums = weights.sums(lists);
                    if block == 0 {
                        seen((lists.len() / place) as u64);
                    }
                    sums
                })
                .collect();
            let scale = f64::from(forward.scale);
            neurons.enumerate().map(move |(i, neuron)| of_neuron(neuron, i, &chunks, scale))
        })
        .collect();
    summary(positions as u64, (positions * place / MAX_ACTIVE) as u64, neurons)
}

impl Activity {
    /// The neurons, that with the largest use first.
    pub fn by_use(&self) -> Vec<&Neuron> {
        let mut neurons: Vec<&Neuron> = self.neurons.iter().collect();
        neurons.sort_by(|one, other| other.use_cp.total_cmp(&one.use_cp));
        neurons
    }
}

fn summary(positions: u64, views: u64, neurons: Vec<Neuron>) -> Activity {
    let mut before = Histogram::new(LOW.into(), HIGH.into(), STEPS);
    for neuron in &neurons {
        for (sum, count) in before.counts.iter_mut().zip(&neuron.before.counts) {
            *sum += count;
        }
    }
    let count = |test: &dyn Fn(&Neuron) -> bool| neurons.iter().filter(|it| test(it)).count();
    let mean = |share: &dyn Fn(&Neuron) -> f64| {
        neurons.iter().map(share).sum::<f64>() / neurons.len() as f64
    };
    let nearly = |share: f64| share < 1.0 && share > 1.0 - NEARLY;
    Activity {
        positions,
        views,
        dead: count(&|it| it.zero_share == 1.0),
        nearly_dead: count(&|it| nearly(it.zero_share)),
        saturated: count(&|it| it.clipped_share == 1.0),
        nearly_saturated: count(&|it| nearly(it.clipped_share)),
        zero_share: mean(&|it| it.zero_share),
        clipped_share: mean(&|it| it.clipped_share),
        before,
        neurons,
    }
}

fn of_neuron(neuron: usize, i: usize, chunks: &[Sums], scale: f64) -> Neuron {
    let mut before = Histogram::new(LOW.into(), HIGH.into(), STEPS);
    for chunk in chunks {
        for (sum, count) in before.counts.iter_mut().zip(chunk.before[i]) {
            *sum += u64::from(count);
        }
    }
    let views = before.total() as f64;
    let sum = |of: &dyn Fn(&Sums) -> f64| chunks.iter().map(of).sum::<f64>();
    let positions = sum(&|chunk| chunk.positions.into());
    let mean = sum(&|chunk| chunk.added[i]) / positions;
    let variance = sum(&|chunk| chunk.squares[i]) / positions - mean * mean;
    Neuron {
        neuron,
        zero_share: sum(&|chunk| chunk.zero[i].into()) / views,
        clipped_share: sum(&|chunk| chunk.clipped[i].into()) / views,
        mean: sum(&|chunk| chunk.activation[i]) / views,
        mean_cp: mean * scale,
        use_cp: variance.max(0.0).sqrt() * scale,
        before,
    }
}

/// The weights of a block of neurons, side by side.
struct Weights<'a> {
    forward: &'a Forward<'a>,
    /// By input.
    rows: Vec<[f32; BLOCK]>,
    bias: [f32; BLOCK],
    /// By view.
    output: Vec<[f32; BLOCK]>,
}

impl<'a> Weights<'a> {
    fn of(forward: &'a Forward<'a>, neurons: std::ops::Range<usize>) -> Self {
        let of = |row: &[f32]| {
            let mut block = [0.0; BLOCK];
            block[..neurons.len()].copy_from_slice(&row[neurons.clone()]);
            block
        };
        let hidden = forward.architecture.hidden;
        Self {
            forward,
            rows: forward.rows.chunks_exact(hidden).map(of).collect(),
            bias: of(forward.bias),
            output: forward.output.chunks_exact(hidden).map(of).collect(),
        }
    }

    fn sums(&self, lists: &[u16]) -> Sums {
        match self.forward.architecture.activation {
            Activation::ReLU => self.of_activation(lists, f32::INFINITY, |a| a.max(0.0)),
            Activation::CReLU => self.of_activation(lists, 1.0, |a| a.clamp(0.0, 1.0)),
            Activation::SCReLU => self.of_activation(lists, 1.0, |a| {
                let clipped = a.clamp(0.0, 1.0);
                clipped * clipped
            }),
        }
    }

    #[inline(always)]
    fn of_activation(&self, lists: &[u16], top: f32, activation: impl Fn(f32) -> f32) -> Sums {
        let mut sums = Sums::default();
        let inputs = self.rows.len();
        for position in lists.chunks_exact(self.output.len() * MAX_ACTIVE) {
            let mut added = [0.0; BLOCK];
            for (list, output) in position.chunks_exact(MAX_ACTIVE).zip(&self.output) {
                let mut before = self.bias;
                for &input in list.iter().take_while(|input| usize::from(**input) < inputs) {
                    for (sum, weight) in before.iter_mut().zip(&self.rows[usize::from(input)]) {
                        *sum += weight;
                    }
                }
                let after = before.map(&activation);
                for i in 0..BLOCK {
                    sums.zero[i] += u32::from(before[i] <= ROUNDING);
                    sums.clipped[i] += u32::from(before[i] >= top - ROUNDING);
                    sums.activation[i] += f64::from(after[i]);
                    added[i] += after[i] * output[i];
                }
                for (value, counts) in before.into_iter().zip(sums.before.iter_mut()) {
                    let step = (value - LOW) * (STEPS as f32 / (HIGH - LOW));
                    counts[(step.max(0.0) as usize).min(STEPS - 1)] += 1;
                }
            }
            for i in 0..BLOCK {
                let added = f64::from(added[i]);
                sums.added[i] += added;
                sums.squares[i] += added * added;
            }
            sums.positions += 1;
        }
        sums
    }
}
