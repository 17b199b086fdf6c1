//! Share of the winners' moves that evaluations rank first.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::evaluator::Evaluator;
use super::honest::Selection;
use super::objective::is_lesson;
use crate::batch::probability_of_first;
use crate::progress::Progress;
use crate::report::estimate::Groups;
use crate::report::{MoveComparison, compare_moves};
use crate::sample::{Sample, games_known};
use crate::search::{Evaluate, Quiescence};

/// Positions that a thread searches at a time.
const BLOCK: usize = 64;

/// Searches the winners' moves in positions with a choice.
pub fn find_played_moves(
    evaluators: &[Evaluator],
    selection: Selection,
    listener: &dyn Progress,
) -> Result<MoveComparison> {
    let mut samples: Vec<Sample> = selection.samples;
    samples.retain(is_lesson);
    ensure!(
        !samples.is_empty(),
        "no position has the choice of a winner among several moves; name games that were won, in \
         PGN, viriformat or binpack"
    );
    evaluators.iter().try_for_each(|evaluator| evaluator.in_search().map(drop))?;
    let groups = Groups::new(samples.iter().map(Sample::split_group))
        .with_known_groups(games_known(&samples));
    let firsts_of = |evaluator: &Evaluator| -> Vec<Option<f64>> {
        let counter = listener.count(Some(samples.len() as u64), "searching moves");
        let of = |samples: &[Sample]| {
            let mut evaluation = evaluator.in_search().expect("tried before");
            let mut quiescence = Quiescence::new(evaluator.scale_in_search());
            let first = |it| is_first(it, &mut quiescence, &mut *evaluation);
            let firsts: Vec<Option<f64>> = samples.iter().map(first).collect();
            counter(samples.len() as u64);
            firsts
        };
        samples.par_chunks(BLOCK).flat_map_iter(of).collect()
    };
    let firsts: Vec<Vec<Option<f64>>> = evaluators.iter().map(firsts_of).collect();
    // A position that one of them cannot search is dropped for all.
    let searched: Vec<u32> = (0..samples.len() as u32)
        .filter(|i| firsts.iter().all(|firsts| firsts[*i as usize].is_some()))
        .collect();
    ensure!(!searched.is_empty(), "no position could be searched");
    let named = evaluators.iter().zip(&firsts).map(|(evaluator, firsts)| {
        (evaluator.name.clone(), searched.iter().filter_map(|i| firsts[*i as usize]).collect())
    });
    Ok(compare_moves(named.collect(), &groups.of_records(&searched)))
}

/// Probability that the played move is ranked first; none if it cannot be searched.
fn is_first(
    sample: &Sample,
    quiescence: &mut Quiescence,
    evaluation: &mut dyn Evaluate,
) -> Option<f64> {
    let chess = sample.position.to_chess().ok()?;
    let played = sample.played?.legal_move(&chess)?;
    let mut moves = quiescence.moves(&chess, evaluation)?;
    moves.sort_by_key(|(other, _)| *other != played);
    Some(probability_of_first(&moves.iter().map(|(_, end)| end.score.into()).collect::<Vec<f64>>()))
}
