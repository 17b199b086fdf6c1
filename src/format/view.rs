//! Measurement of the point of view of a file's scores and results. The side with more material wins
//! more often and has the better score, so positions with Black to move show a wrong view.

use std::fmt;

use shakmaty::{Color, Role};

use super::Presence::Never;
use super::{Format, fields};
use crate::digits::group_digits;
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    Result,
    Score,
}

words!(LabelKind: Result = "results", Score = "scores");

impl LabelKind {
    /// The key and the option of the point of view.
    pub fn view_keys(self) -> [&'static str; 2] {
        [["result_view", "--result-view"], ["score_view", "--score-view"]][self as usize]
    }
}

/// The points of view in which a file is read; None: the format's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenViews {
    pub scores: Option<PointOfView>,
    pub results: Option<PointOfView>,
}

impl GivenViews {
    pub fn given_view(self, kind: LabelKind) -> Option<PointOfView> {
        [self.results, self.scores][kind as usize]
    }

    /// Converts samples of whole games or records that were read in the format's point of view.
    pub(super) fn convert_samples(self, format: &Format, samples: &mut [Sample]) {
        let differs = |view: Option<PointOfView>| view.is_some_and(|view| view != format.view);
        if differs(self.scores) {
            let black = samples.iter_mut().filter(|sample| sample.position.turn().is_black());
            black.for_each(|sample| sample.score = sample.score.map(i16::saturating_neg));
        }
        if differs(self.results) {
            // A game has one result, from the point of view of its first position.
            let in_games = format.facts.games != Never && format.facts.moves != Never;
            let mut turn = Color::White;
            let mut game = None;
            for sample in samples {
                if !in_games || sample.game.is_none() || sample.game != game {
                    turn = sample.position.turn();
                    game = sample.game;
                }
                sample.result = fields::flip_result(sample.result, turn);
            }
        }
    }
}

/// The point of view in which scores or results of a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadView {
    pub view: PointOfView,
    /// Whether the values follow a move, and `SideToMove` is the side that made it.
    pub follows_move: bool,
}

/// The correlation of results or scores with material, for one side to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    pub kind: LabelKind,
    pub turn: Color,
    pub count: usize,
    /// The correlation of material difference and value, both for the side to move, -1 to 1.
    pub correlation: f64,
    /// The distance of the correlation from zero in standard errors.
    pub deviations: f64,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evidence { turn, count, correlation, deviations, .. } = self;
        write!(
            f,
            "correlation {correlation:+.2} with material over {} positions with {turn:?} to \
             move, {deviations:+.0} standard errors from 0",
            group_digits(*count as u64)
        )
    }
}

/// The agreement of the samples with the point of view in which they were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ViewCheck {
    /// The view is right, by the evidence of the decisive side to move.
    Holds(Evidence),
    OtherView(Evidence),
    /// Both sides have the opposite sign: a win is written as a loss.
    WrongSign(Evidence),
    /// There are too few positions, too small differences, or no positions in which views differ.
    Unsure,
}

impl ViewCheck {
    /// Explains in one sentence, with the evidence, why the point of view of the labels is wrong;
    /// none if it is not. `table` is the table of the config's key.
    pub fn explain_contradiction(&self, read: ReadView, table: &str) -> Option<String> {
        let (ViewCheck::OtherView(evidence) | ViewCheck::WrongSign(evidence)) = self else {
            return None;
        };
        let Evidence { kind, turn, .. } = evidence;
        let name = kind.name();
        let [key, option] = kind.view_keys();
        let [current, opposite] = [read.view, read.view.opposite()];
        // Values of the two views differ if Black is to move, or after a move of Black.
        let which = match self {
            ViewCheck::OtherView(_) if turn.is_white() == read.follows_move => {
                return Some(format!(
                    "the {name} are read as {current}'s, but seem to be {opposite}'s: {evidence}; \
                     set {table}.{key} or {option} to {}",
                    opposite.name()
                ));
            }
            ViewCheck::OtherView(_) => format!(" where {turn:?} is to move"),
            _ => ", a win written as a loss".to_string(),
        };
        Some(format!(
            "the {name} seem to have the wrong sign{which}: {evidence}; correct the {name}"
        ))
    }
}

/// The number of positions that count as one, since neighbours belong to the same game.
const ALIKE: f64 = 16.0;
const SURE: f64 = 4.0;

/// Measures results or scores against material; without `colours`, White to move decides alone.
pub fn measure_view(samples: &[Sample], kind: LabelKind, colours: bool) -> ViewCheck {
    let white = gather_evidence(samples, kind, Color::White);
    let black = gather_evidence(samples, kind, Color::Black);
    match (sure_sign(&white), sure_sign(&black)) {
        // The views differ with Black to move.
        (Some(true) | None, Some(true)) => ViewCheck::Holds(black),
        (Some(true) | None, Some(false)) => ViewCheck::OtherView(black),
        (Some(false), Some(true)) => ViewCheck::OtherView(white),
        (Some(false), _) => ViewCheck::WrongSign(white),
        (Some(true), None) if !colours => ViewCheck::Holds(white),
        (_, None) => ViewCheck::Unsure,
    }
}

/// Whether the correlation is surely above or surely below zero.
fn sure_sign(evidence: &Evidence) -> Option<bool> {
    (evidence.deviations.abs() >= SURE).then_some(evidence.deviations > 0.0)
}

fn gather_evidence(samples: &[Sample], kind: LabelKind, turn: Color) -> Evidence {
    let mut sums = Correlation::default();
    for sample in samples.iter().filter(|sample| sample.position.turn() == turn) {
        let value = match kind {
            LabelKind::Result => Some(f64::from(sample.result)),
            // Unbounded scores of mates would dominate.
            LabelKind::Score => sample.score.map(|score| f64::from(score).clamp(-1000.0, 1000.0)),
        };
        if let Some(value) = value {
            sums.add(material_balance(&sample.position), value);
        }
    }
    let correlation = sums.correlation_value().unwrap_or(0.0);
    // Fisher's transformation has a standard deviation of 1 / sqrt(n - 3).
    let freedom = (sums.count / ALIKE - 3.0).max(0.0);
    let deviations = correlation.clamp(-0.999_999, 0.999_999).atanh() * freedom.sqrt();
    Evidence { kind, turn, count: sums.count as usize, correlation, deviations }
}

/// Computes own minus enemy material in pawns: 1, 3, 3, 5, 9.
fn material_balance(position: &Position) -> f64 {
    let turn = position.turn();
    let pieces = position.pieces().map(|piece| {
        let value = match piece.role {
            Role::Pawn => 1,
            Role::Knight | Role::Bishop => 3,
            Role::Rook => 5,
            Role::Queen => 9,
            Role::King => 0,
        };
        if piece.color == turn { value } else { -value }
    });
    f64::from(pieces.sum::<i32>())
}

#[derive(Clone, Copy, Debug, Default)]
struct Correlation {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Correlation {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
    }

    /// Computes Pearson's correlation; none if either variable is constant.
    fn correlation_value(&self) -> Option<f64> {
        let n = self.count;
        let covariance = n * self.xy - self.x * self.y;
        let [x, y] = [n * self.xx - self.x * self.x, n * self.yy - self.y * self.y];
        (x > 0.0 && y > 0.0).then(|| covariance / (x.sqrt() * y.sqrt()))
    }
}
