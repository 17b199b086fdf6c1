//! The section of a config about moves that are learnt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::train::force::Force;
use crate::train::moves::Objective;

/// How moves are learnt, with `target.learn = "moves"`. Each legal move of a position is followed by
/// a quiescence search to its quiet end, with the weights as they are, again and again: see
/// `target.resolve_every`. The values of these ends, for who moves, are to put the move first that
/// was played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Moves {
    /// Whose moves are learnt.
    pub sides: Sides,
    /// What is made small.
    pub objective: Objective,
    /// The centipawns by which a move is better that is e times as likely to be played; above 0.
    /// For `least squares` one unit of error.
    pub temperature: f64,
    /// Moves whose values are further from that of the position are left out, as being about
    /// something that an evaluation cannot grasp; in centipawns, above 0. Where this is the move that
    /// was played, all of them are. `least squares` have half a pawn unless it is given; with the
    /// others all moves count, but those that end in mate or a draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 50.0)]
    pub bound: Option<f64>,
    /// For `least squares`: what the force on the move that was played grows with. The miss is how
    /// far the best of the other moves is ahead of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<Force>,
    /// For `least squares`: the force, in centipawns, where the miss is half a pawn, or five moves
    /// are ahead; 0 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
    /// For `least squares`: whether differences that have shrunk since the run began are to grow
    /// again, so that values keep their variance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_spread: Option<bool>,
    /// The weight of the position's own error against the results and scores that `target.wdl`
    /// mixes; 0 or more. Above 0 all positions are learnt from that pass the filter, of some of them
    /// the moves as well.
    pub value: f64,
}

/// Whose moves are learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sides {
    /// Those of who won; a drawn game has none.
    #[default]
    Winner,
    /// Those of both sides, in all games.
    Both,
}

impl Default for Moves {
    fn default() -> Self {
        Self {
            sides: Sides::default(),
            objective: Objective::default(),
            temperature: 60.0,
            bound: None,
            force: None,
            strength: None,
            keep_spread: None,
            value: 0.0,
        }
    }
}

impl Moves {
    /// With the defaults of its objective.
    pub(super) fn resolved(mut self) -> Self {
        if self.objective == Objective::LeastSquares {
            self.bound = self.bound.or(Some(crate::train::force::HALF_PAWN));
            self.force = Some(self.force.unwrap_or_default());
            self.strength = Some(self.strength.unwrap_or(100.0));
            self.keep_spread = Some(self.keep_spread.unwrap_or(true));
        }
        self
    }

    /// # Errors
    /// The first key whose value cannot be used.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: &str| Err(ConfigError::Value { key, reason: reason.into() });
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            return wrong("target.moves.temperature", "is a number of centipawns above 0");
        }
        if self.bound.is_some_and(|bound| !(bound > 0.0 && bound.is_finite())) {
            return wrong("target.moves.bound", "is a number of centipawns above 0");
        }
        if self.strength.is_some_and(|it| !(it >= 0.0 && it.is_finite())) {
            return wrong("target.moves.strength", "is a number of centipawns, 0 or more");
        }
        if !(self.value >= 0.0 && self.value.is_finite()) {
            return wrong("target.moves.value", "is a weight, 0 or more");
        }
        const FORCES: &str = "goes with `objective = \"least squares\"`";
        if self.objective != Objective::LeastSquares {
            if self.force.is_some() {
                return wrong("target.moves.force", FORCES);
            }
            if self.strength.is_some() {
                return wrong("target.moves.strength", FORCES);
            }
            if self.keep_spread.is_some() {
                return wrong("target.moves.keep_spread", FORCES);
            }
        }
        Ok(())
    }
}
