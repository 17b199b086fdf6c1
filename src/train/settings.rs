//! What a run does, apart from its data.

use super::leg::{Keep, Leg};
use super::moves::Moves;
use super::optimizer;
use super::schedule::Schedule;
use super::target::Promise;
use crate::loss::Loss;

/// What a run does, apart from its data.
#[derive(Clone, Debug)]
pub struct Settings {
    pub steps: u64,
    pub learning_rate: Schedule,
    /// Weight of the result in the target.
    pub wdl: Schedule,
    /// What the scores of the data promise.
    pub promise: Promise,
    pub loss: Loss,
    pub optimizer: optimizer::Settings,
    /// How moves are learnt; none where positions are.
    pub moves: Option<Moves>,
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

impl Settings {
    /// What holds for the step after so many.
    pub(super) fn leg(&self, done: u64) -> Leg {
        let earlier = self.earlier.iter().find(|leg| done < leg.until).cloned();
        earlier.unwrap_or_else(|| Leg {
            until: self.steps,
            steps: self.steps,
            learning_rate: self.learning_rate.clone(),
            wdl: self.wdl.clone(),
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
