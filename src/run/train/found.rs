//! `moves.csv`: how many of the moves that were played the weights find, round after round.

use std::io::ErrorKind;

use anyhow::{Context, Result};

use crate::input;
use crate::loader::Chosen;
use crate::output;
use crate::report::found::{Place, Ranked};
use crate::report::groups::Groups;
use crate::report::rounds::FoundAt;
use crate::report::{self, Found};
use crate::run::folder::{MOVES, RunFolder};
use crate::run::listener::Listener;
use crate::sample::Sample;

/// What the weights of a moment find.
pub struct Searched {
    /// None where moves are searched window by window.
    pub training: Option<Found>,
    /// None where nothing validates.
    pub validating: Option<Found>,
    /// The standard deviation of values around those of their positions, in centipawns.
    pub spread: Option<f64>,
}

/// What is found of the moves of some positions; none where nobody had to choose in any of them.
pub fn found(samples: &[Sample], chosen: &Chosen) -> Option<Found> {
    let placed = samples.iter().zip(&chosen.places).filter_map(|(sample, place)| {
        let [ahead, level, of] = (*place)?;
        (of > 1).then_some((Place { ahead, level, of }, sample.group()))
    });
    let (places, games): (Vec<Place>, Vec<u64>) = placed.unzip();
    let ranked = Ranked { name: "the weights".into(), doubt: None, places };
    let groups = Groups::new(games);
    (!ranked.places.is_empty()).then(|| report::found(vec![ranked], &groups, "games"))
}

/// Adds what the weights of a step find, and drops what a run that was killed had found later.
///
/// # Errors
/// If the file cannot be read or written.
pub fn add(
    folder: &RunFolder,
    step: u64,
    searched: &Searched,
    listener: &dyn Listener,
) -> Result<()> {
    let path = folder.file(MOVES);
    let before = match input::text(&path, input::TEXT) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let earlier = |line: &&str| FoundAt::parse(line).is_some_and(|it| it.step < step);
    let mut text = FoundAt::header();
    before.lines().filter(earlier).for_each(|line| text += &format!("{line}\n"));
    for (games, found) in [("training", &searched.training), ("validation", &searched.validating)] {
        let Some(found) = found else { continue };
        let found = FoundAt::new(step, games, found);
        text += &found.line();
        listener.remark(&found.sentence());
    }
    Ok(output::write(&path, text.as_bytes())?)
}
