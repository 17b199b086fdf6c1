//! The positions whose moves a run learns.

use std::sync::Arc;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use crate::config::{Moves, Sides};
use crate::digits::grouped;
use crate::loader::{Part, Plan};
use crate::run::choices::teaches;
use crate::run::listener::Listener;
use crate::run::recipe;
use crate::sample::Sample;

/// Positions with moves that are enough to learn from.
const LEAST: usize = 100;

/// Those of the games to train on.
///
/// # Errors
/// If the files do not tell the moves, or too few positions are left.
pub fn read(plan: &Plan, moves: &Moves, listener: &dyn Listener) -> Result<Arc<Vec<Sample>>> {
    let mut samples = recipe::collect(plan, Part::Train, listener)?;
    let read = samples.len() as u64;
    ensure!(
        samples.iter().any(|sample| sample.played.is_some()),
        "none of the positions knows the move that was played, and `target.learn = \"moves\"` \
         learns from nothing else; name games in `data.files`, in PGN, viriformat or binpack"
    );
    let taught: Vec<bool> = samples.par_iter().map(|it| teaches(moves.sides, it)).collect();
    let count = taught.iter().filter(|taught| **taught).count();
    let drawn = samples.iter().all(|sample| sample.result == 0.5);
    ensure!(
        !(count == 0 && drawn && moves.sides == Sides::Winner),
        "all games were drawn, and nobody's moves are those of a winner; `target.moves.sides = \
         \"both\"` learns the moves of all"
    );
    ensure!(
        count >= LEAST,
        "only {count} of {} positions teach a move: a {} who had to choose; {LEAST} are the least \
         to learn from; add games{}",
        grouped(read),
        if moves.sides == Sides::Winner { "winner" } else { "player" },
        match moves.sides {
            Sides::Winner => ", or learn the moves of both sides: `target.moves.sides = \"both\"`",
            Sides::Both => "",
        }
    );
    listener.remark(&format!(
        "{:>13} of {} positions to train on teach a move{}",
        grouped(count as u64),
        grouped(read),
        if moves.value > 0.0 { "; all of them teach their value" } else { "" }
    ));
    if moves.value == 0.0 {
        let mut taught = taught.into_iter();
        samples.retain(|_| taught.next() == Some(true));
    }
    Ok(Arc::new(samples))
}
