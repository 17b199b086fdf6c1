//! What the kernels work on: a net's shape, its numbers, a batch of positions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Level;
use crate::architecture::Activation;

/// A net `(inputs -> hidden) x views -> 1`, and how to compute it.
#[derive(Clone, Copy, Debug)]
pub struct Net {
    /// Rows of the accumulator's weights, 1 to 65,535. Beyond 8,191 the kernels are a tenth slower.
    pub inputs: usize,
    /// Any number from 1; multiples of 32 waste nothing.
    pub hidden: usize,
    /// 1 or 2.
    pub views: usize,
    pub activation: Activation,
    pub precision: Precision,
    pub level: Level,
}

/// How many bits the inner loops move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats throughout.
    #[default]
    F32,
    /// 16-bit fixed point in the inner loops: the forward pass sees weights and biases rounded to
    /// multiples of 2^-12 and held within ±8, and so for the sums (a ReLU never exceeds 8); the
    /// gradients of accumulator values are rounded to 1/4095 of the largest of their chunk and
    /// column. Weights, output layer, loss and gradients of weights stay 32-bit floats.
    Mixed,
}

impl Precision {
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Mixed => "mixed",
        }
    }
}

/// The parameters of a net.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// `[inputs, hidden]`
    pub accumulator: &'a [f32],
    /// `[hidden]`
    pub bias: &'a [f32],
    /// `[views, hidden]`
    pub output: &'a [f32],
    pub output_bias: f32,
}

/// Where the gradients go, in the shapes of [`Weights`]. What was there is overwritten.
#[derive(Debug)]
pub struct Gradients<'a> {
    pub accumulator: &'a mut [f32],
    pub bias: &'a mut [f32],
    pub output: &'a mut [f32],
    pub output_bias: &'a mut f32,
}

/// The active inputs of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a> {
    /// `[batch, views, places]`; an input that occurs twice counts twice, places that hold
    /// `inputs` count for nothing.
    pub indices: &'a [u16],
    /// Places a list, 1 or more.
    pub places: usize,
}

impl Net {
    /// The number of positions, after checks of all shapes.
    ///
    /// # Panics
    /// When a slice does not fit the net.
    pub(super) fn check(&self, weights: Weights, positions: Positions) -> usize {
        let Net { inputs, hidden, views, .. } = *self;
        assert!((1..=u16::MAX.into()).contains(&inputs), "{inputs} inputs do not fit 16 bits");
        assert!(hidden > 0, "a net needs hidden neurons");
        assert!(matches!(views, 1 | 2), "a net has 1 or 2 views, not {views}");
        assert_eq!(weights.accumulator.len(), inputs * hidden, "weights of the accumulator");
        assert_eq!(weights.bias.len(), hidden, "biases of the accumulator");
        assert_eq!(weights.output.len(), views * hidden, "weights of the output");
        assert!((1..=256).contains(&positions.places), "{} places a list", positions.places);
        let size = views * positions.places;
        assert_eq!(positions.indices.len() % size, 0, "indices are not whole positions");
        positions.indices.len() / size
    }

    /// # Panics
    /// When a slice does not fit the net.
    pub(super) fn check_gradients(&self, gradients: &Gradients) {
        let Net { inputs, hidden, views, .. } = *self;
        assert_eq!(gradients.accumulator.len(), inputs * hidden, "gradients of the accumulator");
        assert_eq!(gradients.bias.len(), hidden, "gradients of the biases");
        assert_eq!(gradients.output.len(), views * hidden, "gradients of the output");
    }
}
