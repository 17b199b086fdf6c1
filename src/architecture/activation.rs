//! Activations of neurons.

use serde::{Deserialize, Serialize};

/// What is done to the numbers of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(0, a)`.
    ReLU,
    /// `clamp(a, 0, 1)`.
    CReLU,
    /// `clamp(a, 0, 1)^2`.
    SCReLU,
}

/// What the neurons of a layer of the head do to their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerActivation {
    /// `max(0, x)`.
    ReLU,
    /// `clamp(x, 0, 1)`.
    CReLU,
    /// `clamp(x, 0, 1)^2`.
    SCReLU,
    /// `clamp(x, 0, 1)` of all neurons, and behind them `clamp(x^2, 0, 1)` of all: twice as many
    /// numbers.
    Dual,
}

/// A function of one number: `clamp(x^inner, 0, bound)^outer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Curve {
    /// 1 or 2.
    pub inner: u32,
    /// Whether the upper end is 1; else there is none.
    pub bounded: bool,
    /// 1 or 2.
    pub outer: u32,
}

impl Curve {
    pub const RELU: Self = Self { inner: 1, bounded: false, outer: 1 };
    pub const CRELU: Self = Self { inner: 1, bounded: true, outer: 1 };
    pub const SCRELU: Self = Self { inner: 1, bounded: true, outer: 2 };
    /// `clamp(x^2, 0, 1)`: unlike SCReLU it answers to values below zero.
    pub const SQUARE: Self = Self { inner: 2, bounded: true, outer: 1 };

    pub fn top(self) -> f64 {
        if self.bounded { 1.0 } else { f64::INFINITY }
    }

    /// The value in f64, for oracles and proofs.
    pub fn value(self, x: f64) -> f64 {
        let raised = if self.inner == 2 { x * x } else { x };
        let clamped = raised.clamp(0.0, self.top());
        if self.outer == 2 { clamped * clamped } else { clamped }
    }

    /// The value in f32.
    #[inline(always)]
    pub fn value_f32(self, x: f32) -> f32 {
        let raised = if self.inner == 2 { x * x } else { x };
        let clamped = raised.clamp(0.0, if self.bounded { 1.0 } else { f32::INFINITY });
        if self.outer == 2 { clamped * clamped } else { clamped }
    }

    /// The derivative; at the ends that of Burn's operations.
    #[inline(always)]
    pub fn slope_f32(self, x: f32) -> f32 {
        let raised = if self.inner == 2 { x * x } else { x };
        let inside = match self.bounded {
            true => (0.0..=1.0).contains(&raised),
            false => raised > 0.0,
        };
        let outer = if self.outer == 2 { 2.0 * raised } else { 1.0 };
        let inner = if self.inner == 2 { 2.0 * x } else { 1.0 };
        if inside { outer * inner } else { 0.0 }
    }
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

    pub fn curve(self) -> Curve {
        match self {
            Activation::ReLU => Curve::RELU,
            Activation::CReLU => Curve::CRELU,
            Activation::SCReLU => Curve::SCRELU,
        }
    }

    /// The value in f64, for oracles and proofs.
    pub fn apply(self, a: f64) -> f64 {
        self.curve().value(a)
    }
}

impl LayerActivation {
    pub const ALL: [LayerActivation; 4] = [
        LayerActivation::ReLU,
        LayerActivation::CReLU,
        LayerActivation::SCReLU,
        LayerActivation::Dual,
    ];

    pub fn name(self) -> &'static str {
        match self {
            LayerActivation::ReLU => "relu",
            LayerActivation::CReLU => "crelu",
            LayerActivation::SCReLU => "screlu",
            LayerActivation::Dual => "dual",
        }
    }

    /// The functions that the values go through, side by side.
    pub fn curves(self) -> &'static [Curve] {
        match self {
            LayerActivation::ReLU => &[Curve::RELU],
            LayerActivation::CReLU => &[Curve::CRELU],
            LayerActivation::SCReLU => &[Curve::SCRELU],
            LayerActivation::Dual => &[Curve::CRELU, Curve::SQUARE],
        }
    }
}
