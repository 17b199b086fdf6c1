//! The evaluation in f32, and what becomes of it when one piece leaves.

use crate::architecture::{Architecture, Part};
use crate::features::MAX_ACTIVE;
use crate::floats::Floats;
use crate::sample::Position;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// Sums that run side by side, so that the processor can add several at once.
const LANES: usize = 16;

/// A net's arrays and shape, as engines have it: a factoriser is added to the rows.
pub(super) struct Forward<'a> {
    pub net: Architecture,
    floats: Floats<'a>,
    /// Centipawns a unit of the output.
    pub scale: f32,
}

/// A position before the activation, and room to go on.
pub(super) struct Room {
    /// The active rows of each view, `MAX_ACTIVE` places a view.
    pub lists: Vec<u16>,
    pub pieces: usize,
    /// `[views * hidden]`
    pub accumulators: Vec<f32>,
    /// One accumulator without a piece, `[hidden]`.
    before: Vec<f32>,
    /// What the layer that comes next takes.
    handed: Vec<f32>,
    /// A layer's values before its activation.
    values: Vec<f32>,
}

impl<'a> Forward<'a> {
    pub fn new(
        weights: &'a Weights,
        net: &Architecture,
        scales: Scales,
    ) -> Result<Self, WeightsError> {
        let floats = Floats::of(weights, net)?;
        Ok(Self { floats, net: net.merged(), scale: scales.scale as f32 })
    }

    pub fn room(&self) -> Room {
        let (views, hidden) = (self.net.views(), self.net.hidden);
        Room {
            lists: vec![0; views * MAX_ACTIVE],
            pieces: 0,
            accumulators: vec![0.0; views * hidden],
            before: vec![0.0; hidden],
            handed: Vec::new(),
            values: Vec::new(),
        }
    }

    pub fn get(&self, part: Part) -> &[f32] {
        self.floats.get(part)
    }

    pub fn row(&self, input: u16) -> &[f32] {
        let hidden = self.net.hidden;
        &self.get(Part::Accumulator)[usize::from(input) * hidden..][..hidden]
    }

    /// The weights and biases of the affine map behind so many layers of the head.
    pub fn map(&self, layer: usize) -> [&[f32]; 2] {
        match layer < self.net.head.len() {
            true => [Part::Layer(layer), Part::LayerBias(layer)].map(|part| self.get(part)),
            false => [Part::Output, Part::OutputBias].map(|part| self.get(part)),
        }
    }

    pub fn see(&self, position: &Position, room: &mut Room) {
        self.net.inputs.write(position, &mut room.lists);
        let hidden = self.net.hidden;
        room.pieces = self.active(&room.lists).count();
        let lists = room.lists.chunks_exact(MAX_ACTIVE);
        for (list, accumulator) in lists.zip(room.accumulators.chunks_exact_mut(hidden)) {
            accumulator.copy_from_slice(self.get(Part::AccumulatorBias));
            for input in self.active(list) {
                for (sum, weight) in accumulator.iter_mut().zip(self.row(input)) {
                    *sum += weight;
                }
            }
        }
    }

