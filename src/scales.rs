//! The factors between floats, integers and centipawns. Every bound and conversion uses them.

use serde::{Deserialize, Serialize};

/// Quantisation: accumulator weights are stored times `qa`, output weights times `qb`, and one
/// unit of the net's output is `scale` centipawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    pub qa: i32,
    pub qb: i32,
    pub scale: i32,
}

impl Default for Scales {
    fn default() -> Self {
        Self { qa: 255, qb: 64, scale: 400 }
    }
}

impl std::fmt::Display for Scales {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "QA {}, QB {}, SCALE {}", self.qa, self.qb, self.scale)
    }
}
