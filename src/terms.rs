//! Lists of terms: names, kinds, start values; ours, or an engine's own from a file.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::input;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// White's count minus Black's, times the weight, tapered.
    Normal,
    /// Adds to the danger of a side's king; the sum is squared.
    Safety,
    /// How hard the endgame is to win, whichever side is better; only its endgame weight counts.
    Complexity,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Normal, Kind::Safety, Kind::Complexity];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Normal => "normal",
            Kind::Safety => "safety",
            Kind::Complexity => "complexity",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One term of a [`TermList`].
#[derive(Clone, Debug, PartialEq)]
pub struct TermEntry {
    /// Words with dots between them, such as `psqt.knight.e4`.
    pub name: String,
    pub kind: Kind,
    /// Middlegame and endgame weight before training, in centipawns.
    pub start: [f64; 2],
    /// Meaning of a count of one; may be empty.
    pub counts: String,
}

/// Terms in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermList {
    pub terms: Vec<TermEntry>,
    /// Centipawns for the side to move before training.
    pub tempo: f64,
}

/// The name of the tempo in patterns.
pub const TEMPO: &str = "tempo";

/// The name in patterns of the factor that scales endgames down which are hard to win.
pub const SCALE_FACTOR: &str = "scale_factor";

/// Which terms an evaluation has, or a run moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// By term.
    pub terms: Vec<bool>,
    pub tempo: bool,
    /// Never trained: it is there or not.
    pub scale_factor: bool,
}

impl Chosen {
    pub fn all(terms: usize) -> Self {
        Self { terms: vec![true; terms], tempo: true, scale_factor: true }
    }
}

/// Why patterns choose nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("{pattern:?} is no pattern: {error}")]
    Bad { pattern: String, error: &'static str },
    #[error("no term is named {pattern:?}; the nearest name is {nearest:?}")]
    Nothing { pattern: String, nearest: String },
}

impl TermList {
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Terms of patterns such as `pawns.*` or `tempo`; `pawns` is all below it, `!` takes away.
    pub fn choose(&self, patterns: &[String]) -> Result<Chosen, PatternError> {
        let terms = vec![false; self.len()];
        let mut chosen = Chosen { terms, tempo: false, scale_factor: false };
        for text in patterns {
            let (keep, name) = match text.strip_prefix('!') {
                Some(name) => (false, name),
                None => (true, &text[..]),
            };
            let pattern = glob::Pattern::new(name)
                .map_err(|error| PatternError::Bad { pattern: text.clone(), error: error.msg })?;
            let below = format!("{name}.");
            let mut found = false;
            let matches = |term: &str| pattern.matches(term) || term.starts_with(&below);
            for (chosen, term) in chosen.terms.iter_mut().zip(&self.terms) {
                if matches(&term.name) {
                    (*chosen, found) = (keep, true);
                }
            }
            if matches(TEMPO) {
                (chosen.tempo, found) = (keep, true);
            }
            if matches(SCALE_FACTOR) {
                (chosen.scale_factor, found) = (keep, true);
            }
            if !found {
                let (pattern, nearest) = (text.clone(), self.nearest(name));
                return Err(PatternError::Nothing { pattern, nearest });
            }
        }
        Ok(chosen)
    }

    /// The name of a term, or the beginning of one, that is most like a text.
    fn nearest(&self, text: &str) -> String {
        let dots = |name: &str| name.match_indices('.').map(|(at, _)| at).collect::<Vec<_>>();
        let names = self.terms.iter().flat_map(|term| {
            let ends = dots(&term.name).into_iter().chain([term.name.len()]);
            ends.map(|end| &term.name[..end]).collect::<Vec<_>>()
        });
        let likeness = |name: &&str| strsim::jaro(name, text);
        let best = names
            .chain([TEMPO, SCALE_FACTOR])
            .max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
        best.unwrap_or_default().to_string()
    }
}

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
    pub fn read(path: &Path) -> Result<Self, TermListError> {
        let text = input::text(path, input::TEXT)
            .map_err(|error| TermListError::Open { path: path.to_path_buf(), error })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a term list; `path` stands for it in errors.
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

    /// Shares of middlegame and endgame from the engine's own phase and scale factor.
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

#[derive(Default)]
struct Lines {
    terms: Vec<TermEntry>,
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
        let kind = Kind::named(kind).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("no kind is named `{kind}`; the kinds are {names}")
        })?;
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
