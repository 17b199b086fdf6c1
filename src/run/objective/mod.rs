//! Objectives whose rows depend on the weights of a run. The rows are prepared again in each round.

mod moves;
mod quiescence;
mod rounds;

use std::sync::Arc;

use anyhow::{Context, Result};

use super::Recipe;
use super::base::open_base;
use crate::config::Objective;
use crate::evaluation::Evaluation;
use crate::export::{prove, quantise};
use crate::loader::Prepare;
use crate::search::{Evaluate, QuietEnd, follow_moves};
use crate::weights::Weights;

pub use moves::{Moves, is_lesson, select_samples};
pub use quiescence::QuietEnds;
pub use rounds::{Round, round_length};

/// Returns the preparation of a run's rows by these weights. Fails if they do not fit integers.
pub fn preparation_for(recipe: &Recipe, weights: &Weights) -> Result<Arc<dyn Prepare>> {
    let searcher = QuietSearcher::from_weights(recipe, weights)?;
    let target = &recipe.config.file.target;
    Ok(match target.learn {
        Objective::Moves => Arc::new(Moves { searcher, force: target.force }),
        Objective::Quiescence | Objective::Values => Arc::new(QuietEnds(searcher)),
    })
}

pub struct QuietSearcher {
    pub evaluation: Evaluation,
    /// Centipawns per logit.
    pub scale: f64,
}

impl QuietSearcher {
    /// Creates a searcher with a run's terms, or the integers of its net. Fails if they do not fit.
    pub fn from_weights(recipe: &Recipe, weights: &Weights) -> Result<Self> {
        let scale = recipe.config.scale;
        let evaluation = match recipe.config.architecture() {
            Some(net) => {
                let cure = "quiescence is searched with the integers of the net, and these weights \
                            fit none; lower `optimizer.clip`";
                let net = quantise(weights, net, recipe.config.scales).context(cure)?;
                prove(&net).map_err(anyhow::Error::msg).context(cure)?;
                let base = open_base(recipe.base.as_ref())?;
                Evaluation::from_net(net, base.map(|base| base.evaluation))
            }
            None => {
                let terms = recipe.run_terms()?.context("no net, so terms")?;
                Evaluation::from_terms(&terms.read_weights(weights, scale, true)?)
            }
        };
        Ok(Self { evaluation, scale })
    }

    pub fn open_evaluation(&self) -> Box<dyn Evaluate + Send + '_> {
        follow_moves(&self.evaluation)
    }

    /// Returns the value of an end for the side to move at the beginning, unrounded for terms.
    fn value_of_end(&self, end: &QuietEnd) -> f64 {
        match &self.evaluation {
            Evaluation::Terms(terms) => f64::from(end.sign()) * terms.evaluate(&end.position),
            _ => end.score.into(),
        }
    }
}
