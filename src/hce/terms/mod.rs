//! The table of terms: groups with axes, numbered consecutively. The last axis changes fastest.

mod table;

pub use table::GROUPS;

use std::sync::{Arc, LazyLock};

use shakmaty::Square;

use super::evaluate::{EvaluationPart, Parts};
use crate::terms::{TermEntry, TermKind, TermList};

/// Number of terms. The tempo, one untapered weight, is not among them.
pub const TERMS: usize = first_term(GROUPS.len());
/// The first SAFETY term; all terms before it are NORMAL.
pub(super) const SAFETY: usize = first_of(TermKind::Safety);
/// The first COMPLEXITY term; all terms after it are COMPLEXITY too.
pub(super) const COMPLEXITY: usize = first_of(TermKind::Complexity);

const fn first_term(group: usize) -> usize {
    let mut first = 0;
    let mut i = 0;
    while i < group {
        first += GROUPS[i].len();
        i += 1;
    }
    first
}

/// Returns the first term of a kind. The table has the kinds in the order of [`TermKind`].
const fn first_of(kind: TermKind) -> usize {
    let mut i = GROUPS.len();
    while i > 0 && GROUPS[i - 1].kind as usize >= kind as usize {
        i -= 1;
    }
    let mut before = 0;
    while before < i {
        assert!((GROUPS[before].kind as usize) < kind as usize, "kinds stand in their order");
        before += 1;
    }
    first_term(i)
}

/// A group of terms, as the evaluation names them.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermGroupRow<const AXES: usize> {
    first: usize,
    lens: [usize; AXES],
}

/// Returns the index of a group, by its name.
const fn group_named(name: &str) -> usize {
    let mut i = 0;
    while !equal_names(GROUPS[i].name, name) {
        i += 1;
    }
    i
}

/// Returns the number of a group's axes.
pub(super) const fn axis_count(name: &str) -> usize {
    GROUPS[group_named(name)].axes.len()
}

pub(super) const fn row_of_terms<const AXES: usize>(name: &str) -> TermGroupRow<AXES> {
    let i = group_named(name);
    let mut lens = [0; AXES];
    let mut axis = 0;
    while axis < AXES {
        lens[axis] = GROUPS[i].axes[axis].len();
        axis += 1;
    }
    TermGroupRow { first: first_term(i), lens }
}

const fn equal_names(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl<const AXES: usize> TermGroupRow<AXES> {
    /// Returns the term at these indices of the axes. An index after the end means the last one.
    #[inline]
    pub fn term_at(&self, indices: [usize; AXES]) -> Term {
        let mut index = 0;
        for (axis_index, len) in indices.into_iter().zip(self.lens) {
            index = index * len + axis_index.min(len - 1);
        }
        Term((self.first + index) as u16)
    }
}

/// Makes the term of a group at these indices of its axes. A misspelt name does not compile.
macro_rules! term {
    ($name:literal $(, $index:expr)*) => {{
        use $crate::hce::terms::{TermGroupRow, axis_count, row_of_terms};
        const ROW: TermGroupRow<{ axis_count($name) }> = row_of_terms($name);
        ROW.term_at([$($index),*])
    }};
}

pub(super) use term;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u16);

impl Term {
    /// Returns the number of the term, below [`TERMS`].
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    #[inline]
    pub fn kind(self) -> TermKind {
        match self.index() {
            0..SAFETY => TermKind::Normal,
            SAFETY..COMPLEXITY => TermKind::Safety,
            _ => TermKind::Complexity,
        }
    }
}

/// Returns the parts that count any of the used terms.
pub(super) fn used_parts(used: impl Fn(usize) -> bool) -> Parts {
    let (mut parts, mut first) = ([false; _], 0);
    for group in &GROUPS {
        parts[EvaluationPart::part_of_group(group.name) as usize] |=
            (first..first + group.len()).any(&used);
        first += group.len();
    }
    parts
}

/// Returns the built-in terms as a list.
pub fn built_in_list() -> Arc<TermList> {
    static LIST: LazyLock<Arc<TermList>> = LazyLock::new(|| {
        let terms = GROUPS.iter().flat_map(|group| {
            (0..group.len()).map(|index| TermEntry {
                name: group.term_name(index),
                kind: group.kind,
                start: (group.start)(index).map(f64::from),
                counts: group.counts.to_string(),
            })
        });
        Arc::new(TermList { terms: terms.collect(), tempo: 0.0 })
    });
    LIST.clone()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermAxis {
    /// Squares: a1 = 0 to h8 = 63 for White, flipped top to bottom for Black's pieces.
    Squares,
    Words(&'static [&'static str]),
    /// Consecutive integers; the last one includes all larger ones.
    Numbers {
        first: usize,
        len: usize,
    },
}

/// Roles from pawn to queen; the king has no material value.
const WITH_PAWNS: TermAxis = TermAxis::Words(&["pawn", "knight", "bishop", "rook", "queen"]);
const ROLES: TermAxis = TermAxis::Words(&["pawn", "knight", "bishop", "rook", "queen", "king"]);
const PIECES: TermAxis = TermAxis::Words(&["knight", "bishop", "rook", "queen"]);
const FILES: TermAxis = TermAxis::Words(&["a", "b", "c", "d", "e", "f", "g", "h"]);
/// Files by their distance to the edge: `a` stands for a and h.
const EDGES: TermAxis = TermAxis::Words(&["a", "b", "c", "d"]);
/// Ranks of pawns, counted from their own side.
const RANKS: TermAxis = TermAxis::Numbers { first: 2, len: 6 };
/// Rank of the nearest pawn, if any.
const NEAREST: TermAxis = TermAxis::Words(&["none", "2", "3", "4", "5", "6", "7"]);

impl TermAxis {
    /// Integers from zero on, `len` in all.
    pub const fn from_zero(len: usize) -> TermAxis {
        TermAxis::Numbers { first: 0, len }
    }

    const fn len(self) -> usize {
        match self {
            TermAxis::Squares => 64,
            TermAxis::Words(words) => words.len(),
            TermAxis::Numbers { len, .. } => len,
        }
    }

    /// Returns the name of an index on the axis, `index < self.len()`.
    pub fn index_label(self, index: usize) -> String {
        match self {
            TermAxis::Squares => Square::new(index as u32).to_string(),
            TermAxis::Words(words) => words[index].to_string(),
            TermAxis::Numbers { first, .. } => (first + index).to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// First part of the names of its terms; it may contain dots.
    pub name: &'static str,
    pub counts: &'static str,
    pub kind: TermKind,
    pub axes: &'static [TermAxis],
    /// Middlegame and endgame weight of the i-th term before training, in centipawns.
    start: fn(usize) -> [i32; 2],
}

impl Group {
    const fn len(&self) -> usize {
        let mut len = 1;
        let mut axis = 0;
        while axis < self.axes.len() {
            len *= self.axes[axis].len();
            axis += 1;
        }
        len
    }

    /// Returns the name of the i-th term, such as `material.knight` or `psqt.knight.e4`.
    fn term_name(&self, mut index: usize) -> String {
        let mut labels = Vec::new();
        for axis in self.axes.iter().rev() {
            labels.push(axis.index_label(index % axis.len()));
            index /= axis.len();
        }
        labels.push(self.name.to_string());
        labels.reverse();
        labels.join(".")
    }
}
