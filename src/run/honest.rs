//! Which positions a comparison may be measured on: never games that an evaluation was trained on.

use std::collections::HashSet;

use anyhow::{Result, ensure};

use super::recipe::Recipe;
use crate::digits::grouped;
use crate::loader::{Part, Test};
use crate::sample::{Sample, games_known};

/// A position with the number of the file that it comes from.
pub type Placed = (Sample, u16);

/// The positions to measure on, and what must be said of them.
#[derive(Debug)]
pub struct Selection {
    pub samples: Vec<Placed>,
    /// [`Part::Test`], or [`Part::All`] where nothing was left out.
    pub part: Part,
    /// Positions of these games that were left out, since they have no score and an evaluation
    /// needs one, or its training did.
    pub unscored: u64,
    pub notes: Vec<String>,
    /// By evaluation, what else than being better could explain a low loss; to stand behind
    /// "unless". Those beyond the last have none.
    pub doubts: Vec<Option<String>>,
}

impl Selection {
    /// What a run that has just ended is measured on: its test games, or, where it kept none, those
    /// of its validation games on which others are tested. The run is the first evaluation.
    pub fn of_run(name: &str, validation: &[Sample], test: &[Sample]) -> Self {
        let placed = |sample: &Sample| (*sample, 0);
        let (samples, chosen): (Vec<Placed>, _) = match test.is_empty() {
            false => {
                // Files of their own that validate may have games of the test.
                let chosen: HashSet<u64> = validation.iter().map(Sample::group).collect();
                let both = test.iter().any(|sample| chosen.contains(&sample.group()));
                (test.iter().map(placed).collect(), both)
            }
            true => {
                let tested = validation.iter().filter(|sample| Test::DEFAULT.takes(sample));
                (tested.map(placed).collect(), true)
            }
        };
        let mut this = Self::all(samples, Vec::new(), vec![None]);
        this.part = Part::Test;
        if chosen {
            this.doubts = vec![Some(chosen_on_these(name))];
            this.notes = vec![note_of_chosen(name)];
        }
        this
    }

    /// Nothing is left out.
    fn all(samples: Vec<Placed>, notes: Vec<String>, doubts: Vec<Option<String>>) -> Self {
        Self { samples, part: Part::All, unscored: 0, notes, doubts }
    }

