//! The expected result of a logit, and the loss of an error.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// The loss of a position with expected result `p` and target `t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    pub shape: LossShape,
    pub power: f64,
    /// The asymmetry, above -1: where `p` is above `t` the loss is multiplied by `1 + asymmetry`.
    pub asymmetry: f64,
}

impl Display for Loss {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.shape {
            LossShape::Squared => f.write_str("squared error")?,
            LossShape::Power => write!(f, "error to the power of {}", self.power)?,
            LossShape::CrossEntropy => f.write_str("cross entropy")?,
        }
        match self.asymmetry {
            0.0 => Ok(()),
            asymmetry => write!(f, ", times {} above the target", 1.0 + asymmetry),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossShape {
    #[default]
    Squared,
    /// The absolute error to the power of `power`: above 2, large errors weigh more.
    Power,
    /// The cross entropy `-t ln p - (1 - t) ln (1 - p)`; its derivative is the error.
    #[serde(rename = "cross entropy")]
    CrossEntropy,
}

impl Loss {
    pub const SQUARED: Self = Self { shape: LossShape::Squared, power: 2.5, asymmetry: 0.0 };

    pub fn value_at(self, logit: f64, target: f64) -> f64 {
        let error = sigmoid(logit) - target;
        let cost = match self.shape {
            LossShape::Squared => error * error,
            LossShape::Power => error.abs().powf(self.power),
            LossShape::CrossEntropy => {
                logit.max(0.0) - target * logit + (-logit.abs()).exp().ln_1p()
            }
        };
        cost * self.error_weight(error)
    }

    /// The derivative of the loss with respect to the logit; 0 where it is undefined.
    pub fn derivative(self, logit: f64, target: f64) -> f64 {
        let expected = sigmoid(logit);
        let error = expected - target;
        let gradient = expected * (1.0 - expected);
        let derivative = match self.shape {
            LossShape::Squared => 2.0 * error * gradient,
            LossShape::Power => {
                self.power * error.abs().powf(self.power - 1.0) * error.signum() * gradient
            }
            LossShape::CrossEntropy => error,
        };
        derivative * self.error_weight(error)
    }

    fn error_weight(self, error: f64) -> f64 {
        if error > 0.0 { 1.0 + self.asymmetry } else { 1.0 }
    }
}

/// The expected result of a logit, `1 / (1 + e^-logit)`.
pub fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}
