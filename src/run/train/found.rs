//! `moves.csv`: how many of the moves that were played the weights find, round after round.

use std::io::ErrorKind;

use anyhow::{Context, Result};

use super::data::{Ranked, Searched};
use crate::input;
use crate::output;
use crate::report::Found;
use crate::report::found::{Ranked as Named, found};
use crate::report::groups::Groups;
use crate::report::rounds::FoundAt;
use crate::run::folder::{MOVES, RunFolder};
use crate::run::listener::Listener;

/// The name that stands for the weights of a row.
const WEIGHTS: &str = "the weights";

impl Ranked {
    /// What the weights find of these moves.
    pub fn found(&self) -> Found {
        let groups = Groups::new(self.games.iter().copied());
        let places = self.places.clone();
        found(vec![Named { name: WEIGHTS.into(), doubt: None, places }], &groups, "games")
    }
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
    for (games, ranked) in [("training", &searched.training), ("validation", &searched.validating)]
    {
        let Some(found) = ranked.as_ref().map(Ranked::found) else { continue };
        let found = FoundAt::new(step, games, &found);
        text += &found.line();
        listener.remark(&found.sentence());
    }
    Ok(output::write(&path, text.as_bytes())?)
}
