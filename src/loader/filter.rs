//! Which positions are worth learning from.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoadError;
use crate::format::{Facts, Format, Holds};
use crate::sample::Sample;

/// Which positions are worth learning from. By default every position passes. A filter that asks
/// for a fact which the format never tells is refused; where only some positions lack it, it skips
/// none of those.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// The least number of half-moves since the start of the game. Leaves out random openings,
    /// which say nothing about results.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 16)]
    pub min_ply: Option<u16>,
    /// Whether to skip positions whose side to move is in check.
    pub skip_in_check: bool,
    /// Whether to skip positions in which a capture was played: their score is not quiet.
    pub skip_captures: bool,
    /// Whether to skip positions in which a promotion was played.
    pub skip_promotions: bool,
    /// The largest score in centipawns, whichever side it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 10_000)]
    pub max_score: Option<u16>,
    /// The least number of pieces on the board, kings and pawns included.
    #[serde(alias = "min_men", skip_serializing_if = "Option::is_none")]
    #[schemars(example = 4)]
    pub min_pieces: Option<usize>,
    /// The largest number of pieces on the board, kings and pawns included.
    #[serde(alias = "max_men", skip_serializing_if = "Option::is_none")]
    #[schemars(example = 32)]
    pub max_pieces: Option<usize>,
}

/// The key that skips a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    MinPly,
    InCheck,
    Captures,
    Promotions,
    MaxScore,
    Pieces,
    /// No key of the filter: the target needs a score, and there is none.
    NoScore,
}

/// How many positions each key skipped; the first key that applies counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected([u64; 7]);

impl Rejected {
    const NAMES: [&'static str; 7] = [
        "min_ply",
        "skip_in_check",
        "skip_captures",
        "skip_promotions",
        "max_score",
        "pieces",
        "the lack of a score",
    ];

    /// So many positions that one key skipped.
    pub fn of(rejection: Rejection, count: u64) -> Self {
        let mut rejected = Self::default();
        rejected.0[rejection as usize] = count;
        rejected
    }

    pub fn count(&mut self, rejection: Rejection) {
        self.0[rejection as usize] += 1;
    }

    pub fn add(&mut self, other: &Rejected) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }

    pub fn has(&self, rejection: Rejection) -> bool {
        self.0[rejection as usize] > 0
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The keys that skipped positions, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Self::NAMES.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

impl Filter {
    /// An error where a key asks for a fact that the format never tells.
    pub fn check(&self, path: &Path, format: &Format) -> Result<(), LoadError> {
        let Facts { plies, moves, scores, .. } = format.facts;
        for (key, set, holds, fact) in [
            ("min_ply", self.min_ply.is_some(), plies, "the ply"),
            ("skip_captures", self.skip_captures, moves, "the move played"),
            ("skip_promotions", self.skip_promotions, moves, "the move played"),
            ("max_score", self.max_score.is_some(), scores, "the score"),
        ] {
            if set && holds == Holds::Never {
                let path = path.to_path_buf();
                return Err(LoadError::Unknown { path, key, fact, format: format.name });
            }
        }
        Ok(())
    }

    /// The first key that skips a position. A fact that this position lacks skips nothing:
    /// [`Filter::check`] has refused formats that never tell it.
    pub fn rejects(&self, sample: &Sample) -> Option<Rejection> {
        let pieces = sample.position.count();
        let played = sample.played;
        if self.min_ply.is_some_and(|min| sample.ply.is_some_and(|ply| ply < min)) {
            Some(Rejection::MinPly)
        } else if self.min_pieces.is_some_and(|min| pieces < min)
            || self.max_pieces.is_some_and(|max| pieces > max)
        {
            Some(Rejection::Pieces)
        } else if self
            .max_score
            .is_some_and(|max| sample.score.is_some_and(|score| score.unsigned_abs() > max))
        {
            Some(Rejection::MaxScore)
        } else if self.skip_captures && played.is_some_and(|it| it.is_capture(&sample.position)) {
            Some(Rejection::Captures)
        } else if self.skip_promotions && played.is_some_and(|it| it.promotion().is_some()) {
            Some(Rejection::Promotions)
        } else if self.skip_in_check && sample.position.in_check() {
            Some(Rejection::InCheck)
        } else {
            None
        }
    }
}
