//! The term list of an engine, as a text file.
//!
//! ```text
//! # Everything behind a # is a comment.
//! phase 24
//! scale 128
//! tempo 12
//! material.pawn     normal      82  94   # pawns
//! king.attackers    safety      30   5   # pieces that attack squares beside the own king
//! complexity.pawns  complexity   0   3   # pawns of both sides
//! ```
//!
//! A line of a term is its name, kind, middlegame weight and endgame weight, in centipawns; the
//! first such line is term 0. What stands behind its `#` tells what the term counts. The lines
//! `phase`, `scale` and `tempo` may be missing, and then are 1, 1 and 0.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{Kind, TEMPO, TermEntry, TermList};
use crate::input;

/// The terms of an engine, and the units of its phase and scale factor.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnTerms {
    pub list: TermList,
    /// The engine's phase with all pieces on the board, more than 0; with none it is 0.
    pub phase: f64,
    /// The engine's scale factor of an endgame that is not scaled down, more than 0.
    pub scale: f64,
}

/// Terms have numbers of 16 bits.
const MOST: usize = 65_535;

/// Files of weights nest the words of a name, and readers of JSON bear some hundred levels.
const MOST_WORDS: usize = 32;

/// Why a term list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TermListError {
    #[error("cannot read the term list {path}: {error}")]
    Open { path: PathBuf, error: io::Error },
    #[error("{path}, line {line}: {reason}")]
    Line { path: PathBuf, line: usize, reason: String },
    #[error("{0} lists no terms; write a line `NAME KIND MIDDLEGAME ENDGAME` for each of them")]
    Empty(PathBuf),
}

impl OwnTerms {
    /// Reads a term list.
    ///
    /// # Errors
    /// A file that cannot be read or lists nothing, and the first line that is not as described
    /// above: also names that stand twice or are no words with dots between them, weights that
    /// are not finite, and more than 65,535 terms.
    pub fn read(path: &Path) -> Result<Self, TermListError> {
        let text = input::text(path, input::TEXT)
            .map_err(|error| TermListError::Open { path: path.to_path_buf(), error })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a term list; `path` stands for it in errors, which are those of
    /// [`OwnTerms::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, TermListError> {
        let mut lines = Lines::default();
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            lines.add(number + 1, line).map_err(|reason| TermListError::Line {
                path: path.to_path_buf(),
                line: number + 1,
                reason,
            })?;
        }
        let [phase, scale, tempo] = lines.units.map(|unit| unit.map(|(_, value)| value));
        let list = TermList { terms: lines.terms, tempo: tempo.unwrap_or(0.0) };
        if list.is_empty() {
            return Err(TermListError::Empty(path.to_path_buf()));
        }
        Ok(Self { list, phase: phase.unwrap_or(1.0), scale: scale.unwrap_or(1.0) })
    }

    /// The shares of middlegame and endgame weights in a position, the latter with the scale
    /// factor in it, from the engine's own phase and scale factor.
    pub fn shares(&self, phase: f32, scale: f32) -> [f64; 2] {
        let middlegame = f64::from(phase) / self.phase;
        [middlegame, f64::from(scale) / self.scale * (1.0 - middlegame)]
    }
}

/// The list as [`OwnTerms::read`] reads it, with no digit lost.
impl fmt::Display for OwnTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "phase {}\nscale {}\ntempo {}", self.phase, self.scale, self.list.tempo)?;
        for TermEntry { name, kind, start: [mg, eg], counts } in &self.list.terms {
            write!(f, "{name} {} {mg} {eg}", kind.name())?;
            match counts.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, "  # {}", counts.replace('\n', " "))?,
            }
        }
        Ok(())
    }
}

const UNITS: [&str; 3] = ["phase", "scale", TEMPO];

/// The lines read so far.
#[derive(Default)]
struct Lines {
    terms: Vec<TermEntry>,
    /// The line of each name.
    named: HashMap<String, usize>,
    /// Line and value of each of [`UNITS`].
    units: [Option<(usize, f64)>; 3],
}

impl Lines {
    fn add(&mut self, number: usize, line: &str) -> Result<(), String> {
        let (line, counts) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => Ok(()),
            [unit, value] => self.unit(number, unit, value),
            [name, kind, mg, eg] => self.term(number, [name, kind, mg, eg], counts.trim()),
            _ => Err(format!(
                "expected `NAME KIND MIDDLEGAME ENDGAME`, as in `bishop.pair normal 25 40`, or \
                 `phase`, `scale` or `tempo` and a number, found `{}`",
                line.trim()
            )),
        }
    }

    fn unit(&mut self, number: usize, unit: &str, value: &str) -> Result<(), String> {
        let Some(place) = UNITS.iter().position(|known| *known == unit) else {
            return Err(format!(
                "`{unit}` is none of {}; the line of a term is `NAME KIND MIDDLEGAME ENDGAME`",
                UNITS.join(", ")
            ));
        };
        if let Some((first, _)) = self.units[place] {
            return Err(format!("`{unit}` stands in line {first} already; take one away"));
        }
        let value = finite(unit, value)?;
        if unit != TEMPO && value <= 0.0 {
            return Err(format!("{unit} {value}, expected more than 0"));
        }
        self.units[place] = Some((number, value));
        Ok(())
    }

    fn term(&mut self, number: usize, words: [&str; 4], counts: &str) -> Result<(), String> {
        let [name, kind, mg, eg] = words;
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let word = |word: &str| !word.is_empty() && word.chars().all(letter);
        if !name.split('.').all(word) {
            return Err(format!(
                "`{name}` is no name; names are words of letters, digits, `_` and `-`, with dots \
                 between them"
            ));
        }
        let words = name.split('.').count();
        if words > MOST_WORDS {
            return Err(format!("a name of {words} words; {MOST_WORDS} at most can be nested"));
        }
        if name == TEMPO {
            return Err(format!("no term can be named {TEMPO}; write `{TEMPO} {mg}` alone"));
        }
        let kind = Kind::named(kind).ok_or_else(|| unknown(kind))?;
        let start = [finite("middlegame weight", mg)?, finite("endgame weight", eg)?];
        if let Some(first) = self.named.insert(name.to_string(), number) {
            return Err(format!("`{name}` is named in line {first} already; rename one of them"));
        }
        if self.terms.len() == MOST {
            return Err(format!("more than {MOST} terms; a trace cannot number them"));
        }
        let (name, counts) = (name.to_string(), counts.to_string());
        self.terms.push(TermEntry { name, kind, start, counts });
        Ok(())
    }
}

fn finite(what: &str, text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| format!("{what} `{text}`, expected a finite number"))
}

fn unknown(kind: &str) -> String {
    let names = Kind::ALL.map(Kind::name);
    let nearest = names
        .into_iter()
        .max_by(|a, b| strsim::jaro(kind, a).total_cmp(&strsim::jaro(kind, b)))
        .filter(|name| strsim::jaro(kind, name) > 0.7);
    match nearest {
        Some(name) => format!("no kind is named `{kind}`; did you mean `{name}`?"),
        None => format!("no kind is named `{kind}`; the kinds are {}", names.join(", ")),
    }
}
