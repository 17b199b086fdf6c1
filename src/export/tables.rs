//! Source code of tuned terms: a C header (C99, C++) or a Rust module.

use std::collections::HashSet;
use std::fmt::Write as _;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shakmaty::Square;

use super::snippet::Language;
use crate::report::{fit::fit_scale, join_lines};
use crate::sample::{Position, Sample};
use crate::sums::{SAFETY_ENDGAME, SAFETY_MIDDLEGAME};
use crate::terms::{TermKind, TermList};

/// The tuned weights, and the facts that their reader needs.
#[derive(Clone, Copy, Debug)]
pub struct TunedTerms<'a> {
    pub list: &'a TermList,
    /// The middlegame and endgame weights by term, in centipawns.
    pub weights: &'a [[f64; 2]],
    /// The bonus of the side to move in centipawns.
    pub tempo: f64,
    /// The number of centipawns per logit.
    pub scale: f64,
    pub source: &'a str,
    pub tapering: Tapering,
}

/// The combination of middlegame and endgame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tapering {
    /// The built-in evaluation's, with or without a scale factor of endgames.
    Ours { scale_factor: bool },
    /// The engine's, with its full phase and normal scale factor, if known.
    Engine(Option<[f64; 2]>),
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the {phase} weight of {name} is {value}, which exceeds 16 bits; train with a lower learning \
     rate"
)]
pub struct SourceError {
    pub name: String,
    pub phase: &'static str,
    pub value: f64,
}

/// The terms with one identifier; a single term has no labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermArray {
    /// The common words of the terms.
    pub name: String,
    pub kind: TermKind,
    /// The last words of the terms; squares from a1 to h8.
    pub labels: Vec<String>,
    pub terms: Vec<usize>,
}

const ROLES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

impl TermArray {
    fn is_board(&self) -> bool {
        self.labels.len() == 64 && self.labels[0] == "a1"
    }

    /// Makes an array of consecutive terms that differ in their last word only, if they form one.
    fn from_terms(list: &TermList, name: &str, terms: std::ops::Range<usize>) -> Option<Self> {
        let kind = list.terms[terms.start].kind;
        let last = |term: usize| &list.terms[term].name[name.len() + 1..];
        let mut words: Vec<(&str, usize)> = terms.map(|term| (last(term), term)).collect();
        let squares: HashSet<&str> = words
            .iter()
            .map(|(word, _)| *word)
            .filter(|word| word.parse::<Square>().is_ok())
            .collect();
        if squares.len() == 64 && words.len() == 64 {
            words.sort_by_key(|(word, _)| word.parse::<Square>().ok());
        } else {
            let first = words[0].0.parse::<usize>().unwrap_or(0);
            let counts = |(i, it): (usize, &(&str, usize))| it.0 == (first + i).to_string();
            let roles = words.iter().all(|(word, _)| ROLES.contains(word));
            if words.len() < 2 || !(roles || words.iter().enumerate().all(counts)) {
                return None;
            }
        }
        let labels = words.iter().map(|(word, _)| word.to_string()).collect();
        let terms: Vec<usize> = words.into_iter().map(|(_, term)| term).collect();
        let is_uniform = terms.iter().all(|term| list.terms[*term].kind == kind);
        is_uniform.then(|| Self { name: name.to_string(), kind, labels, terms })
    }

    fn describe_array(&self) -> String {
        let labels = match (&self.labels[..], self.is_board()) {
            ([], _) => String::new(),
            (_, true) => "; by square".to_string(),
            (labels, _) => format!("; {}", labels.join(", ")),
        };
        format!("{}: {}{labels}", self.name, self.kind.name())
    }
}

pub fn list_arrays(list: &TermList) -> Vec<TermArray> {
    let prefix = |term: usize| list.terms[term].name.rsplit_once('.').map(|(name, _)| name);
    let mut arrays = Vec::new();
    let mut start = 0;
    while start < list.len() {
        let name = prefix(start);
        let run = (start..list.len()).take_while(|&term| name.is_some() && prefix(term) == name);
        let end = start + run.count().max(1);
        match name.and_then(|name| TermArray::from_terms(list, name, start..end)) {
            Some(array) => arrays.push(array),
            None => arrays.extend((start..end).map(|term| TermArray {
                name: list.terms[term].name.clone(),
                kind: list.terms[term].kind,
                labels: Vec::new(),
                terms: vec![term],
            })),
        }
        start = end;
    }
    arrays
}

