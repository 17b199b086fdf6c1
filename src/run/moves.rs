//! Where evaluations put the moves that were played.

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;

use super::evaluator::Evaluator;
use super::honest::Selection;
use super::listener::Listener;
use crate::loader::Part;
use crate::report::found::{Place, Ranked};
use crate::report::groups::Groups;
use crate::report::{Found, found};
use crate::sample::{Sample, games_known};
use crate::search::Quiescence;

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
    samples.retain(|sample| both_sides || sample.result == 1.0);
    samples.retain(|sample| sample.position.to_chess().is_ok_and(|chess| has_choice(&chess)));
    if samples.is_empty() {
        bail!(match both_sides {
            true => "no position is left in which somebody had to choose",
            false =>
                "no position is left in which the winner had to choose: no game was won, or the \
                 filter leaves none; --both-sides counts the moves of all",
        });
    }
    let groups = Groups::new(samples.iter().map(Sample::group)).known(games_known(&samples));
    let mut ranked = Vec::new();
    for (place, evaluator) in evaluators.iter().enumerate() {
        evaluator.in_search()?;
        let counter = listener.count(Some(samples.len() as u64), "searching moves");
        let of = |samples: &[Sample]| {
            let mut evaluation = evaluator.in_search().expect("tried before");
            let mut quiescence = Quiescence::new(evaluator.scale_in_search());
            let places: Vec<Option<Place>> =
                samples.iter().map(|it| rank(it, &mut quiescence, &mut *evaluation)).collect();
            counter(samples.len() as u64);
            places
        };
        let places: Vec<Option<Place>> = samples.par_chunks(PIECE).flat_map_iter(of).collect();
        let doubt = doubts.get(place).cloned().flatten();
        ranked.push((evaluator.name.clone(), doubt, places));
    }
    // What one of them could not search counts for none.
    let counts: Vec<bool> =
        (0..samples.len()).map(|i| ranked.iter().all(|(.., places)| places[i].is_some())).collect();
    let kept =
        |places: Vec<Option<Place>>| places.into_iter().zip(&counts).filter(|(_, kept)| **kept);
    let ranked: Vec<Ranked> = ranked
        .into_iter()
        .map(|(name, doubt, places)| {
            let places = kept(places).filter_map(|(place, _)| place).collect();
            Ranked { name, doubt, places }
        })
        .collect();
    let searched: Vec<u32> =
        (0..).zip(&counts).filter(|(_, kept)| **kept).map(|(i, _)| i).collect();
    ensure!(!searched.is_empty(), "no position could be searched");
    let noun = match (groups.are_known(), part) {
        (true, Part::All) => "games",
        (true, _) => "test games",
        (false, _) => "positions",
    };
    Ok(found(ranked, &groups.of_records(&searched), noun))
}

fn has_choice(chess: &shakmaty::Chess) -> bool {
    shakmaty::Position::legal_moves(chess).len() > 1
}

/// None where the move that was played is not legal, or a search does not end.
fn rank(
    sample: &Sample,
    quiescence: &mut Quiescence,
    evaluation: &mut dyn crate::search::Evaluate,
) -> Option<Place> {
    let chess = sample.position.to_chess().ok()?;
    let wanted = sample.played?.legal_move(&chess)?;
    let moves = quiescence.moves(&chess, evaluation)?;
    let score = moves.iter().find(|(played, _)| *played == wanted)?.1.score;
    let count = |of: &dyn Fn(i32) -> bool| moves.iter().filter(|(_, end)| of(end.score)).count();
    let [ahead, same] = [count(&|it| it > score), count(&|it| it == score)].map(|it| it as u32);
    Some(Place { ahead, level: same - 1, of: moves.len() as u32 })
}
