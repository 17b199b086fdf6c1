//! What every neuron does over many positions: how often it is silent or saturated, what it adds.
//!
//! Neurons go by in blocks whose weights fit a core's cache, positions in chunks of a fixed size
//! whose sums are added in their order: the result has the same bits for any number of threads.

use rayon::prelude::*;
use serde::Serialize;

use super::forward::Forward;
use super::histogram::Histogram;
use crate::architecture::Part;
use crate::features::MAX_ACTIVE;

/// Neurons that go by together: their rows, 192 KiB a king bucket, fit a core's second cache.
const BLOCK: usize = 64;
/// Neurons that are multiplied go by in one block, so far from each other.
const PARTNER: usize = BLOCK / 2;
/// Positions whose sums are added up before they join those of others.
const CHUNK: usize = 4096;

/// Sums of floats miss 0 and 1 by rounding where the integers of an engine meet them; a quantised
/// weight is a multiple of some 0.004.
pub(super) const ROUNDING: f32 = 1e-5;

/// Ends and steps of the histograms: an eighth each, with 0 and 1 as edges.
pub(super) const LOW: f32 = -2.0;
pub(super) const HIGH: f32 = 3.0;
pub(super) const STEPS: usize = 40;

/// Below this share of active views a neuron is nearly dead, and nearly saturated below this
/// share of views away from the clip.
pub(super) const NEARLY: f64 = 0.001;

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
    /// Pairs whose product is 0 in every view; None where neurons are not multiplied in pairs.
    pub dead_pairs: Option<usize>,
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
    /// The neuron that its activation is multiplied by, which then goes on as one number.
    pub partner: Option<usize>,
    /// Share of views in which that product is 0.
    pub product_zero_share: Option<f64>,
    /// Standard deviation of the number that goes on: the activation, or the product.
    pub spread: f64,
    /// Root mean square of the weights with which the layer behind takes that number, over views,
    /// buckets and the neurons of that layer.
    pub weight: f64,
    /// Mean of what that number adds to the evaluation, in centipawns: times the output weight of
    /// the position's bucket, the views added up. None where more layers stand behind it: then
    /// what it adds hangs on all the others.
    pub mean_cp: Option<f64>,
    /// Standard deviation of the same: how much the neuron moves the evaluation. One that always
    /// adds the same has no use.
    pub use_cp: Option<f64>,
    /// Values before the activation.
    pub before: Histogram,
}

/// Sums over some positions, by neuron of a block.
struct Sums {
    positions: u32,
    zero: [u32; BLOCK],
    clipped: [u32; BLOCK],
    activation: [f64; BLOCK],
    product_zero: [u32; BLOCK],
    /// Of what goes on.
    on: [f64; BLOCK],
    on_squares: [f64; BLOCK],
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
            product_zero: [0; BLOCK],
            on: [0.0; BLOCK],
            on_squares: [0.0; BLOCK],
            added: [0.0; BLOCK],
            squares: [0.0; BLOCK],
            before: Box::new([[0; STEPS]; BLOCK]),
        }
    }
}

/// Looks at positions given as lists of active rows, `MAX_ACTIVE` places a view; `seen` is told
/// of positions, each once in all.
pub(super) fn activity(forward: &Forward, lists: &[u16], seen: &(dyn Fn(u64) + Sync)) -> Activity {
    let place = forward.net.views() * MAX_ACTIVE;
    let positions = lists.len() / place;
    let mut neurons: Vec<Neuron> = blocks(forward)
        .into_par_iter()
        .flat_map_iter(|neurons| {
            let weights = Weights::of(forward, &neurons);
            let first = neurons.contains(&0);
            let chunks: Vec<Sums> = lists
                .par_chunks(CHUNK * place)
                .map(|lists| {
                    let sums = weights.sums(lists);
                    if first {
                        seen((lists.len() / place) as u64);
                    }
                    sums
                })
                .collect();
            let lanes = (0..BLOCK).zip(neurons).filter(|(_, neuron)| *neuron < forward.net.hidden);
            lanes.map(move |(lane, neuron)| of_neuron(forward, neuron, lane, &chunks))
        })
        .collect();
    neurons.sort_by_key(|it| it.neuron);
    let mut activity = summary(positions as u64, (positions * place / MAX_ACTIVE) as u64, neurons);
    if forward.net.pairwise {
        let pairs = &activity.neurons[..forward.net.outputs_of_view()];
        let dead = pairs.iter().filter(|it| it.product_zero_share == Some(1.0));
        activity.dead_pairs = Some(dead.count());
    }
    activity
}

/// The neurons in blocks, those that are multiplied [`PARTNER`] lanes apart; lanes without one have
/// a number beyond the last.
fn blocks(forward: &Forward) -> Vec<[usize; BLOCK]> {
    let each = forward.net.outputs_of_view();
    let together = if forward.net.pairwise { PARTNER } else { BLOCK };
    let lane = |block: usize, lane: usize| {
        let (half, place) = (lane / together, block * together + lane % together);
        if place < each { half * each + place } else { usize::MAX }
    };
    let blocks = 0..each.div_ceil(together);
    blocks.map(|block| std::array::from_fn(|it| lane(block, it))).collect()
}

impl Activity {
    /// The neurons, that with the largest use first; where it is not defined, that first whose
    /// number moves the sums of the next layer most.
    pub fn by_use(&self) -> Vec<&Neuron> {
        let mut neurons: Vec<&Neuron> = self.neurons.iter().collect();
        let moves = |it: &Neuron| it.use_cp.unwrap_or(it.spread * it.weight);
        neurons.sort_by(|one, other| moves(other).total_cmp(&moves(one)));
        neurons
    }
}

