//! How nested arrays stand on lines.

use std::fmt::Write;

use super::shape::Axis;
use super::source::Rounded;
use crate::terms::Kind;

/// The brackets of a language.
#[derive(Clone, Copy)]
pub(super) struct Brackets {
    pub(super) array: [&'static str; 2],
    pub(super) pair: [&'static str; 2],
}

/// Of C and C++.
pub(super) const BRACES: Brackets = Brackets { array: ["{", "}"], pair: ["{", "}"] };

/// Characters a line may have; boards take what they need.
const WIDTH: usize = 96;
const INDENT: usize = 4;

/// The initialiser of an array: boards as eight rows of eight, other last axes on as few lines as
/// they fit on. COMPLEXITY terms are plain numbers.
pub(super) fn initialiser(rounded: &Rounded, brackets: Brackets) -> String {
    let plain = rounded.array.kind == Kind::Complexity;
    let wide = |phase: usize| {
        let lengths = rounded.values.iter().map(|value| value[phase].to_string().len());
        lengths.max().unwrap_or(0)
    };
    let (mg, eg) = (wide(0), wide(1));
    let cell = |value: &[i32; 2]| match plain {
        true => format!("{:>eg$}", value[1]),
        false => {
            let [open, close] = brackets.pair;
            format!("{open}{:>mg$}, {:>eg$}{close}", value[0], value[1])
        }
    };
    let cells: Vec<String> = rounded.values.iter().map(cell).collect();
    let mut out = String::new();
    nest(&mut out, &rounded.array.axes, &cells, brackets, 0);
    out
}

fn nest(out: &mut String, axes: &[Axis], cells: &[String], brackets: Brackets, indent: usize) {
    let [open, close] = brackets.array;
    let pad = " ".repeat(indent + INDENT);
    match axes {
        [] => out.push_str(&cells[0]),
        [axis] => {
            let each = cells[0].len() + 2;
            let row = match axis {
                Axis::Squares => 8,
                _ => (WIDTH.saturating_sub(indent + INDENT) / each).max(1),
            };
            let _ = writeln!(out, "{open}");
            for row in cells.chunks(row) {
                let _ = writeln!(out, "{pad}{},", row.join(", "));
            }
            let _ = write!(out, "{}{close}", &pad[INDENT..]);
        }
        [axis, rest @ ..] => {
            let _ = writeln!(out, "{open}");
            for cells in cells.chunks(cells.len() / axis.len()) {
                out.push_str(&pad);
                nest(out, rest, cells, brackets, indent + INDENT);
                out.push_str(",\n");
            }
            let _ = write!(out, "{}{close}", &pad[INDENT..]);
        }
    }
}

/// The lengths of the axes in brackets, as C declares them: `[6][64]`.
pub(super) fn dimensions(axes: &[Axis]) -> String {
    axes.iter().map(|axis| format!("[{}]", axis.len())).collect()
}
