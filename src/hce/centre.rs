//! Tables whose means lie in material, and tables that are the same on both wings.
//!
//! What all squares of a piece have in common can stand in its table or in its material without
//! the evaluation noticing. Centred tables have a mean near zero, so that material is what the
//! piece is worth.

use std::sync::LazyLock;

use shakmaty::{Role, Square};

use super::terms::TERMS;
use super::{HceWeights, Term};

/// What went from a table to its material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub role: Role,
    /// Middlegame and endgame, whole centipawns.
    pub centipawns: [i32; 2],
}

const ROLES: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

impl HceWeights {
    /// The same evaluation with the mean of each table of squares in the material of its piece;
    /// kings, which have no material, keep theirs. None where these are not our own terms.
    ///
    /// The mean is that over the squares on which the piece can stand, each counted once, rounded
    /// to whole centipawns: so it depends on the weights alone, and rounding them to integers
    /// afterwards gives what rounding them before would have given (but for exact halves).
    pub fn centred(mut self) -> Option<(Self, Vec<Moved>)> {
        if !self.is_ours() {
            return None;
        }
        let moved = ROLES.map(|role| {
            let squares: Vec<usize> =
                squares(role).map(|at| Term::psqt(role, at).index()).collect();
            let mut centipawns = [0; 2];
            for (phase, mean) in centipawns.iter_mut().enumerate() {
                let sum: f64 = squares.iter().map(|term| self.values[*term][phase]).sum();
                let whole = (sum / squares.len() as f64).round();
                squares.iter().for_each(|term| self.values[*term][phase] -= whole);
                if let Some(material) = Term::material(role) {
                    self.values[material.index()][phase] += whole;
                }
                *mean = whole as i32;
            }
            Moved { role, centipawns }
        });
        Some((self, moved.into()))
    }

    /// The mean of both wings in every table of squares, and how far a weight went at most.
    /// Nothing changes where these are not our own terms.
    pub fn mirrored(mut self) -> (Self, f64) {
        let mut furthest = 0.0_f64;
        if !self.is_ours() {
            return (self, furthest);
        }
        for (term, twin) in wings().iter().map(|twin| usize::from(*twin)).enumerate() {
            if twin != term {
                for phase in 0..2 {
                    let pair = [self.values[term][phase], self.values[twin][phase]];
                    let mean = (pair[0] + pair[1]) / 2.0;
                    furthest = furthest.max((pair[0] - mean).abs());
                    (self.values[term][phase], self.values[twin][phase]) = (mean, mean);
                }
            }
        }
        (self, furthest)
    }

    /// The weights of files a to d on files e to h as well.
    pub fn unfolded(mut self) -> Self {
        for (term, twin) in wings().iter().enumerate() {
            self.values[term] = self.values[usize::from(*twin)];
        }
        self
    }
}

/// Where a piece can stand.
fn squares(role: Role) -> impl Iterator<Item = Square> {
    Square::ALL
        .into_iter()
        .filter(move |square| role != Role::Pawn || !matches!(u32::from(square.rank()), 0 | 7))
}

/// By term: itself, or for squares on files e to h the term of the square on the other wing.
pub fn wings() -> &'static [u16] {
    static WINGS: LazyLock<Vec<u16>> = LazyLock::new(|| {
        let mut wings: Vec<u16> = (0..TERMS as u16).collect();
        for role in Role::ALL {
            for square in Square::ALL.into_iter().filter(|square| u32::from(square.file()) > 3) {
                let twin = Term::psqt(role, square.flip_horizontal());
                wings[Term::psqt(role, square).index()] = twin.index() as u16;
            }
        }
        wings
    });
    &WINGS
}
