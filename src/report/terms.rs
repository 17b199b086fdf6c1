//! Handcrafted terms before and after training: each term, and values of pieces.

use crate::terms::TermKind;

/// The result of training for one term: middlegame and endgame, in centipawns.
#[derive(Clone, Debug, PartialEq)]
pub struct TermResult {
    pub name: String,
    pub kind: TermKind,
    /// Number of positions with the term, if they were counted.
    pub count: Option<u64>,
    pub start: [f64; 2],
    pub tuned: [f64; 2],
    /// Standard errors of the tuned weights, if known.
    pub error: Option<[f64; 2]>,
    /// Reason why the term kept its weights; None if it was trained.
    pub held: Option<&'static str>,
}

/// Formats comma-separated values (RFC 4180), with numbers that are read back exactly.
pub fn format_csv(results: &[TermResult]) -> String {
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
        let change = [0, 1].map(|phase| result.tuned[phase] - result.start[phase]);
        for pair in [Some(result.start), Some(result.tuned), Some(change), result.error] {
            for phase in 0..2 {
                let used = pair.filter(|_| phase == 1 || result.kind != TermKind::Complexity);
                cells.push(used.map_or_else(String::new, |pair| pair[phase].to_string()));
            }
        }
        cells.push(result.held.unwrap_or_default().to_string());
        out += &cells.join(",");
        out.push('\n');
    }
    out
}

/// The effective value of a role: material plus the mean of its other terms, in centipawns of
/// middlegame and endgame.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValue {
    pub role: &'static str,
    pub tuned: [f64; 2],
}

/// The roles whose pieces have values.
pub const ROLES: [&str; 5] = ["pawn", "knight", "bishop", "rook", "queen"];

/// Returns the effective values of the roles that have material. Each term comes with the number of
/// times it was counted, for both sides together.
pub fn effective_values<'a>(
    terms: impl Iterator<Item = (&'a TermResult, f64)> + Clone,
) -> Vec<EffectiveValue> {
    let normal = terms.filter(|(term, _)| term.kind == TermKind::Normal);
    let value = |(number, role): (usize, &'static str)| {
        let name = format!("material.{role}");
        let (_, pieces) = normal.clone().find(|(term, _)| term.name == name)?;
        let mut tuned = [0.0; 2];
        for (term, times) in normal.clone().filter(|(it, _)| role_of(&it.name) == Some(number)) {
            tuned = [0, 1].map(|phase| tuned[phase] + term.tuned[phase] * times / pieces);
        }
        (pieces > 0.0).then_some(EffectiveValue { role, tuned })
    };
    ROLES.into_iter().enumerate().filter_map(value).collect()
}

/// Finds the role that a term belongs to: one of the first two words of its name is the role, or
/// the first is its plural. Threats, king and space terms belong to no role.
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
