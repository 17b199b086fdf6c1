//! A score between two.

use std::fmt;

/// How a position's own score and a new one become one: as expected results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Of the new score, above 0 and below 1; the rest is the old one's.
    pub share: f64,
    /// Centipawns that make one logit, of both scores.
    pub scale: f64,
}

impl Mix {
    /// The score that promises as much as both together: `sigmoid(it / scale) = share *
    /// sigmoid(new / scale) + (1 - share) * sigmoid(old / scale)`, rounded.
    pub fn of(self, new: i16, old: i16) -> i16 {
        let promise = |sign: f64| {
            let of = |score: i16| 1.0 / (1.0 + (-sign * f64::from(score) / self.scale).exp());
            self.share * of(new) + (1.0 - self.share) * of(old)
        };
        // Both ends apart, so that neither is lost beside 1.
        let score = self.scale * (promise(1.0) / promise(-1.0)).ln();
        let (low, high) = (new.min(old), new.max(old));
        // Beyond what floats can tell from certainty, and never beyond the two.
        if score.is_nan() { new } else { (score.round() as i16).clamp(low, high) }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} cp", self.share, self.scale)
    }
}
