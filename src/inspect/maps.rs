//! What neurons look at: their weights as boards, and the pieces that move them most.

use std::borrow::Cow;

use serde::Serialize;

use super::forward::Forward;
use super::layers::{most, ordered};
use super::rows::{Rows, impossible};
use crate::architecture::{Inputs, PIECES, Part};

/// The inputs that are named for each neuron.
const MOVERS: usize = 3;
/// King buckets whose boards are kept of a neuron.
const BUCKETS: usize = 8;

/// An input that moves a neuron, and its weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mover {
    /// 0 to 767, whatever the king bucket.
    pub input: usize,
    /// The mean over king buckets, each as often as its row is on.
    pub weight: f64,
    /// Such as "own queen on d4".
    pub what: String,
    /// Such as "Qd4": capitals for own pieces, or White's where the net sees as White does.
    pub short: String,
}

/// The weights of one neuron as boards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    pub neuron: usize,
    /// The output weights of what it hands on, or of its pair's product: bucket by bucket, in each
    /// by view, the side to move's first. None where more layers stand behind.
    pub output: Vec<f32>,
    /// Pawn to king of the owner of the view, then of the other side; a1 first. The mean over king
    /// buckets, each as often as its row is on.
    pub boards: Vec<Vec<f32>>,
    /// The same of king buckets, where there are several: those with the most views, these first.
    pub buckets: Vec<BucketBoards>,
}

/// The weights of one neuron while a view's own king stands in a bucket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BucketBoards {
    pub bucket: usize,
    pub boards: Vec<Vec<f32>>,
}

/// What pieces on squares weigh, king buckets apart.
pub(super) struct Faces<'a> {
    forward: &'a Forward<'a>,
    rows: &'a Rows,
    /// `[768][hidden]`
    mean: Cow<'a, [f32]>,
}

impl<'a> Faces<'a> {
    pub fn of(forward: &'a Forward<'a>, rows: &'a Rows) -> Self {
        let weights = forward.get(Part::Accumulator);
        let mean = match forward.net.inputs.kings.count() {
            1 => Cow::Borrowed(weights),
            buckets => Cow::Owned(mean(weights, &rows.seen, buckets)),
        };
        Self { forward, rows, mean }
    }

    /// By neuron: the inputs that move it most over the positions, by weight times the standard
    /// deviation of the input. A large weight of an input that is hardly ever on moves nothing.
    pub fn moved_by(&self, views: u64) -> Vec<Vec<Mover>> {
        let hidden = self.forward.net.hidden;
        let inputs = Inputs::of(self.forward.net.inputs.views);
        let seen =
            |input: usize| -> u64 { self.rows.seen.iter().skip(input).step_by(PIECES).sum() };
        let deviation = |input: usize| {
            let share = seen(input) as f64 / views as f64;
            (share * (1.0 - share)).sqrt()
        };
        let deviations: Vec<f64> = (0..PIECES).map(deviation).collect();
        let of_neuron = |neuron: usize| {
            let weight = |input: usize| f64::from(self.mean[input * hidden + neuron]);
            let moves = |input: usize| ordered((weight(input) * deviations[input]).abs());
            let mover = |input: usize| Mover {
                input,
                weight: weight(input),
                what: inputs.describe(input),
                short: inputs.piece(input).map_or_else(String::new, |piece| {
                    let letter = piece.color.fold_wb(piece.role.upper_char(), piece.role.char());
                    format!("{letter}{}", piece.square)
                }),
            };
            most(0..PIECES, MOVERS, moves).into_iter().map(mover).collect()
        };
        (0..hidden).map(of_neuron).collect()
    }

    pub fn map(&self, neuron: usize) -> Map {
        let (net, hidden) = (&self.forward.net, self.forward.net.hidden);
        let boards = |rows: &[f32]| {
            let column: Vec<f32> = rows.iter().copied().skip(neuron).step_by(hidden).collect();
            column.chunks_exact(64).map(<[f32]>::to_vec).collect()
        };
        let buckets = &self.rows.buckets;
        let seen = most(0..buckets.len(), BUCKETS, |bucket| buckets[bucket].views);
        let of_bucket = |bucket: usize| {
            let rows = self.forward.get(Part::Accumulator);
            let rows = rows.chunks_exact(PIECES * hidden).nth(bucket).unwrap_or_default();
            BucketBoards { bucket, boards: boards(rows) }
        };
        let output = if net.has_layers() { &[] } else { self.forward.get(Part::Output) };
        let each = net.outputs_of_view();
        Map {
            neuron,
            output: output.iter().copied().skip(neuron % each).step_by(each).collect(),
            boards: boards(&self.mean),
            buckets: seen.into_iter().map(of_bucket).collect(),
        }
    }
}

/// What pieces on squares weigh on the mean over king buckets, each as often as its row is on; rows
/// that are never on count alike.
fn mean(weights: &[f32], seen: &[u64], buckets: usize) -> Vec<f32> {
    let hidden = weights.len() / (buckets * PIECES);
    let mut mean = Vec::with_capacity(PIECES * hidden);
    for input in 0..PIECES {
        let rows = || (0..buckets).map(|bucket| bucket * PIECES + input);
        let all: u64 = rows().map(|row| seen[row]).sum();
        let mut sums = vec![0.0; hidden];
        for row in rows() {
            let share = match all {
                0 => 1.0 / buckets as f64,
                all => seen[row] as f64 / all as f64,
            };
            let weights = &weights[row * hidden..][..hidden];
            let weighed = sums.iter_mut().zip(weights);
            weighed.for_each(|(sum, weight)| *sum += share * f64::from(*weight));
        }
        mean.extend(sums.into_iter().map(|sum| sum as f32));
    }
    mean
}

/// By input: whether weights of it can count in any king bucket.
pub(super) fn counting(inputs: &Inputs) -> Vec<bool> {
    let impossible = impossible(inputs);
    let any = |input: usize| impossible.iter().skip(input).step_by(PIECES).any(|it| !it);
    (0..PIECES).map(any).collect()
}
