//! Activations of neurons. A row of [`Activation::row`] defines one completely: values,
//! derivatives, bounds, integers, kernels and engine code follow from its curves.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(0, x)`.
    ReLU,
    /// `clamp(x, 0, 1)`.
    CReLU,
    /// `clamp(x, 0, 1)^2`.
    SCReLU,
    /// `max(0, x)^2`.
    SqrReLU,
    /// `clamp(x, 0, 1)` of all neurons, and behind them `clamp(x^2, 0, 1)` of all: twice as many
    /// numbers. For layers of the head only.
    Dual,
}

impl Activation {
    pub const ALL: [Self; 5] = [Self::ReLU, Self::CReLU, Self::SCReLU, Self::SqrReLU, Self::Dual];

    /// Name, and the curves that the values go through, side by side.
    fn row(self) -> (&'static str, &'static [Curve]) {
        const RELU: Curve = Curve { inner: 1, bounded: false, outer: 1 };
        const CRELU: Curve = Curve { inner: 1, bounded: true, outer: 1 };
        const SCRELU: Curve = Curve { inner: 1, bounded: true, outer: 2 };
        const SQRRELU: Curve = Curve { inner: 1, bounded: false, outer: 2 };
        /// Unlike SCReLU it is not 0 below zero.
        const SQUARE: Curve = Curve { inner: 2, bounded: true, outer: 1 };
        match self {
            Self::ReLU => ("relu", &[RELU]),
            Self::CReLU => ("crelu", &[CRELU]),
            Self::SCReLU => ("screlu", &[SCRELU]),
            Self::SqrReLU => ("sqrrelu", &[SQRRELU]),
            Self::Dual => ("dual", &[CRELU, SQUARE]),
        }
    }

    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn curves(self) -> &'static [Curve] {
        self.row().1
    }

    pub fn curve(self) -> Curve {
        self.curves()[0]
    }
}

/// A function of one number: `clamp(x^inner, 0, bound)^outer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Curve {
    /// 1 or 2.
    pub inner: u32,
    /// Whether the upper end is 1; else there is none.
    pub bounded: bool,
    /// 1 or 2; 1 where `inner` is 2.
    pub outer: u32,
}

impl Curve {
    /// The power of large values: 1 or 2.
    pub fn degree(self) -> u32 {
        self.inner * self.outer
    }

    /// Value in f64, for oracles and proofs.
    pub fn value(self, x: f64) -> f64 {
        let raised = if self.inner == 2 { x * x } else { x };
        let clamped = raised.clamp(0.0, if self.bounded { 1.0 } else { f64::INFINITY });
        if self.outer == 2 { clamped * clamped } else { clamped }
    }

    #[inline(always)]
    pub fn value_f32(self, x: f32) -> f32 {
        let raised = if self.inner == 2 { x * x } else { x };
        let clamped = raised.clamp(0.0, if self.bounded { 1.0 } else { f32::INFINITY });
        if self.outer == 2 { clamped * clamped } else { clamped }
    }

    /// Appends the values of integers in units of `one`, in units of `one^degree`. Engines have
    /// i16: curves without an upper end end at that of i16.
    #[inline(always)]
    pub fn integers(self, x: &[i32], one: i32, to: &mut Vec<i32>) {
        let top = self.ceiling(one);
        let squared = |x: i32| x * x;
        match (self.inner, self.outer) {
            (1, 1) => to.extend(x.iter().map(|x| (*x).clamp(0, top))),
            (1, _) => to.extend(x.iter().map(|x| squared((*x).clamp(0, top)))),
            _ => to.extend(x.iter().map(|x| squared((*x).clamp(-top, top)))),
        }
    }

    /// Largest integer that is not clamped, in units of `one`.
    pub fn ceiling(self, one: i32) -> i32 {
        if self.bounded { one } else { i16::MAX.into() }
    }

    /// Derivative; at the ends it equals that of Burn's operations.
    #[inline(always)]
    pub fn derivative_f32(self, x: f32) -> f32 {
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
