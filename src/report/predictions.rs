//! Values of evaluations for the same positions, and the known results.

use super::groups::Groups;

/// An evaluation's values, one a position.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Centipawns for the side to move.
    Cp(Vec<f64>),
    /// The mean result for every position: the loss of knowing nothing.
    Constant,
}

/// An evaluation to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    pub name: String,
    pub values: Values,
    /// Another explanation of a low loss, printed behind "unless" in a verdict: "it was trained on
    /// these games, which cannot be told".
    pub doubt: Option<String>,
    /// A bound for the others, such as the search that labelled the positions: never a winner.
    pub bound: bool,
    /// A number that floats and integers of one net share: they differ by rounding, and neither
    /// wins against the other.
    pub net: Option<usize>,
    /// Its place among the players of a match, if it played.
    pub player: Option<usize>,
}

impl Predictions {
    /// Centipawns for the side to move.
    pub fn new(name: impl Into<String>, cp: Vec<f64>) -> Self {
        Self::of(name, Values::Cp(cp))
    }

    pub fn constant() -> Self {
        Self::of("constant", Values::Constant)
    }

    pub fn of(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, doubt: None, bound: false, net: None, player: None }
    }

    pub(super) fn centipawns(&self) -> Option<&[f64]> {
        match &self.values {
            Values::Cp(cp) => Some(cp),
            Values::Constant => None,
        }
    }
}

/// The known facts of the positions, one entry a position.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    /// 0 to 1, seen by the side to move.
    pub results: &'a [f64],
    /// Probabilities, 0 to 1, to measure a second loss against.
    pub targets: Option<&'a [f64]>,
    /// Equal for positions of one game.
    pub groups: &'a [u64],
    /// The groups in words: "games", "held-out games".
    pub noun: &'a str,
    /// Whether the groups are games; else each position is a group, intervals are too narrow, and
    /// no winner is named.
    pub games_known: bool,
    /// Why no winner may be named from these data, such as results that seem to be turned.
    pub doubt: Option<&'a str>,
}

impl<'a> Truth<'a> {
    /// Results of known games alone.
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
    /// Fits the scales on the positions that the loss is measured on, all of them; else each fifth
    /// of the groups is measured with the scale that fits the others.
    pub fit_on_same: bool,
    /// A scale in centipawns to measure every evaluation with, beside its own.
    pub fixed_scale: Option<f64>,
}

/// Why numbers cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("no evaluation or no position to compare")]
    Nothing,
    #[error("{name} gives no finite number for position {position} (from 0)")]
    Value { name: String, position: usize },
    #[error("the fixed scale is {0}, expected centipawns above 0")]
    FixedScale(f64),
    #[error(
        "{groups} {noun} cannot be cut into parts, so that each is measured with the scale that \
         fits the others; give more, or fit the scales on the positions measured (--fit-on-same)"
    )]
    Parts { groups: usize, noun: String },
}

/// Checks values and options.
///
/// # Panics
/// If lists are of different lengths.
pub(super) fn check(
    evaluations: &[Predictions],
    truth: &Truth,
    options: &Options,
) -> Result<(), CompareError> {
    let positions = truth.results.len();
    if evaluations.is_empty() || positions == 0 {
        return Err(CompareError::Nothing);
    }
    if let Some(scale) = options.fixed_scale.filter(|scale| !(*scale > 0.0 && scale.is_finite())) {
        return Err(CompareError::FixedScale(scale));
    }
    assert_eq!(truth.groups.len(), positions);
    assert!(truth.targets.is_none_or(|targets| targets.len() == positions));
    for one in evaluations {
        let cp = one.centipawns().unwrap_or_default();
        assert!(cp.len() == positions || one.values == Values::Constant);
        if let Some(position) = cp.iter().position(|value| !value.is_finite()) {
            return Err(CompareError::Value { name: one.name.clone(), position });
        }
    }
    Ok(())
}
