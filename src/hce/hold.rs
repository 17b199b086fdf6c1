//! Batches of terms as sums: of the terms that training holds still, and of all.

use crate::batch::{Held, Rows, Terms};
use crate::sums::Sums;
use crate::terms::{Chosen, Kind};

/// What the terms of a row add up to with these weights, what is held included.
pub fn sums(terms: &Terms, row: usize, weights: &[[f64; 2]]) -> Sums {
    let mut sums = held(&terms.held, row);
    for (term, count) in terms.normal.row(row) {
        grow(&mut sums.normal, weights[term], count);
    }
    for (term, counts) in terms.safety.row(row) {
        for (sum, count) in sums.safety.iter_mut().zip(counts) {
            grow(sum, weights[term], count);
        }
    }
    for (term, count) in terms.complexity.row(row) {
        sums.complexity += f64::from(count) * weights[term][1];
    }
    sums
}

/// Turns the entries of the terms that are not chosen into sums, and adds those that are held
/// already. `weights` and `kinds` are those of all terms, by number.
///
/// The sums of a kind are left out where no entry of that kind has to be held, now or before. Every
/// entry must stand among those of its term's kind.
pub fn hold(terms: Terms, chosen: &Chosen, weights: &[[f64; 2]], kinds: &[Kind]) -> Terms {
    let rows = terms.len();
    let still = |term: usize| !chosen.terms[term];
    let any = |kind: Kind| {
        let entries = match kind {
            Kind::Normal => &terms.normal.term,
            Kind::Safety => &terms.safety.term,
            Kind::Complexity => &terms.complexity.term,
        };
        debug_assert!(entries.iter().all(|term| kinds[usize::from(*term)] == kind));
        entries.iter().any(|term| still((*term).into()))
    };
    let [normal, safety, complexity] = Kind::ALL.map(any);
    let mut held_sums = Held::default();
    let mut masked = weights.to_vec();
    for (weight, chosen) in masked.iter_mut().zip(&chosen.terms) {
        if *chosen {
            *weight = [0.0; 2];
        }
    }
    for row in 0..rows {
        let sums = sums(&terms, row, &masked);
        if normal || !terms.held.normal.is_empty() {
            held_sums.normal.push(sums.normal.map(|sum| sum as f32));
        }
        if safety || !terms.held.safety.is_empty() {
            let [white, black] = sums.safety;
            held_sums.safety.push([white[0], white[1], black[0], black[1]].map(|sum| sum as f32));
        }
        if complexity || !terms.held.complexity.is_empty() {
            held_sums.complexity.push(sums.complexity as f32);
        }
    }
    Terms {
        normal: kept(terms.normal, rows, chosen),
        safety: kept(terms.safety, rows, chosen),
        complexity: kept(terms.complexity, rows, chosen),
        held: held_sums,
        ..terms
    }
}

/// The entries of chosen terms.
fn kept<C: Copy>(entries: Rows<C>, rows: usize, chosen: &Chosen) -> Rows<C> {
    let mut kept = Rows::default();
    for row in 0..rows {
        let entries = entries.row(row).filter(|(term, _)| chosen.terms[*term]);
        kept.push(row, entries.map(|(term, count)| (term as u16, count)));
    }
    kept
}

/// The sums that are held; 0 where there are none.
fn held(held: &Held, row: usize) -> Sums {
    let [a, b, c, d] = held.safety.get(row).copied().unwrap_or_default().map(f64::from);
    Sums {
        normal: held.normal.get(row).copied().unwrap_or_default().map(f64::from),
        safety: [[a, b], [c, d]],
        complexity: held.complexity.get(row).copied().unwrap_or_default().into(),
    }
}

fn grow(sums: &mut [f64; 2], weight: [f64; 2], count: i8) {
    for (sum, weight) in sums.iter_mut().zip(weight) {
        *sum += f64::from(count) * weight;
    }
}
