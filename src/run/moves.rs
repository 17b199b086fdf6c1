//! Share of the winners' moves that evaluations rank first.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use serde::Serialize;

use super::evaluator::Evaluator;
use super::honest::Selection;
use super::objective::is_lesson;
use crate::batch::probability_of_first;
use crate::digits::{format_decimal_percent, group_digits};
use crate::progress::Progress;
use crate::report::TextTable;
use crate::report::estimate::{Estimate, Groups, Means};
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
    evaluators.iter().try_for_each(|evaluator| evaluator.search_evaluation().map(drop))?;
    let groups = Groups::new(samples.iter().map(Sample::split_group), games_known(&samples));
    let firsts_of = |evaluator: &Evaluator| -> Vec<Option<f64>> {
        let counter = listener.count(Some(samples.len() as u64), "searching moves");
        let search_block = |samples: &[Sample]| {
            let mut evaluation = evaluator.search_evaluation().expect("tried before");
            let mut quiescence = Quiescence::new(evaluator.search_scale());
            let first = |it| rank_first(it, &mut quiescence, &mut *evaluation);
            let firsts: Vec<Option<f64>> = samples.iter().map(first).collect();
            counter(samples.len() as u64);
            firsts
        };
        samples.par_chunks(BLOCK).flat_map_iter(search_block).collect()
    };
    let firsts: Vec<Vec<Option<f64>>> = evaluators.iter().map(firsts_of).collect();
    // A position that one evaluation cannot search is dropped for all.
    let searched: Vec<u32> = (0..samples.len() as u32)
        .filter(|i| firsts.iter().all(|firsts| firsts[*i as usize].is_some()))
        .collect();
    ensure!(!searched.is_empty(), "no position could be searched");
    let groups = groups.of_records(&searched);
    let column = |firsts: &Vec<Option<f64>>| {
        groups.sum_groups(searched.iter().filter_map(|i| firsts[*i as usize]))
    };
    let means = Means::new(&groups, &firsts.iter().map(column).collect::<Vec<_>>());
    let finder = |(i, it): (usize, &Evaluator)| MoveFinder {
        name: it.name.clone(),
        first: means.mean_of_column(i),
    };
    let evaluations = evaluators.iter().enumerate().map(finder).collect();
    Ok(MoveComparison { positions: groups.record_count(), groups: groups.len(), evaluations })
}

/// Returns the probability that the played move is ranked first; None if it cannot be searched.
fn rank_first(
    sample: &Sample,
    quiescence: &mut Quiescence,
    evaluation: &mut dyn Evaluate,
) -> Option<f64> {
    let chess = sample.position.to_chess().ok()?;
    let played = sample.played?.legal_move(&chess)?;
    let mut moves = quiescence.moves(&chess, evaluation)?;
    moves.sort_by_key(|(legal, _)| *legal != played);
    Some(probability_of_first(&moves.iter().map(|(_, end)| end.score.into()).collect::<Vec<f64>>()))
}

/// A comparison of evaluations by the share of moves that each ranks first.
#[derive(Clone, Debug, Serialize)]
pub struct MoveComparison {
    pub positions: usize,
    pub groups: usize,
    pub evaluations: Vec<MoveFinder>,
}

#[derive(Clone, Debug, Serialize)]
pub struct MoveFinder {
    pub name: String,
    /// Share of moves that the evaluation ranks first.
    pub first: Estimate,
}

impl MoveComparison {
    pub fn to_text(&self) -> String {
        let [positions, groups] =
            [self.positions, self.groups].map(|count| group_digits(count as u64));
        let mut table = TextTable::with_titles(&["<evaluation", "moves put first", "± 95 %"]);
        for MoveFinder { name, first } in &self.evaluations {
            let percent = |share| format_decimal_percent(share, 2);
            let half = first.half_width().map_or("-".to_string(), percent);
            table.add_row([name.clone(), percent(first.mean), half]);
        }
        format!("{positions} moves of {groups} games\n\n{table}")
    }
}
