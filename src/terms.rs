//! Lists of terms with names, kinds and initial values: built in, or an engine's terms from a file.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::words::find_nearest;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// A tapered term: White's count minus Black's, times the weight.
    Normal,
    /// A danger to a side's king; the sum of these terms is squared.
    Safety,
    /// The difficulty of winning the endgame, for either side; only the endgame weight is used.
    Complexity,
}

words!(TermKind: Normal = "normal", Safety = "safety", Complexity = "complexity");

#[derive(Clone, Debug, PartialEq)]
pub struct TermEntry {
    /// Words with dots between them, such as `psqt.knight.e4`.
    pub name: String,
    pub kind: TermKind,
    /// Middlegame and endgame weight before training, in centipawns.
    pub start: [f64; 2],
    /// The meaning of a count of 1; may be empty.
    pub counts: String,
}
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermList {
    pub terms: Vec<TermEntry>,
    /// The bonus of the side to move before training, in centipawns.
    pub tempo: f64,
}

/// The name of the tempo in patterns.
pub const TEMPO: &str = "tempo";
/// The name in patterns of the factor that scales drawish endgames down.
pub const SCALE_FACTOR: &str = "scale_factor";

/// The selection of terms that an evaluation has, or that a run trains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermSelection {
    pub terms: Vec<bool>,
    pub tempo: bool,
    /// Whether the scale factor is used; it is never trained.
    pub scale_factor: bool,
}

impl TermSelection {
    pub fn all(terms: usize) -> Self {
        Self { terms: vec![true; terms], tempo: true, scale_factor: true }
    }
}

impl TermList {
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Selects terms by patterns such as `tempo`, or `pawns` with all terms below it; `!` excludes.
    pub fn choose(&self, patterns: &[String]) -> Result<TermSelection, TermError> {
        let names: Vec<&str> = self.names().collect();
        let mut terms = vec![false; names.len()];
        for text in patterns {
            let (keep, name) = text.strip_prefix('!').map_or((true, &text[..]), |it| (false, it));
            let pattern = glob::Pattern::new(name)
                .map_err(|error| TermError::Pattern(text.clone(), error.msg))?;
            let prefix = format!("{name}.");
            let mut matched = false;
            for (chosen, term) in terms.iter_mut().zip(&names) {
                if pattern.matches(term) || term.starts_with(&prefix) {
                    (*chosen, matched) = (keep, true);
                }
            }
            if !matched {
                return Err(TermError::Unknown(text.clone(), self.nearest(name).into()));
            }
        }
        let [scale_factor, tempo] = [terms.pop(), terms.pop()].map(Option::unwrap_or_default);
        Ok(TermSelection { terms, tempo, scale_factor })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| &term.name[..]).chain([TEMPO, SCALE_FACTOR])
    }

    pub fn nearest(&self, text: &str) -> &str {
        find_nearest(text, self.names()).unwrap_or_default()
    }
}

/// The terms of an engine, and the units of its phase and scale factor.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineTerms {
    pub list: TermList,
    /// The engine's phase with all pieces on the board, more than 0; it is 0 without any.
    pub phase: f64,
    /// The engine's scale factor of an unscaled endgame, more than 0.
    pub scale: f64,
}

/// The maximum number of terms, whose numbers have 16 bits.
const MAX_TERMS: usize = 65_535;
/// The maximum number of words of a name: files nest them, and JSON readers allow about a hundred.
const MAX_WORDS: usize = 32;
/// The form of a term's line.
const LINE: &str = "`NAME KIND MIDDLEGAME ENDGAME`, as in `bishop.pair normal 25 40`";

