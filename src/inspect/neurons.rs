//! Neurons over many positions: dead, saturated, use, and the pieces that move them.

use serde::Serialize;

use super::by_chunk;
use super::forward::Forward;
use crate::architecture::{Inputs, PIECES, Part};
use crate::sample::Sample;

/// Sums of floats miss 0 and 1 by rounding; a quantised weight is a multiple of some 0.004.
const ROUNDING: f32 = 1e-5;
/// Neurons whose weights are kept as boards.
const MAPS: usize = 10;
/// Inputs that are named for each neuron.
const MOVERS: usize = 3;

/// The neurons of a layer over the positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// "hidden", or "head.0" and so on.
    pub name: String,
    pub activation: &'static str,
    /// Of a head with output buckets, bucket by bucket; buckets without a position are left out.
    pub neurons: Vec<Neuron>,
}

/// One neuron over the positions; shares are over both perspectives together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neuron {
    pub neuron: usize,
    pub bucket: usize,
    /// Share of activations that are 0.
    pub zero_share: f64,
    /// Share of activations at the upper clip; 0 where there is none.
    pub clipped_share: f64,
    /// Standard deviation, in centipawns, of the neuron's contribution to the output. In front of
    /// layers: standard deviation of its output times the root mean square of the weights on it.
    #[serde(rename = "use")]
    pub usage: f64,
}

/// An input that moves a neuron, and its weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mover {
    /// Such as "own queen on d4".
    pub input: String,
    /// Mean over king buckets, each as often as its row is active.
    pub weight: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    pub neuron: usize,
    /// The inputs that move it most: weight times standard deviation of the input.
    pub movers: Vec<Mover>,
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
    zero: u64,
    clipped: u64,
    /// Sum and sum of squares of its output, or of its contribution to the evaluation.
    out: [f64; 2],
}

struct Chunk {
    hidden: Vec<Sums>,
    /// By layer of the head; bucket by bucket.
    head: Vec<Vec<Sums>>,
    positions: Vec<u64>,
    active: Vec<u64>,
}

impl Sums {
    fn add(&mut self, zero: bool, clipped: bool, out: f64) {
        self.zero += u64::from(zero);
        self.clipped += u64::from(clipped);
        self.out = [self.out[0] + out, self.out[1] + out * out];
    }

    fn join(&mut self, other: &Self) {
        self.zero += other.zero;
        self.clipped += other.clipped;
        self.out = [self.out[0] + other.out[0], self.out[1] + other.out[1]];
    }

    fn neuron(&self, place: [usize; 2], views: u64, outs: u64, factor: f64) -> Neuron {
        let [sum, squares] = self.out.map(|it| it / outs as f64);
        Neuron {
            bucket: place[0],
            neuron: place[1],
            zero_share: self.zero as f64 / views as f64,
            clipped_share: self.clipped as f64 / views as f64,
            usage: factor * (squares - sum * sum).max(0.0).sqrt(),
        }
    }
}

/// All layers, and the boards of the hidden neurons with the most use.
pub(super) fn neurons(
    forward: &Forward,
    samples: &[Sample],
    seen: &(dyn Fn(u64) + Sync),
) -> (Vec<Layer>, Vec<Map>) {
    let chunks = by_chunk(samples, |samples| {
        let chunk = Chunk::of(forward, samples);
        seen(samples.len() as u64);
        chunk
    });
    let sums = chunks.into_iter().reduce(Chunk::join).expect("there are positions");
    let net = &forward.net;
    let (positions, views) = (samples.len() as u64, (samples.len() * net.views()) as u64);
    let direct = !net.has_layers();
    let hidden = sums.hidden.iter().enumerate().map(|(neuron, it)| match direct {
        true => it.neuron([0, neuron], views, positions, forward.scale.into()),
        false => it.neuron([0, neuron], views, views, weight(forward, neuron)),
    });
    let name = net.activation.name();
    let mut layers =
        vec![Layer { name: "hidden".into(), activation: name, neurons: hidden.collect() }];
    for (number, layer) in net.head.iter().enumerate() {
        let of_bucket = |(bucket, positions): (usize, &u64)| {
            let sums = &sums.head[number][bucket * layer.size..][..layer.size];
            let scale = forward.scale.into();
            let neurons = sums.iter().enumerate().filter(|_| *positions > 0);
            let of = |(neuron, it): (usize, &Sums)| {
                it.neuron([bucket, neuron], *positions, *positions, scale)
            };
            neurons.map(of).collect::<Vec<_>>()
        };
        let neurons = sums.positions.iter().enumerate().flat_map(of_bucket).collect();
        let activation = layer.activation.name();
        layers.push(Layer { name: format!("head.{number}"), activation, neurons });
    }
    let mean = mean_rows(forward, &sums.active);
    let most = layers[0].by_use().into_iter().take(MAPS);
    let maps = most.map(|it| map(forward, &mean, &sums.active, views, it.neuron)).collect();
    (layers, maps)
}

