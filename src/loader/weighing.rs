//! How much positions count.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::LoadError;
use crate::format::{Facts, Format, Holds};
use crate::sample::Sample;

/// How much the loss of a position counts, against that of others. Each key is a line through points
/// `[where, how much]`, straight between them and level beyond; where several are given they are
/// multiplied. Without any all positions count alike. Only ratios matter, in steps of 1/255 of the
/// largest. A fact that a position lacks changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weighing {
    /// By the number of half-moves since the start of the game.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "points")]
    #[schemars(example = [[0.0, 0.2], [30.0, 1.0]])]
    pub ply: Vec<[f64; 2]>,
    /// By the number of pieces on the board, kings and pawns included.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "points")]
    #[schemars(example = [[2.0, 0.5], [16.0, 1.0], [32.0, 1.0]])]
    pub pieces: Vec<[f64; 2]>,
    /// By the score in centipawns, whichever side it is for.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "points")]
    #[schemars(example = [[0.0, 1.0], [1000.0, 0.25]])]
    pub score: Vec<[f64; 2]>,
    /// By source, from the first on; empty where all count alike. A config says it source by source.
    #[serde(skip)]
    pub sources: Vec<f64>,
}

/// Pairs of numbers, none of which has a third.
fn points<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<[f64; 2]>, D::Error> {
    let points = Vec::<Vec<f64>>::deserialize(from)?;
    let pair = |point: Vec<f64>| {
        let wrong = |point: Vec<f64>| {
            D::Error::custom(format!("expected [where, how much], found {point:?}"))
        };
        point.try_into().map_err(wrong)
    };
    points.into_iter().map(pair).collect()
}

impl Weighing {
    /// Whether all positions count alike.
    pub fn is_level(&self) -> bool {
        *self == Self::default()
    }

    fn lines(&self) -> [(&'static str, &[[f64; 2]]); 3] {
        [("ply", &self.ply), ("pieces", &self.pieces), ("score", &self.score)]
    }

    /// The first line that is none, by its key and in words.
    pub fn wrong(&self) -> Option<(&'static str, String)> {
        let wrong = |points: &[[f64; 2]]| {
            let finite = points.as_flattened().iter().all(|number| number.is_finite());
            if !finite || points.iter().any(|point| point[1] < 0.0) {
                return Some("is a line of finite points, none of which counts less than 0");
            }
            if points.windows(2).any(|pair| pair[0][0] >= pair[1][0]) {
                return Some("is a line of points that go upwards: [[0, 0.2], [30, 1]]");
            }
            let counts = points.iter().any(|point| point[1] > 0.0);
            (!points.is_empty() && !counts).then_some("leaves no position that counts")
        };
        let wrong = |(key, points)| wrong(points).map(|reason| (key, reason.to_string()));
        self.lines().into_iter().find_map(wrong)
    }

    /// An error where a key asks for a fact that the format never tells.
    pub(super) fn check(&self, path: &Path, format: &Format) -> Result<(), LoadError> {
        let Facts { plies, scores, .. } = format.facts;
        for (key, points, holds, fact) in [
            ("target.weights.ply", &self.ply, plies, "the ply"),
            ("target.weights.score", &self.score, scores, "the score"),
        ] {
            if !points.is_empty() && holds == Holds::Never {
                let path = path.to_path_buf();
                return Err(LoadError::Unknown { path, key, fact, format: format.name });
            }
        }
        Ok(())
    }

    /// What a position counts, 0 to 1: 1 where it counts most.
    pub fn of(&self, sample: &Sample) -> f64 {
        let facts = [
            sample.ply.map(f64::from),
            Some(sample.position.count() as f64),
            sample.score.map(|score| f64::from(score).abs()),
        ];
        let factor = |((_, points), fact): ((_, &[[f64; 2]]), Option<f64>)| {
            let most = points.iter().map(|point| point[1]).fold(0.0, f64::max);
            fact.and_then(|fact| along(points, fact)).map_or(1.0, |weight| weight / most)
        };
        let most = self.sources.iter().copied().fold(0.0, f64::max);
        let source = usize::from(sample.source).checked_sub(1);
        let source = source.and_then(|source| self.sources.get(source));
        let of_source = source.map_or(1.0, |weight| weight / most);
        self.lines().into_iter().zip(facts).map(factor).product::<f64>() * of_source
    }

    /// The same in a byte, as positions in memory keep it.
    pub(super) fn code(&self, sample: &Sample) -> u8 {
        (255.0 * self.of(sample)).round() as u8
    }

    /// What positions count, as batches have it: empty where all count alike.
    pub fn weights(&self, samples: &[Sample]) -> Arc<[f32]> {
        match self.is_level() {
            true => Arc::new([]),
            false => samples.iter().map(|sample| weight(self.code(sample))).collect(),
        }
    }
}

/// What a code stands for.
pub(super) fn weight(code: u8) -> f32 {
    f32::from(code) / 255.0
}

/// The height of a line at a place; none without points.
fn along(points: &[[f64; 2]], place: f64) -> Option<f64> {
    let behind = points.iter().position(|point| point[0] >= place);
    Some(match behind {
        None => points.last()?[1],
        Some(0) => points[0][1],
        Some(i) => {
            let ([x0, y0], [x1, y1]) = (points[i - 1], points[i]);
            y0 + (y1 - y0) * (place - x0) / (x1 - x0)
        }
    })
}
