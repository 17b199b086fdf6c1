//! What a run does, apart from its data.

use super::leg::{Keep, Leg};
use super::optimizer;
use super::schedule::Schedule;
use super::target::Worth;
use crate::loss::Loss;
use crate::model::Rounding;

/// What a run does, apart from its data.
#[derive(Clone, Debug)]
pub struct Settings {
    pub steps: u64,
    pub learning_rate: Schedule,
    /// Weight of the result in the target.
    pub wdl: Schedule,
    /// What positions are worth: those of no source, and those of each.
    pub worths: Vec<Worth>,
    /// The names of the sources.
    pub sources: Vec<String>,
    pub loss: Loss,
    pub optimizer: optimizer::Settings,
    /// Whether the net learns with rounded weights.
    pub rounded: Option<Rounded>,
    /// Steps between validations.
    pub validate_every: u64,
    /// Steps between checkpoints.
    pub checkpoint_every: u64,
    /// Stop after so many looks without a better held-out loss.
    pub patience: Option<u64>,
    /// Checkpoints to keep beside those to resume from.
    pub keep: Option<Keep>,
    /// What held before the run was made longer, in the order of their steps.
    pub earlier: Vec<Leg>,
}

/// How weights are rounded in the last part of a run. What validates is rounded all through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    pub rounding: Rounding,
    /// Steps before that part.
    pub after: u64,
}

impl Settings {
    /// How weights are rounded in the step after so many, if they are.
    pub(super) fn rounding(&self, done: u64) -> Option<&Rounding> {
        let Rounded { rounding, .. } = self.rounded.as_ref()?;
        (done >= self.leg(done).rounded_after).then_some(rounding)
    }

    /// What holds for the step after so many.
    pub(super) fn leg(&self, done: u64) -> Leg {
        let earlier = self.earlier.iter().find(|leg| done < leg.until).cloned();
        earlier.unwrap_or_else(|| Leg {
            until: self.steps,
            steps: self.steps,
            learning_rate: self.learning_rate.clone(),
            wdl: self.wdl.clone(),
            rounded_after: self.rounded.as_ref().map_or(self.steps, |it| it.after),
            validate_every: self.validate_every,
            checkpoint_every: self.checkpoint_every,
            keep: self.keep,
        })
    }

    /// The step in which the run ended before it was made as long as it is behind another; 0 if it
    /// never was.
    pub(super) fn seam_before(&self, step: u64) -> u64 {
        let seams = self.earlier.iter().map(|leg| leg.until);
        seams.filter(|until| *until < step).max().unwrap_or(0)
    }

    /// Whether the run ended here before it was made longer.
    pub(super) fn is_seam(&self, step: u64) -> bool {
        self.earlier.iter().any(|leg| leg.until == step)
    }
}
