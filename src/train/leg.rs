//! What holds for a while: a run that is made longer has another schedule from then on.

use super::length::{Length, Span, Unit};
use super::schedule::{Schedule, TOLERANCE};

/// A part of a run, up to a step, with the schedule of the length that the run had then.
#[derive(Clone, Debug)]
pub struct Leg {
    /// The last step of the leg.
    pub until: u64,
    /// The length of the run that the schedule is made for.
    pub steps: u64,
    pub learning_rate: Schedule,
    /// Weight of the result in the target.
    pub wdl: Schedule,
    /// Steps before gradients are those of rounded weights, where the run has such.
    pub rounded_after: u64,
    /// Steps between validations.
    pub validate_every: u64,
    /// Steps between checkpoints.
    pub checkpoint_every: u64,
    pub keep: Option<Keep>,
}

/// When a checkpoint is kept for good, and under which name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keep {
    /// Steps between two of them; may have a fraction.
    every: f64,
    /// What whole units are called in names, and how many lie between two checkpoints.
    units: Option<(&'static str, u64)>,
}

impl Keep {
    /// # Errors
    /// If the distance is less than a step.
    pub fn new(every: Length, span: &Span) -> Result<Self, String> {
        let steps = every.steps(span.steps as f64, span);
        if steps < 1.0 {
            return Err(format!("{every} is less than a step of {} positions", span.batch));
        }
        let units = match every {
            Length::Of(count, unit) if count.fract() == 0.0 => match unit {
                Unit::Superbatches => Some(("sb", count as u64)),
                Unit::Epochs => Some(("epoch", count as u64)),
                Unit::Positions | Unit::Steps => None,
            },
            _ => None,
        };
        Ok(Self { every: steps, units })
    }

    /// The name of the checkpoint after a step, without its ending; none where none is due.
    pub fn name(&self, step: u64) -> Option<String> {
        let number = |step: u64| (step as f64 / self.every + TOLERANCE).floor() as u64;
        let now = number(step);
        if step == 0 || now == number(step - 1) {
            return None;
        }
        Some(match self.units {
            Some((name, count)) => format!("{name}-{:05}", now * count),
            None => format!("step-{step:08}"),
        })
    }
}
