//! Settings of a run, apart from its data.

use super::optimizer;
use super::schedule::{Length, LengthUnit, RunSchedule, ScheduleError, Span, TOLERANCE};
use super::target::SourceTarget;
use crate::loss::Loss;
use crate::model::ArrayUnits;

#[derive(Clone, Debug)]
pub struct TrainingSettings {
    pub steps: u64,
    pub learning_rate: RunSchedule,
    /// Weight of the result in the target.
    pub wdl: RunSchedule,
    /// Targets of positions without a source, then of each source.
    pub source_targets: Vec<SourceTarget>,
    pub loss: Loss,
    /// See [`LossInputs::sparsity`](crate::model::LossInputs::sparsity).
    pub sparsity: f64,
    /// Rounding of the weights in the forward pass; None: they are never rounded.
    pub rounding: Option<Rounding>,
    pub optimizer: optimizer::OptimizerSettings,
    pub validate_every: u64,
    pub checkpoint_every: u64,
    /// Stop after this many validations without a lower loss.
    pub patience: Option<u64>,
    /// Permanent checkpoints, besides those for resuming.
    pub keep: Option<KeepRule>,
    /// Earlier settings of a run that was extended, with the last step of each.
    pub earlier: Vec<(u64, TrainingSettings)>,
}

impl TrainingSettings {
    /// Returns the settings for the step after `done` steps, and the last step of their phase.
    pub(super) fn phase_after(&self, done: u64) -> (&Self, u64) {
        let earlier = self.earlier.iter().find(|(until, _)| done < *until);
        earlier.map_or((self, self.steps), |(until, settings)| (settings, *until))
    }

    /// Whether the run ended at this step before it was extended.
    pub(super) fn is_seam(&self, step: u64) -> bool {
        self.earlier.iter().any(|(until, _)| *until == step)
    }
}

/// Training of the integers of the net's file: losses and gradients are those of rounded weights,
/// and the steps change the weights themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// First step, from 1.
    pub from: u64,
    /// Units of the arrays that are integers in the net's file.
    pub units: ArrayUnits,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepRule {
    /// Steps between two checkpoints; may have a fraction.
    every: f64,
    /// Name of whole units, and their number between two checkpoints.
    units: Option<(&'static str, u64)>,
}

impl KeepRule {
    /// Fails if the distance is less than a step.
    pub fn new(every: Length, span: &Span) -> Result<Self, ScheduleError> {
        let steps = every.to_steps(span.steps as f64, span);
        if steps < 1.0 {
            return Err(ScheduleError::ShortLength(every, span.batch));
        }
        let units = match every {
            Length::Of(count, LengthUnit::Superbatches) if count.fract() == 0.0 => {
                Some(("sb", count as u64))
            }
            Length::Of(count, LengthUnit::Epochs) if count.fract() == 0.0 => {
                Some(("epoch", count as u64))
            }
            _ => None,
        };
        Ok(Self { every: steps, units })
    }

    /// Returns the name of the checkpoint after a step, without its extension; None if none is due.
    pub fn checkpoint_name(&self, step: u64) -> Option<String> {
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
