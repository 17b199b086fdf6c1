//! How many of the moves that winners played evaluations put first.

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;

use super::evaluator::Evaluator;
use super::honest::Selection;
use super::objective::teaches;
use crate::batch::first;
use crate::progress::Progress;
use crate::report::estimate::Groups;
use crate::report::{Found, found};
use crate::sample::{Sample, games_known};
use crate::search::{Evaluate, Quiescence};

/// Positions that a thread searches at a time.
const PIECE: usize = 64;

/// Searches the moves of winners in some positions, where they had to choose.
///
/// # Errors
/// If an evaluation cannot search, or no position is left.
pub fn find(
    evaluators: &[Evaluator],
    selection: Selection,
    listener: &dyn Progress,
) -> Result<Found> {
    let mut samples: Vec<Sample> = selection.samples;
    samples.retain(teaches);
    ensure!(
        !samples.is_empty(),
        "no position tells the move of a winner who had to choose; name games that were won, in \
         PGN, viriformat or binpack"
    );
    let mut players = Vec::new();
    for evaluator in evaluators {
        evaluator.in_search()?;
        players.push(Player {
            name: evaluator.name.clone(),
            scale: evaluator.scale_in_search(),
            evaluation: Box::new(|| evaluator.in_search().expect("tried before")),
        });
    }
    rank(&players, &samples, listener).context("no position could be searched")
}

/// An evaluation that puts moves in order.
pub struct Player<'a> {
    pub name: String,
    /// Centipawns a logit.
    pub scale: f64,
    pub evaluation: Box<dyn Fn() -> Box<dyn Evaluate + 'a> + Sync + 'a>,
}

/// The share of moves that each evaluation puts first, in positions that know their move; none
/// where no position can be searched.
pub fn rank(players: &[Player], samples: &[Sample], listener: &dyn Progress) -> Option<Found> {
    let groups = Groups::new(samples.iter().map(Sample::group)).known(games_known(samples));
    let firsts_of = |player: &Player| -> Vec<Option<f64>> {
        let counter = listener.count(Some(samples.len() as u64), "searching moves");
        let of = |samples: &[Sample]| {
            let mut evaluation = (player.evaluation)();
            let mut quiescence = Quiescence::new(player.scale);
            let first = |it| is_first(it, &mut quiescence, &mut *evaluation);
            let firsts: Vec<Option<f64>> = samples.iter().map(first).collect();
            counter(samples.len() as u64);
            firsts
        };
        samples.par_chunks(PIECE).flat_map_iter(of).collect()
    };
    let firsts: Vec<Vec<Option<f64>>> = players.iter().map(firsts_of).collect();
    // A position that one of them could not search counts for none.
    let searched: Vec<u32> = (0..samples.len() as u32)
        .filter(|i| firsts.iter().all(|firsts| firsts[*i as usize].is_some()))
        .collect();
    let named = players.iter().zip(&firsts).map(|(player, firsts)| {
        (player.name.clone(), searched.iter().filter_map(|i| firsts[*i as usize]).collect())
    });
    (!searched.is_empty()).then(|| found(named.collect(), &groups.of_records(&searched)))
}

/// The probability that the move that was played is put first; none where it is not legal, or a
/// search does not end.
fn is_first(
    sample: &Sample,
    quiescence: &mut Quiescence,
    evaluation: &mut dyn Evaluate,
) -> Option<f64> {
    let chess = sample.position.to_chess().ok()?;
    let played = sample.played?.legal_move(&chess)?;
    let mut moves = quiescence.moves(&chess, evaluation)?;
    moves.sort_by_key(|(other, _)| *other != played);
    Some(first(&moves.iter().map(|(_, end)| end.score.into()).collect::<Vec<f64>>()))
}
