//! Filters, and weights of positions in the loss.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::LoadError;
use super::split::draw_share;
use crate::format::{Facts, Format, Presence};
use crate::registry::{NamedValue, RegistryKind};
use crate::sample::{PlayedMove, Sample, mix_hash};

/// Selection of training positions. By default every position passes. A filter that needs a fact
/// which the format never has is refused; positions without the fact pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// Fewest half-moves since the start of the game, to exclude random openings.
    pub min_ply: Option<u16>,
    /// Whether to skip positions whose side to move is in check.
    pub skip_in_check: bool,
    /// Whether to skip positions in which a capture was played: their score is not quiet.
    pub skip_captures: bool,
    /// Whether to skip positions in which a promotion was played.
    pub skip_promotions: bool,
    /// Whether to skip positions in which castling was played.
    pub skip_castling: bool,
    /// Whether to skip positions with a score of 0, which some files give where they have none.
    pub skip_zero_scores: bool,
    /// Whether to skip games that ended by the clock, a lost connection or a broken rule.
    pub skip_forfeits: bool,
    /// Largest absolute score in centipawns.
    pub max_score: Option<u16>,
    /// Largest score of the side that lost, and largest absolute score in draws, in centipawns.
    pub max_miss: Option<u16>,
    /// Share of positions to skip at random: the same ones in each pass and for each seed.
    pub random_skip: Option<f64>,
    /// Share of positions that pass, by pieces on the board: a line through points `[pieces,
    /// share]`, straight between them and constant beyond. They are drawn as for `random_skip`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept_pieces: Vec<[f64; 2]>,
    /// Fewest pieces on the board, kings and pawns included.
    pub min_pieces: Option<usize>,
    /// Most pieces on the board, kings and pawns included.
    pub max_pieces: Option<usize>,
    /// Filters that the program adds; a position must pass all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<NamedValue<CustomFilter>>,
}

/// A filter that a program adds; it returns whether a position passes.
pub struct CustomFilter(pub Box<dyn Fn(&Sample) -> bool + Send + Sync>);

impl RegistryKind for CustomFilter {
    const NOUN: &'static str = "filter";
}

/// Numbers of positions that each key skipped; the first key that applies counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectCounts(BTreeMap<&'static str, u64>);

impl RejectCounts {
    /// Pseudo-key of positions without a score that the target needs.
    pub(super) const NO_SCORE: &'static str = "the lack of a score";

    pub fn count_reject(&mut self, key: &'static str) {
        *self.0.entry(key).or_default() += 1;
    }

    pub fn add(&mut self, counts: &RejectCounts) {
        counts.0.iter().for_each(|(key, count)| *self.0.entry(key).or_default() += count);
    }

    /// Iterates over the keys that skipped positions, with their counts.
    pub fn counts_by_key(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(key, count)| (*key, *count))
    }
}

impl Filter {
    /// Whether the points of `accept_pieces` are in rising order, with shares from 0 to 1.
    pub fn has_valid_line(&self) -> bool {
        is_line(&self.accept_pieces, 1.0)
    }

    /// Checks that the format may have the facts that the keys need.
    ///
    /// # Errors
    ///
    /// Fails with [`LoadError::Unknown`] for the first key whose fact the format never has.
    pub fn check_format(&self, path: &Path, format: &Format) -> Result<(), LoadError> {
        let Facts { plies, moves, scores, forfeits, .. } = format.facts;
        let needs = [
            ("min_ply", self.min_ply.is_some(), plies, "the ply"),
            ("skip_captures", self.skip_captures, moves, "the move played"),
            ("skip_promotions", self.skip_promotions, moves, "the move played"),
            ("skip_castling", self.skip_castling, moves, "the move played"),
            ("skip_zero_scores", self.skip_zero_scores, scores, "the score"),
            ("max_miss", self.max_miss.is_some(), scores, "the score"),
            ("skip_forfeits", self.skip_forfeits, forfeits, "how a game ended"),
            ("max_score", self.max_score.is_some(), scores, "the score"),
        ];
        require_facts(path, format, &needs)
    }

