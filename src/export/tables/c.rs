//! Terms as a C header that stands alone, C99 or later.

use std::fmt::Write;

use super::layout::{BRACES, dimensions, initialiser};
use super::names::{Case, Names};
use super::preamble::{lines, marked, wrapped};
use super::source::{SourceError, Style, TEMPO, Tuned};
use crate::terms::Kind;

/// Macros of the standard headers that a name of a term may well hit.
const MACROS: [&str; 19] = [
    "BUFSIZ",
    "EDOM",
    "EILSEQ",
    "EOF",
    "ERANGE",
    "FILE",
    "I",
    "INFINITY",
    "INT_MAX",
    "INT_MIN",
    "NAN",
    "NULL",
    "RAND_MAX",
    "SEEK_CUR",
    "SEEK_END",
    "SEEK_SET",
    "SIGINT",
    "SIZE_MAX",
    "TUNED_TERMS_H",
];

/// The header. Its constants are `static`, so that several files may include it.
///
/// # Errors
/// A list without shape, or a weight that is no integer of the width.
pub fn source(tuned: &Tuned, style: Style) -> Result<String, SourceError> {
    let mut names = Names::new(Case::Screaming, &MACROS);
    let tempo = names.make(TEMPO);
    let all = tuned.rounded(style, &mut names)?;
    let integer = format!("int{}_t", style.width.bits());
    let mut out = marked("//", &lines(tuned, style, &all, &tempo));
    let _ = write!(
        out,
        "\n#ifndef TUNED_TERMS_H\n#define TUNED_TERMS_H\n\n#include <stdint.h>\n\n\
         typedef struct {{\n    {integer} mg, eg;\n}} Pair;\n\n\
         static const {integer} {tempo} = {};\n",
        tuned.rounded_tempo(style.width)?
    );
    for rounded in &all {
        let plain = rounded.array.kind == Kind::Complexity;
        let _ = write!(
            out,
            "\n{}static const {} {}{} = {};\n",
            marked("//", &wrapped(&rounded.describe())),
            if plain { &integer } else { "Pair" },
            rounded.identifier,
            dimensions(&rounded.array.axes),
            initialiser(rounded, BRACES),
        );
    }
    out.push_str("\n#endif\n");
    Ok(out)
}
