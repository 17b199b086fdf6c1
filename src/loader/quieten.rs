//! Positions that others take the place of, before anyone learns from them.

use std::num::NonZeroU64;

use rayon::prelude::*;

use super::packed::Packed;
use crate::sample::{Position, Sample};

/// Finds the quiet ends of positions.
pub trait Quieten: Send + Sync {
    /// Puts in the place of each position the one where its pending captures lead. Those that it
    /// can say nothing of stay.
    fn quieten(&self, positions: &mut [Position]);
}

/// Positions that are handed over at a time.
const PIECE: usize = 512;

/// The quiet ends of samples; results and scores turn with the side to move.
pub fn quiet(samples: &[Sample], by: &dyn Quieten) -> Vec<Sample> {
    let mut quiet = samples.to_vec();
    quiet.par_chunks_mut(PIECE).for_each(|samples| {
        let mut ends: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
        by.quieten(&mut ends);
        for (sample, end) in samples.iter_mut().zip(ends) {
            let turned = sample.position.turn() != end.turn();
            let Sample { result, score, .. } = *sample;
            *sample = Sample {
                position: end,
                result: if turned { 1.0 - result } else { result },
                score: score.map(|score| if turned { score.saturating_neg() } else { score }),
                played: None,
                game: NonZeroU64::new(sample.group()),
                ..*sample
            };
        }
    });
    quiet
}

/// The same of what is left of samples.
pub(super) fn quieten(records: &mut [Packed], by: &dyn Quieten) {
    records.par_chunks_mut(PIECE).for_each(|records| {
        let mut ends: Vec<Position> = records.iter().map(Packed::position).collect();
        by.quieten(&mut ends);
        records.iter_mut().zip(&ends).for_each(|(record, end)| record.replace(end));
    });
}
