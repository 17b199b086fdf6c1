//! What a run did, in a few lines: the clearest changes, and what was held.

use std::collections::HashMap;

use super::before_after::{TermResult, Why, signed, tenths};
use super::{Align, Table};
use crate::terms::Kind;

/// The `most` terms whose change is largest in standard errors, largest first; each with the phase
/// in which it is. Held terms and those without an error above 0 do not take part.
pub fn clearest(results: &[TermResult], most: usize) -> String {
    let mut changes: Vec<(&TermResult, usize, f64)> = Vec::new();
    for result in results.iter().filter(|result| result.held.is_none()) {
        let Some(error) = result.error else { continue };
        let change = result.change();
        let phases = if result.kind == Kind::Complexity { 1..2 } else { 0..2 };
        let ratios = phases.map(|phase| (result, phase, change[phase] / error[phase]));
        let ratios = ratios.filter(|(_, phase, ratio)| error[*phase] > 0.0 && ratio.is_finite());
        changes.extend(ratios.max_by(|a, b| a.2.abs().total_cmp(&b.2.abs())));
    }
    sorted(changes, most, Some("in errors"))
}

/// The same by the changes themselves, where no weight has an error.
pub fn largest(results: &[TermResult], most: usize) -> String {
    let moved = results.iter().filter(|result| result.held.is_none());
    let change = |result| {
        let changes = TermResult::change(result);
        let phase = usize::from(changes[1].abs() > changes[0].abs());
        (result, phase, changes[phase])
    };
    let changes = moved.map(change).filter(|(.., change)| *change != 0.0);
    sorted(changes.collect(), most, None)
}

/// The first of some changes, with a phase and what they are sorted by; empty without any.
fn sorted(mut changes: Vec<(&TermResult, usize, f64)>, most: usize, title: Option<&str>) -> String {
    changes.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    changes.truncate(most);
    if changes.is_empty() {
        return String::new();
    }
    use Align::{Left, Right};
    let mut columns = vec![
        ("term", Left),
        ("phase", Left),
        ("start", Right),
        ("tuned", Right),
        ("change", Right),
    ];
    columns.extend(title.map(|title| (title, Right)));
    let mut table = Table::new(&columns);
    for (result, phase, by) in changes {
        let cells = [
            result.name.clone(),
            ["mg", "eg"][phase].to_string(),
            tenths(result.start[phase]),
            tenths(result.tuned[phase]),
            signed(result.change()[phase]),
        ];
        table.row(cells.into_iter().chain(title.map(|_| signed(by))));
    }
    table.to_string()
}

/// The held terms, one line a group and reason, such as `psqt.pawn.*: 16 of 64 rare`; empty if
/// none is held. Groups that are held as a whole for one reason become one.
pub fn held(results: &[TermResult]) -> String {
    let all: Vec<(Vec<&str>, Option<Why>)> =
        results.iter().map(|result| (result.name.split('.').collect(), result.held)).collect();
    let mut lines = Vec::new();
    group(&all, (0..all.len()).collect(), &[], &mut lines);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The lines of terms whose names all begin with `prefix`.
fn group(
    all: &[(Vec<&str>, Option<Why>)],
    terms: Vec<usize>,
    prefix: &[&str],
    lines: &mut Vec<String>,
) {
    let Some(first) = terms.first().and_then(|first| all[*first].1.map(|why| (*first, why))) else {
        return parts(all, terms, prefix, lines);
    };
    let (first, why) = first;
    if terms.iter().any(|term| all[*term].1 != Some(why)) {
        return parts(all, terms, prefix, lines);
    }
    lines.push(match terms.len() {
        1 => format!("{}: {}", all[first].0.join("."), why.name()),
        len => format!("{}: {len} of {len} {}", below(prefix), why.name()),
    });
}

/// The lines of terms of which not all are held for one reason.
fn parts(
    all: &[(Vec<&str>, Option<Why>)],
    terms: Vec<usize>,
    prefix: &[&str],
    lines: &mut Vec<String>,
) {
    let depth = prefix.len();
    if terms.iter().all(|term| all[*term].0.len() <= depth + 1) {
        for why in Why::ALL {
            let held: Vec<usize> =
                terms.iter().copied().filter(|term| all[*term].1 == Some(why)).collect();
            match held[..] {
                [] => {}
                [one] => lines.push(format!("{}: {}", all[one].0.join("."), why.name())),
                _ => lines.push(format!(
                    "{}: {} of {} {}",
                    below(prefix),
                    held.len(),
                    terms.len(),
                    why.name()
                )),
            }
        }
        return;
    }
    let mut order: Vec<Vec<usize>> = Vec::new();
    let mut found: HashMap<Option<&str>, usize> = HashMap::new();
    for term in terms {
        let word = all[term].0.get(depth).copied();
        let place = *found.entry(word).or_insert(order.len());
        match order.get_mut(place) {
            Some(terms) => terms.push(term),
            None => order.push(vec![term]),
        }
    }
    for terms in order {
        let path = &all[terms[0]].0;
        group(all, terms, &path[..path.len().min(depth + 1)], lines);
    }
}

fn below(prefix: &[&str]) -> String {
    [prefix, &["*"]].concat().join(".")
}
