//! Piece-square tables that say, as well as tables can, what pieces are worth where they stand.
//!
//! The worths of all pieces of a role are fitted, by least squares, by
//! `middlegame share * mg + endgame share * eg + curve`: `mg` and `eg` belong to the square, and
//! the curve, one number for every sum of pieces left, to the role. The two shares add up to 1.
//! Without the curve, a worth that is not straight in the phase would look like one of squares,
//! since pieces stand on other squares in the opening than later.

use faer::{Mat, Side, linalg::solvers::Solve};
use serde::Serialize;
use shakmaty::Role;

use super::pieces::{ROLES, place};
use super::removal::Worth;
use crate::hce::{HceWeights, Term};

/// A value is given where the pieces tell as much of it as so many pieces would that stand in
/// nothing but its phase.
const ENOUGH: f64 = 5.0;

/// The values of one role; squares are seen by its owner, a1 = 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SquareTable {
    pub role: &'static str,
    /// Pieces seen, by square.
    pub counts: Vec<u64>,
    /// Middlegame and endgame in centipawns, by square; None where too little was seen.
    pub values: Vec<[Option<f64>; 2]>,
    /// How much the pieces tell of each value: so many pieces in nothing but its phase would tell as
    /// much.
    pub known: Vec<[f64; 2]>,
}

/// Sums of pieces, more than at the start counting as that.
const PIECES: usize = 25;
const SQUARES: usize = 64;

/// Against the curve: of all that fit equally well, the one nearest to nothing.
const CURVE_RIDGE: f64 = 1.0;
/// Against squares without pieces.
const RIDGE: f64 = 1e-6;

/// Sums of one square's least squares.
#[derive(Clone, Copy, Default)]
pub(super) struct Equations {
    count: u64,
    /// Of `mg * mg`, `mg * eg`, `eg * eg`.
    shares: [f64; 3],
}

/// The pieces of one role.
#[derive(Clone)]
struct OfRole {
    /// By square and sum of pieces: pieces, and the sum of their worths.
    counts: [[u32; PIECES]; SQUARES],
    worths: [[f64; PIECES]; SQUARES],
    /// By sum of pieces: the share of the middlegame.
    middlegame: [f64; PIECES],
}

/// The tables of pawn to queen.
pub(super) fn tables(worths: &[Worth]) -> Vec<SquareTable> {
    let none = OfRole {
        counts: [[0; PIECES]; SQUARES],
        worths: [[0.0; PIECES]; SQUARES],
        middlegame: [0.0; PIECES],
    };
    let mut roles = vec![none; ROLES.len()];
    for worth in worths {
        let role = &mut roles[place(worth.role)];
        let (square, pieces) = (usize::from(worth.square), usize::from(worth.pieces));
        let pieces = pieces.min(PIECES - 1);
        role.counts[square][pieces] += 1;
        role.worths[square][pieces] += f64::from(worth.value);
        role.middlegame[pieces] = worth.middlegame.into();
    }
    ROLES.into_iter().zip(&roles).map(|(role, its)| its.table(role)).collect()
}

impl OfRole {
    fn table(&self, role: &'static str) -> SquareTable {
        const CURVE: usize = 2 * SQUARES;
        let mut matrix = Mat::<f64>::zeros(CURVE + PIECES, CURVE + PIECES);
        let mut right = Mat::<f64>::zeros(CURVE + PIECES, 1);
        let mut sums = [Equations::default(); SQUARES];
        for (square, sums) in sums.iter_mut().enumerate() {
            for pieces in 0..PIECES {
                let count = f64::from(self.counts[square][pieces]);
                let mg = self.middlegame[pieces];
                sums.add(mg, self.counts[square][pieces].into());
                let row = [(square, mg), (SQUARES + square, 1.0 - mg), (CURVE + pieces, 1.0)];
                for (i, a) in row {
                    right[(i, 0)] += a * self.worths[square][pieces];
                    row.iter().for_each(|(j, b)| matrix[(i, *j)] += count * a * b);
                }
            }
        }
        for i in 0..CURVE + PIECES {
            matrix[(i, i)] += if i < CURVE { RIDGE } else { CURVE_RIDGE };
        }
        let factors = matrix.llt(Side::Lower).expect("the ridge makes it positive definite");
        let values = factors.solve(&right);
        SquareTable::new(role, &sums, |square, phase| values[(SQUARES * phase + square, 0)])
    }
}

impl SquareTable {
    /// The values of squares of which enough is known.
    pub(super) fn new(
        role: &'static str,
        sums: &[Equations; 64],
        value: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let known: Vec<[f64; 2]> = sums.iter().map(Equations::known).collect();
        let values = known.iter().enumerate().map(|(square, known)| {
            [0, 1].map(|phase| (known[phase] >= ENOUGH).then(|| value(square, phase)))
        });
        let counts = sums.iter().map(|sums| sums.count).collect();
        Self { role, counts, values: values.collect(), known }
    }
}

impl Equations {
    /// So many pieces with this share of the middlegame.
    pub fn add(&mut self, mg: f64, count: u64) {
        let (eg, many) = (1.0 - mg, count as f64);
        self.count += count;
        let [mg_mg, mg_eg, eg_eg] = self.shares;
        self.shares = [mg_mg + many * mg * mg, mg_eg + many * mg * eg, eg_eg + many * eg * eg];
    }

    /// What is left of each phase's squares when the other phase has explained its part.
    pub fn known(&self) -> [f64; 2] {
        let [mg, both, eg] = self.shares;
        let left = |own: f64, other: f64| match other > 0.0 {
            true => (own - both * both / other).max(0.0),
            false => own,
        };
        [left(mg, eg), left(eg, mg)]
    }
}

/// Material and piece-square values of handcrafted weights, by role, pawn to king, and square.
pub(super) fn written(weights: &HceWeights) -> Vec<Vec<[f64; 2]>> {
    let value = |term: Term| weights.values[term.index()];
    let roles = Role::ALL.into_iter();
    roles
        .map(|role| {
            let [mg, eg] = Term::material(role).map_or([0.0; 2], value);
            let squares = shakmaty::Square::ALL.into_iter();
            squares
                .map(|square| {
                    let [square_mg, square_eg] = value(Term::psqt(role, square));
                    [mg + square_mg, eg + square_eg]
                })
                .collect()
        })
        .collect()
}
