//! Every term before and after training, as aligned text and as CSV.

use super::{Align, Table};
use crate::terms::Kind;

/// Why a term kept its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Too few positions have it.
    Rare,
    /// The run was told to leave it.
    NotChosen,
}

/// What training did to one term. Pairs are middlegame and endgame, in centipawns; a COMPLEXITY
/// term has no middlegame, and its first numbers are not shown.
#[derive(Clone, Debug, PartialEq)]
pub struct TermResult {
    pub name: String,
    pub kind: Kind,
    /// Positions in which it applies, where they were counted.
    pub count: Option<u64>,
    pub start: [f64; 2],
    pub tuned: [f64; 2],
    /// Standard errors of the tuned weights, where they are known.
    pub error: Option<[f64; 2]>,
    /// None if it was trained.
    pub held: Option<Why>,
}

/// Characters of a line; enough that only very long names are cut.
const WIDTH: usize = 160;

impl Why {
    pub const ALL: [Why; 2] = [Why::Rare, Why::NotChosen];

    pub const fn name(self) -> &'static str {
        match self {
            Why::Rare => "rare",
            Why::NotChosen => "not chosen",
        }
    }
}

impl TermResult {
    /// Tuned less start.
    pub fn change(&self) -> [f64; 2] {
        [0, 1].map(|phase| self.tuned[phase] - self.start[phase])
    }

    /// Whether the middlegame means nothing.
    fn endgame_only(&self) -> bool {
        self.kind == Kind::Complexity
    }
}

/// One line a term, to a tenth of a centipawn. Where no error is known its cell is empty.
pub fn text(results: &[TermResult]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("term", Left),
        ("kind", Left),
        ("positions", Right),
        ("mg start", Right),
        ("tuned", Right),
        ("change", Right),
        ("error", Right),
        ("eg start", Right),
        ("tuned", Right),
        ("change", Right),
        ("error", Right),
        ("held", Left),
    ])
    .width(WIDTH);
    for result in results {
        let change = result.change();
        let mut cells = vec![
            result.name.clone(),
            result.kind.name().to_string(),
            result.count.map_or_else(String::new, |count| count.to_string()),
        ];
        for (phase, change) in change.into_iter().enumerate() {
            if phase == 0 && result.endgame_only() {
                cells.extend([const { String::new() }; 4]);
                continue;
            }
            cells.push(tenths(result.start[phase]));
            cells.push(tenths(result.tuned[phase]));
            cells.push(signed(change));
            cells.push(result.error.map_or_else(String::new, |error| tenths(error[phase])));
        }
        cells.push(result.held.map_or("", Why::name).to_string());
        table.row(cells);
    }
    table.to_string()
}

/// Comma-separated values after RFC 4180, with lines that end as Unix has them, and numbers that
/// read back as they were.
pub fn csv(results: &[TermResult]) -> String {
    let mut out = String::from(
        "term,kind,positions,start_mg,start_eg,tuned_mg,tuned_eg,change_mg,change_eg,error_mg,\
         error_eg,held\n",
    );
    for result in results {
        let mut cells = vec![
            quoted(&result.name),
            result.kind.name().to_string(),
            result.count.map_or_else(String::new, |count| count.to_string()),
        ];
        let pairs = [Some(result.start), Some(result.tuned), Some(result.change()), result.error];
        for pair in pairs {
            for phase in 0..2 {
                let shown = pair.filter(|_| phase == 1 || !result.endgame_only());
                cells.push(shown.map_or_else(String::new, |pair| pair[phase].to_string()));
            }
        }
        cells.push(result.held.map_or("", Why::name).to_string());
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

/// One decimal; what rounds to nothing has no sign.
pub fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    if text == "-0.0" { "0.0".to_string() } else { text }
}

/// As [`tenths`], with a plus before what is above zero.
pub(super) fn signed(value: f64) -> String {
    let text = tenths(value);
    if value > 0.0 && text != "0.0" { format!("+{text}") } else { text }
}
