//! Groups of terms, and the parts of the evaluation that count them.

use super::Axis;
use crate::terms::Kind;

/// Terms of one sort.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The first part of the names of its terms; may hold dots.
    pub name: &'static str,
    /// What a count of one means.
    pub counts: &'static str,
    pub kind: Kind,
    /// Where it is counted.
    pub part: Part,
    pub axes: &'static [Axis],
    /// Middlegame and endgame weight before training, in centipawns, of the i-th term.
    pub(super) start: fn(usize) -> [i32; 2],
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

/// A part of the evaluation, which is skipped where nobody wants its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Material,
    Psqt,
    Mobility,
    Pawns,
    Passed,
    Knights,
    Bishops,
    Rooks,
    Queens,
    Threats,
    Space,
    King,
    Safety,
    Complexity,
}

/// A set of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u16);

impl Parts {
    pub const ALL: Parts = Parts(u16::MAX);

    pub const fn of(parts: &[Part]) -> Parts {
        let mut set = 0;
        let mut i = 0;
        while i < parts.len() {
            set |= 1 << parts[i] as u16;
            i += 1;
        }
        Parts(set)
    }

    pub fn add(&mut self, part: Part) {
        self.0 |= 1 << part as u16;
    }

    pub const fn has(self, part: Part) -> bool {
        self.0 >> part as u16 & 1 == 1
    }
}
