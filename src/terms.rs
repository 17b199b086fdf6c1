//! The list of terms that a handcrafted evaluation is made of: names, kinds, start values.
//!
//! Training, tables and exports take any list; ours comes from the evaluation in `hce`, and an
//! engine brings its own in a file.

mod read;

pub use read::{OwnTerms, TermListError};

/// How a term enters the evaluation.
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
    /// What a count of one means; may be empty.
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

    /// The terms that patterns such as `pawns.*`, `*.e4` or `tempo` name. A name without a
    /// wildcard also stands for everything below it: `pawns` is `pawns` and `pawns.*`. A pattern
    /// that begins with `!` takes away from those before it.
    ///
    /// # Errors
    /// A pattern that is none, or that names no term.
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
