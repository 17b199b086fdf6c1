//! The loss of handcrafted terms over pieces of data, with its gradients, as one operation.
//!
//! Pieces are cut into units of rows, and these into blocks. For each block the way leads forward
//! over its entries, through the formula with a position a lane, and back over the entries while
//! the cache has them; where a piece has its entries by term as well, these are taken, unit by
//! unit. Floats are 32 bits wide within a unit and 64 bits beyond. The units go to shards that
//! follow from the shapes alone, and all sums have a fixed order, so that the result has the same
//! bits for any number of threads.

mod block;
mod entries;
mod exp;
mod groups;
mod unit;

use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use self::unit::{Pass, Purpose, Shard, Unit, Workspace};
use super::Level;
use crate::batch::{COLUMN, Terms};
use crate::model::Aim;

/// What the loss of handcrafted terms is computed from.
#[derive(Clone, Copy, Debug)]
pub struct TermsJob<'a> {
    /// Of any sizes.
    pub pieces: &'a [Arc<Terms>],
    /// A number a position, in the order of the pieces; logits need none.
    pub aim: Aim<'a>,
    /// Centipawns a logit.
    pub scale: f32,
    /// Whether the tempo moves; its gradient is 0 otherwise.
    pub tempo: bool,
    pub level: Level,
}

/// A mean loss and its derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct TermsGradients {
    pub loss: f64,
    /// `[terms, 2]`, middlegame and endgame.
    pub terms: Vec<f32>,
    pub tempo: f32,
}

/// The mean over the positions of their losses, and its gradients; or those of the sum of `force * logit`, whose own value is not computed.
///
/// `weights` are `[terms, 2]`, middlegame and endgame, in centipawns. The loss of no positions is
/// not a number. The result has the same bits for any number of rayon's threads.
///
/// # Panics
/// When targets or an entry's term do not fit, or a piece contradicts itself.
pub fn terms_gradients(weights: &[f32], tempo: f32, job: TermsJob) -> TermsGradients {
    let positions = job.check_aim();
    let shards = job.run(weights, tempo, Purpose::Gradients);
    let mut all = Shard { gradients: vec![[0.0; 2]; weights.len() / 2], ..Shard::default() };
    for shard in &shards {
        all.loss += shard.loss;
        all.tempo += shard.tempo;
        for (sum, more) in
            all.gradients.as_flattened_mut().iter_mut().zip(shard.gradients.as_flattened())
        {
            *sum += more;
        }
    }
    let share = if job.aim.pulls() { 1 } else { positions.max(1) };
    let unit = 1.0 / (f64::from(job.scale) * share as f64);
    let gradients = all.gradients.as_flattened().iter();
    TermsGradients {
        loss: all.loss / positions as f64,
        terms: gradients.map(|gradient| (gradient * unit) as f32).collect(),
        tempo: if job.tempo { (all.tempo * unit) as f32 } else { 0.0 },
    }
}

/// The logits, one a position, seen by White.
///
/// # Panics
/// When an entry's term does not fit, or a piece contradicts itself.
pub fn terms_logits(weights: &[f32], tempo: f32, job: TermsJob) -> Vec<f32> {
    let shards = job.run(weights, tempo, Purpose::Logits);
    shards.iter().flat_map(|shard| &shard.logits).copied().collect()
}

/// Positions a unit. More share the cost of adding up, fewer lose less to rounding.
const UNIT: usize = 1024;

/// Shards, at most. More keep more threads busy, at the price of more gradients to add up.
const SHARDS: usize = 64;

impl<'a> TermsJob<'a> {
    /// The number of positions.
    fn check_aim(&self) -> usize {
        let positions = self.pieces.iter().map(|piece| piece.len()).sum();
        self.aim.check(positions);
        positions
    }

    fn units(&self, purpose: Purpose) -> Vec<Unit<'a>> {
        let (mut units, mut first) = (Vec::new(), 0);
        let weights = self.aim.judged().map_or(&[][..], |judged| judged.weights);
        for piece in self.pieces {
            let unit = if piece.columns.is_some() { COLUMN } else { UNIT };
            for start in (0..piece.len()).step_by(unit) {
                let rows = start..piece.len().min(start + unit);
                let of = |all: &'a [f32]| match all {
                    [] => all,
                    all => &all[first + rows.start..first + rows.end],
                };
                let (numbers, weights) = match purpose {
                    Purpose::Logits => (&[][..], &[][..]),
                    _ => (of(self.aim.numbers()), of(weights)),
                };
                units.push(Unit { piece, rows, numbers, weights });
            }
            first += piece.len();
        }
        units
    }

    fn run(&self, weights: &[f32], tempo: f32, purpose: Purpose) -> Vec<Shard> {
        let (weights, rest) = weights.as_chunks::<2>();
        assert!(rest.is_empty(), "weights are not pairs");
        let units = self.units(purpose);
        let idle = Mutex::new(Vec::new());
        let shards = units.par_chunks(units.len().div_ceil(SHARDS).max(1)).with_max_len(1);
        shards
            .map(|units| {
                let gradients = if purpose == Purpose::Gradients { weights.len() } else { 0 };
                let mut shard = Shard { gradients: vec![[0.0; 2]; gradients], ..Shard::default() };
                let workspace = idle.lock().expect(WHOLE).pop();
                let mut workspace = workspace.unwrap_or_else(|| Workspace::new(weights.len()));
                for unit in units {
                    self.level.run(Pass {
                        unit,
                        weights,
                        tempo,
                        scale: self.scale,
                        loss: self.aim.judged().map(|judged| judged.loss),
                        purpose,
                        workspace: &mut workspace,
                        shard: &mut shard,
                    });
                }
                idle.lock().expect(WHOLE).push(workspace);
                shard
            })
            .collect()
    }
}

const WHOLE: &str = "no thread panics while it holds the lock";
