//! Activation functions. [`Activation::curves`] defines one completely: values, derivatives, bounds,
//! integers, kernels and engine code follow from its curves.

use serde::{Deserialize, Serialize};

use crate::features::Language;

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
    /// `clamp(x, 0, 1)` of all neurons, then `clamp(x^2, 0, 1)` of all. For layers of the head only.
    Dual,
    /// `clamp(x, 0, 1)` of all neurons, then `clamp(x, 0, 1)^2` of all. For layers of the head only.
    #[serde(rename = "crelu-screlu")]
    CReLUSCReLU,
    /// `x clamp(x / 6 + 1/2, 0, 1)`. For layers of the head only.
    HardSwish,
}

words!(
    Activation: ReLU = "relu",
    CReLU = "crelu",
    SCReLU = "screlu",
    SqrReLU = "sqrrelu",
    Dual = "dual",
    CReLUSCReLU = "crelu-screlu",
    HardSwish = "hardswish"
);

impl Activation {
    /// The curves that are applied to all values; their results are concatenated.
    pub fn curves(self) -> &'static [Curve] {
        const RELU: Curve = Curve { inner: 1, bounded: false, outer: 1, gated: false };
        const CRELU: Curve = Curve { bounded: true, ..RELU };
        const SCRELU: Curve = Curve { outer: 2, ..CRELU };
        const SQRRELU: Curve = Curve { outer: 2, ..RELU };
        /// A curve that, unlike SCReLU, is not 0 below zero.
        const SQUARE: Curve = Curve { inner: 2, ..CRELU };
        const HARD_SWISH: Curve = Curve { gated: true, ..RELU };
        match self {
            Self::ReLU => &[RELU],
            Self::CReLU => &[CRELU],
            Self::SCReLU => &[SCRELU],
            Self::SqrReLU => &[SQRRELU],
            Self::Dual => &[CRELU, SQUARE],
            Self::CReLUSCReLU => &[CRELU, SCRELU],
            Self::HardSwish => &[HARD_SWISH],
        }
    }

    pub fn curve(self) -> Curve {
        self.curves()[0]
    }

    /// Whether accumulators, whose values are integers, may have this activation.
    pub fn is_for_accumulators(self) -> bool {
        matches!(self.curves(), [curve] if curve.inner == 1 && !curve.gated)
    }
}

/// A function of one number: `clamp(x^inner, 0, bound)^outer`, or `x clamp(x / 6 + 1/2, 0, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Curve {
    /// The inner exponent, 1 or 2.
    pub inner: u32,
    /// Whether the upper bound is 1; else there is none.
    pub bounded: bool,
    /// The outer exponent, 1 or 2; 1 if `inner` is 2.
    pub outer: u32,
    /// Whether the function is the second one, a hard swish, which has no upper bound.
    pub gated: bool,
}

/// Implements the value in a float type.
macro_rules! value_in {
    ($float:ident, $value:ident) => {
        #[inline(always)]
        pub fn $value(self, x: $float) -> $float {
            if self.gated {
                return x * (x / 6.0 + 0.5).clamp(0.0, 1.0);
            }
            let raised = if self.inner == 2 { x * x } else { x };
            let clamped = raised.clamp(0.0, if self.bounded { 1.0 } else { $float::INFINITY });
            if self.outer == 2 { clamped * clamped } else { clamped }
        }
    };
}

impl Curve {
    value_in!(f64, value);
    value_in!(f32, value_f32);

    /// The derivative; at the bounds it equals the derivative of Burn's operations.
    #[inline(always)]
    pub fn derivative_f32(self, x: f32) -> f32 {
        if self.gated {
            let gate = x / 6.0 + 0.5;
            let inside = if (0.0..=1.0).contains(&gate) { x / 6.0 } else { 0.0 };
            return gate.clamp(0.0, 1.0) + inside;
        }
        let raised = if self.inner == 2 { x * x } else { x };
        let inside = if self.bounded { (0.0..=1.0).contains(&raised) } else { raised > 0.0 };
        let outer = if self.outer == 2 { 2.0 * raised } else { 1.0 };
        let inner = if self.inner == 2 { 2.0 * x } else { 1.0 };
        if inside { outer * inner } else { 0.0 }
    }

    /// The power of large values: 1 or 2.
    pub fn growth_degree(self) -> u32 {
        self.inner * self.outer
    }

    /// Applies the curve to integers in units of `unit` and appends results in units of
    /// `unit^degree`. Curves without an upper bound end at that of i16, as engines use i16.
    #[inline(always)]
    pub fn apply_to_integers(self, x: &[i32], unit: i32, output: &mut Vec<i32>) {
        let top = self.integer_ceiling(unit);
        let squared = |x: i32| x * x;
        // `clamp` would check the bounds in the loop.
        match (self.inner, self.outer) {
            (1, 1) => output.extend(x.iter().map(|x| (*x).max(0).min(top))),
            (1, _) => output.extend(x.iter().map(|x| squared((*x).max(0).min(top)))),
            _ => output.extend(x.iter().map(|x| squared((*x).max(-top).min(top)))),
        }
    }

    /// The largest integer that is not clamped, in units of `unit`.
    pub fn integer_ceiling(self, unit: i32) -> i32 {
        if self.bounded { unit } else { i16::MAX.into() }
    }

    /// Writes engine code of the value of a variable.
    pub fn engine_code(self, language: Language, x: &str) -> String {
        let clamp = |x: &str, bounded: bool| {
            let rust =
                format!("({x}).clamp(0.0, {})", if bounded { "1.0" } else { "f32::INFINITY" });
            let c = format!("nnue_clamp({x}, {})", if bounded { "1" } else { "INFINITY" });
            language.choose_between(rust, c)
        };
        if self.gated {
            let f = language.choose_between("", "F");
            return format!("{x} * {}", clamp(&format!("{x} / 6.0{f} + 0.5{f}"), true));
        }
        let raised = if self.inner == 2 { format!("{x} * {x}") } else { x.into() };
        let clamped = clamp(&raised, self.bounded);
        match self.outer {
            2 => language
                .choose_between(format!("{clamped}.powi(2)"), format!("nnue_square({clamped})")),
            _ => clamped,
        }
    }
}
