//! What could have been played in positions, as the weights of a run see it.

use std::sync::Arc;

use shakmaty::{Chess, Move};

use super::quiet_ends::QuietEnds;
use crate::config::Sides;
use crate::loader::{Choice, Choose, Spread};
use crate::report::found::Place;
use crate::sample::Sample;
use crate::search::{Evaluate, Quiescence, QuietEnd};

/// Whether somebody whose move counts had to choose in a position, and the move is known.
pub fn teaches(sides: Sides, sample: &Sample) -> bool {
    let has_choice = |chess: &Chess| shakmaty::Position::legal_moves(chess).len() > 1;
    sample.played.is_some()
        && counts(sides, sample)
        && sample.position.to_chess().is_ok_and(|chess| has_choice(&chess))
}

fn counts(sides: Sides, sample: &Sample) -> bool {
    sides == Sides::Both || sample.result == 1.0
}

/// Where a move stands among all that are legal; None where it is not one of them.
pub fn place(moves: &[(Move, QuietEnd)], played: Move) -> Option<Place> {
    let score = moves.iter().find(|(other, _)| *other == played)?.1.score;
    let count = |of: &dyn Fn(i32) -> bool| moves.iter().filter(|(_, end)| of(end.score)).count();
    let [ahead, same] = [count(&|it| it > score), count(&|it| it == score)].map(|it| it as u32);
    Some(Place { ahead, level: same - 1, of: moves.len() as u32 })
}

/// Searches the moves of positions with one evaluation.
pub struct Choices {
    pub ends: Arc<QuietEnds>,
    /// Whose moves are searched; of the other positions only their quiet ends are.
    pub sides: Sides,
    /// Moves whose values are further from their position's are left out; in centipawns. None: all
    /// moves count.
    pub bound: Option<f64>,
}

impl Choose for Choices {
    fn choose(&self, samples: &[Sample]) -> Vec<Choice> {
        let mut evaluation = self.ends.evaluation();
        let mut quiescence = self.ends.quiescence();
        samples.iter().map(|it| self.of(it, &mut quiescence, &mut *evaluation)).collect()
    }
}

impl Choices {
    fn of(
        &self,
        sample: &Sample,
        quiescence: &mut Quiescence,
        evaluation: &mut dyn Evaluate,
    ) -> Choice {
        let root = sample.position;
        let nothing = Choice { root, ends: Vec::new(), place: None, spread: Spread::default() };
        let Ok(chess) = sample.position.to_chess() else { return nothing };
        let Some(root) = quiescence.end(&chess, evaluation) else { return nothing };
        let mut choice = match root.is_decided {
            true => nothing,
            false => Choice { root: root.position, ..nothing },
        };
        let played = sample.played.filter(|_| counts(self.sides, sample));
        let Some(played) = played.and_then(|it| it.legal_move(&chess)) else { return choice };
        let Some(mut moves) = quiescence.moves(&chess, evaluation) else { return choice };
        let Some(Place { ahead, level, of }) = place(&moves, played) else { return choice };
        choice.place = Some([ahead, level, of]);
        // The one that was played comes first, the others keep their order.
        moves.sort_by_key(|(other, _)| *other != played);
        let teaches = |(_, end): &&(_, QuietEnd)| {
            let off = f64::from(end.score - root.score).abs();
            !end.is_decided && self.bound.is_none_or(|bound| off <= bound)
        };
        // Nothing is near a position that the rules decide, nor far from it.
        let measured = !root.is_decided || self.bound.is_none();
        if measured && teaches(&&moves[0]) && moves[1..].iter().any(|other| teaches(&other)) {
            for (_, end) in moves.iter().filter(|it| teaches(it)) {
                if !root.is_decided {
                    choice.spread.count(end.score - root.score);
                }
                choice.ends.push(end.position);
            }
        }
        choice
    }
}
