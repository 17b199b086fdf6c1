//! What a net is, apart from its numbers: inputs, hidden size, activation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::Features;

/// What the hidden layer does to an accumulator value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(0, a)`.
    ReLU,
    /// `clamp(a, 0, 1)`.
    CReLU,
    /// `clamp(a, 0, 1)^2`.
    SCReLU,
}

impl Activation {
    pub const ALL: [Activation; 3] = [Activation::ReLU, Activation::CReLU, Activation::SCReLU];

    pub fn name(self) -> &'static str {
        match self {
            Activation::ReLU => "relu",
            Activation::CReLU => "crelu",
            Activation::SCReLU => "screlu",
        }
    }

    /// The value in f64, for oracles and proofs.
    pub fn apply(self, a: f64) -> f64 {
        match self {
            Activation::ReLU => a.max(0.0),
            Activation::CReLU => a.clamp(0.0, 1.0),
            Activation::SCReLU => a.clamp(0.0, 1.0).powi(2),
        }
    }
}

/// `(inputs -> hidden) x views -> 1`.
#[derive(Clone, Copy, Debug)]
pub struct Architecture {
    pub features: &'static Features,
    pub hidden: usize,
    pub activation: Activation,
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Features { name, inputs, views, .. } = self.features;
        let hidden = self.hidden;
        match views {
            1 => write!(f, "{inputs} -> {hidden} -> 1 {name} {}", self.activation.name()),
            _ => write!(f, "({inputs} -> {hidden})x{views} -> 1 {}", self.activation.name()),
        }
    }
}
