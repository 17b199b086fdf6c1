//! What evaluations say of the same positions, what became of these, and how to compare.

use super::groups::Groups;

/// What an evaluation says of each position.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Centipawns for the side to move.
    Cp(Vec<f64>),
    /// Expected results of the side to move, 0 to 1; no scale is fitted.
    Probability(Vec<f64>),
    /// The mean result for every position: what knowing nothing costs.
    Constant,
}

/// An evaluation to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    pub name: String,
    pub values: Values,
    /// What else could explain a low loss, to stand behind "unless" in a verdict: "it was trained
    /// on these games, which cannot be told".
    pub doubt: Option<String>,
    /// A bound for the others, such as the search that labelled the positions: it is never said to
    /// win.
    pub bound: bool,
    /// A number that floats and integers of one net share: between them is rounding, and none of
    /// the two wins.
    pub net: Option<usize>,
    /// Its place among the players of a match, if it played.
    pub player: Option<usize>,
}

impl Predictions {
    /// Centipawns for the side to move.
    pub fn new(name: impl Into<String>, cp: Vec<f64>) -> Self {
        Self::saying(name, Values::Cp(cp))
    }

    /// Anything, without a doubt.
    pub fn saying(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, doubt: None, bound: false, net: None, player: None }
    }

    pub fn constant() -> Self {
        Self::saying("constant", Values::Constant)
    }
}

/// What is known of the positions, one entry a position.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    /// 0 to 1, seen by the side to move.
    pub results: &'a [f64],
    /// Probabilities, 0 to 1, to measure a second loss against.
    pub targets: Option<&'a [f64]>,
    /// Equal for positions of one game.
    pub groups: &'a [u64],
    /// What the groups are, for sentences: "games", "held-out games".
    pub noun: &'a str,
    /// Whether the groups are games; else positions stand for them, of which several may come from
    /// one game, intervals are too narrow, and no winner is named.
    pub games_known: bool,
    /// Why no winner may be named from these data, such as results that seem to be turned.
    pub doubt: Option<&'a str>,
}

impl<'a> Truth<'a> {
    /// Results of known games, and no more.
    pub fn of_games(results: &'a [f64], groups: &'a [u64], noun: &'a str) -> Self {
        Self { results, targets: None, groups, noun, games_known: true, doubt: None }
    }

    pub(super) fn grouped(&self) -> Groups {
        Groups::new(self.groups.iter().copied()).known(self.games_known)
    }
}

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Fit the scales on the positions that the loss is measured on, all of them; else each fifth
    /// of the groups is measured with the scale that fits the others.
    pub fit_on_same: bool,
    /// A scale in centipawns to measure every evaluation with, beside its own.
    pub fixed_scale: Option<f64>,
}

/// Why numbers cannot be compared. Positions count from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("nothing to compare: name at least one evaluation")]
    NoEvaluation,
    #[error("no positions to compare on")]
    NoPositions,
    #[error("{what} has {found} entries for {expected} positions")]
    Length { what: String, found: usize, expected: usize },
    #[error("{what} holds {found} at position {position}, expected {expected}")]
    Value { what: String, found: f64, position: usize, expected: &'static str },
    #[error("the fixed scale is {0}, expected centipawns above 0")]
    FixedScale(f64),
    #[error(
        "{groups} {noun} cannot be cut into parts, so that each is measured with the scale that \
         fits the others; give more, or fit the scales on the positions measured (--fit-on-same)"
    )]
    Parts { groups: usize, noun: String },
}

pub(super) fn check(
    evaluations: &[Predictions],
    truth: &Truth,
    options: &Options,
) -> Result<(), CompareError> {
    let positions = truth.results.len();
    if evaluations.is_empty() {
        return Err(CompareError::NoEvaluation);
    }
    if positions == 0 {
        return Err(CompareError::NoPositions);
    }
    if let Some(scale) = options.fixed_scale.filter(|scale| !(*scale > 0.0 && scale.is_finite())) {
        return Err(CompareError::FixedScale(scale));
    }
    let length = |what: &str, found: usize| match found {
        found if found == positions => Ok(()),
        _ => Err(CompareError::Length { what: what.to_string(), found, expected: positions }),
    };
    let values = |what: &str, values: &[f64], valid: fn(f64) -> bool, expected: &'static str| {
        length(what, values.len())?;
        match values.iter().position(|value| !valid(*value)) {
            None => Ok(()),
            Some(position) => {
                let (what, found) = (what.to_string(), values[position]);
                Err(CompareError::Value { what, found, position, expected })
            }
        }
    };
    let share: fn(f64) -> bool = |value| (0.0..=1.0).contains(&value);
    length("the list of groups", truth.groups.len())?;
    values("the list of results", truth.results, share, "0 to 1")?;
    if let Some(targets) = truth.targets {
        values("the list of targets", targets, share, "0 to 1")?;
    }
    evaluations.iter().try_for_each(|Predictions { name, values: given, .. }| match given {
        Values::Cp(cp) => values(name, cp, f64::is_finite, "finite centipawns"),
        Values::Probability(given) => values(name, given, share, "0 to 1"),
        Values::Constant => Ok(()),
    })
}
