//! What a logit promises, and what an error costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The loss of a position whose expected result is off by `error`, as a probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The square of the error.
    #[default]
    Squared,
    /// The size of the error; for terms only.
    Absolute,
}

impl Loss {
    pub fn of(self, error: f64) -> f64 {
        match self {
            Loss::Squared => error * error,
            Loss::Absolute => error.abs(),
        }
    }

    /// The derivative by the error; 0 where there is none.
    pub fn slope(self, error: f64) -> f64 {
        match self {
            Loss::Squared => 2.0 * error,
            Loss::Absolute if error == 0.0 => 0.0,
            Loss::Absolute => error.signum(),
        }
    }
}

/// The expected result of a logit, `1 / (1 + e^-logit)`.
pub fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}
