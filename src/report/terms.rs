//! Handcrafted terms before and after training: each term, and values of pieces.

use super::Table;
use super::table::{signed, tenths};
use crate::terms::Kind;

/// Result of training for one term: middlegame and endgame, in centipawns.
#[derive(Clone, Debug, PartialEq)]
pub struct TermResult {
    pub name: String,
    pub kind: Kind,
    /// Number of positions with it, if they were counted.
    pub count: Option<u64>,
    pub start: [f64; 2],
    pub tuned: [f64; 2],
    /// Standard errors of the tuned weights, if known.
    pub error: Option<[f64; 2]>,
    /// Reason why it kept its weights; none if it was trained.
    pub held: Option<&'static str>,
}

impl TermResult {
    pub fn change(&self) -> [f64; 2] {
        [0, 1].map(|phase| self.tuned[phase] - self.start[phase])
    }

    fn phases(&self) -> std::ops::Range<usize> {
        usize::from(self.kind == Kind::Complexity)..2
    }
}

/// Formats comma-separated values (RFC 4180), with numbers that are read back exactly.
pub fn csv(results: &[TermResult]) -> String {
    let mut out = String::from(
        "term,kind,positions,start_mg,start_eg,tuned_mg,tuned_eg,change_mg,change_eg,error_mg,\
         error_eg,held\n",
    );
    for result in results {
        let name = match result.name.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", result.name.replace('"', "\"\"")),
            false => result.name.clone(),
        };
        let count = result.count.map_or_else(String::new, |count| count.to_string());
        let mut cells = vec![name, result.kind.name().to_string(), count];
        for pair in [Some(result.start), Some(result.tuned), Some(result.change()), result.error] {
            for phase in 0..2 {
                let shown = pair.filter(|_| result.phases().contains(&phase));
                cells.push(shown.map_or_else(String::new, |pair| pair[phase].to_string()));
            }
        }
        cells.push(result.held.unwrap_or_default().to_string());
        out += &cells.join(",");
        out.push('\n');
    }
    out
}

/// Effective values of pieces: material plus the mean of the role's other terms.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValues {
    /// Mean share of the middlegame over the positions.
    pub middlegame: f64,
    /// Empty if the terms have no material.
    pub pieces: Vec<EffectiveValue>,
}

/// Middlegame and endgame, in centipawns.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValue {
    pub role: &'static str,
    pub start: [f64; 2],
    pub tuned: [f64; 2],
}

const ROLES: [&str; 5] = ["pawn", "knight", "bishop", "rook", "queen"];

impl EffectiveValues {
    /// Computes them from terms, with the counts of both sides together.
    pub fn of<'a>(
        terms: impl Iterator<Item = (&'a TermResult, f64)> + Clone,
        middlegame: f64,
    ) -> Self {
        let normal = terms.filter(|(term, _)| term.kind == Kind::Normal);
        let value = |(number, role): (usize, &'static str)| {
            let name = format!("material.{role}");
            let (_, pieces) = normal.clone().find(|(term, _)| term.name == name)?;
            let mut value = EffectiveValue { role, start: [0.0; 2], tuned: [0.0; 2] };
            for (term, times) in
                normal.clone().filter(|(term, _)| role_of(&term.name) == Some(number))
            {
                for phase in 0..2 {
                    value.start[phase] += term.start[phase] * times / pieces;
                    value.tuned[phase] += term.tuned[phase] * times / pieces;
                }
            }
            (pieces > 0.0).then_some(value)
        };
        let pieces = ROLES.into_iter().enumerate().filter_map(value).collect();
        Self { middlegame, pieces }
    }

    pub fn table(&self) -> Table {
        let mean =
            |value: [f64; 2]| self.middlegame * value[0] + (1.0 - self.middlegame) * value[1];
        let mut table =
            Table::titled(&["<effective value", "mg", "eg", "mean", "change", "in pawns"]);
        let pawn = self.pieces.first().map_or(f64::NAN, |pawn| mean(pawn.tuned));
        for EffectiveValue { role, start, tuned } in &self.pieces {
            let pawns = mean(*tuned) / pawn;
            table.row([
                role.to_string(),
                tenths(tuned[0]),
                tenths(tuned[1]),
                tenths(mean(*tuned)),
                signed(mean(*tuned) - mean(*start)),
                if pawns.is_finite() { format!("{pawns:.2}") } else { String::new() },
            ]);
        }
        table
    }
}

/// The role that a term belongs to: one of the first two words of its name is the role, or the
/// first is its plural. Threats belong to the other side, king and space terms to no role.
fn role_of(name: &str) -> Option<usize> {
    let mut words = name.split('.');
    let (first, second) = (words.next()?, words.next());
    if matches!(first, "threats" | "king" | "space") {
        return None;
    }
    ROLES.into_iter().position(|role| {
        first == role || second == Some(role) || first.strip_suffix('s') == Some(role)
    })
}
