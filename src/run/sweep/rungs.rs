//! How many members are trained how far: successive halving.
//!
//! Source: K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
//! optimization" (2016), who halve. That one in so many goes on, and as many times as far, is a
//! bracket of L. Li and others, "Hyperband" (2018).

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::train::Settings;

/// Members that are trained up to the same share of their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rung {
    pub members: usize,
    /// One in so many of the whole length, about: where the nearest validation is.
    pub part: u64,
}

/// Rungs where nobody says how many.
const USUAL: usize = 3;

/// To compare with.
const LAST: usize = 2;

/// The rungs of so many members, of which one in `one_in` goes on; the usual number of rungs, or so
/// many. In the last one are two members or more, and runs end.
///
/// # Errors
/// If so few members cannot be divided so often.
pub fn rungs(members: usize, one_in: u32, wanted: Option<usize>) -> Result<Vec<Rung>> {
    let one_in = one_in as usize;
    let mut sizes = vec![members];
    while let Some(size) = sizes.last().filter(|size| **size > LAST) {
        sizes.push((size / one_in).max(LAST));
    }
    let most = sizes.len();
    let count = wanted.unwrap_or(most.min(USUAL));
    ensure!(
        count <= most,
        "{members} members, of which one in {one_in} goes on, make {most} rungs at most: lower \
         --rungs, or give --over more values"
    );
    let part = |rung: usize| (one_in as u64).pow((count - 1 - rung) as u32);
    let sizes = sizes.into_iter().take(count).enumerate();
    Ok(sizes.map(|(rung, members)| Rung { members, part: part(rung) }).collect())
}

/// Behind which step of a run each rung ends: at the validation that is nearest to its share of the
/// length, the last with the run.
///
/// # Errors
/// If two of them end at the same one.
pub fn steps(rungs: &[Rung], settings: &Settings) -> Result<Vec<u64>> {
    let Settings { steps, validate_every, .. } = settings;
    let of = |rung: &Rung| match rung.part {
        1 => *steps,
        part => {
            let looks = *steps as f64 / (part * validate_every) as f64;
            (looks.round().max(1.0) as u64 * validate_every).min(*steps)
        }
    };
    let ends: Vec<u64> = rungs.iter().map(of).collect();
    ensure!(
        ends.is_sorted_by(|a, b| a < b),
        "{} rungs need more places to stop than the validations of a run of {steps} steps, one each \
         {validate_every}: raise `schedule.validations`, give a longer run, or lower --rungs",
        rungs.len()
    );
    Ok(ends)
}