/// The reason why a line of a term list, or a selection of terms, is wrong.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum TermError {
    #[error("{0:?} is not a pattern: {1}")]
    Pattern(String, &'static str),
    #[error("unknown term {0:?}; the nearest name is {1:?}")]
    Unknown(String, String),
    #[error("expected a finite number, found `{0}`")]
    NotFinite(String),
    #[error("expected more than 0, found {0}")]
    NotPositive(String),
    #[error("expected {LINE}, or `phase`, `scale` or `tempo` and a number, found `{0}`")]
    Line(String),
    #[error(
        "`{0}` is not a name; names are up to {MAX_WORDS} words of letters, digits, `_` and `-`, \
         with dots between them"
    )]
    Name(String),
    #[error(
        "unknown kind `{0}`; the kinds are {all}",
        all = TermKind::ALL.map(TermKind::name).join(", ")
    )]
    Kind(String),
    #[error("`{0}` occurs twice; rename one")]
    Twice(String),
    #[error("expected at most {MAX_TERMS} terms, which a trace can number")]
    TooMany,
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct TermListError {
    path: PathBuf,
    reason: String,
}

impl EngineTerms {
    /// Parses a term list; `path` names it in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TermListError> {
        let failed = |reason| TermListError { path: path.to_path_buf(), reason };
        let mut terms = Self { list: TermList::default(), phase: 1.0, scale: 1.0 };
        let mut names = HashSet::new();
        for (number, line) in text.lines().enumerate() {
            let added = terms.add(line, &mut names);
            added.map_err(|reason| failed(format!("line {}: {reason}", number + 1)))?;
        }
        if terms.list.is_empty() {
            return Err(failed(format!("it has no terms; expected lines {LINE}")));
        }
        Ok(terms)
    }

    fn add(&mut self, line: &str, names: &mut HashSet<String>) -> Result<(), TermError> {
        let (line, counts) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, kind, start) = match words[..] {
            [] => return Ok(()),
            [TEMPO, value] => return finite(value).map(|value| self.list.tempo = value),
            ["phase", value] => return positive(value).map(|value| self.phase = value),
            ["scale", value] => return positive(value).map(|value| self.scale = value),
            [name, kind, mg, eg] => (name.to_string(), kind, [finite(mg)?, finite(eg)?]),
            _ => return Err(TermError::Line(line.trim().into())),
        };
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_word = |word: &str| !word.is_empty() && word.chars().all(is_letter);
        if name == TEMPO || !name.split('.').all(is_word) || name.split('.').count() > MAX_WORDS {
            return Err(TermError::Name(name.chars().take(40).collect()));
        }
        let kind = TermKind::named(kind).ok_or_else(|| TermError::Kind(kind.into()))?;
        if !names.insert(name.clone()) {
            return Err(TermError::Twice(name));
        }
        if self.list.len() == MAX_TERMS {
            return Err(TermError::TooMany);
        }
        self.list.terms.push(TermEntry { name, kind, start, counts: counts.trim().to_string() });
        Ok(())
    }

    /// The shares of middlegame and endgame, from the engine's phase and scale factor.
    pub fn shares(&self, phase: f32, scale: f32) -> [f64; 2] {
        let middlegame = f64::from(phase) / self.phase;
        [middlegame, f64::from(scale) / self.scale * (1.0 - middlegame)]
    }
}

/// Writes the list as [`EngineTerms::parse`] reads it, without loss of digits.
impl fmt::Display for EngineTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "phase {}\nscale {}\ntempo {}", self.phase, self.scale, self.list.tempo)?;
        for TermEntry { name, kind, start: [mg, eg], counts } in &self.list.terms {
            write!(f, "{name} {} {mg} {eg}", kind.name())?;
            if !counts.is_empty() {
                write!(f, "  # {}", counts.replace('\n', " "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn finite(text: &str) -> Result<f64, TermError> {
    let number = text.parse().ok().filter(|value: &f64| value.is_finite());
    number.ok_or_else(|| TermError::NotFinite(text.into()))
}

fn positive(text: &str) -> Result<f64, TermError> {
    match finite(text)? {
        number if number > 0.0 => Ok(number),
        _ => Err(TermError::NotPositive(text.into())),
    }
}
