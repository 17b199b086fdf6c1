//! Board tables as shaded text, for a terminal or a log.

use super::shape::{Array, ShapeError, arrays};
use crate::report::tenths;
use crate::terms::{Kind, TermList};

/// Weights to make a picture of.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    pub list: &'a TermList,
    /// Middlegame and endgame by term, in centipawns.
    pub weights: &'a [[f64; 2]],
    /// By term, whether any position has it. Squares that none has, such as those of pawns on the
    /// first rank, are left blank and out of the mean.
    pub seen: Option<&'a [bool]>,
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("the list has {terms} terms but there are {found} {what}; give one for each term")]
    Length { terms: usize, found: usize, what: &'static str },
}

/// Of equal steps from the lowest to the highest value of a table.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

const BLANK: &str = "·";

impl Picture<'_> {
    /// The arrays, once the lengths are known to agree.
    pub(super) fn arrays(&self) -> Result<Vec<Array>, PictureError> {
        let terms = self.list.len();
        let lengths = [
            (self.weights.len(), "weights"),
            (self.seen.map_or(terms, |seen| seen.len()), "marks of seen terms"),
        ];
        match lengths.into_iter().find(|(found, _)| *found != terms) {
            Some((found, what)) => Err(PictureError::Length { terms, found, what }),
            None => Ok(arrays(self.list)?),
        }
    }

    /// The weight of a term in a phase; None if no position has it or it is no finite number.
    pub(super) fn value(&self, term: usize, phase: usize) -> Option<f64> {
        let seen = self.seen.is_none_or(|seen| seen[term]);
        Some(self.weights[term][phase]).filter(|value| seen && value.is_finite())
    }

    /// The board tables, middlegame and endgame side by side, a8 at the top left, in whole
    /// centipawns. COMPLEXITY tables have an endgame only.
    ///
    /// # Errors
    /// A list without shape, or numbers that are not one for each term.
    pub fn text(&self) -> Result<String, PictureError> {
        let mut out = String::new();
        for array in self.arrays()?.iter().filter(|array| array.is_board()) {
            for (name, terms) in array.blocks(1) {
                let phases = if array.kind == Kind::Complexity { 1..2 } else { 0..2 };
                let boards: Vec<Vec<String>> =
                    phases.map(|phase| self.board(&name, terms, phase)).collect();
                for row in 0..boards[0].len() {
                    let rows: Vec<&str> = boards.iter().map(|board| &board[row][..]).collect();
                    out.push_str(rows.join("  ").trim_end());
                    out.push('\n');
                }
                out.push('\n');
            }
        }
        Ok(out)
    }

    /// A title, eight ranks and the files, all of one width.
    fn board(&self, name: &str, terms: &[usize], phase: usize) -> Vec<String> {
        let values: Vec<Option<f64>> = terms.iter().map(|term| self.value(*term, phase)).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let low = known.iter().copied().fold(f64::INFINITY, f64::min);
        let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let cells: Vec<(String, char)> = values
            .iter()
            .map(|value| match value {
                Some(value) => (whole(*value), shade(*value, low, high)),
                None => (BLANK.to_string(), ' '),
            })
            .collect();
        let width = cells.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0).max(2);
        let mut lines = vec![match known.len() {
            0 => format!("{name} {}, never seen", ["mg", "eg"][phase]),
            len => {
                let mean = known.iter().sum::<f64>() / len as f64;
                format!("{name} {}, mean {}", ["mg", "eg"][phase], tenths(mean))
            }
        }];
        for rank in (0..8).rev() {
            let row = cells[8 * rank..8 * rank + 8].iter();
            let row: String =
                row.map(|(text, shade)| format!(" {text:>width$}{shade}{shade}")).collect();
            lines.push(format!("{}{row}", rank + 1));
        }
        let files: String = ('a'..='h').map(|file| format!(" {file:>width$}  ")).collect();
        lines.push(format!(" {files}"));
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        lines.iter().map(|line| format!("{line:<widest$}")).collect()
    }
}

/// Whole centipawns, halves away from zero as in source code.
pub(super) fn whole(value: f64) -> String {
    // Adding zero takes the sign off a negative zero.
    format!("{:.0}", value.round() + 0.0)
}

fn shade(value: f64, low: f64, high: f64) -> char {
    if low == high {
        return SHADES[0];
    }
    let place = (value - low) / (high - low) * SHADES.len() as f64;
    SHADES[(place as usize).min(SHADES.len() - 1)]
}