    /// Returns the first key that skips a position. Missing facts skip nothing, see
    /// [`Filter::check_format`].
    pub fn rejecting_key(&self, sample: &Sample) -> Option<&'static str> {
        let (pieces, played) = (sample.position.piece_count(), sample.played);
        let beyond = |(max, score): (u16, i16)| score.unsigned_abs() > max;
        let misses = |(max, score): (u16, i16)| match sample.result {
            0.0 => i32::from(score) > max.into(),
            1.0 => -i32::from(score) > max.into(),
            _ => beyond((max, score)),
        };
        if self.min_ply.zip(sample.ply).is_some_and(|(min, ply)| ply < min) {
            Some("min_ply")
        } else if self.min_pieces.is_some_and(|min| pieces < min)
            || self.max_pieces.is_some_and(|max| pieces > max)
        {
            Some("pieces")
        } else if self.max_score.zip(sample.score).is_some_and(beyond) {
            Some("max_score")
        } else if self.skip_captures && played.is_some_and(|it| it.is_capture(&sample.position)) {
            Some("skip_captures")
        } else if self.skip_promotions && played.is_some_and(|it| it.promotion().is_some()) {
            Some("skip_promotions")
        } else if self.skip_castling && played.is_some_and(PlayedMove::is_castling) {
            Some("skip_castling")
        } else if self.skip_zero_scores && sample.score == Some(0) {
            Some("skip_zero_scores")
        } else if self.max_miss.zip(sample.score).is_some_and(misses) {
            Some("max_miss")
        } else if self.skip_forfeits && sample.forfeit {
            Some("skip_forfeits")
        } else if self.skip_in_check && sample.position.in_check() {
            Some("skip_in_check")
        } else if self.random_skip.is_some_and(|share| draw_number(sample, 1) < share) {
            Some("random_skip")
        } else if value_along(&self.accept_pieces, pieces as f64)
            .is_some_and(|share| draw_number(sample, 2) >= share)
        {
            Some("accept_pieces")
        } else {
            self.own.iter().find(|filter| !(filter.value.0)(sample)).map(|filter| filter.name)
        }
    }
}

/// Draws a number from 0 to below 1 that depends on the position and its game alone.
fn draw_number(sample: &Sample, purpose: u64) -> f64 {
    let game = sample.game.map_or(0, std::num::NonZeroU64::get);
    draw_share(mix_hash(purpose, sample.position.zobrist_key()), game)
}

/// Checks that a format has the facts that the keys in use need.
fn require_facts(
    path: &Path,
    format: &Format,
    needs: &[(&'static str, bool, Presence, &'static str)],
) -> Result<(), LoadError> {
    match needs.iter().find(|(_, is_set, presence, _)| *is_set && *presence == Presence::Never) {
        None => Ok(()),
        Some(&(key, _, _, fact)) => {
            Err(LoadError::Unknown { path: path.to_path_buf(), key, fact, format: format.name })
        }
    }
}

/// Weights of positions in the loss. Each key is a line through points `[where, weight]`, straight
/// between them and constant beyond; several lines are multiplied, as is the program's own weight.
/// By default all are 1. Only ratios matter, in steps of 1/255 of the largest. A missing fact
/// changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PositionWeights {
    /// Weight by half-moves since the start of the game.
    pub ply: Vec<[f64; 2]>,
    /// Weight by pieces on the board, kings and pawns included.
    pub pieces: Vec<[f64; 2]>,
    /// Weight by absolute score in centipawns.
    pub score: Vec<[f64; 2]>,
    pub own: Option<NamedValue<CustomWeight>>,
}

/// Weights of positions, 0 to 1, that a program adds.
pub struct CustomWeight(pub Box<dyn Fn(&Sample) -> f64 + Send + Sync>);

