//! Whether one evaluation may be called better than another.
//!
//! A winner is named where nothing speaks against it, and where the difference stands after the
//! correction of S. Holm, "A simple sequentially rejective multiple test procedure" (1979): so that
//! of all verdicts of a comparison any is false by chance in 5 % of comparisons at most.

use super::chance;
use super::compare::{Comparison, Pair};
use super::estimate::FEW_GROUPS;
use super::predictions::Truth;

/// The chance that any verdict of a comparison is false.
const LEVEL: f64 = 0.05;

/// Why floats and integers of one net are no contest.
pub(super) const ROUNDING: &str = "floats and integers of one net, which differ by rounding";

/// Decides every pair, or says why it stays open.
pub(super) fn decide(comparison: &mut Comparison, truth: &Truth) {
    let general = against_all(comparison, truth);
    let border = |pair: &Pair| {
        let both = |name: &String| *name == pair.better || *name == pair.worse;
        let named = comparison.evaluations.iter().find(|one| one.at_border && both(&one.name));
        named.map(|one| format!("the best scale of {} lies at the border of the search", one.name))
    };
    let rounding = |pair: &Pair| pair.rounding.then(|| ROUNDING.to_string());
    // What speaks against a verdict whatever the numbers are.
    let against: Vec<Option<String>> = comparison
        .pairs
        .iter()
        .map(|pair| general.clone().or_else(|| rounding(pair)).or_else(|| border(pair)))
        .collect();
    let neighbours = comparison.neighbours();
    let p = |place: usize| match against[place] {
        None => comparison.pairs[place].difference.p,
        Some(_) => None,
    };
    let of_neighbours: Vec<f64> = neighbours.iter().filter_map(|place| p(*place)).collect();
    let of_all: Vec<f64> = (0..comparison.pairs.len()).filter_map(p).collect();
    let open = |place: usize| -> Option<String> {
        let family = if neighbours.contains(&place) { &of_neighbours } else { &of_all };
        if comparison.pairs[place].difference.contains_zero() {
            return Some("the interval contains zero".to_string());
        }
        let limit = chance::holm(family, LEVEL);
        let stands = p(place).is_some_and(|p| limit.is_some_and(|limit| p <= limit));
        let why = || {
            format!(
                "the interval is that of one difference and leaves zero out, but among {} such a \
                 one may be chance (Holm)",
                family.len()
            )
        };
        (!stands).then(why)
    };
    let whys: Vec<Option<String>> =
        (0..against.len()).map(|place| against[place].clone().or_else(|| open(place))).collect();
    for (pair, why) in comparison.pairs.iter_mut().zip(whys) {
        pair.decided = why.is_none();
        pair.why = why;
    }
}

/// Why these data name no winner at all, if so.
fn against_all(comparison: &Comparison, truth: &Truth) -> Option<String> {
    let groups = comparison.measured_on.groups;
    let first = truth.results[0];
    if !truth.games_known {
        return Some("games unknown".to_string());
    }
    if groups < FEW_GROUPS {
        let noun = match groups {
            1 => comparison.noun.trim_end_matches('s'),
            _ => &comparison.noun,
        };
        return Some(format!("{groups} {noun}, fewer than {FEW_GROUPS}"));
    }
    if truth.results.iter().all(|result| *result == first) {
        return Some(format!("every result is {first}"));
    }
    truth.doubt.map(str::to_string)
}
