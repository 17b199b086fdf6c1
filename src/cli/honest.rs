//! Which positions a comparison may be measured on: never games that an evaluation was trained on.

use anyhow::{Result, ensure};

use super::recipe::Recipe;
use crate::loader::Part;
use crate::sample::Sample;

/// A position with the number of the file that it comes from.
pub type Placed = (Sample, u16);

/// The positions to measure on, and what must be said of them.
#[derive(Debug)]
pub struct Measured {
    pub samples: Vec<Placed>,
    pub part: Part,
    pub notes: Vec<String>,
}

/// Leaves out what an evaluation has seen in training.
///
/// Games are known again by their content, whatever file they lie in. Where an evaluation was
/// trained on some of these, the filter of its training is applied, and the games stay that it
/// held out. Evaluations come with their names; without a recipe nobody can say what they saw.
///
/// # Errors
/// If two evaluations held out different games, or one held out none.
pub fn measured(
    evaluations: &[(&str, Option<&Recipe>)],
    mut samples: Vec<Placed>,
) -> Result<Measured> {
    let mut notes = Vec::new();
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
    let Some((name, recipe)) = seen.first() else {
        return Ok(Measured { samples, part: Part::All, notes });
    };
    for (other, others) in &seen[1..] {
        ensure!(
            others.split() == recipe.split(),
            "{name} and {other} were trained on these games with different ones held out \
             (held_out {} and {}, held_out_seed {} and {}); train them with the same, name other \
             data, or compare on everything with --all",
            recipe.split().share,
            others.split().share,
            recipe.split().seed,
            others.split().seed,
        );
        if others.config.data.filter != recipe.config.data.filter {
            notes.push(format!("{name} and {other} had different filters; that of {name} is used"));
        }
    }
    let split = recipe.split();
    ensure!(
        split.share > 0.0,
        "{name} was trained on all of these games: no loss on them would be honest. Name other \
         data with --data, or measure on them all the same with --all"
    );
    let filter = &recipe.config.data.filter;
    samples.retain(|(it, _)| split.holds_out(it) && filter.rejects(it).is_none());
    ensure!(!samples.is_empty(), "{name} held out none of these games, or its filter leaves none");
    notes.push(format!(
        "{name} was trained on some of these games: measured are the {} that it held out (and \
         chose its best checkpoint by), with its filter",
        split.share
    ));
    Ok(Measured { samples, part: Part::HeldOut, notes })
}
