//! Which positions a comparison may be measured on: never games that an evaluation was trained on,
//! nor, where that can be, games on which something was chosen.

use anyhow::{Result, ensure};

use super::recipe::Recipe;
use crate::loader::{Part, Test};
use crate::sample::Sample;

/// A position with the number of the file that it comes from.
pub type Placed = (Sample, u16);

/// The positions to measure on, and what must be said of them.
#[derive(Debug)]
pub struct Measured {
    pub samples: Vec<Placed>,
    /// [`Part::Test`], or [`Part::All`] where nothing was left out.
    pub part: Part,
    pub notes: Vec<String>,
    pub doubts: Vec<Doubt>,
}

/// Why the loss of one evaluation may look better than it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The name of the evaluation.
    pub of: String,
    /// A clause behind the name, without a full stop.
    pub why: &'static str,
}

/// Of a run without a test of its own.
const CHOSEN: &str = "chose its checkpoint on these games too";

impl Measured {
    /// Everything, as it is.
    pub fn all(samples: Vec<Placed>) -> Self {
        Self { samples, part: Part::All, notes: Vec::new(), doubts: Vec::new() }
    }

    /// What a run that has just ended is measured on: its test games, or, where it kept none, those
    /// of its validation games on which others are tested.
    pub fn of_run(name: &str, validation: &[Sample], test: &[Sample]) -> Self {
        let placed = |sample: &Sample| (*sample, 0);
        if !test.is_empty() {
            let samples = test.iter().map(placed).collect();
            return Self { part: Part::Test, ..Self::all(samples) };
        }
        let tested = validation.iter().filter(|sample| Test::DEFAULT.takes(sample));
        let mut measured = Self { part: Part::Test, ..Self::all(tested.map(placed).collect()) };
        measured.doubt(name, CHOSEN);
        measured
    }

    fn doubt(&mut self, of: &str, why: &'static str) {
        self.notes.push(format!("{of} {why}: its loss looks better than it is"));
        self.doubts.push(Doubt { of: of.to_string(), why });
    }
}

/// Leaves out what an evaluation has seen in training.
///
/// Games are known again by their content, whatever file they lie in. Where an evaluation was
/// trained on some of these, the filter of its training is applied, and the games stay that it
/// keeps for the test. Runs that keep none chose their checkpoints on all games that they held out;
/// they are measured on the same games as others, with a doubt. Evaluations come with their names;
/// without a recipe nobody can say what they saw.
///
/// # Errors
/// If two evaluations held out different games, or one held out none.
pub fn measured(evaluations: &[(&str, Option<&Recipe>)], samples: Vec<Placed>) -> Result<Measured> {
    let mut measured = Measured::all(samples);
    let Measured { samples, notes, .. } = &mut measured;
    let games = samples.iter().all(|(sample, _)| sample.game.is_some());
    let has_seen = |recipe: &Recipe| samples.iter().any(|(it, _)| recipe.sketch.contains(it));
    let mut seen: Vec<(&str, &Recipe)> = Vec::new();
    for (name, recipe) in evaluations {
        match recipe {
            Some(recipe) if has_seen(recipe) => seen.push((name, recipe)),
            Some(recipe) if recipe.data.iter().any(|file| file.games > 0) == games => {
                notes.push(format!(
                    "none of these are known from the training of {name}; less than one game in \
                     500 of it could escape notice"
                ));
            }
            Some(_) => notes.push(format!(
                "whether {name} was trained on these cannot be told: games are known on one side \
                 only; compare on data of the format that it was trained on"
            )),
            None => notes.push(format!("nothing is known of what {name} was trained on")),
        }
    }
    let Some((name, recipe)) = seen.first() else { return Ok(measured) };
    let split = recipe.split();
    for (other, others) in &seen[1..] {
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
        if others.config.data.filter != recipe.config.data.filter {
            notes.push(format!("{name} and {other} had different filters; that of {name} is used"));
        }
    }
    ensure!(
        split.share > 0.0,
        "{name} was trained on all of these games: no loss on them would be honest. Name other \
         data with --data, or measure on them all the same with --all"
    );
    // The smallest test is a part of all the others.
    let tests = seen.iter().map(|(_, recipe)| recipe.config.test().0).filter(|test| *test > 0.0);
    let test = Test(tests.reduce(f64::min).unwrap_or(Test::DEFAULT.0));
    let filter = &recipe.config.data.filter;
    // Training has skipped what its target lacks, and so does whoever is compared with it.
    let scores = seen.iter().any(|(_, recipe)| recipe.config.needs_scores());
    samples.retain(|(it, _)| {
        split.holds_out(it)
            && test.takes(it)
            && filter.rejects(it).is_none()
            && !(scores && it.score.is_none())
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
         that it held out, with its filter",
        test.0, split.share
    ));
    measured.part = Part::Test;
    for (name, _) in seen.iter().filter(|(_, recipe)| recipe.config.test().0 == 0.0) {
        measured.doubt(name, CHOSEN);
    }
    Ok(measured)
}