    /// The rows of a list, of the first view where there are several: one a piece.
    pub fn active<'l>(&self, list: &'l [u16]) -> impl Iterator<Item = u16> + use<'l> {
        let rows = self.net.rows();
        list.iter().copied().take(MAX_ACTIVE).take_while(move |row| usize::from(*row) < rows)
    }

    /// Evaluation in centipawns, from the point of view of the net's output.
    pub fn value(&self, room: &mut Room) -> f64 {
        self.evaluate(room, None, &mut |_, _| ())
    }

    /// The same; `each_layer` gets values before activations, the skip neuron's last.
    pub fn value_with_layers(
        &self,
        room: &mut Room,
        each_layer: &mut dyn FnMut(usize, &[f32]),
    ) -> f64 {
        self.evaluate(room, None, each_layer)
    }

    /// The same without the piece at a place, which is not a king.
    pub fn without(&self, room: &mut Room, place: usize) -> f64 {
        self.evaluate(room, Some(place), &mut |_, _| ())
    }

    fn evaluate(
        &self,
        room: &mut Room,
        gone: Option<usize>,
        each_layer: &mut dyn FnMut(usize, &[f32]),
    ) -> f64 {
        let bucket = self.net.bucket(room.pieces - usize::from(gone.is_some()));
        let each = self.net.outputs_of_view();
        room.handed.resize(self.net.features(), 0.0);
        let views = room.accumulators.chunks_exact(self.net.hidden);
        for (view, (accumulator, on)) in views.zip(room.handed.chunks_exact_mut(each)).enumerate() {
            match gone.map(|place| self.row(room.lists[view * MAX_ACTIVE + place])) {
                None => self.hand_on(accumulator, on),
                Some(leaving) => {
                    let left = accumulator.iter().zip(leaving).map(|(sum, weight)| sum - weight);
                    room.before.iter_mut().zip(left).for_each(|(to, it)| *to = it);
                    self.hand_on(&room.before, on);
                }
            }
        }
        // Views are added up one by one.
        let (mut together, mut skipped) = (each, 0.0);
        for (layer, shape) in self.net.head.iter().enumerate() {
            room.values.clear();
            let sums = self.sums(layer, bucket, &room.handed, together);
            room.values.extend(sums.map(|sum| sum as f32));
            each_layer(layer, &room.values);
            if self.net.skip && layer == 0 {
                skipped = room.values.pop().unwrap_or_default().into();
            }
            let (curves, values) = (shape.activation.curves(), &room.values);
            room.handed.clear();
            for curve in curves {
                room.handed.extend(values.iter().map(|&value| curve.value_f32(value)));
            }
            together = room.handed.len();
        }
        let output = self.sums(self.net.head.len(), bucket, &room.handed, together).sum::<f64>();
        (output + skipped) * f64::from(self.scale)
    }

    /// The outputs of a bucket's affine map; `together` numbers are added up in f32.
    fn sums(
        &self,
        layer: usize,
        bucket: usize,
        handed: &[f32],
        together: usize,
    ) -> impl Iterator<Item = f64> {
        let [weights, biases] = self.map(layer);
        let outputs = biases.len() / self.net.buckets;
        let rows = weights.chunks_exact(handed.len()).zip(biases);
        rows.skip(bucket * outputs).take(outputs).map(move |(weights, bias)| {
            let parts = weights.chunks_exact(together).zip(handed.chunks_exact(together));
            parts.fold(f64::from(*bias), |sum, (weights, handed)| {
                sum + f64::from(dot(weights, handed))
            })
        })
    }

    fn hand_on(&self, accumulator: &[f32], on: &mut [f32]) {
        let curve = self.net.activation.curve();
        let (first, second) = accumulator.split_at(on.len());
        on.iter_mut().zip(first).for_each(|(on, a)| *on = curve.value_f32(*a));
        if self.net.pairwise {
            on.iter_mut().zip(second).for_each(|(on, a)| *on *= curve.value_f32(*a));
        }
    }

    /// The same of what was looked at, `[features]`, all views side by side.
    pub fn handed_on(&self, room: &Room, out: &mut [f32]) {
        let views = room.accumulators.chunks_exact(self.net.hidden);
        let each = out.chunks_exact_mut(self.net.outputs_of_view());
        views.zip(each).for_each(|(accumulator, on)| self.hand_on(accumulator, on));
    }
}

/// The sum of products, in an order that the length alone decides.
#[inline(always)]
fn dot(weights: &[f32], handed: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (weights, handed) = (weights.chunks_exact(LANES), handed.chunks_exact(LANES));
    let rest = weights.remainder().iter().zip(handed.remainder());
    let rest: f32 = rest.map(|(weight, value)| value * weight).sum();
    for (weights, handed) in weights.zip(handed) {
        for ((sum, weight), value) in sums.iter_mut().zip(weights).zip(handed) {
            *sum += value * weight;
        }
    }
    sums.iter().sum::<f32>() + rest
}