impl RegistryKind for CustomWeight {
    const NOUN: &'static str = "weight";
}

impl PositionWeights {
    pub fn is_level(&self) -> bool {
        *self == Self::default()
    }

    fn weight_lines(&self) -> [(&'static str, &[[f64; 2]]); 3] {
        [("ply", &self.ply), ("pieces", &self.pieces), ("score", &self.score)]
    }

    /// Returns the key of the first invalid line.
    pub fn invalid_key(&self) -> Option<&'static str> {
        let is_valid = |points: &[[f64; 2]]| {
            is_line(points, f64::MAX)
                && (points.is_empty() || points.iter().any(|point| point[1] > 0.0))
        };
        self.weight_lines().into_iter().find(|(_, points)| !is_valid(points)).map(|(key, _)| key)
    }

    /// Fails if a key needs a fact that the format never has.
    pub(super) fn check_format(&self, path: &Path, format: &Format) -> Result<(), LoadError> {
        let Facts { plies, scores, .. } = format.facts;
        let needs = [
            ("target.weights.ply", !self.ply.is_empty(), plies, "the ply"),
            ("target.weights.score", !self.score.is_empty(), scores, "the score"),
        ];
        require_facts(path, format, &needs)
    }

    /// Computes the weight of a position, 0 to 1: 1 is the largest.
    pub fn weight_of(&self, sample: &Sample) -> f64 {
        let facts = [
            sample.ply.map(f64::from),
            Some(sample.position.piece_count() as f64),
            sample.score.map(|score| f64::from(score).abs()),
        ];
        let factor = |((_, points), fact): ((_, &[[f64; 2]]), Option<f64>)| {
            let largest = points.iter().map(|point| point[1]).fold(0.0, f64::max);
            fact.and_then(|fact| value_along(points, fact)).map_or(1.0, |weight| weight / largest)
        };
        let custom = self.own.map_or(1.0, |own| (own.value.0)(sample));
        self.weight_lines().into_iter().zip(facts).map(factor).product::<f64>() * custom
    }

    /// Fails if the program's own weight is out of bounds.
    pub(super) fn check_own(&self, path: &Path, sample: &Sample) -> Result<(), LoadError> {
        let Some(custom) = self.own else { return Ok(()) };
        let weight = (custom.value.0)(sample);
        match (0.0..=1.0).contains(&weight) {
            true => Ok(()),
            false => Err(LoadError::Weight {
                path: path.to_path_buf(),
                name: custom.name,
                fen: sample.position.to_fen(),
                weight,
            }),
        }
    }

    /// Encodes the weight in a byte, as stored for positions in memory.
    pub(super) fn weight_code(&self, sample: &Sample) -> u8 {
        (255.0 * self.weight_of(sample)).round() as u8
    }

    /// Computes the weights of a batch: empty if all are 1.
    pub fn batch_weights(&self, samples: &[Sample]) -> Arc<[f32]> {
        match self.is_level() {
            true => Arc::new([]),
            false => samples.iter().map(|sample| decode_weight(self.weight_code(sample))).collect(),
        }
    }
}

pub(super) fn decode_weight(code: u8) -> f32 {
    f32::from(code) / 255.0
}

/// Whether points are in rising order, with values from 0 to `max`.
fn is_line(points: &[[f64; 2]], max: f64) -> bool {
    points.iter().all(|[x, y]| x.is_finite() && (0.0..=max).contains(y))
        && points.is_sorted_by(|before, after| before[0] < after[0])
}

/// Interpolates a line at `x`; None without points.
fn value_along(points: &[[f64; 2]], x: f64) -> Option<f64> {
    let next = points.iter().position(|point| point[0] >= x);
    Some(match next {
        None => points.last()?[1],
        Some(0) => points[0][1],
        Some(i) => {
            let ([x0, y0], [x1, y1]) = (points[i - 1], points[i]);
            y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        }
    })
}