fn summary(positions: u64, views: u64, neurons: Vec<Neuron>) -> Activity {
    let mut before = Histogram::new(LOW.into(), HIGH.into(), STEPS);
    neurons.iter().for_each(|neuron| before.join(&neuron.before));
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
        dead_pairs: None,
        zero_share: mean(&|it| it.zero_share),
        clipped_share: mean(&|it| it.clipped_share),
        before,
        neurons,
    }
}

fn of_neuron(forward: &Forward, neuron: usize, lane: usize, chunks: &[Sums]) -> Neuron {
    let net = &forward.net;
    let mut before = Histogram::new(LOW.into(), HIGH.into(), STEPS);
    for chunk in chunks {
        for (sum, count) in before.counts.iter_mut().zip(chunk.before[lane]) {
            *sum += u64::from(count);
        }
    }
    let views = before.total() as f64;
    let sum = |of: &dyn Fn(&Sums) -> f64| chunks.iter().map(of).sum::<f64>();
    let positions = sum(&|chunk| chunk.positions.into());
    let moments = |sums: &dyn Fn(&Sums) -> [f64; 2], count: f64| {
        let mean = sum(&|chunk| sums(chunk)[0]) / count;
        let variance = sum(&|chunk| sums(chunk)[1]) / count - mean * mean;
        [mean, variance.max(0.0).sqrt()]
    };
    let scale = f64::from(forward.scale);
    let adds = (!net.has_layers()).then(|| {
        moments(&|chunk| [chunk.added[lane], chunk.squares[lane]], positions).map(|it| it * scale)
    });
    let [_, spread] = moments(&|chunk| [chunk.on[lane], chunk.on_squares[lane]], views);
    let each = net.outputs_of_view();
    Neuron {
        neuron,
        zero_share: sum(&|chunk| chunk.zero[lane].into()) / views,
        clipped_share: sum(&|chunk| chunk.clipped[lane].into()) / views,
        mean: sum(&|chunk| chunk.activation[lane]) / views,
        partner: net.pairwise.then(|| (neuron + each) % net.hidden),
        product_zero_share: net
            .pairwise
            .then(|| sum(&|chunk| chunk.product_zero[lane].into()) / views),
        spread,
        weight: weight(forward, neuron % each),
        mean_cp: adds.map(|[mean, _]| mean),
        use_cp: adds.map(|[_, spread]| spread),
        before,
    }
}

/// Root mean square of the weights with which the layer behind takes what goes on at a place.
fn weight(forward: &Forward, place: usize) -> f64 {
    let [weights, _] = forward.map(0);
    let taken = weights.iter().skip(place).step_by(forward.net.outputs_of_view());
    let count = taken.len() as f64;
    (taken.map(|weight| f64::from(*weight).powi(2)).sum::<f64>() / count).sqrt()
}

/// The weights of a block of neurons, side by side.
struct Weights<'a> {
    forward: &'a Forward<'a>,
    /// By row.
    rows: Vec<[f32; BLOCK]>,
    bias: [f32; BLOCK],
    /// By bucket and view; none where more layers stand behind.
    output: Vec<[f32; BLOCK]>,
}

impl<'a> Weights<'a> {
    fn of(forward: &'a Forward<'a>, neurons: &[usize; BLOCK]) -> Self {
        let net = &forward.net;
        let of = |row: &[f32]| neurons.map(|neuron| row.get(neuron).copied().unwrap_or_default());
        let each = net.outputs_of_view();
        let taken = |weights: &[f32]| {
            neurons.map(|it| if it < net.hidden { weights[it % each] } else { 0.0 })
        };
        let outputs = if net.has_layers() { &[] } else { forward.get(Part::Output) };
        Self {
            forward,
            rows: forward.get(Part::Accumulator).chunks_exact(net.hidden).map(of).collect(),
            bias: of(forward.get(Part::AccumulatorBias)),
            output: outputs.chunks_exact(each).map(taken).collect(),
        }
    }

    fn sums(&self, lists: &[u16]) -> Sums {
        let net = &self.forward.net;
        let (curve, views) = (net.activation.curve(), net.views());
        let top = curve.top() as f32;
        let mut sums = Sums::default();
        for position in lists.chunks_exact(views * MAX_ACTIVE) {
            let bucket = net.bucket(self.forward.active(position).count());
            let mut added = [0.0; BLOCK];
            for (view, list) in position.chunks_exact(MAX_ACTIVE).enumerate() {
                let mut before = self.bias;
                for row in self.forward.active(list) {
                    for (sum, weight) in before.iter_mut().zip(&self.rows[usize::from(row)]) {
                        *sum += weight;
                    }
                }
                let after = before.map(|a| curve.value_f32(a));
                let mut on = after;
                for i in 0..BLOCK {
                    sums.zero[i] += u32::from(before[i] <= ROUNDING);
                    sums.clipped[i] += u32::from(before[i] >= top - ROUNDING);
                    sums.activation[i] += f64::from(after[i]);
                }
                if net.pairwise {
                    for i in 0..BLOCK {
                        let least = before[i].min(before[i ^ PARTNER]);
                        sums.product_zero[i] += u32::from(least <= ROUNDING);
                        on[i] = after[i] * after[i ^ PARTNER];
                    }
                }
                for i in 0..BLOCK {
                    let on = f64::from(on[i]);
                    sums.on[i] += on;
                    sums.on_squares[i] += on * on;
                }
                if let Some(output) = self.output.get(bucket * views + view) {
                    for i in 0..BLOCK {
                        added[i] += on[i] * output[i];
                    }
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
