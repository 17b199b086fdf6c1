//! Terms as a Rust module, or a file to `include!`.

use std::fmt::Write;

use super::layout::{Brackets, initialiser};
use super::names::{Case, Names};
use super::preamble::{lines, marked, wrapped};
use super::source::{SourceError, Style, TEMPO, Tuned};
use crate::terms::Kind;

const BRACKETS: Brackets = Brackets { array: ["[", "]"], pair: ["(", ")"] };

/// The module. rustfmt leaves it as it is.
///
/// # Errors
/// A list without shape, or a weight that is no integer of the width.
pub fn source(tuned: &Tuned, style: Style) -> Result<String, SourceError> {
    let mut names = Names::new(Case::Screaming, &[]);
    let tempo = names.make(TEMPO);
    let all = tuned.rounded(style, &mut names)?;
    let integer = format!("i{}", style.width.bits());
    let mut out = marked("//", &lines(tuned, style, &all, &tempo));
    let _ = write!(
        out,
        "\n/// Middlegame and endgame.\npub type Pair = ({integer}, {integer});\n\n\
         pub const {tempo}: {integer} = {};\n",
        tuned.rounded_tempo(style.width)?
    );
    for rounded in &all {
        let axes = &rounded.array.axes;
        let element = if rounded.array.kind == Kind::Complexity { &integer } else { "Pair" };
        let kind = axes
            .iter()
            .rev()
            .fold(element.to_string(), |inner, axis| format!("[{inner}; {}]", axis.len()));
        let comment = marked("//", &wrapped(&rounded.describe()));
        let _ = write!(
            out,
            "\n{comment}#[rustfmt::skip]\npub const {}: {kind} = {};\n",
            rounded.identifier,
            initialiser(rounded, BRACKETS)
        );
    }
    Ok(out)
}
