//! Factors between floats, integers and centipawns, and the number format of layers.

use serde::{Deserialize, Serialize};

/// Quantisation: accumulator weights are stored times `qa`, the weights after them times `qb`
/// where they are integers, and one unit of the net's output is `scale` centipawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    pub qa: i32,
    pub qb: i32,
    pub scale: i32,
    /// The number format of the head. Nets with one output layer have integers and need `float`.
    #[serde(default, skip_serializing_if = "HeadFormat::is_usual")]
    pub head_format: HeadFormat,
    /// The right shift of the inputs of an `int8` head's first map; none: the least that leaves 127.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_shift: Option<u32>,
    /// Whether this shift rounds to nearest, halves up, and not down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head_round: bool,
}

/// The number format of layers after the accumulators and of pairwise products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadFormat {
    /// f32 everywhere.
    #[default]
    Float,
    /// The weights of the first map in i8 and its inputs in u8; f32 after it.
    Int8,
}

words!(HeadFormat: Float = "float", Int8 = "int8");

impl HeadFormat {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Scales {
    fn default() -> Self {
        Self {
            qa: 255,
            qb: 64,
            scale: 400,
            head_format: HeadFormat::Float,
            head_shift: None,
            head_round: false,
        }
    }
}

impl std::fmt::Display for Scales {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let head = if self.head_format == HeadFormat::Int8 { ", int8 head" } else { "" };
        write!(f, "QA {}, QB {}, SCALE {}{head}", self.qa, self.qb, self.scale)?;
        self.head_shift.map_or(Ok(()), |shift| write!(f, ", shift {shift}"))?;
        f.write_str(if self.head_round { ", rounded" } else { "" })
    }
}
