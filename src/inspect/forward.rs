//! The evaluation in floats, and what becomes of it when one man leaves or moves.
//!
//! Sums are in f32: their error is far below a hundredth of a centipawn, and less than what
//! quantising costs.

use crate::architecture::{Activation, Architecture};
use crate::features::MAX_ACTIVE;
use crate::sample::Position;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// Sums that run side by side, so that the processor can add several at once.
const LANES: usize = 16;

/// A row that changes nothing.
const NOTHING: &[f32] = &[];

/// A net's arrays and shape.
pub(super) struct Forward<'a> {
    pub architecture: Architecture,
    /// `[inputs][hidden]`
    pub rows: &'a [f32],
    /// `[hidden]`
    pub bias: &'a [f32],
    /// `[views * hidden]`
    pub output: &'a [f32],
    pub output_bias: f32,
    /// Centipawns a unit of the output.
    pub scale: f32,
}

/// A position before the activation.
pub(super) struct Hidden {
    /// The active inputs of each view, `MAX_ACTIVE` places a view.
    pub lists: Vec<u16>,
    /// `[views * hidden]`
    pub accumulators: Vec<f32>,
}

impl<'a> Forward<'a> {
    /// # Errors
    /// If an array is missing or has another shape than the architecture's.
    pub fn new(
        weights: &'a Weights,
        architecture: &Architecture,
        scales: Scales,
    ) -> Result<Self, WeightsError> {
        let Architecture { features, hidden, .. } = *architecture;
        Ok(Self {
            architecture: *architecture,
            rows: weights.get("accumulator.weight", &[features.inputs, hidden])?,
            bias: weights.get("accumulator.bias", &[hidden])?,
            output: weights.get("output.weight", &[features.views * hidden])?,
            output_bias: weights.get("output.bias", &[1])?[0],
            scale: scales.scale as f32,
        })
    }

    /// Room for a position.
    pub fn room(&self) -> Hidden {
        let Architecture { features, hidden, .. } = self.architecture;
        Hidden {
            lists: vec![0; features.views * MAX_ACTIVE],
            accumulators: vec![0.0; features.views * hidden],
        }
    }

    pub fn row(&self, input: u16) -> &'a [f32] {
        let hidden = self.architecture.hidden;
        &self.rows[usize::from(input) * hidden..][..hidden]
    }

    /// Looks at a position.
    pub fn see(&self, position: &Position, room: &mut Hidden) {
        let Architecture { features, hidden, .. } = self.architecture;
        features.write(position, &mut room.lists);
        let lists = room.lists.chunks_exact(MAX_ACTIVE);
        for (list, accumulator) in lists.zip(room.accumulators.chunks_exact_mut(hidden)) {
            accumulator.copy_from_slice(self.bias);
            for &input in list.iter().take_while(|input| usize::from(**input) < features.inputs) {
                for (sum, weight) in accumulator.iter_mut().zip(self.row(input)) {
                    *sum += weight;
                }
            }
        }
    }

    /// Centipawns as the net sees them, of what was looked at.
    pub fn value(&self, room: &Hidden) -> f64 {
        self.changed(room, |_| [NOTHING, NOTHING])
    }

    /// The same without the man at a place, see [`Position::men`].
    pub fn without(&self, room: &Hidden, place: usize) -> f64 {
        let leaving = |view| self.row(room.lists[view * MAX_ACTIVE + place]);
        self.changed(room, |view| [leaving(view), NOTHING])
    }

    /// The same with one man's inputs, by view, in place of those of another.
    pub fn moved(&self, room: &Hidden, from: &[u16], to: &[u16]) -> f64 {
        self.changed(room, |view| [self.row(from[view]), self.row(to[view])])
    }

    /// The output with a row taken from each view's accumulator and another added to it.
    fn changed<'r>(&self, room: &Hidden, rows: impl Fn(usize) -> [&'r [f32]; 2]) -> f64 {
        let hidden = self.architecture.hidden;
        let mut sum = f64::from(self.output_bias);
        let views = room.accumulators.chunks_exact(hidden).zip(self.output.chunks_exact(hidden));
        for (view, (accumulator, weights)) in views.enumerate() {
            let rows = rows(view);
            sum += f64::from(match self.architecture.activation {
                Activation::ReLU => dot(accumulator, weights, rows, |a| a.max(0.0)),
                Activation::CReLU => dot(accumulator, weights, rows, |a| a.clamp(0.0, 1.0)),
                Activation::SCReLU => dot(accumulator, weights, rows, |a| {
                    let clipped = a.clamp(0.0, 1.0);
                    clipped * clipped
                }),
            });
        }
        sum * f64::from(self.scale)
    }

    /// The activations of what was looked at, `[views * hidden]`.
    pub fn activations(&self, room: &Hidden) -> impl Iterator<Item = f32> {
        let activation = self.architecture.activation;
        room.accumulators.iter().map(move |&a| match activation {
            Activation::ReLU => a.max(0.0),
            Activation::CReLU => a.clamp(0.0, 1.0),
            Activation::SCReLU => a.clamp(0.0, 1.0).powi(2),
        })
    }
}

#[inline(always)]
fn dot(
    accumulator: &[f32],
    weights: &[f32],
    [leaving, coming]: [&[f32]; 2],
    activation: impl Fn(f32) -> f32,
) -> f32 {
    match (leaving, coming) {
        ([], []) => lanes(accumulator.len(), |i| activation(accumulator[i]) * weights[i]),
        (_, []) => {
            let (accumulator, leaving) = (&accumulator[..weights.len()], &leaving[..weights.len()]);
            lanes(weights.len(), |i| activation(accumulator[i] - leaving[i]) * weights[i])
        }
        _ => lanes(weights.len(), |i| {
            activation(accumulator[i] - leaving[i] + coming[i]) * weights[i]
        }),
    }
}

/// The sum of `each(i)` over `0..len`, in an order that `len` alone decides.
#[inline(always)]
fn lanes(len: usize, each: impl Fn(usize) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let whole = len / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += each(first + lane);
        }
    }
    let rest: f32 = (whole..len).map(&each).sum();
    sums.iter().sum::<f32>() + rest
}
