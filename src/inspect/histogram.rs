//! Counts of values in steps.

use serde::Serialize;

/// How many values fall into each step between two ends; the first and the last step also have
/// what lies beyond.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    pub low: f64,
    pub high: f64,
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Steps of equal width from `low` to `high`, which must be the larger.
    pub fn new(low: f64, high: f64, steps: usize) -> Self {
        Self { low, high, counts: vec![0; steps] }
    }

    /// The lower end of a step.
    pub fn edge(&self, step: usize) -> f64 {
        self.low + (self.high - self.low) * step as f64 / self.counts.len() as f64
    }

    pub fn add(&mut self, value: f64) {
        let last = self.counts.len() - 1;
        let step = (value - self.low) / (self.high - self.low) * self.counts.len() as f64;
        self.counts[(step.max(0.0) as usize).min(last)] += 1;
    }

    /// Adds the counts of another with the same steps.
    pub fn join(&mut self, other: &Self) {
        let both = self.counts.iter_mut().zip(&other.counts);
        both.for_each(|(sum, count)| *sum += count);
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}
