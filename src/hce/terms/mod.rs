//! Table of terms: groups with axes, numbered consecutively, the last axis fastest.

mod table;

pub use table::GROUPS;

use std::sync::{Arc, LazyLock};

use shakmaty::Square;

use super::evaluate::{EvaluationPart, Parts};
use crate::terms::{TermEntry, TermKind, TermList};

/// Number of terms without the tempo, which is one untapered weight.
pub const TERMS: usize = first_term(GROUPS.len());
/// First SAFETY term; all below it are NORMAL.
pub(super) const SAFETY: usize = first_of(TermKind::Safety);
/// First COMPLEXITY term; all above it are, too.
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

/// The first term of a kind; the table has the kinds in the order of [`TermKind`].
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

/// A group, by which the evaluation names its terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermGroupRow<const AXES: usize> {
    first: usize,
    lens: [usize; AXES],
}

/// The number of a group, by its name.
const fn group_named(name: &str) -> usize {
    let mut i = 0;
    while !equal_names(GROUPS[i].name, name) {
        i += 1;
    }
    i
}

/// The number of a group's axes.
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
    /// The term at a place; numbers beyond the end of an axis mean its last place.
    #[inline]
    pub fn term_at(&self, place: [usize; AXES]) -> Term {
        let mut index = 0;
        for (place, len) in place.into_iter().zip(self.lens) {
            index = index * len + place.min(len - 1);
        }
        Term((self.first + index) as u16)
    }
}

/// The term of a group at its places on the axes. A misspelt name does not compile.
macro_rules! term {
    ($name:literal $(, $place:expr)*) => {{
        use $crate::hce::terms::{TermGroupRow, axis_count, row_of_terms};
        const ROW: TermGroupRow<{ axis_count($name) }> = row_of_terms($name);
        ROW.term_at([$($place),*])
    }};
}

pub(super) use term;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u16);

impl Term {
    pub fn all_terms() -> impl Iterator<Item = Term> {
        (0..TERMS).map(|index| Term(index as u16))
    }

    /// The number of the term, below [`TERMS`].
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The group, and the number of the term in it.
    fn group_and_offset(self) -> (&'static Group, usize) {
        static ALL: [Group; GROUPS.len()] = GROUPS;
        let mut place = self.index();
        for group in &ALL {
            if place < group.len() {
                return (group, place);
            }
            place -= group.len();
        }
        unreachable!("a term is only made with a number below TERMS")
    }

    pub fn group(self) -> &'static Group {
        self.group_and_offset().0
    }

    /// Name of the term, such as `material.knight` or `psqt.knight.e4`.
    pub fn name(self) -> String {
        let (group, mut place) = self.group_and_offset();
        let mut labels = Vec::new();
        for axis in group.axes.iter().rev() {
            labels.push(axis.place_label(place % axis.len()));
            place /= axis.len();
        }
        labels.push(group.name.to_string());
        labels.reverse();
        labels.join(".")
    }

    #[inline]
    pub fn kind(self) -> TermKind {
        match self.index() {
            0..SAFETY => TermKind::Normal,
            SAFETY..COMPLEXITY => TermKind::Safety,
            _ => TermKind::Complexity,
        }
    }

    /// Middlegame and endgame weight before training, in centipawns.
    pub fn initial_weights(self) -> [i32; 2] {
        let (group, place) = self.group_and_offset();
        (group.start)(place)
    }
}

/// The parts that count any of the used terms.
pub(super) fn used_parts(used: impl Fn(usize) -> bool) -> Parts {
    let (mut parts, mut first) = ([false; _], 0);
    for group in &GROUPS {
        parts[EvaluationPart::part_of_group(group.name) as usize] |=
            (first..first + group.len()).any(&used);
        first += group.len();
    }
    parts
}

/// The built-in terms as a list.
pub fn built_in_list() -> Arc<TermList> {
    static LIST: LazyLock<Arc<TermList>> = LazyLock::new(|| {
        let entry = |term: Term| TermEntry {
            name: term.name(),
            kind: term.kind(),
            start: term.initial_weights().map(f64::from),
            counts: term.group().counts.to_string(),
        };
        Arc::new(TermList { terms: Term::all_terms().map(entry).collect(), tempo: 0.0 })
    });
    LIST.clone()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermAxis {
    /// a1 = 0 to h8 = 63 for White; squares of Black's pieces are flipped top to bottom.
    Squares,
    Words(&'static [&'static str]),
    /// Consecutive integers; the last one includes all above it.
    Numbers {
        first: usize,
        len: usize,
    },
}

/// Pawn to queen; the king has no material value.
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

    /// The name of a place on the axis, `place < self.len()`.
    pub fn place_label(self, place: usize) -> String {
        match self {
            TermAxis::Squares => Square::new(place as u32).to_string(),
            TermAxis::Words(words) => words[place].to_string(),
            TermAxis::Numbers { first, .. } => (first + place).to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// First part of the names of its terms; may contain dots.
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
}
