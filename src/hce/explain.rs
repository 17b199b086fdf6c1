//! A handcrafted evaluation taken apart: what each term and each group adds for White.
//!
//! With the middlegame share `m`, the endgame share `e = 1 - m` and the scale factor `f`, the
//! value for White is `m * mg + f * e * (eg + adjustment)`, see [`Sums`]. A NORMAL term adds
//! `count * (m * mg weight + e * eg weight)`. SAFETY terms are squared together, and COMPLEXITY
//! terms move the endgame value as one; their groups have a share, their terms have none. What
//! the scale factor takes away, `(f - 1) * e * (eg + adjustment)`, is a group of its own, and so
//! is the tempo, so that the groups add up to the evaluation.

use serde::Serialize;

use super::evaluate::{Board, evaluate_board};
use super::terms::parts;
use super::{HceWeights, Only, Phase, Trace};
use crate::sample::Position;
use crate::sums::Sums;
use crate::terms::{Kind, SCALE_FACTOR, TEMPO, TermEntry};

/// An evaluation with its parts. Pairs are middlegame and endgame; all values are centipawns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The shares of the phases, which add up to 1; the scale factor is not in them.
    pub shares: [f64; 2],
    /// The scale factor of the endgame in 128ths; 128 without one.
    pub xi: i32,
    /// The terms that apply and weigh something, in the order of their numbers.
    pub terms: Vec<TermShare>,
    /// What they and the rest add; the sum is the value for White, tempo included.
    pub groups: Vec<GroupShare>,
    /// The danger of White's king and of Black's.
    pub danger: [Danger; 2],
    /// What the COMPLEXITY terms add up to.
    pub complexity: f64,
    /// What they do to the endgame value for White, which they never carry across zero.
    pub adjustment: f64,
    /// For the side to move, as in the weights.
    pub tempo: f64,
    /// For White, tempo included.
    pub white_total: f64,
    /// For the side to move: what [`HceEvaluator::evaluate`](super::HceEvaluator::evaluate) says.
    pub total: f64,
}

/// One term in a position.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermShare {
    pub name: String,
    /// The name of its [`Kind`].
    pub kind: &'static str,
    /// How often it applies for White; COMPLEXITY terms, which have no colour, count here alone.
    pub white_count: i32,
    pub black_count: i32,
    pub weights: [f64; 2],
    /// What it adds for White; None where that cannot be told from the other terms of its kind.
    pub white_cp: Option<f64>,
}

/// What terms whose names begin with the same word add together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupShare {
    /// The first word of the names; SAFETY and COMPLEXITY terms, scale factor and tempo go by
    /// these names.
    pub name: String,
    /// Before the phases are mixed; the tempo is the same in both.
    pub white_phases: [f64; 2],
    pub white_cp: f64,
}

/// The danger of one king.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Danger {
    /// What the SAFETY terms of this side add up to.
    pub sum: [f64; 2],
    /// What the curves make of it, for White: White's own danger is a loss.
    pub white_phases: [f64; 2],
    pub white_cp: f64,
}