/// Writes self-contained source code, with 16-bit weights in centipawns, and boards from a8 on as
/// in a diagram.
///
/// # Errors
///
/// Fails if a value, rounded, does not fit 16 bits.
pub fn write_source(tuned: &TunedTerms, language: Language) -> Result<String, SourceError> {
    let c = language == Language::C;
    // These are macros of the standard headers.
    let macros = ["EOF", "FILE", "I", "INFINITY", "NAN", "NULL", "TUNED_TERMS_H"];
    let mut taken: HashSet<String> = macros.map(String::from).into_iter().filter(|_| c).collect();
    let tempo = unique_identifier("tempo", &mut taken);
    let arrays = list_arrays(tuned.list);
    let mut out = comment_lines(&write_preamble(tuned, &arrays, &tempo));
    let value = round_value(tuned.tempo, "tempo", "only")?;
    let integer = language.choose_between("i16", "int16_t");
    out += &language.choose_between(
        format!(
            "\n/// Middlegame and endgame.\npub type Pair = (i16, i16);\n\n\
             pub const {tempo}: i16 = {value};\n"
        ),
        format!(
            "\n#ifndef TUNED_TERMS_H\n#define TUNED_TERMS_H\n\n#include <stdint.h>\n\n\
             typedef struct {{\n    int16_t mg, eg;\n}} Pair;\n\n\
             static const int16_t {tempo} = {value};\n"
        ),
    );
    for array in &arrays {
        let name = unique_identifier(&array.name, &mut taken);
        let element = if array.kind == TermKind::Complexity { integer } else { "Pair" };
        let values = write_initialiser(tuned, array, language)?;
        out += &format!(
            "\n{}",
            comment_lines(&wrap_comment(&escape_comment(&array.describe_array())))
        );
        let _ = match (c, array.labels.len()) {
            (true, 0) => writeln!(out, "static const {element} {name} = {values};"),
            (true, length) => {
                writeln!(out, "static const {element} {name}[{length}] = {{\n{values}}};")
            }
            (false, 0) => {
                writeln!(out, "#[rustfmt::skip]\npub const {name}: {element} = {values};")
            }
            (false, length) => writeln!(
                out,
                "#[rustfmt::skip]\npub const {name}: [{element}; {length}] = [\n{values}];"
            ),
        };
    }
    if c {
        out.push_str("\n#endif\n");
    }
    Ok(out)
}

/// Writes the numbers of an array: boards as eight rows, COMPLEXITY terms without middlegame.
fn write_initialiser(
    tuned: &TunedTerms,
    array: &TermArray,
    language: Language,
) -> Result<String, SourceError> {
    let plain = array.kind == TermKind::Complexity;
    let mut values = Vec::with_capacity(array.terms.len());
    for &term in &array.terms {
        let name = &tuned.list.terms[term].name;
        let [mg, eg] = tuned.weights[term];
        let mg = if plain { 0 } else { round_value(mg, name, "middlegame")? };
        values.push([mg, round_value(eg, name, "endgame")?]);
    }
    if array.is_board() {
        values = (0..64).map(|square| values[square ^ 56]).collect();
    }
    let wide = |phase: usize| values.iter().map(|value| value[phase].to_string().len()).max();
    let [mg, eg] = [0, 1].map(|phase| wide(phase).unwrap_or(0));
    let [open, close] = language.choose_between(["(", ")"], ["{", "}"]);
    let cell = |value: &[i32; 2]| match plain {
        true => format!("{:>eg$}", value[1]),
        false => format!("{open}{:>mg$}, {:>eg$}{close}", value[0], value[1]),
    };
    let cells: Vec<String> = values.iter().map(cell).collect();
    if array.labels.is_empty() {
        return Ok(cells.concat());
    }
    let row = if array.is_board() { 8 } else { (92 / (cells[0].len() + 2)).max(1) };
    Ok(cells.chunks(row).map(|row| format!("    {},\n", row.join(", "))).collect())
}

fn round_value(value: f64, name: &str, phase: &'static str) -> Result<i32, SourceError> {
    let rounded = value.round();
    match (i16::MIN.into()..=i16::MAX.into()).contains(&rounded) {
        true => Ok(rounded as i32),
        false => Err(SourceError { name: name.into(), phase, value }),
    }
}

