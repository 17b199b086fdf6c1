//! The positions that a comparison may be measured on: never games that an evaluation was trained on.

use std::collections::HashSet;

use anyhow::{Result, ensure};

use super::evaluator::Evaluator;
use super::recipe::Recipe;
use crate::digits::grouped;
use crate::loader::{Part, Test};
use crate::sample::{Sample, games_known};

/// The positions to measure on, with notes and doubts about them.
#[derive(Debug)]
pub struct Selection {
    pub samples: Vec<Sample>,
    /// [`Part::Test`], or [`Part::All`] where nothing was left out.
    pub part: Part,
    /// Positions of these games that were left out, since they have no score and an evaluation or
    /// its training needs one.
    pub unscored: u64,
    pub notes: Vec<String>,
    /// By evaluation, another explanation of a low loss, to stand behind "unless".
    pub doubts: Vec<Option<String>>,
}

impl Selection {
    /// The positions of a run that has just ended: its test games, or, where it kept none, those of
    /// its validation games on which others are tested. The run is the first evaluation.
    pub fn of_run(evaluators: &[Evaluator], validation: &[Sample], test: &[Sample]) -> Self {
        let samples: Vec<Sample> = match test.is_empty() {
            true => validation.iter().filter(|it| Test::DEFAULT.takes(it)).copied().collect(),
            false => test.to_vec(),
        };
        let mut this = Self::all(samples, evaluators.len());
        this.part = Part::Test;
        // Files of their own that validate may have games of the test.
        let chosen: HashSet<u64> = validation.iter().map(Sample::group).collect();
        if this.samples.iter().any(|sample| chosen.contains(&sample.group())) {
            for (doubt, evaluator) in this.doubts.iter_mut().zip(evaluators) {
                *doubt = evaluator.is_trained().then(|| chosen_on_these(&evaluator.name));
            }
            this.notes.extend(this.doubts.first().cloned().flatten());
        }
        this
    }

    /// Nothing is left out.
    fn all(samples: Vec<Sample>, evaluations: usize) -> Self {
        let (notes, doubts) = (Vec::new(), vec![None; evaluations]);
        Self { samples, part: Part::All, unscored: 0, notes, doubts }
    }

    /// Leaves out the positions that have no score, for all evaluations alike. An error where none
    /// has one, with `who` needs them.
    pub fn skip_unscored(&mut self, who: &str) -> Result<()> {
        let all = self.samples.len() as u64;
        self.samples.retain(|sample| sample.score.is_some());
        ensure!(
            !self.samples.is_empty(),
            "none of the {} positions has a score, which {who} needs; label the positions \
             (nnuance data label), or compare without it",
            grouped(all)
        );
        self.unscored += all - self.samples.len() as u64;
        Ok(())
    }

    /// How many positions were left out for the lack of a score, in words.
    pub fn unscored(&self) -> Option<String> {
        let [with, without] = [self.samples.len() as u64, self.unscored].map(grouped);
        (self.unscored > 0).then(|| {
            format!("Measured on the {with} positions that have a score; {without} have none.")
        })
    }
}

fn chosen_on_these(name: &str) -> String {
    format!("{name} chose its checkpoint on these games too")
}

/// Leaves out the games that an evaluation has seen in training, unless `all` are wanted.
///
/// Games are recognised by their content, whatever file they lie in. Where an evaluation was trained
/// on some of these, the filter of its training is applied, and the games stay that it keeps for the
/// test. Runs that keep none chose their checkpoints on all games that they held out; they are
/// measured on the same games as others, with a doubt. `chosen` positions passed a filter of the
/// user, which replaces that of the training.
///
/// # Errors
/// If two evaluations held out different games, or one held out none.
pub fn honest(
    evaluators: &[Evaluator],
    samples: Vec<Sample>,
    all: bool,
    chosen: bool,
) -> Result<Selection> {
    let mut found = Selection::all(samples, evaluators.len());
    let games = games_known(&found.samples);
    let mut seen: Vec<(usize, &str, &Recipe)> = Vec::new();
    for (place, evaluator) in evaluators.iter().enumerate().filter(|(_, it)| it.is_trained()) {
        let name = &evaluator.name[..];
        let Some(recipe) = &evaluator.recipe else {
            found.notes.push(format!("the training data of {name} are unknown"));
            found.doubts[place] =
                Some(format!("{name} was trained on these: its training data are unknown"));
            continue;
        };
        let is_known = recipe.data.iter().any(|file| file.games > 0) == games;
        if found.samples.iter().any(|it| recipe.sketch.contains(it)) {
            seen.push((place, name, recipe));
            if all {
                found.doubts[place] = Some(format!("that is because {name} was trained on some"));
            }
        } else if is_known && !all {
            found.notes.push(format!(
                "{name} was not trained on these (less than one game in 500 could escape notice)"
            ));
        } else if !is_known {
            found.doubts[place] = Some(format!(
                "{name} was trained on these, which cannot be told (games are known on one side only)"
            ));
        }
        let start = recipe.start.as_ref().and_then(|start| start.doubt.as_ref());
        let base = recipe.base.as_ref().and_then(|base| base.doubt.as_ref());
        for (how, doubt) in [("started from another net", start), ("is added to another", base)] {
            let Some(doubt) = doubt else { continue };
            found.notes.push(format!("{name} {how}: {doubt}"));
            found.doubts[place].get_or_insert(format!("{name} {how}: {doubt}"));
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
                found.doubts[*first] =
                    Some(format!("{name} gains by its filter, which differs from that of {other}"));
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
            split.holds_out(it) && test.takes(it) && (chosen || filter.rejects(it).is_none())
        });
        found.part = Part::Test;
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
    for (place, evaluator) in evaluators.iter().enumerate() {
        let Some(recipe) = evaluator.recipe.as_ref().filter(|_| evaluator.is_trained()) else {
            continue;
        };
        let kept_none = seen.iter().any(|it| it.0 == place) && recipe.config.test.0 == 0.0;
        let mut samples = found.samples.iter();
        if kept_none && !all || samples.any(|it| recipe.validation_sketch.contains(it)) {
            let doubt = chosen_on_these(&evaluator.name);
            found.notes.push(doubt.clone());
            found.doubts[place] = Some(doubt);
        }
    }
    Ok(found)
}
