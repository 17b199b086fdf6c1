//! Where evaluations put the moves that were played.

use std::iter::repeat;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use super::choices::{place, teaches};
use super::evaluator::Evaluator;
use super::honest::Selection;
use super::listener::Listener;
use crate::config::Sides;
use crate::loader::Part;
use crate::report::found::{Place, Ranked};
use crate::report::groups::Groups;
use crate::report::{Found, found};
use crate::sample::{Sample, games_known};
use crate::search::{Evaluate, Quiescence};

/// Positions that a thread searches at a time.
const PIECE: usize = 64;

/// Ranks the moves that were played in some positions among the legal ones, with each evaluation.
/// Positions with one legal move do not count; nor do those of who did not win, unless `both_sides`
/// are asked for.
///
/// # Errors
/// If an evaluation cannot search, the format does not tell the moves, or no position is left.
pub fn find(
    evaluators: &[Evaluator],
    selection: Selection,
    both_sides: bool,
    listener: &dyn Listener,
) -> Result<Found> {
    let Selection { samples, part, doubts, .. } = selection;
    let all = samples.len();
    let mut samples: Vec<Sample> = samples.into_iter().map(|(sample, _)| sample).collect();
    samples.retain(|sample| sample.played.is_some());
    ensure!(
        all == 0 || !samples.is_empty(),
        "none of the positions knows the move that was played; name games, in PGN, viriformat or \
         binpack"
    );
    let sides = if both_sides { Sides::Both } else { Sides::Winner };
    samples.retain(|sample| teaches(sides, sample));
    if samples.is_empty() {
        bail!(match both_sides {
            true => "no position is left in which somebody had to choose",
            false =>
                "no position is left in which the winner had to choose: no game was won, or the \
                 filter leaves none; --both-sides counts the moves of all",
        });
    }
    let mut searchers = Vec::new();
    for (evaluator, doubt) in evaluators.iter().zip(doubts.into_iter().chain(repeat(None))) {
        evaluator.in_search()?;
        searchers.push(Searcher {
            name: evaluator.name.clone(),
            doubt,
            scale: evaluator.scale_in_search(),
            evaluation: Box::new(|| evaluator.in_search().expect("tried before")),
        });
    }
    let noun = if part == Part::All { "games" } else { "test games" };
    rank(&searchers, &samples, noun, listener).context("no position could be searched")
}

/// Who puts moves in order.
pub struct Searcher<'a> {
    pub name: String,
    /// What else could explain that it finds many; to stand behind "unless".
    pub doubt: Option<String>,
    /// Centipawns a logit.
    pub scale: f64,
    /// What its searches ask.
    pub evaluation: Box<dyn Fn() -> Box<dyn Evaluate + 'a> + Sync + 'a>,
}

/// Ranks the moves that were played in all of some positions, each of which knows its move; `noun`
/// says what their games are. None where no position can be searched.
pub fn rank(
    searchers: &[Searcher],
    samples: &[Sample],
    noun: &'static str,
    listener: &dyn Listener,
) -> Option<Found> {
    let groups = Groups::new(samples.iter().map(Sample::group)).known(games_known(samples));
    let places_of = |searcher: &Searcher| -> Vec<Option<Place>> {
        let counter = listener.count(Some(samples.len() as u64), "searching moves");
        let of = |samples: &[Sample]| {
            let mut evaluation = (searcher.evaluation)();
            let mut quiescence = Quiescence::new(searcher.scale);
            let places: Vec<Option<Place>> =
                samples.iter().map(|it| place_of(it, &mut quiescence, &mut *evaluation)).collect();
            counter(samples.len() as u64);
            places
        };
        samples.par_chunks(PIECE).flat_map_iter(of).collect()
    };
    let places: Vec<Vec<Option<Place>>> = searchers.iter().map(places_of).collect();
    // What one of them could not search counts for none.
    let searched: Vec<u32> = (0..samples.len() as u32)
        .filter(|i| places.iter().all(|places| places[*i as usize].is_some()))
        .collect();
    let ranked = searchers.iter().zip(&places).map(|(searcher, places)| Ranked {
        name: searcher.name.clone(),
        doubt: searcher.doubt.clone(),
        places: searched.iter().filter_map(|i| places[*i as usize]).collect(),
    });
    let noun = if groups.are_known() { noun } else { "positions" };
    (!searched.is_empty()).then(|| found(ranked.collect(), &groups.of_records(&searched), noun))
}

/// None where the move that was played is not legal, or a search does not end.
fn place_of(
    sample: &Sample,
    quiescence: &mut Quiescence,
    evaluation: &mut dyn Evaluate,
) -> Option<Place> {
    let chess = sample.position.to_chess().ok()?;
    let played = sample.played?.legal_move(&chess)?;
    place(&quiescence.moves(&chess, evaluation)?, played)
}
