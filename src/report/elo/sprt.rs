//! Whether a match may stop: a sequential probability ratio test between two differences in Elo.
//!
//! A. Wald's test, generalised to what is not known besides the difference: how often pairs score
//! what. Of all distributions of a pair's score that have the difference of a hypothesis, the one
//! is taken that suits the counts best; LLR is the logarithm of how much better H1's explains them
//! than H0's. As in fastchess a count of 0 stands for a thousandth, so that one kind of pair alone
//! does not end a match.
//!
//! With many pairs and small differences it comes to `n (s1 - s0) (2 m - s0 - s1) / (2 v)`, where
//! `s0` and `s1` are the expected scores; that formula alone would stop after the first pairs, when
//! they happen to be equal.
//!
//! An interval taken when the test has stopped leans to the side on which it stopped: what follows
//! from the test is its [decision](Sprt::decide), no more.
//!
//! Source: M. Van den Bergh, "Comments on Normalized Elo" (2020), propositions 1.1 and 4.1.

use serde::Serialize;

use super::{NORMALISED, Pairs, SCORES, expected};

/// What Elo means in a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// By the expected score.
    #[default]
    Logistic,
    /// By the expected score in units of what a game scatters.
    Normalised,
}

/// A sequential test of H0, the difference is `elo0`, against H1, it is `elo1`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sprt {
    pub elo0: f64,
    /// Above `elo0`.
    pub elo1: f64,
    /// The chance to accept H1 where H0 holds, above 0.
    pub alpha: f64,
    /// The chance to accept H0 where H1 holds, above 0; the two are below 1 together.
    pub beta: f64,
    pub scale: Scale,
}

/// What a test says so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Decision {
    GoOn,
    H0,
    H1,
}

/// No test.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SprtError {
    #[error("a test between {elo0} and {elo1} Elo; expected the first to be smaller")]
    Order { elo0: f64, elo1: f64 },
    #[error("a test at {elo} Elo; expected -{most} to {most}")]
    Size { elo: f64, most: f64 },
    #[error("alpha {alpha} and beta {beta}; expected both above 0, and below 1 together")]
    Errors { alpha: f64, beta: f64 },
}

/// Elo beyond this is no matter of tests.
const LARGEST: f64 = 1000.0;
/// The same of normalised Elo: half of a game's standard deviation is 174.
const LARGEST_NORMALISED: f64 = 200.0;

/// What stands for a count of 0.
const NONE_SEEN: f64 = 1e-3;

impl Sprt {
    /// The same, if it is a test.
    pub fn checked(self) -> Result<Self, SprtError> {
        let Self { elo0, elo1, alpha, beta, .. } = self;
        let most = match self.scale {
            Scale::Logistic => LARGEST,
            Scale::Normalised => LARGEST_NORMALISED,
        };
        if let Some(elo) = [elo0, elo1].into_iter().find(|elo| elo.is_nan() || elo.abs() > most) {
            return Err(SprtError::Size { elo, most });
        }
        if elo0 >= elo1 {
            return Err(SprtError::Order { elo0, elo1 });
        }
        let fine = alpha > 0.0 && beta > 0.0 && alpha + beta < 1.0;
        if fine { Ok(self) } else { Err(SprtError::Errors { alpha, beta }) }
    }

    /// The LLR at which H0 is accepted, and that at which H1 is.
    pub fn bounds(&self) -> [f64; 2] {
        [(self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln()]
    }

    /// The logarithm of the generalised likelihood ratio, above 0 where H1 explains the pairs
    /// better; 0 without pairs.
    pub fn llr(&self, pairs: &Pairs) -> f64 {
        if pairs.is_empty() {
            return 0.0;
        }
        let counts = pairs.counts().map(|count| if count == 0 { NONE_SEEN } else { count as f64 });
        let total: f64 = counts.iter().sum();
        let seen = counts.map(|count| count / total);
        let [h0, h1] = [self.elo0, self.elo1].map(|elo| match self.scale {
            Scale::Logistic => tilted(&seen, &SCORES.map(|score| score - expected(elo))),
            Scale::Normalised => normalised(&seen, 2_f64.sqrt() * elo / NORMALISED),
        });
        (0..5).map(|i| counts[i] * (h1[i] / h0[i]).ln()).sum()
    }

    /// What the pairs so far decide. To be asked after each pair or after batches of them, and no
    /// more once it is decided.
    pub fn decide(&self, pairs: &Pairs) -> Decision {
        let [low, high] = self.bounds();
        match self.llr(pairs) {
            llr if llr >= high => Decision::H1,
            llr if llr <= low => Decision::H0,
            _ => Decision::GoOn,
        }
    }

    /// What the pairs so far decide, in words.
    pub fn sentence(&self, pairs: &Pairs) -> String {
        let [low, high] = self.bounds();
        let Self { elo0, elo1, .. } = self;
        let unit = match self.scale {
            Scale::Logistic => "Elo",
            Scale::Normalised => "normalised Elo",
        };
        let llr = format!("LLR {:.2} ({low:.2} to {high:.2})", self.llr(pairs));
        match self.decide(pairs) {
            Decision::GoOn => format!("{llr}: open between {elo0} and {elo1} {unit}."),
            Decision::H0 => format!("{llr}: H0, {elo0} {unit}, is accepted against {elo1}."),
            Decision::H1 => format!("{llr}: H1, {elo1} {unit}, is accepted against {elo0}."),
        }
    }
}

/// Of all distributions in which `values` have the mean 0, the one that makes what was seen most
/// likely. Some of the values are below 0 and some above, and everything was seen.
fn tilted(seen: &[f64; 5], values: &[f64; 5]) -> [f64; 5] {
    // Each share is divided by 1 + theta * value; the sum below falls from endless to minus
    // endless between the poles.
    // A first guess may have all values on one side; then it goes as far as there is sense in.
    let least = values.iter().copied().fold(-1e-6, f64::min);
    let most = values.iter().copied().fold(1e-6, f64::max);
    let (mut low, mut high) = (-1.0 / most, -1.0 / least);
    let mut theta = 0.0;
    for _ in 0..200 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (share, value) in seen.iter().zip(values) {
            let part = value / (1.0 + theta * value);
            sum += share * part;
            slope += share * part * part;
        }
        if sum > 0.0 {
            low = theta;
        } else {
            high = theta;
        }
        let newton = theta + sum / slope;
        let next = if low < newton && newton < high { newton } else { 0.5 * (low + high) };
        let done = (next - theta).abs() <= 1e-13 * (1.0 + theta.abs());
        theta = next;
        if done {
            break;
        }
    }
    std::array::from_fn(|i| seen[i] / (1.0 + theta * values[i]))
}

/// Of all distributions whose mean lies `t` standard deviations above a half, the one that makes
/// what was seen most likely: the condition is made straight at a first guess, met, and made
/// straight again.
fn normalised(seen: &[f64; 5], t: f64) -> [f64; 5] {
    let mut shares = [0.2; 5];
    for _ in 0..200 {
        let mean: f64 = shares.iter().zip(SCORES).map(|(share, score)| share * score).sum();
        let square = |score: f64| (score - mean) * (score - mean);
        let variance: f64 = shares.iter().zip(SCORES).map(|(share, x)| share * square(x)).sum();
        let deviation = variance.sqrt();
        let value = |x: f64| x - 0.5 - 0.5 * t * deviation * (1.0 + square(x) / variance);
        let next = tilted(seen, &SCORES.map(value));
        let moved: f64 = next.iter().zip(shares).map(|(a, b)| (a - b).abs()).sum();
        shares = next;
        if moved < 1e-10 {
            break;
        }
    }
    shares
}
