//! The table of terms: what each one is called, counts, and is worth before training.
//!
//! Terms come in groups with a shape, such as 6 roles x 64 squares. The terms of all groups are
//! numbered through in the order of the table, the last axis fastest.

use shakmaty::{Role, Square};

/// How a term enters the evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White's count minus Black's, times the weight, tapered.
    Normal,
}

/// One dimension of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Pawn to queen: a king is never off the board, so it has no material value.
    Men,
    /// Pawn to king.
    Roles,
    /// a1 = 0 to h8 = 63, seen by White; Black's men stand on the square flipped top to bottom.
    Squares,
}

impl Axis {
    pub const fn len(self) -> usize {
        match self {
            Axis::Men => 5,
            Axis::Roles => 6,
            Axis::Squares => 64,
        }
    }

    pub const fn is_empty(self) -> bool {
        false
    }

    /// The name of a place on the axis, `place < self.len()`.
    pub fn label(self, place: usize) -> String {
        match self {
            Axis::Men | Axis::Roles => ROLES[place].to_string(),
            Axis::Squares => Square::new(place as u32).to_string(),
        }
    }
}

const ROLES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

/// Terms of one sort.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The first part of the names of its terms.
    pub name: &'static str,
    /// What a count of one means.
    pub counts: &'static str,
    pub kind: Kind,
    pub axes: &'static [Axis],
    /// Middlegame and endgame weight before training, in centipawns, of the i-th term.
    start: fn(usize) -> [i32; 2],
}

impl Group {
    /// The number of terms.
    pub const fn len(&self) -> usize {
        let mut len = 1;
        let mut axis = 0;
        while axis < self.axes.len() {
            len *= self.axes[axis].len();
            axis += 1;
        }
        len
    }

    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Every group there is.
pub const GROUPS: [Group; 2] = [
    Group {
        name: "material",
        counts: "men of this role",
        kind: Kind::Normal,
        axes: &[Axis::Men],
        start: |man| [[100, 320, 330, 500, 900][man]; 2],
    },
    Group {
        name: "psqt",
        counts: "men of this role on this square; squares flipped top to bottom for Black",
        kind: Kind::Normal,
        axes: &[Axis::Roles, Axis::Squares],
        start: |_| [0; 2],
    },
];

/// The number of terms, tempo aside, which is one weight that no phase tapers.
pub const TERMS: usize = first(GROUPS.len());

/// The first term of a group.
pub(crate) const fn first(group: usize) -> usize {
    let mut first = 0;
    let mut i = 0;
    while i < group {
        first += GROUPS[i].len();
        i += 1;
    }
    first
}

const MATERIAL: usize = first(0);
const PSQT: usize = first(1);

/// A term, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u16);

impl Term {
    /// How often a side has men of a role; None for the king.
    pub fn material(role: Role) -> Option<Term> {
        (role != Role::King).then(|| Term((MATERIAL + role as usize - 1) as u16))
    }

    /// A man on a square, both seen by its own side.
    pub fn psqt(role: Role, square: Square) -> Term {
        Term((PSQT + 64 * (role as usize - 1) + square as usize) as u16)
    }

    /// None from [`TERMS`] on.
    pub fn new(index: usize) -> Option<Term> {
        (index < TERMS).then_some(Term(index as u16))
    }

    /// The term of a name such as `psqt.knight.e4`.
    pub fn named(name: &str) -> Option<Term> {
        Term::all().find(|term| term.name() == name)
    }

    pub fn all() -> impl Iterator<Item = Term> {
        (0..TERMS).map(|index| Term(index as u16))
    }

    /// The number of the term, below [`TERMS`].
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The group, and the number of the term in it.
    fn place(self) -> (&'static Group, usize) {
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
        self.place().0
    }

    /// Such as `material.knight` or `psqt.knight.e4`.
    pub fn name(self) -> String {
        let (group, mut place) = self.place();
        let mut labels = Vec::new();
        for axis in group.axes.iter().rev() {
            labels.push(axis.label(place % axis.len()));
            place /= axis.len();
        }
        labels.push(group.name.to_string());
        labels.reverse();
        labels.join(".")
    }

    pub fn kind(self) -> Kind {
        self.group().kind
    }

    /// Middlegame and endgame weight before training, in centipawns.
    pub fn start(self) -> [i32; 2] {
        let (group, place) = self.place();
        (group.start)(place)
    }
}
