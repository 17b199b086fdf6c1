//! The quiet ends of positions, as the weights of a run find them.

use anyhow::{Context, Result};

use super::Recipe;
use super::evaluator::in_search;
use crate::export::{prove, quantise};
use crate::hce::HceEvaluator;
use crate::loader::{Base, Quieten};
use crate::net::Net;
use crate::sample::Position;
use crate::search::{self, Evaluate, Quiescence};
use crate::weights::Weights;

/// Searches positions for their quiet ends with one evaluation.
pub struct QuietEnds {
    by: By,
    scale: f64,
}

enum By {
    Net(Box<Net>, Option<Base>),
    Terms(Box<HceEvaluator>),
}

impl QuietEnds {
    /// With the weights of a run at some moment: terms, or the integers of its net.
    ///
    /// # Errors
    /// If the weights do not fit integers.
    pub fn of(recipe: &Recipe, weights: &Weights) -> Result<Self> {
        let scale = recipe.config.scale();
        Ok(match (recipe.architecture()?, recipe.terms()?) {
            (Some(net), _) => {
                let cure = "quiescence is searched with the integers of the net, and these weights \
                            fit none; lower `optimizer.clip`";
                let net = quantise(weights, &net, recipe.scales()).context(cure)?;
                prove(&net).map_err(anyhow::Error::msg).context(cure)?;
                Self { by: By::Net(Box::new(net), recipe.added()?), scale }
            }
            (None, Some(terms)) => {
                Self::of_terms(HceEvaluator::new(&terms.trained(weights, scale)?), scale)
            }
            (None, None) => unreachable!("what is no net has terms"),
        })
    }

    /// With handcrafted terms.
    pub fn of_terms(evaluator: HceEvaluator, scale: f64) -> Self {
        Self { by: By::Terms(Box::new(evaluator)), scale }
    }

    /// What searches ask.
    pub fn evaluation(&self) -> Box<dyn Evaluate + '_> {
        match &self.by {
            By::Net(net, base) => in_search(net, base.as_ref()),
            By::Terms(evaluator) => Box::new(search::Terms::new((**evaluator).clone())),
        }
    }

    /// A search of positions with them.
    pub fn quiescence(&self) -> Quiescence {
        Quiescence::new(self.scale)
    }
}

impl Quieten for QuietEnds {
    /// Positions that the rules forbid stay, as do those that lead to mate or to a draw by the
    /// rules, since no evaluation is asked there.
    fn quieten(&self, positions: &mut [Position]) {
        let mut evaluation = self.evaluation();
        let mut quiescence = self.quiescence();
        for position in positions {
            let Ok(chess) = position.to_chess() else { continue };
            if let Some(end) = quiescence.end(&chess, &mut *evaluation)
                && !end.is_decided
            {
                *position = end.position;
            }
        }
    }
}

/// The same, told of how many positions are done.
pub struct Counted<'a> {
    pub ends: &'a dyn Quieten,
    pub seen: &'a (dyn Fn(u64) + Sync),
}

impl Quieten for Counted<'_> {
    fn quieten(&self, positions: &mut [Position]) {
        self.ends.quieten(positions);
        (self.seen)(positions.len() as u64);
    }
}
