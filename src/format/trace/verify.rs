//! Whether the counts of a trace give the evaluation that the engine printed beside them.

use shakmaty::Color;

use super::{Entry, Traced};
use crate::point_of_view::PointOfView;
use crate::sums::Sums;
use crate::terms::{Kind, OwnTerms};

/// How evaluations are printed, as the first line of a file says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rules {
    pub view: PointOfView,
    /// Centipawns that the evaluation may be off: engines divide in integers.
    pub tolerance: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { view: PointOfView::White, tolerance: 2.0 }
    }
}

/// Evaluations that were compared with the counts beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    pub count: u64,
    /// The largest difference, in centipawns, and where it is.
    pub largest: f64,
    pub place: String,
}

impl Checked {
    /// Both together; of differences that are the same, the first.
    pub fn join(&mut self, other: Checked) {
        let count = self.count + other.count;
        if other.largest > self.largest || self.count == 0 {
            *self = other;
        }
        self.count = count;
    }

    pub(super) fn add(&mut self, difference: f64, place: impl FnOnce() -> String) {
        if difference > self.largest || self.count == 0 {
            (self.largest, self.place) = (difference, place());
        }
        self.count += 1;
    }
}

/// Terms that an error names.
const NAMED: usize = 4;

/// The difference between the evaluation of a record and what its counts give with the weights of
/// the term list, in centipawns; none where it has no evaluation. The error says what is wrong.
pub(super) fn check(traced: &Traced, own: &OwnTerms, rules: Rules) -> Result<Option<f64>, String> {
    let Some(eval) = traced.eval.map(f64::from) else { return Ok(None) };
    let white = value(traced, own);
    let turned = rules.view == PointOfView::SideToMove && traced.turn == Color::Black;
    let found = if turned { -white } else { white };
    let difference = (eval - found).abs();
    // The numbers of files have a few digits only.
    if difference <= rules.tolerance + 1e-4 {
        return Ok(Some(difference));
    }
    let sign = if turned { -1.0 } else { 1.0 };
    let without = |place: usize| {
        let mut other = traced.clone();
        other.entries.remove(place);
        sign * (white - value(&other, own))
    };
    let mut parts: Vec<(f64, usize)> =
        (0..traced.entries.len()).map(|place| (without(place), place)).collect();
    parts.sort_by(|one, other| other.0.abs().total_cmp(&one.0.abs()));
    let named = parts.iter().take(NAMED).map(|(part, place)| {
        let Entry { term, white, black } = traced.entries[*place];
        let name = &own.list.terms[usize::from(term)].name;
        format!("{name} {part:+.1} ({term}:{white}:{black})")
    });
    let named: Vec<String> = named.collect();
    let whose = if rules.view == PointOfView::White { "White" } else { "the side to move" };
    let opposite = match (eval + found).abs() <= rules.tolerance && eval != 0.0 {
        true => "; it would fit with the other sign: see `eval=` in the first line",
        false => "",
    };
    Err(format!(
        "the engine's evaluation is {eval:+.2}, but its counts with the weights of the term list \
         give {found:+.2} (centipawns, seen by {whose}; {} may be lost in divisions){opposite}; \
         what adds most: {}; print list and traces with one build, without caches and early exits",
        rules.tolerance,
        named.join(", ")
    ))
}

/// Centipawns for White, the tempo included: the counts with the weights of the term list.
pub fn value(traced: &Traced, own: &OwnTerms) -> f64 {
    let mut sums = Sums::default();
    for &Entry { term, white, black } in &traced.entries {
        let term = &own.list.terms[usize::from(term)];
        let [white, black] = [white, black].map(f64::from);
        for (phase, weight) in term.start.into_iter().enumerate() {
            match term.kind {
                Kind::Normal => sums.normal[phase] += weight * (white - black),
                Kind::Safety => {
                    sums.safety[0][phase] += weight * white;
                    sums.safety[1][phase] += weight * black;
                }
                Kind::Complexity if phase == 1 => sums.complexity += weight * white,
                Kind::Complexity => {}
            }
        }
    }
    let tempo = traced.turn.fold_wb(own.list.tempo, -own.list.tempo);
    sums.white(own.shares(traced.phase, traced.scale)) + tempo
}
