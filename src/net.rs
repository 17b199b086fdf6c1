//! The quantised net: its integers, its file and its evaluation.
//!
//! The file has no header: i16, little-endian, accumulator weights `[input][neuron]`, accumulator
//! biases `[neuron]`, output weights `[view * hidden + neuron]` (side to move first), output
//! bias, then the text `bullet` over and over up to a multiple of 64 bytes. Source: the
//! `quantised.bin` of the trainer bullet, which the engines in use load.
//!
//! What the file does not say (feature set, activation, scales) is given as [`Hints`], and comes
//! from the manifest where there is one.

mod evaluate;
mod read;

pub use read::{NetError, Warning};

use crate::architecture::{Activation, Architecture};
use crate::features::Features;
use crate::scales::Scales;

/// The file is filled up to a multiple of this, with [`PADDING`].
pub const ALIGNMENT: usize = 64;
pub const PADDING: &[u8] = b"bullet";

/// The most that QA, QB and SCALE may be: with it every product of the evaluation fits an i64.
pub const MAX_SCALE: i32 = i16::MAX as i32;

/// What a net's file does not say about itself.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    pub features: &'static Features,
    pub activation: Activation,
    pub scales: Scales,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            features: &crate::features::chess768::PERSPECTIVE,
            activation: Activation::SCReLU,
            scales: Scales::default(),
        }
    }
}

/// A quantised net.
#[derive(Clone, Debug)]
pub struct Net {
    architecture: Architecture,
    scales: Scales,
    /// `[inputs][hidden]`, times QA.
    accumulator_weights: Vec<i16>,
    /// `[hidden]`, times QA.
    accumulator_bias: Vec<i16>,
    /// `[views * hidden]`, times QB.
    output_weights: Vec<i16>,
    /// Times QA * QB.
    output_bias: i16,
}

impl Net {
    /// A net of these integers, in the order of the file.
    ///
    /// # Errors
    /// If a scale is outside 1..=[`MAX_SCALE`], or a number of integers is not what the
    /// architecture needs.
    pub fn new(
        architecture: Architecture,
        scales: Scales,
        accumulator_weights: Vec<i16>,
        accumulator_bias: Vec<i16>,
        output_weights: Vec<i16>,
        output_bias: i16,
    ) -> Result<Self, NetError> {
        check_scales(scales)?;
        let Architecture { features, hidden, .. } = architecture;
        for (part, found, expected) in [
            ("accumulator weights", accumulator_weights.len(), features.inputs * hidden),
            ("accumulator biases", accumulator_bias.len(), hidden),
            ("output weights", output_weights.len(), features.views * hidden),
        ] {
            if found != expected || hidden == 0 {
                return Err(NetError::Parts { part, found, expected });
            }
        }
        Ok(Self {
            architecture,
            scales,
            accumulator_weights,
            accumulator_bias,
            output_weights,
            output_bias,
        })
    }

    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    pub fn scales(&self) -> Scales {
        self.scales
    }

    /// `[inputs][hidden]`, times QA.
    pub fn accumulator_weights(&self) -> &[i16] {
        &self.accumulator_weights
    }

    /// The weights of one input, `[hidden]`, times QA.
    pub fn row(&self, input: usize) -> &[i16] {
        let hidden = self.architecture.hidden;
        &self.accumulator_weights[input * hidden..][..hidden]
    }

    /// `[hidden]`, times QA.
    pub fn accumulator_bias(&self) -> &[i16] {
        &self.accumulator_bias
    }

    /// `[views * hidden]`, times QB; the side to move's half first.
    pub fn output_weights(&self) -> &[i16] {
        &self.output_weights
    }

    /// Times QA * QB.
    pub fn output_bias(&self) -> i16 {
        self.output_bias
    }

    /// The bytes of the file, padding included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let integers = self
            .accumulator_weights
            .iter()
            .chain(&self.accumulator_bias)
            .chain(&self.output_weights)
            .chain([&self.output_bias]);
        let mut bytes: Vec<u8> = integers.flat_map(|integer| integer.to_le_bytes()).collect();
        let padded = bytes.len().next_multiple_of(ALIGNMENT);
        let padding = PADDING.iter().copied().cycle().take(padded - bytes.len());
        bytes.extend(padding);
        bytes
    }
}

/// Bytes of a net's file before the padding.
pub fn payload(inputs: usize, views: usize, hidden: usize) -> usize {
    2 * ((inputs + 1 + views) * hidden + 1)
}

fn check_scales(scales: Scales) -> Result<(), NetError> {
    for (name, value) in [("QA", scales.qa), ("QB", scales.qb), ("SCALE", scales.scale)] {
        if !(1..=MAX_SCALE).contains(&value) {
            return Err(NetError::Scale { name, value });
        }
    }
    Ok(())
}
