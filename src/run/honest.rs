//! Selection of positions for a comparison: never games that an evaluation was trained on.

use anyhow::{Result, ensure};

use super::evaluator::Evaluator;
use super::recipe::Recipe;
use crate::digits::grouped;
use crate::loader::Test;
use crate::sample::{Sample, games_known};

/// Positions for a comparison, with notes and doubts about them.
#[derive(Debug)]
pub struct Selection {
    pub samples: Vec<Sample>,
    /// Whether they are test games; else all positions are used.
    pub is_test: bool,
    pub notes: Vec<String>,
    /// By evaluation, another explanation of a low loss.
    pub doubts: Vec<Option<String>>,
}

impl Selection {
    /// Adds a doubt about an evaluation; its verdict has the first one.
    pub fn doubt(&mut self, place: usize, why: String) {
        self.notes.push(why.clone());
        self.doubts[place].get_or_insert(why);
    }

    /// Leaves out positions without a score, which `who` needs. Fails if none is left.
    pub fn skip_unscored(&mut self, who: &str) -> Result<()> {
        let all = self.samples.len();
        self.samples.retain(|sample| sample.score.is_some());
        ensure!(
            !self.samples.is_empty(),
            "none of the {} positions has a score, which {who} needs; label the positions \
             (nnuance data label), or compare without it",
            grouped(all as u64)
        );
        let without = all - self.samples.len();
        if without > 0 {
            let without = grouped(without as u64);
            self.notes.push(format!("{without} positions without a score are left out"));
        }
        Ok(())
    }
}

/// The doubt about an evaluation whose checkpoint was chosen on the measured games.
pub fn chosen_on_these(name: &str) -> String {
    format!("{name} chose its checkpoint on these games too")
}

/// Leaves out games that an evaluation was trained on, unless `all`.
///
/// Games are recognised by their content, whatever file they are in. If an evaluation was trained
/// on some of these, the filter of its training is applied, and its test games are left. Runs
/// without a test chose their checkpoints on all held-out games; they are measured on the same
/// games as others, with a doubt. `chosen` positions passed a filter of the user, which replaces
/// that of the training.
///
/// # Errors
/// If two evaluations held out different games, or one held out none.
pub fn select_positions(
    evaluators: &[Evaluator],
    samples: Vec<Sample>,
    all: bool,
    chosen: bool,
) -> Result<Selection> {
    let games = games_known(&samples);
    let (notes, doubts) = (Vec::new(), vec![None; evaluators.len()]);
    let mut found = Selection { samples, is_test: false, notes, doubts };
    let mut known: Vec<(usize, &str, &Recipe)> = Vec::new();
    for (place, evaluator) in evaluators.iter().enumerate().filter(|(_, it)| it.is_trained()) {
        let name = &evaluator.name[..];
        match &evaluator.recipe {
            Some(recipe) => known.push((place, name, recipe)),
            None => found.doubt(place, format!("the training data of {name} are unknown")),
        }
    }
    let mut seen = known.clone();
    seen.retain(|(.., recipe)| found.samples.iter().any(|it| recipe.sketch.contains(it.group())));
    let is_seen = |place: usize| seen.iter().any(|it| it.0 == place);
    for &(place, name, recipe) in &known {
        if is_seen(place) {
            if all {
                found.doubt(place, format!("{name} was trained on some of these"));
            }
        } else if recipe.data.iter().any(|file| file.games > 0) != games {
            let why = "cannot be told (games are known on one side only)";
            found.doubt(place, format!("whether {name} was trained on these {why}"));
        }
        let start = recipe.start.as_ref().and_then(|start| start.doubt.as_ref());
        let base = recipe.base.as_ref().and_then(|base| base.doubt.as_ref());
        for (how, doubt) in [("started from another net", start), ("is added to another", base)] {
            if let Some(doubt) = doubt {
                found.doubt(place, format!("{name} {how}: {doubt}"));
            }
        }
    }
    if let Some((first, name, recipe)) = seen.first().filter(|_| !all) {
        let split = recipe.split();
        for (_, other, others) in &seen[1..] {
            let of = others.split();
            ensure!(
                of == split,
                "{name} and {other} were trained on these games with different ones held out \
                 (held_out {} and {}, held_out_seed {} and {}); train them with the same, name \
                 other data, or compare on everything with --all",
                split.share,
                of.share,
                split.seed,
                of.seed
            );
            if !chosen && others.config.data.filter != recipe.config.data.filter {
                let why = format!("{name} gains by its filter, which differs from that of {other}");
                found.doubt(*first, why);
            }
        }
        ensure!(
            split.share > 0.0,
            "{name} was trained on all of these games: no loss on them would be honest. Name other \
             data with --data, or measure on them all the same with --all"
        );
        // The smallest test is a part of all the others.
        let tests = seen.iter().map(|(_, _, it)| it.config.test.0).filter(|test| *test > 0.0);
        let test = Test(tests.reduce(f64::min).unwrap_or(Test::DEFAULT.0));
        let filter = &recipe.config.data.filter;
        found.samples.retain(|it| {
            let group = it.group();
            split.holds_out(group) && test.takes(group) && (chosen || filter.rejects(it).is_none())
        });
        found.is_test = true;
        ensure!(
            !found.samples.is_empty(),
            "none of these games is in the test of {name} (held_out {}, test {}), or its filter \
             leaves none; name more data with --data, or measure on everything with --all",
            split.share,
            test.0
        );
        found.notes.push(format!(
            "{name} was trained on some of these games: measured are those of its test, {} of the \
             {} that it held out",
            test.0, split.share
        ));
        // Training has skipped positions that its target cannot use; they are skipped for all.
        if let Some((_, name, _)) = seen.iter().find(|(_, _, it)| it.config.needs_scores()) {
            found.skip_unscored(&format!("the target of {name}"))?;
        }
    }
    for (place, name, recipe) in known {
        let kept_none = is_seen(place) && recipe.config.test.0 == 0.0 && !all;
        if kept_none || found.samples.iter().any(|it| recipe.validation_sketch.contains(it.group()))
        {
            found.doubt(place, chosen_on_these(name));
        }
    }
    Ok(found)
}
