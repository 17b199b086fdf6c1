//! A position as text: a board with a number below each square, and evaluations side by side.

use super::{Table, signed};
use crate::loss::sigmoid;

/// The widest value of a square: with it a rank, its number and the gaps fit 80 columns.
const WIDEST: usize = 7;

/// A board with rank 8 on top, two lines a rank: the letters of pieces by square (a1 = 0), dots for
/// empty squares, and below each its value in whole centipawns.
pub fn board(pieces: &[Option<char>; 64], values: &[Option<f64>; 64]) -> String {
    let values = values.map(|value| value.map_or_else(String::new, whole));
    let widest = values.iter().map(String::len).max().unwrap_or(1).max(1);
    let line = |label: char, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!("  {cell:>widest$}")).collect();
        format!("{}\n", format!("{label}{cells}").trim_end())
    };
    let mut out = String::new();
    for rank in (0..8).rev() {
        let squares = 8 * rank..8 * rank + 8;
        let label = (b'1' + rank as u8) as char;
        let letters = pieces[squares.clone()].iter().map(|piece| piece.unwrap_or('.'));
        out += &line(label, &mut letters.map(String::from));
        out += &line(' ', &mut values[squares].iter().cloned());
        out.push('\n');
    }
    out + &line(' ', &mut ('a'..='h').map(String::from))
}

/// Whole centipawns with their sign; very large numbers as powers of ten.
fn whole(value: f64) -> String {
    let text = match format!("{value:+.0}") {
        zero if zero == "-0" || zero == "+0" => "0".to_string(),
        text => text,
    };
    if text.len() > WIDEST { format!("{value:+.0e}") } else { text }
}

/// Evaluations of one position, a name, centipawns for the side to move and the scale where it is
/// known: for the side to move, for White, and as expected result.
pub fn side_by_side(evaluations: &[(String, f64, Option<f64>)], white_to_move: bool) -> Table {
    let mut table =
        Table::titled(&["<evaluation", "cp, side to move", "cp, White", "expected result"]);
    for (name, cp, scale) in evaluations {
        let white = if white_to_move { *cp } else { -cp };
        let expected = scale.map(|scale| format!("{:.3}", sigmoid(cp / scale)));
        let expected = expected.unwrap_or_else(|| "-".to_string());
        table.row([name.clone(), signed(*cp), signed(white), expected]);
    }
    table
}
