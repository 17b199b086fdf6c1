//! Terms as a C++ header that stands alone, C++17 or later.

use std::fmt::Write;

use super::layout::{BRACES, dimensions, initialiser};
use super::names::{Case, Names};
use super::preamble::{lines, marked, wrapped};
use super::source::{SourceError, Style, TEMPO, Tuned};
use crate::terms::Kind;

/// The type of the header, and one-letter macros of the standard headers.
const TAKEN: [&str; 2] = ["Pair", "I"];

/// The header, all in the namespace `tuned`.
///
/// # Errors
/// A list without shape, or a weight that is no integer of the width.
pub fn source(tuned: &Tuned, style: Style) -> Result<String, SourceError> {
    let mut names = Names::new(Case::Camel, &TAKEN);
    let tempo = names.make(TEMPO);
    let all = tuned.rounded(style, &mut names)?;
    let integer = format!("std::int{}_t", style.width.bits());
    let mut out = marked("//", &lines(tuned, style, &all, &tempo));
    let _ = write!(
        out,
        "\n#pragma once\n\n#include <cstdint>\n\nnamespace tuned {{\n\n\
         struct Pair {{\n    {integer} mg, eg;\n}};\n\n\
         inline constexpr {integer} {tempo} = {};\n",
        tuned.rounded_tempo(style.width)?
    );
    for rounded in &all {
        let plain = rounded.array.kind == Kind::Complexity;
        let _ = write!(
            out,
            "\n{}inline constexpr {} {}{} = {};\n",
            marked("//", &wrapped(&rounded.describe())),
            if plain { &integer } else { "Pair" },
            rounded.identifier,
            dimensions(&rounded.array.axes),
            initialiser(rounded, BRACES),
        );
    }
    out.push_str("\n} // namespace tuned\n");
    Ok(out)
}
