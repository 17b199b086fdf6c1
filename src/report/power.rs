//! A power law through a learning curve: `loss = floor + height * (size / unit)^-exponent`.

use serde::Serialize;

use super::fit::golden;

/// A falling curve that flattens out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// What endless growth would reach, if the curve went on for ever.
    pub floor: f64,
    /// What is left above the floor at the size of [`unit`](Self::unit).
    pub height: f64,
    pub exponent: f64,
    /// The smallest size, in whose multiples the height is stated.
    pub unit: f64,
    /// The largest distance of a point from the curve.
    pub residual: f64,
    /// The share of the variance of the losses that the curve explains.
    pub explained: f64,
}

/// The exponents that are searched. Published curves lie between 0.05 and 1; beyond the ends, the
/// law cannot be told from a logarithm or from a single step.
const EXPONENTS: [f64; 2] = [0.02, 4.0];

/// Steps of the coarse search over the logarithm of the exponent.
const STEPS: usize = 24;

/// A curve that explains less is not one.
const EXPLAINS: f64 = 0.95;

impl Power {
    /// Sizes from which a curve of three numbers can be told to fit.
    pub const LEAST: usize = 4;

    pub fn at(&self, size: f64) -> f64 {
        self.floor + self.height * (size / self.unit).powf(-self.exponent)
    }

    /// The curve, where it says something; else why not.
    pub(super) fn sensible(sizes: &[f64], losses: &[f64]) -> Result<Self, String> {
        if sizes.len() < Self::LEAST {
            return Err(format!(
                "a curve of three numbers needs at least {} sizes, found {}",
                Self::LEAST,
                sizes.len()
            ));
        }
        let power = power(sizes, losses);
        let [low, high] = EXPONENTS;
        if power.height <= 0.0 {
            return Err("the loss does not fall with size".to_string());
        }
        if power.exponent < low * 1.01 || power.exponent > high / 1.01 {
            return Err("the points do not determine how it flattens out".to_string());
        }
        if power.floor < 0.0 {
            return Err("it would end below zero, where no loss can be".to_string());
        }
        if power.explained < EXPLAINS {
            return Err(format!(
                "a power law explains only {:.0} % of what the points do",
                100.0 * power.explained
            ));
        }
        Ok(power)
    }
}

/// The power law of least squares: for each exponent a line, whose squares decide between the
/// exponents. A curve that would rise is flat. Sizes are ascending, at least two.
pub(super) fn power(sizes: &[f64], losses: &[f64]) -> Power {
    let [low, high] = EXPONENTS.map(f64::ln);
    let at = |step: usize| low + (high - low) * step as f64 / STEPS as f64;
    let squares = |x: f64| line(sizes, losses, x.exp()).1;
    let coarse: Vec<f64> = (0..=STEPS).map(|step| squares(at(step))).collect();
    let best = (0..=STEPS).min_by(|a, b| coarse[*a].total_cmp(&coarse[*b])).unwrap_or(0);
    let x = golden(squares, at(best.saturating_sub(1)), at((best + 1).min(STEPS)));
    let x = if coarse[best] < squares(x) { at(best) } else { x };
    line(sizes, losses, x.exp()).0
}

/// The best curve of one exponent, and its squared errors.
fn line(sizes: &[f64], losses: &[f64], exponent: f64) -> (Power, f64) {
    let unit = sizes[0];
    let x = |i: usize| (sizes[i] / unit).powf(-exponent);
    let count = losses.len();
    let mean = |of: &dyn Fn(usize) -> f64| (0..count).map(of).sum::<f64>() / count as f64;
    let (middle, centre) = (mean(&x), mean(&|i| losses[i]));
    let slope = mean(&|i| (x(i) - middle) * (losses[i] - centre));
    let height = (slope / mean(&|i| (x(i) - middle).powi(2))).max(0.0);
    let floor = centre - height * middle;
    let off = |i: usize| losses[i] - floor - height * x(i);
    let residual = (0..count).map(|i| off(i).abs()).fold(0.0, f64::max);
    let squares = mean(&|i| off(i).powi(2));
    let variance = mean(&|i| (losses[i] - centre).powi(2));
    let explained = if variance > 0.0 { 1.0 - squares / variance } else { 0.0 };
    (Power { floor, height, exponent, unit, residual, explained }, squares)
}
