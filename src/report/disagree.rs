//! Positions in which two evaluations disagree most, and the nearer one.

use serde::Serialize;

use super::estimate::Groups;
use super::estimate::{Estimate, Means};
use super::table::{between, least, loss, wrap};
use crate::digits::grouped;

/// A difference in expected result from which two evaluations disagree.
pub const LARGE: f64 = 0.1;

/// Two evaluations side by side; the first has the smaller loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    pub names: [String; 2],
    /// Mean of |difference| in expected result.
    pub mean: f64,
    /// Positions that differ by more than [`LARGE`].
    pub large: usize,
    pub share: f64,
    /// How often the first is nearer to the result there; as near is a half.
    pub first_nearer: Option<Estimate>,
    /// The loss of the second less that of the first there.
    pub difference: Option<Estimate>,
    /// The largest differences first, one a group at most.
    pub positions: Vec<Apart>,
}

/// A position that two evaluations see differently. Pairs are in the order of the names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// Counts from 0.
    pub position: usize,
    pub fen: String,
    /// Seen by the side to move, as everything here.
    pub result: f64,
    pub cp: [f64; 2],
    pub expected: [f64; 2],
    /// The one whose expected result is nearer to the result; None where both are as near.
    pub nearer: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub name: &'a str,
    pub cp: &'a [f64],
    pub expected: &'a [f64],
}

impl Disagreement {
    pub(super) fn of(
        sides: [Side; 2],
        results: &[f64],
        groups: &Groups,
        most: usize,
        fen: &dyn Fn(usize) -> String,
    ) -> Self {
        let [first, second] = sides.map(|side| side.expected);
        let apart = |i: usize| (first[i] - second[i]).abs();
        let large: Vec<u32> =
            (0..results.len()).filter(|i| apart(*i) > LARGE).map(|i| i as u32).collect();
        let there = there(&large, first, second, results, groups);
        let position = |i: usize| {
            let expected = [first[i], second[i]];
            let nearer = nearer(expected, results[i]).map(|it| sides[it].name.to_string());
            let cp = sides.map(|side| side.cp[i]);
            Apart { position: i, fen: fen(i), result: results[i], cp, expected, nearer }
        };
        Self {
            names: sides.map(|side| side.name.to_string()),
            mean: (0..results.len()).map(apart).sum::<f64>() / results.len() as f64,
            large: large.len(),
            share: large.len() as f64 / results.len() as f64,
            first_nearer: there.map(|[nearer, _]| nearer),
            difference: there.map(|[_, difference]| difference),
            positions: widest(apart, groups, most).into_iter().map(position).collect(),
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        wrap(&self.summary(), &mut text);
        for apart in &self.positions {
            let mut line = format!("result {}", apart.result);
            for (i, name) in self.names.iter().enumerate() {
                line += &format!(", {name} {:.2} ({:+.0} cp)", apart.expected[i], apart.cp[i]);
            }
            text += &format!("{}\n  {line}\n", apart.fen);
        }
        text
    }

    /// How far and how often the two disagree, and which of them is nearer to the results.
    pub fn summary(&self) -> String {
        let [first, second] = &self.names;
        let mut text = format!(
            "{first} and {second} differ by {:.4} in expected result on average; by more than \
             {LARGE} in {} positions ({:.2} %)",
            self.mean,
            grouped(self.large as u64),
            100.0 * self.share
        );
        if let (Some(nearer), Some(difference)) = (self.first_nearer, self.difference) {
            text +=
                &format!(", where {first} is nearer to the result in {:.1} %", 100.0 * nearer.mean);
            if let Some([low, high]) = nearer.interval.map(|it| it.map(|share| 100.0 * share)) {
                text += &format!(" (95 % interval {}{low:.1} to {high:.1} %)", least(&nearer));
            }
            let by = between(&difference);
            text += &format!(", its loss lower by {}{by}", loss(difference.mean));
        }
        text + "."
    }
}

/// The nearer of two expected results; None where both are as near.
fn nearer(expected: [f64; 2], result: f64) -> Option<usize> {
    let [first, second] = expected.map(|it| (it - result).abs());
    (first != second).then_some(usize::from(second < first))
}

/// The positions that lie furthest apart, one a group at most; equal ones in their order.
fn widest(apart: impl Fn(usize) -> f64, groups: &Groups, most: usize) -> Vec<usize> {
    let mut best: Vec<Option<(f64, usize)>> = vec![None; groups.len()];
    for (i, group) in groups.numbers().iter().enumerate() {
        let best = &mut best[*group as usize];
        let this = apart(i);
        if best.is_none_or(|(widest, _)| this > widest) {
            *best = Some((this, i));
        }
    }
    let mut best: Vec<(f64, usize)> = best.into_iter().flatten().collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.into_iter().take(most).filter(|(apart, _)| *apart > 0.0).map(|(_, i)| i).collect()
}

/// In some positions: how often the first is nearer, and the loss of the second less its own.
fn there(
    records: &[u32],
    first: &[f64],
    second: &[f64],
    results: &[f64],
    groups: &Groups,
) -> Option<[Estimate; 2]> {
    if records.is_empty() {
        return None;
    }
    let groups = groups.of_records(records);
    let wins = |i: usize| match nearer([first[i], second[i]], results[i]) {
        Some(0) => 1.0,
        Some(_) => 0.0,
        None => 0.5,
    };
    let column = |of: &dyn Fn(usize) -> f64| groups.sums(records.iter().map(|i| of(*i as usize)));
    let columns = [
        column(&wins),
        column(&|i| (first[i] - results[i]).powi(2)),
        column(&|i| (second[i] - results[i]).powi(2)),
    ];
    let means = Means::new(&groups, &columns);
    Some([means.mean(0), means.difference(2, 1)])
}