/// Takes the evaluation of a position apart.
///
/// # Panics
/// If the weights are those of another engine's terms, see [`HceWeights::is_ours`].
pub fn explain(weights: &HceWeights, position: &Position) -> Explanation {
    assert!(weights.is_ours(), "positions are evaluated with our own terms");
    let board = Board::of(position);
    let phase = Phase::of_board(&board);
    let phase = if weights.scale_factor { phase } else { phase.unscaled() };
    let shares = phase.unscaled().shares();
    let mix = |phases: [f64; 2]| shares[0] * phases[0] + shares[1] * phases[1];

    let (terms, sums) = terms(weights, &board, mix);
    let danger = [0, 1].map(|side| {
        let mut alone = Sums::default();
        alone.safety[side] = sums.safety[side];
        let white_phases = alone.tapered();
        Danger { sum: sums.safety[side], white_phases, white_cp: mix(white_phases) }
    });
    let endgame = sums.white([0.0, 1.0]);
    let adjustment = endgame - sums.tapered()[1];
    let factor = f64::from(phase.xi()) / f64::from(Phase::UNSCALED);
    let white_tempo = position.turn().fold_wb(weights.tempo, -weights.tempo);

    let mut groups = normal_groups(&terms);
    let mut add = |name: &str, white_phases: [f64; 2], white_cp: f64| {
        groups.push(GroupShare { name: name.to_string(), white_phases, white_cp });
    };
    let has = |kind: Kind| terms.iter().any(|term| term.kind == kind.name());
    if has(Kind::Safety) {
        let phases = [0, 1].map(|phase| danger.iter().map(|one| one.white_phases[phase]).sum());
        add(Kind::Safety.name(), phases, danger.iter().map(|one| one.white_cp).sum());
    }
    if has(Kind::Complexity) {
        add(Kind::Complexity.name(), [0.0, adjustment], mix([0.0, adjustment]));
    }
    if weights.scale_factor {
        let lost = [0.0, (factor - 1.0) * endgame];
        add(SCALE_FACTOR, lost, mix(lost));
    }
    if weights.tempo != 0.0 {
        add(TEMPO, [white_tempo; 2], white_tempo);
    }
    let white = sums.white(phase.shares());
    Explanation {
        shares,
        xi: phase.xi(),
        terms,
        groups,
        danger,
        complexity: sums.complexity,
        adjustment,
        tempo: weights.tempo,
        white_total: white + white_tempo,
        total: position.turn().fold_wb(white, -white) + weights.tempo,
    }
}

/// The terms that apply and weigh something, and what they add up to.
fn terms(
    weights: &HceWeights,
    board: &Board,
    mix: impl Fn([f64; 2]) -> f64,
) -> (Vec<TermShare>, Sums) {
    let mut trace = Trace::default();
    let parts = parts(|term| weights.values[term] != [0.0; 2]);
    evaluate_board(board, &mut Only { sink: &mut trace, parts });
    let (mut terms, mut sums) = (Vec::new(), Sums::default());
    trace.drain(|index, counts| {
        let weight = weights.values[index];
        let [white, black] = counts.map(i32::from);
        if weight == [0.0; 2] || [white, black] == [0, 0] {
            return;
        }
        let times = |count: i32| weight.map(|value| f64::from(count) * value);
        let TermEntry { name, kind, .. } = &weights.list.terms[index];
        let mut white_cp = None;
        match kind {
            Kind::Normal => {
                let share = times(white - black);
                grow(&mut sums.normal, share);
                white_cp = Some(mix(share));
            }
            Kind::Safety => {
                grow(&mut sums.safety[0], times(white));
                grow(&mut sums.safety[1], times(black));
            }
            Kind::Complexity => sums.complexity += times(white)[1],
        }
        terms.push(TermShare {
            name: name.clone(),
            kind: kind.name(),
            white_count: white,
            black_count: black,
            weights: weight,
            white_cp,
        });
    });
    (terms, sums)
}

fn grow(sums: &mut [f64; 2], share: [f64; 2]) {
    for (sum, share) in sums.iter_mut().zip(share) {
        *sum += share;
    }
}

/// The NORMAL terms by the first words of their names, in the order of the terms.
fn normal_groups(terms: &[TermShare]) -> Vec<GroupShare> {
    let mut groups: Vec<GroupShare> = Vec::new();
    for term in terms {
        let Some(white_cp) = term.white_cp else { continue };
        let name = term.name.split('.').next().unwrap_or_default();
        let place = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            let (name, white_phases) = (name.to_string(), [0.0; 2]);
            groups.push(GroupShare { name, white_phases, white_cp: 0.0 });
            groups.len() - 1
        });
        let group = &mut groups[place];
        let count = f64::from(term.white_count - term.black_count);
        grow(&mut group.white_phases, term.weights.map(|weight| count * weight));
        group.white_cp += white_cp;
    }
    groups
}