    /// Leaves out the positions that have no score, for all evaluations alike. An error where none
    /// has one, with `who` needs them.
    pub fn skip_unscored(&mut self, who: &str) -> Result<()> {
        let all = self.samples.len() as u64;
        self.samples.retain(|(sample, _)| sample.score.is_some());
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

    /// Doubts the evaluations whose checkpoints were chosen by the loss on files with some of these
    /// games.
    fn doubt_chosen(&mut self, evaluations: &[(&str, Option<&Recipe>)]) {
        for (place, (name, recipe)) in evaluations.iter().enumerate() {
            let doubt = Some(chosen_on_these(name));
            if recipe.is_some_and(|it| chose_on(it, &self.samples)) && self.doubts[place] != doubt {
                self.doubts[place] = doubt;
                self.notes.push(note_of_chosen(name));
            }
        }
    }
}

/// Whether files for validation had some of these games.
fn chose_on(recipe: &Recipe, samples: &[Placed]) -> bool {
    samples.iter().any(|(sample, _)| recipe.validation_sketch.contains(sample))
}

/// The doubt about a run without a test of its own, or whose files for validation have its games.
fn chosen_on_these(name: &str) -> String {
    format!("that is because {name} chose its checkpoint on these games too")
}

fn note_of_chosen(name: &str) -> String {
    format!("{name} chose its checkpoint on these games too: its loss looks better than it is")
}

/// Leaves out what an evaluation has seen in training.
///
/// Games are known again by their content, whatever file they lie in. Where an evaluation was
/// trained on some of these, the filter of its training is applied, and the games stay that it
/// keeps for the test. Runs that keep none chose their checkpoints on all games that they held out;
/// they are measured on the same games as others, with a doubt. Evaluations come with their names;
/// without a recipe nobody can say what they saw. Where positions were `chosen` by a filter, it
/// takes the place of that of the training.
///
/// # Errors
/// If two evaluations held out different games, or one held out none.
pub fn measured(
    evaluations: &[(&str, Option<&Recipe>)],
    mut samples: Vec<Placed>,
    chosen: bool,
) -> Result<Selection> {
    let mut notes = Vec::new();
    let mut doubts = vec![None; evaluations.len()];
    let games = games_known(samples.iter().map(|(sample, _)| sample));
    let has_seen = |recipe: &Recipe| samples.iter().any(|(it, _)| recipe.sketch.contains(it));
    let mut seen: Vec<(usize, &str, &Recipe)> = Vec::new();
    for (place, (name, recipe)) in evaluations.iter().enumerate() {
        match recipe {
            Some(recipe) if has_seen(recipe) => seen.push((place, name, recipe)),
            Some(recipe) if recipe.data.iter().any(|file| file.games > 0) == games => {
                let escape = "less than one game in 500 of it could escape notice";
                match chose_on(recipe, &samples) {
                    true => {
                        doubts[place] = Some(chosen_on_these(name));
                        notes.push(format!(
                            "{name} was not trained on these ({escape}), but chose its checkpoint \
                             on them: its loss looks better than it is"
                        ));
                    }
                    false => notes.push(format!(
                        "none of these are known from the training of {name}; {escape}"
                    )),
                }
            }
            Some(_) => {
                doubts[place] = Some(format!(
                    "{name} was trained on these, which cannot be told (games are known on one \
                     side only)"
                ));
                notes.push(format!(
                    "whether {name} was trained on these cannot be told: games are known on one \
                     side only; compare on data of the format that it was trained on"
                ));
            }
            None => {
                doubts[place] =
                    Some(format!("{name} was trained on these: nothing is known of its training"));
                notes.push(format!("nothing is known of what {name} was trained on"));
            }
        }
    }
    for (place, (name, recipe)) in evaluations.iter().enumerate() {
        let start = recipe.and_then(|recipe| recipe.start.as_ref()?.doubt.as_ref());
        let base = recipe.and_then(|recipe| recipe.base.as_ref()?.doubt.as_ref());
        let from = [("started from another net", start), ("is added to another evaluation", base)];
        for (how, doubt) in from.into_iter().filter_map(|(how, doubt)| Some((how, doubt?))) {
            notes.push(format!("{name} {how}: {doubt}"));
            doubts[place].get_or_insert(format!("{name} {how}: {doubt}"));
        }
    }
    let Some((first, name, recipe)) = seen.first() else {
        let mut measured = Selection::all(samples, notes, doubts);
        measured.doubt_chosen(evaluations);
        return Ok(measured);
    };
    let split = recipe.split();
    for (_, other, others) in &seen[1..] {
        ensure!(
            others.split() == split,
            "{name} and {other} were trained on these games with different ones held out \
             (held_out {} and {}, held_out_seed {} and {}); train them with the same, name other \
             data, or compare on everything with --all",
            split.share,
            others.split().share,
            split.seed,
            others.split().seed,
        );
        if !chosen && others.config.data.filter != recipe.config.data.filter {
            doubts[*first] = Some(format!(
                "that is because the filter of its training chose these positions, while {other} \
                 was trained with another"
            ));
            notes.push(format!("{name} and {other} had different filters; that of {name} is used"));
        }
    }
    ensure!(
        split.share > 0.0,
        "{name} was trained on all of these games: no loss on them would be honest. Name other \
         data with --data, or measure on them all the same with --all"
    );
    // The smallest test is a part of all the others.
    let tests = seen.iter().map(|(_, _, recipe)| recipe.config.test().0).filter(|test| *test > 0.0);
    let test = Test(tests.reduce(f64::min).unwrap_or(Test::DEFAULT.0));
    let filter = &recipe.config.data.filter;
    samples.retain(|(it, _)| {
        split.holds_out(it) && test.takes(it) && (chosen || filter.rejects(it).is_none())
    });
    ensure!(
        !samples.is_empty(),
        "none of these games is in the test of {name} (held_out {}, test {}), or its filter leaves \
         none; name more data with --data, or measure on everything with --all",
        split.share,
        test.0
    );
    notes.push(format!(
        "{name} was trained on some of these games: measured are those of its test, {} of the {} \
         that it held out, with {}",
        test.0,
        split.share,
        if chosen { "the filter given instead of its own" } else { "its filter" }
    ));
    for (place, name, _) in seen.iter().filter(|(_, _, it)| it.config.test().0 == 0.0) {
        doubts[*place] = Some(chosen_on_these(name));
        notes.push(note_of_chosen(name));
    }
    let mut measured = Selection { part: Part::Test, ..Selection::all(samples, notes, doubts) };
    // Training has skipped what its target lacks, and so does whoever is compared with it.
    if let Some((_, name, _)) = seen.iter().find(|(_, _, recipe)| recipe.config.needs_scores()) {
        measured.skip_unscored(&format!("the target of {name}"))?;
    }
    measured.doubt_chosen(evaluations);
    Ok(measured)
}

/// All positions, those that were seen in training too.
pub fn everything(evaluations: &[(&str, Option<&Recipe>)], samples: Vec<Placed>) -> Selection {
    let doubt = |(name, recipe): &(&str, Option<&Recipe>)| match recipe {
        None => Some(format!("{name} was trained on these: nothing is known of its training")),
        Some(recipe) if samples.iter().any(|(it, _)| recipe.sketch.contains(it)) => {
            Some(format!("that is because {name} was trained on some of these"))
        }
        Some(recipe) => chose_on(recipe, &samples).then(|| chosen_on_these(name)),
    };
    let doubts = evaluations.iter().map(doubt).collect();
    Selection::all(samples, Vec::new(), doubts)
}
