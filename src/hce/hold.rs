//! Sums in the place of the terms that training holds still.

use crate::batch::{Held, Rows, Terms};
use crate::terms::{Chosen, Kind};

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
        let sums = terms.sums(row, &masked);
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
        columns: Vec::new(),
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