impl Chunk {
    fn of(forward: &Forward, samples: &[Sample]) -> Self {
        let net = &forward.net;
        let head = net.head.iter().map(|layer| vec![Sums::default(); net.buckets * layer.size]);
        let mut chunk = Self {
            hidden: vec![Sums::default(); net.hidden],
            head: head.collect(),
            positions: vec![0; net.buckets],
            active: vec![0; net.rows()],
        };
        let (curve, each) = (net.activation.curve(), net.outputs_of_view());
        let mut room = forward.room();
        let mut handed = vec![0.0; net.features()];
        for sample in samples {
            forward.see(&sample.position, &mut room);
            forward.handed_on(&room, &mut handed);
            let bucket = net.bucket(room.pieces);
            chunk.positions[bucket] += 1;
            for list in room.lists.chunks_exact(crate::features::MAX_ACTIVE) {
                forward.active(list).for_each(|row| chunk.active[usize::from(row)] += 1);
            }
            for (neuron, sums) in chunk.hidden.iter_mut().enumerate() {
                let mut added = 0.0;
                for view in 0..net.views() {
                    let before = room.accumulators[view * net.hidden + neuron];
                    let place = view * each + neuron % each;
                    let clipped = before >= curve.top() as f32 - ROUNDING;
                    sums.zero += u64::from(before <= ROUNDING);
                    sums.clipped += u64::from(clipped);
                    match net.has_layers() {
                        true => sums.add(false, false, handed[place].into()),
                        false => {
                            let output = forward.get(Part::Output)[bucket * handed.len() + place];
                            added += f64::from(handed[place] * output);
                        }
                    }
                }
                if !net.has_layers() {
                    sums.add(false, false, added);
                }
            }
            let head = &mut chunk.head;
            if net.has_layers() {
                forward.value_with_layers(&mut room, &mut |layer, values| {
                    let (size, curves) =
                        (net.head[layer].size, net.head[layer].activation.curves());
                    let last = layer + 1 == net.head.len();
                    let output = forward.get(Part::Output);
                    let output = &output[bucket * output.len() / net.buckets..];
                    // The skip neuron, behind the others, has no activation.
                    for (neuron, value) in values[..size].iter().enumerate() {
                        let outs = curves.iter().map(|curve| curve.value_f32(*value));
                        let zero = outs.clone().all(|out| out <= ROUNDING);
                        let clipped = curves.iter().zip(outs.clone());
                        let clipped = clipped.filter(|(it, _)| it.bounded);
                        let full = !curves.iter().all(|it| !it.bounded)
                            && clipped.clone().all(|(_, out)| out >= 1.0 - ROUNDING);
                        let added: f32 = match last {
                            true => outs
                                .zip(output[neuron..].iter().step_by(size))
                                .map(|(out, weight)| out * weight)
                                .sum(),
                            false => 0.0,
                        };
                        head[layer][bucket * size + neuron].add(zero, full, added.into());
                    }
                });
            }
        }
        chunk
    }

    fn join(mut self, other: Self) -> Self {
        let head = self.head.iter_mut().flatten().zip(other.head.iter().flatten());
        self.hidden.iter_mut().zip(&other.hidden).chain(head).for_each(|(to, it)| to.join(it));
        let counts = self.positions.iter_mut().zip(&other.positions);
        counts.chain(self.active.iter_mut().zip(&other.active)).for_each(|(to, it)| *to += it);
        self
    }
}

/// Root mean square of the weights that take a neuron's output.
fn weight(forward: &Forward, neuron: usize) -> f64 {
    let [weights, _] = forward.map(0);
    let each = forward.net.outputs_of_view();
    let taken = weights.iter().skip(neuron % each).step_by(each);
    let count = taken.len() as f64;
    (taken.map(|weight| f64::from(*weight).powi(2)).sum::<f64>() / count).sqrt()
}

/// Weights by input, `[768][hidden]`: mean over king buckets by activity.
fn mean_rows(forward: &Forward, active: &[u64]) -> Vec<f32> {
    let (hidden, weights) = (forward.net.hidden, forward.get(Part::Accumulator));
    let buckets = active.len() / PIECES;
    let mut mean = vec![0.0; PIECES * hidden];
    for (input, mean) in mean.chunks_exact_mut(hidden).enumerate() {
        let rows = || (0..buckets).map(|bucket| bucket * PIECES + input);
        let all: u64 = rows().map(|row| active[row]).sum();
        for row in rows() {
            let share = match all {
                0 => 1.0 / buckets as f32,
                all => active[row] as f32 / all as f32,
            };
            let row = &weights[row * hidden..][..hidden];
            mean.iter_mut().zip(row).for_each(|(sum, weight)| *sum += share * weight);
        }
    }
    mean
}

fn map(forward: &Forward, mean: &[f32], active: &[u64], views: u64, neuron: usize) -> Map {
    let hidden = forward.net.hidden;
    let inputs = Inputs::of(forward.net.inputs.views);
    let column: Vec<f32> = mean.iter().copied().skip(neuron).step_by(hidden).collect();
    let moves = |input: usize| {
        let seen: u64 = active.iter().skip(input).step_by(PIECES).sum();
        let share = seen as f64 / views as f64;
        f64::from(column[input].abs()) * (share * (1.0 - share)).sqrt()
    };
    let mut order: Vec<(usize, f64)> = (0..PIECES).map(|input| (input, moves(input))).collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let mover = |(input, _): &(usize, f64)| Mover {
        input: inputs.describe(*input),
        weight: column[*input].into(),
    };
    Map {
        neuron,
        movers: order.iter().take(MOVERS).map(mover).collect(),
        boards: column.chunks_exact(64).map(<[f32]>::to_vec).collect(),
    }
}
