//! How much of the handcrafted terms the hidden layer knows.
//!
//! Each term's count is predicted from all activations by ridge least squares, fitted on half of
//! the games and measured on the other half. Beside it stands the same for the 768 inputs: what a
//! linear function of the pieces on their squares knows already, before any hidden layer.

use std::collections::HashSet;

use rayon::prelude::*;
use serde::Serialize;

use super::activity::Activity;
use super::forward::Forward;
use super::ridge::{Columns, RIDGE, explained};
use crate::architecture::{Inputs, Views};
use crate::batch::Terms;
use crate::features::MAX_ACTIVE;
use crate::hce::terms::TERMS;
use crate::hce::{Coding, HceEvaluator, HceWeights, Term, Trace};
use crate::point_of_view::PointOfView;
use crate::sample::{Sample, games_known, mix};

/// Terms that fewer positions have are left out: half of these are too few to measure on.
const RARE: u64 = 100;

/// The work grows with the square of the neurons: of wider nets those with the largest use stand
/// for all.
const MOST_NEURONS: usize = 2048;

/// Positions that a thread counts terms of, one after the other.
const CHUNK: usize = 256;

/// What is known of the terms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Positions that were fitted on, and others that were measured on.
    pub fitted_on: u64,
    pub measured_on: u64,
    /// Whether those others are of other games; else the games are unknown.
    pub of_other_games: bool,
    /// Neurons whose activations were used, each in all views; pairs of them where what goes on are
    /// their products.
    pub neurons: usize,
    /// Added to the diagonal of the regressors' correlations.
    pub ridge: f64,
    /// Whole evaluations: plain material, and the handcrafted one if there is one.
    pub whole: Vec<TermExplained>,
    /// By the first word of the terms' names; tables and the safety of kings by their first two.
    pub groups: Vec<GroupExplained>,
    /// In the order of the terms' numbers.
    pub terms: Vec<TermExplained>,
}

/// One term. Shares are of the variance of its count, White's less Black's as the net sees them,
/// on positions that were not fitted on: 1 is all of it, 0 none, and noise can take a term of
/// which nothing is known below 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermExplained {
    pub name: String,
    /// Positions in which it applies.
    pub positions: u64,
    /// Explained by the activations.
    pub hidden: f64,
    /// Explained by the inputs.
    pub linear: f64,
}

/// The terms of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupExplained {
    pub name: String,
    pub terms: usize,
    /// Means over its terms, weighted by the positions in which they apply.
    pub hidden: f64,
    pub linear: f64,
    /// The same of what the whole group adds to the handcrafted evaluation; None where there is
    /// none, or the group adds nothing by itself, as COMPLEXITY does.
    pub value: Option<Shares>,
}

/// Shares of a variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    pub hidden: f64,
    pub linear: f64,
}

/// None where the positions are of one game, or no term is common enough. `seen` is told of
/// every position twice.
pub(super) fn terms(
    forward: &Forward,
    activity: &Activity,
    samples: &[&Sample],
    hce: Option<&HceWeights>,
    seen: &(dyn Fn(u64) + Sync),
) -> Option<Explained> {
    let inputs_of = &forward.net.inputs;
    let pieces = counted(samples);
    let mut positions = vec![0; TERMS];
    pieces.iter().for_each(|piece| piece.count(&mut positions));
    let chosen: Vec<usize> = (0..TERMS).filter(|term| positions[*term] >= RARE).collect();
    let mut columns = vec![None; TERMS];
    chosen.iter().enumerate().for_each(|(column, term)| columns[*term] = Some(column));
    let mut whole = vec![("plain material", HceEvaluator::new(&HceWeights::material()))];
    whole.extend(hce.map(|weights| ("the whole HCE", HceEvaluator::new(weights))));
    let parts: Vec<(String, HceEvaluator)> = hce.map(by_group).unwrap_or_default();
    let evaluators: Vec<&HceEvaluator> =
        whole.iter().map(|it| &it.1).chain(parts.iter().map(|it| &it.1)).collect();
    let write = |position: usize, out: &mut [f64]| {
        let sign = f64::from(inputs_of.sign(&samples[position].position));
        let (piece, row) = (&pieces[position / CHUNK], position % CHUNK);
        // Turns White's count to the side to move's, and back where the net sees as White.
        let sign = sign * f64::from(piece.turn[row]);
        let mut add = |term: usize, count: f64| {
            if let Some(column) = columns[term] {
                out[column] += count;
            }
        };
        piece.normal.row(row).for_each(|(term, count)| add(term, sign * f64::from(count)));
        for (term, [white, black]) in piece.safety.row(row) {
            add(term, sign * (f64::from(white) - f64::from(black)));
        }
        piece.complexity.row(row).for_each(|(term, count)| add(term, count.into()));
        let position = &samples[position].position;
        for (out, evaluator) in out[chosen.len()..].iter_mut().zip(&evaluators) {
            *out = f64::from(inputs_of.sign(position)) * evaluator.evaluate(position);
        }
    };
    let targets = Columns { len: chosen.len() + evaluators.len(), write: &write };
    let (train, test): (Vec<usize>, Vec<usize>) =
        (0..samples.len()).partition(|position| mix(1, samples[*position].group()) & 1 == 0);
    if chosen.is_empty() {
        return None;
    }
    let halves = [&train[..], &test[..]];

    let each = forward.net.outputs_of_view();
    let used = most_used(activity, each);
    let activations = |position: usize, out: &mut [f64]| {
        let mut room = forward.room();
        forward.see(&samples[position].position, &mut room);
        let mut all = vec![0.0; forward.net.features()];
        forward.handed_on(&room, &mut all);
        let used = all.chunks_exact(each).flat_map(|all| used.iter().map(|i| all[*i]));
        out.iter_mut().zip(used).for_each(|(out, activation)| *out = activation.into());
    };
    let regressors = Columns { len: inputs_of.views.count() * used.len(), write: &activations };
    let by_hidden = explained(&regressors, &targets, halves, seen)?;

    let seen_by = Inputs::of(match inputs_of.views.point_of_view() {
        PointOfView::White => Views::Plain,
        PointOfView::SideToMove => Views::SideToMove,
    });
    let inputs = |position: usize, out: &mut [f64]| {
        let mut list = [0; MAX_ACTIVE];
        seen_by.write(&samples[position].position, &mut list);
        let active = list.iter().map(|input| usize::from(*input));
        active.take_while(|input| *input < seen_by.rows()).for_each(|input| out[input] = 1.0);
    };
    let regressors = Columns { len: seen_by.rows(), write: &inputs };
    let by_inputs = explained(&regressors, &targets, halves, seen)?;

    let names = chosen.iter().filter_map(|term| Some((Term::new(*term)?.name(), positions[*term])));
    let all = samples.len() as u64;
    let names = names.chain(whole.iter().map(|(name, _)| (name.to_string(), all)));
    let names = names.chain(parts.iter().map(|(name, _)| (name.clone(), all)));
    let mut terms: Vec<TermExplained> = names
        .zip(by_hidden.into_iter().zip(by_inputs))
        .map(|((name, positions), (hidden, linear))| TermExplained {
            name,
            positions,
            hidden,
            linear,
        })
        .collect();
    let varies = |it: &TermExplained| it.hidden.is_finite();
    let mut values = terms.split_off(chosen.len() + whole.len());
    let mut whole = terms.split_off(chosen.len());
    for all in [&mut terms, &mut whole, &mut values] {
        all.retain(varies);
    }
    Some(Explained {
        fitted_on: train.len() as u64,
        measured_on: test.len() as u64,
        of_other_games: games_known(samples.iter().copied()),
        neurons: used.len(),
        ridge: RIDGE,
        whole,
        groups: groups(&terms, &values),
        terms,
    })
}

