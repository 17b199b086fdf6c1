//! A position and what evaluations say of it, as text.

use super::{Align, Table, signed};
use crate::loss::sigmoid;

/// Characters of a line.
const WIDTH: usize = 80;

/// The widest value of a square: with it a rank, its number and the gaps fit [`WIDTH`].
const WIDEST: usize = 7;

/// A board with rank 8 on top, two lines a rank: the letters of pieces by square (a1 = 0), dots for
/// empty squares, and below each the number of its square in whole centipawns.
pub fn worths(pieces: &[Option<char>; 64], values: &[Option<f64>; 64]) -> String {
    let values: Vec<String> =
        values.iter().map(|value| value.map_or_else(String::new, whole)).collect();
    let widest = values.iter().map(String::len).max().unwrap_or(1).max(1);
    let line = |label: char, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!("  {cell:>widest$}")).collect();
        format!("{}\n", format!("{label}{cells}").trim_end())
    };
    let mut out = String::new();
    for rank in (0..8).rev() {
        let squares = 8 * rank..8 * rank + 8;
        let label = (b'1' + rank as u8) as char;
        let mut letters =
            pieces[squares.clone()].iter().map(|piece| piece.unwrap_or('.').to_string());
        out.push_str(&line(label, &mut letters));
        out.push_str(&line(' ', &mut values[squares].iter().cloned()));
        out.push('\n');
    }
    out.push_str(&line(' ', &mut ('a'..='h').map(String::from)));
    out
}

/// Whole centipawns with their sign; very large numbers as powers of ten.
fn whole(value: f64) -> String {
    let text = match format!("{value:+.0}") {
        zero if zero == "-0" || zero == "+0" => "0".to_string(),
        text => text,
    };
    if text.len() > WIDEST { format!("{value:+.0e}") } else { text }
}

/// What one evaluation says of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    pub name: String,
    /// Centipawns for the side to move.
    pub cp: f64,
    /// Centipawns a unit of logit, where it is known.
    pub scale: Option<f64>,
}

/// Evaluations of one position side by side: for the side to move, for White, and as the result
/// that the side to move may expect, 0 to 1, where the scale is known.
pub fn opinions(opinions: &[Opinion], white_to_move: bool) -> Table {
    let mut table = Table::new(&[
        ("evaluation", Align::Left),
        ("cp, side to move", Align::Right),
        ("cp, White", Align::Right),
        ("expected result", Align::Right),
    ])
    .width(WIDTH);
    for Opinion { name, cp, scale } in opinions {
        let white = if white_to_move { *cp } else { -cp };
        let expected = scale.map(|scale| format!("{:.3}", sigmoid(cp / scale)));
        let expected = expected.unwrap_or_else(|| "-".to_string());
        table.row([name.clone(), signed(*cp), signed(white), expected]);
    }
    table
}
