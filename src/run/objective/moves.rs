//! Deep Thought's objective: the move that a winner played is better than its alternatives.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use shakmaty::Chess;

use super::QuietSearcher;
use crate::batch::MoveChoices;
use crate::loader::Prepare;
use crate::sample::{Position, Sample};
use crate::search::{Evaluate, Quiescence, QuietEnd};

/// Searches all legal moves of positions to their quiet ends.
pub struct Moves {
    pub searcher: QuietSearcher,
    /// Force of least squares, see [`MoveChoices::force`].
    pub force: Option<f64>,
}

/// Largest distance, in centipawns, of a move's value from its position's. Least squares leave out
/// other moves: no evaluation can predict such differences.
const BOUND: i32 = 50;

/// Returns whether the winner had a choice in a position and the move is known.
pub fn is_lesson(sample: &Sample) -> bool {
    let has_choice = |chess: &Chess| shakmaty::Position::legal_moves(chess).len() > 1;
    sample.played.is_some()
        && sample.result == 1.0
        && sample.position.to_chess().is_ok_and(|chess| has_choice(&chess))
}

/// Selects the positions that teach a move. Fails if there are none.
pub fn select_samples(mut samples: Vec<Sample>) -> Result<Vec<Sample>> {
    let is_selected: Vec<bool> = samples.par_iter().map(is_lesson).collect();
    let mut is_selected = is_selected.into_iter();
    samples.retain(|_| is_selected.next() == Some(true));
    ensure!(
        !samples.is_empty(),
        "no position teaches a move: `target.learn = \"moves\"` learns the moves of winners; name \
         games with moves, in PGN, viriformat or binpack"
    );
    Ok(samples)
}

impl Prepare for Moves {
    fn prepare_rows(&self, samples: &[Sample]) -> Vec<Vec<(Position, f64)>> {
        let mut evaluation = self.searcher.open_evaluation();
        let mut quiescence = Quiescence::new(self.searcher.scale);
        let rows = |sample: &Sample| {
            let ends = self.find_ends(sample, &mut quiescence, &mut *evaluation);
            ends.unwrap_or_else(|| vec![(sample.position, 0.0)])
        };
        samples.iter().map(rows).collect()
    }

    fn move_choices(&self) -> Option<MoveChoices> {
        Some(MoveChoices::new(self.force, self.searcher.scale))
    }
}

impl Moves {
    /// Finds the quiet ends after a position's moves, if they teach something: first that of the
    /// played move, last the position's. None if the position has no evaluation.
    fn find_ends(
        &self,
        sample: &Sample,
        quiescence: &mut Quiescence,
        evaluation: &mut dyn Evaluate,
    ) -> Option<Vec<(Position, f64)>> {
        let chess = sample.position.to_chess().ok()?;
        let root = quiescence.find_quiet_end(&chess, evaluation).filter(|root| !root.is_decided)?;
        let row = |end: &QuietEnd| (end.position, self.searcher.value_of_end(end));
        let mut rows = Vec::new();
        let played = sample.played.filter(|_| sample.result == 1.0);
        let played = played.and_then(|played| played.legal_move(&chess));
        if let Some((played, mut moves)) = played.zip(quiescence.moves(&chess, evaluation)) {
            // A stable sort: alternatives keep their order.
            moves.sort_by_key(|(legal, _)| *legal != played);
            let is_near =
                |end: &QuietEnd| self.force.is_none() || (end.score - root.score).abs() <= BOUND;
            moves.retain(|(_, end)| !end.is_decided && is_near(end));
            if moves.len() > 1 && moves[0].0 == played {
                rows.extend(moves.iter().map(|(_, end)| row(end)));
            }
        }
        rows.push(row(&root));
        Some(rows)
    }
}
