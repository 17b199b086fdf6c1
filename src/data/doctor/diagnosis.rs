//! All figures of a file, and what they mean.

use serde::Serialize;

use super::size::{Amount, Size};
use super::{
    Calibration, Finding, Grade, Histogram, Material, Order, Overlap, Repeats, Results, Scores,
    Seen, Soundness,
};
use crate::format::BadRecords;
use crate::point_of_view::PointOfView;

/// What the reader of a file says once it is done.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Under which scores and results were read.
    pub view: PointOfView,
    pub bad: BadRecords,
    /// Games passed over because they have no result.
    pub unfinished: u64,
    /// Why reading stopped before the end of the file.
    pub ended: Option<String>,
}

/// Records that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bad {
    pub count: u64,
    /// Of all records: of games where they are known, else of positions.
    pub share: f64,
    /// The first of them, with place and reason.
    pub first: Vec<String>,
}

impl Bad {
    pub(super) fn of(reading: &Reading, positions: u64, games: Option<u64>) -> Self {
        let BadRecords { count, first } = &reading.bad;
        let good = games.unwrap_or(positions);
        Self {
            count: *count,
            share: crate::digits::share(*count, count + good),
            first: first.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Positions that an evaluation without search is not asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Noise {
    pub in_check: u64,
    /// Positions whose move played is known.
    pub moves: u64,
    pub captures: u64,
    pub promotions: u64,
    /// Positions with any of these.
    pub any: u64,
}

/// What an exam found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    pub positions: u64,
    /// Each counted once; none where they are unknown.
    pub games: Option<u64>,
    pub bad: Bad,
    pub unfinished: u64,
    pub ended: Option<String>,
    pub side_to_move: Results,
    /// None where it is unknown who is White.
    pub white: Option<Results>,
    /// Positions with White and with Black to move.
    pub to_move: [u64; 2],
    pub scores: Scores,
    /// Kings included.
    pub pieces: Histogram,
    /// Knights and bishops 1, rooks 2, queens 4.
    pub phase: Histogram,
    /// Half-moves since the start of the game, where they are known.
    pub plies: Histogram,
    /// None where too few positions have scores.
    pub calibration: Option<Calibration>,
    /// How much material says of results; none where too few positions tell.
    pub material: Option<Material>,
    pub views: Vec<Seen>,
    pub repeats: Repeats,
    pub order: Order,
    pub noise: Noise,
    pub sound: Soundness,
    pub against: Option<Overlap>,
    /// Evaluations by size, and whether this is enough for them.
    pub sizes: Vec<Size>,
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// What there is to learn from, without the positions that a filter for quiet ones leaves out.
    pub fn amount(&self) -> Amount {
        let quiet = 1.0 - crate::digits::share(self.noise.any, self.positions);
        let part = |count: u64| (count as f64 * quiet).round() as u64;
        let scored = self.scores.known() - self.scores.mates;
        Amount { games: self.games, positions: part(self.positions), scored: part(scored) }
    }

    /// Whether training on this would be no mistake.
    pub fn is_fit(&self) -> bool {
        self.findings.iter().all(|finding| finding.grade != Grade::Problem)
    }

    /// How many findings have a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }
}
