//! The evaluation folded into one table a role and square, for millions of positions.

use shakmaty::Role;

use super::{HceWeights, Phase, Term};
use crate::sample::Position;

/// Gives the same value as [`HceWeights::evaluate`], but for rounding in the last digits.
#[derive(Clone, Debug)]
pub struct Evaluator {
    /// By role and square: middlegame and endgame, material included.
    tables: Box<[[[f64; 2]; 64]; 6]>,
    tempo: f64,
}

impl Evaluator {
    pub fn new(weights: &HceWeights) -> Self {
        let mut tables = Box::new([[[0.0; 2]; 64]; 6]);
        for (role, table) in Role::ALL.into_iter().zip(tables.iter_mut()) {
            let material = Term::material(role).map_or([0.0; 2], |term| weights.get(term));
            for (square, entry) in shakmaty::Square::ALL.into_iter().zip(table) {
                let psqt = weights.get(Term::psqt(role, square));
                *entry = [material[0] + psqt[0], material[1] + psqt[1]];
            }
        }
        Self { tables, tempo: weights.tempo }
    }

    /// Centipawns for the side to move.
    pub fn evaluate(&self, position: &Position) -> f64 {
        let mut sums = [0.0; 2];
        let mut lambda = 0;
        for man in position.men() {
            let square = man.color.fold_wb(man.square, man.square.flip_vertical());
            let role = man.role as usize - 1;
            let [mg, eg] = self.tables[role][square as usize];
            let sign = man.color.fold_wb(1.0, -1.0);
            sums[0] += sign * mg;
            sums[1] += sign * eg;
            lambda += [0, 1, 1, 2, 4, 0][role];
        }
        let phase = Phase::from_lambda(lambda);
        let white = phase.middlegame() * sums[0] + phase.endgame() * sums[1];
        position.turn().fold_wb(white, -white) + self.tempo
    }
}