/// Converts a name to an identifier in capitals. Words are separated by characters other than ASCII
/// letters and digits, and by a capital after a small letter; a taken identifier gets a number.
fn unique_identifier(name: &str, taken: &mut HashSet<String>) -> String {
    let mut base = String::new();
    let mut previous = '.';
    for c in name.chars() {
        let begins_word = c.is_ascii_uppercase() && previous.is_ascii_lowercase();
        if (begins_word || !c.is_ascii_alphanumeric()) && !base.is_empty() && !base.ends_with('_') {
            base.push('_');
        }
        if c.is_ascii_alphanumeric() {
            base.push(c.to_ascii_uppercase());
        }
        previous = c;
    }
    let mut base = base.trim_end_matches('_').to_string();
    if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
        base = format!("TERM_{base}").trim_end_matches('_').to_string();
    }
    let numbered = (2..).map(|number: u64| format!("{base}_{number}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).expect("there are more numbers than names")
}

/// Writes the lines above the arrays. `tempo` is the identifier of its constant.
fn write_preamble(tuned: &TunedTerms, arrays: &[TermArray], tempo: &str) -> Vec<String> {
    let source = match &escape_comment(tuned.source)[..] {
        "" => String::new(),
        source => format!("Source: {source}\n"),
    };
    let moves = format!("{tempo} is added for the side to move, whatever the phase.");
    let tapering = match tuned.tapering {
        Tapering::Ours { scale_factor } => {
            let [ksi, hard] = match scale_factor {
                true => ["ksi * ", "ksi is 1, or less in endgames that are hard to win. "],
                false => [""; 2],
            };
            format!(
                "value = (256 - rho) / 256 * mg + {ksi}rho / 256 * eg for White\n\
                 rho   = (256 * (24 - phase) + 12) / 24, integer division\n\
                 phase = knights + bishops + 2 * rooks + 4 * queens of both sides, at most 24\n\
                 {hard}{moves}"
            )
        }
        Tapering::Engine(units) => {
            let [phase, factor] = match units {
                Some(units) => units.map(|unit| unit.to_string()),
                None => ["(the list's phase)", "(the list's scale)"].map(String::from),
            };
            format!(
                "value = share * mg + factor * (1 - share) * eg for White\n\
                 share = phase / {phase}, factor = scale factor / {factor}\n\
                 Phase and scale factor are the engine's own, as it printed them in its traces. \
                 {moves}"
            )
        }
    };
    let scale = tuned.scale;
    let mut text = format!(
        "Terms of a handcrafted evaluation, in centipawns: middlegame (mg) and endgame (eg).\n\
         {source}Scale: {scale}; the expected score is 1 / (1 + exp(-value / {scale})).\n\n\
         {tapering}\n"
    );
    let kinds = TermKind::ALL.into_iter().filter(|kind| arrays.iter().any(|it| it.kind == *kind));
    kinds.for_each(|kind| text += &(describe_kind(kind) + "\n"));
    if arrays.iter().any(TermArray::is_board) {
        text += "\nBoards go from a8, b8, ... to h1. With a1 = 0, b1 = 1, ... h8 = 63: \
                 [square ^ 56] for White's pieces, [square] for Black's.";
    }
    text.lines().flat_map(wrap_comment).collect()
}

/// Describes the effect of terms of a kind on mg and eg.
fn describe_kind(kind: TermKind) -> String {
    match kind {
        TermKind::Normal => {
            "normal: the count of White minus that of Black, times the pair.".into()
        }
        TermKind::Safety => format!(
            "safety: a side's counts times the pairs add up to the danger (x, y) of its king; mg \
             gains -x * max(0, x) / {SAFETY_MIDDLEGAME} of White minus that of Black, eg gains \
             -max(0, y) / {SAFETY_ENDGAME} of White minus that of Black."
        ),
        TermKind::Complexity => {
            "complexity: the counts times the numbers, which have no mg, add up to \
                             c; last of all eg gains sign(eg) * max(-|eg|, c), which never turns \
                             its sign."
                .into()
        }
    }
}

/// Makes a text safe in a `//` comment, without backslashes and trigraphs `??/`.
fn escape_comment(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '\\' => '/',
            c if c.is_whitespace() => ' ',
            c if c.is_ascii_graphic() || c.is_alphanumeric() => c,
            _ => '?',
        };
        if !(c == '?' && safe.ends_with('?')) {
            safe.push(c);
        }
    }
    safe.trim().to_string()
}

fn wrap_comment(text: &str) -> Vec<String> {
    join_lines(text.split(' '), 92)
}

fn comment_lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", format!("// {line}").trim_end())).collect()
}

/// The scale with which `sigmoid(cp / centipawns)` predicts the results of positions best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedScale {
    pub centipawns: f64,
    pub positions: u64,
    /// The positions, in words or as file names.
    pub on: String,
}

/// The evaluation to which SCALE was matched, so that search margins keep their meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleReference {
    /// The hash of its file, hexadecimal.
    pub sha256: String,
    pub factor: f64,
}

/// The minimum numbers of positions and games; fewer fit any scale by accident.
pub const LEAST_POSITIONS: usize = 1000;
pub const LEAST_GAMES: usize = 30;

/// Fits the scale that predicts results best from centipawns; None if there is none.
pub fn fitted_scale(
    value: impl Fn(&Position) -> i32 + Sync,
    samples: &[Sample],
    on: &str,
) -> Option<FittedScale> {
    let games: HashSet<u64> = samples.iter().map(Sample::split_group).collect();
    if samples.len() < LEAST_POSITIONS || games.len() < LEAST_GAMES {
        return None;
    }
    let (cp, results): (Vec<f64>, Vec<f64>) = samples
        .par_iter()
        .map(|sample| (f64::from(value(&sample.position)), f64::from(sample.result)))
        .unzip();
    let fit = fit_scale(&cp, &results);
    let centipawns = fit.scale.filter(|_| !fit.at_border)?;
    Some(FittedScale { centipawns, positions: samples.len() as u64, on: on.to_string() })
}
