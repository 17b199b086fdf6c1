//! Objectives whose rows depend on the weights of a run: they are prepared again in each round.

mod moves;
mod quiescence;
mod rounds;

use std::sync::Arc;

use anyhow::{Context, Result};

use super::Recipe;
use super::evaluator::in_search;
use crate::config::Objective;
use crate::export::{prove, quantise};
use crate::hce::HceEvaluator;
use crate::loader::{Base, Prepare};
use crate::net::Net;
use crate::search::{self, Evaluate, QuietEnd};
use crate::weights::Weights;

pub use moves::{Moves, is_lesson, select};
pub use quiescence::QuietEnds;
pub use rounds::Rounds;

/// Preparation of the rows of a run by these weights. Fails if they do not fit integers.
pub fn of(recipe: &Recipe, weights: &Weights) -> Result<Arc<dyn Prepare>> {
    let (searcher, target) = (Searcher::of(recipe, weights)?, &recipe.config.target);
    Ok(match target.learn {
        Objective::Moves => Arc::new(Moves { searcher, force: target.force }),
        Objective::Quiescence | Objective::Values => Arc::new(QuietEnds(searcher)),
    })
}

/// An evaluation that quiescence searches use.
pub struct Searcher {
    by: By,
    /// Centipawns per logit.
    pub scale: f64,
}

enum By {
    Net(Box<Net>, Option<Base>),
    Terms(Box<HceEvaluator>),
}

impl Searcher {
    /// The weights of a run: terms, or the integers of its net. Fails if they do not fit integers.
    pub fn of(recipe: &Recipe, weights: &Weights) -> Result<Self> {
        let scale = recipe.config.scale;
        Ok(match (recipe.config.architecture(), recipe.terms()?) {
            (Some(net), _) => {
                let cure = "quiescence is searched with the integers of the net, and these weights \
                            fit none; lower `optimizer.clip`";
                let net = quantise(weights, net, recipe.config.scales).context(cure)?;
                prove(&net).map_err(anyhow::Error::msg).context(cure)?;
                Self { by: By::Net(Box::new(net), recipe.open_base()?), scale }
            }
            (None, Some(terms)) => {
                Self::terms(HceEvaluator::new(&terms.trained(weights, scale)?), scale)
            }
            (None, None) => unreachable!("a model without a net has terms"),
        })
    }

    pub fn terms(evaluator: HceEvaluator, scale: f64) -> Self {
        Self { by: By::Terms(Box::new(evaluator)), scale }
    }

    /// The evaluation of a search.
    pub fn evaluation(&self) -> Box<dyn Evaluate + '_> {
        match &self.by {
            By::Net(net, base) => in_search(net, base.as_ref()),
            By::Terms(evaluator) => Box::new(search::Terms::new((**evaluator).clone())),
        }
    }

    /// Value of an end for the side to move at the beginning, unrounded for terms.
    fn value(&self, end: &QuietEnd) -> f64 {
        match &self.by {
            By::Net(..) => end.score.into(),
            By::Terms(terms) => f64::from(end.sign()) * terms.evaluate(&end.position),
        }
    }
}