/// How often each term applies, `CHUNK` positions a piece.
fn counted(samples: &[&Sample]) -> Vec<Terms> {
    let coding = Coding::new(&[true; TERMS], true);
    let encode = |samples: &[&Sample]| {
        let (mut trace, mut terms) = (Trace::default(), Terms::default());
        for sample in samples {
            coding.encode(&sample.position, &mut trace, &mut terms);
        }
        terms
    };
    samples.par_chunks(CHUNK).map(encode).collect()
}

/// Neurons with the largest use, or the first ones of such pairs, in the order of their numbers.
fn most_used(activity: &Activity, each: usize) -> Vec<usize> {
    let used = activity.by_use().into_iter().map(|it| it.neuron);
    let mut used: Vec<usize> = used.filter(|neuron| *neuron < each).take(MOST_NEURONS).collect();
    used.sort_unstable();
    used
}

/// The evaluations that have the weights of one group alone.
fn by_group(weights: &HceWeights) -> Vec<(String, HceEvaluator)> {
    let mut groups: Vec<(String, HceWeights)> = Vec::new();
    for term in Term::all() {
        let name = group(&term.name());
        if !groups.iter().any(|(other, _)| *other == name) {
            let mut alone = HceWeights::zero(weights.scale);
            alone.scale_factor = weights.scale_factor;
            groups.push((name.clone(), alone));
        }
        if let Some((_, alone)) = groups.iter_mut().find(|(other, _)| *other == name) {
            alone.values[term.index()] = weights.values[term.index()];
        }
    }
    groups.into_iter().map(|(name, alone)| (name, HceEvaluator::new(&alone))).collect()
}

/// The first word of a name; tables are told apart by their roles, and what endangers kings is a
/// group of its own.
fn group(name: &str) -> String {
    let two = name.starts_with("psqt.") || name.starts_with("king.safety.");
    name.split('.').take(if two { 2 } else { 1 }).collect::<Vec<_>>().join(".")
}

fn groups(terms: &[TermExplained], values: &[TermExplained]) -> Vec<GroupExplained> {
    let mut names: Vec<String> = terms.iter().map(|term| group(&term.name)).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let explained = |name: String| {
        let of_group = || terms.iter().filter(|term| group(&term.name) == name);
        let weight: f64 = of_group().map(|term| term.positions as f64).sum();
        let mean = |share: fn(&TermExplained) -> f64| {
            of_group().map(|term| term.positions as f64 * share(term)).sum::<f64>() / weight
        };
        let value = values.iter().find(|value| value.name == name);
        GroupExplained {
            terms: of_group().count(),
            hidden: mean(|term| term.hidden),
            linear: mean(|term| term.linear),
            value: value.map(|it| Shares { hidden: it.hidden, linear: it.linear }),
            name,
        }
    };
    names.into_iter().map(explained).collect()
}
