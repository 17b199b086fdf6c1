//! What a position should be worth: `wdl * result + (1 - wdl) * promise(score)`.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::batch::Batch;
use crate::loss::sigmoid;

/// What the scores of the data promise. A win is expected with the probability
/// `sigmoid((score - offset) / scale)`, a loss with `sigmoid((-score - offset) / scale)`, and a draw
/// with the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// Centipawns that make one logit.
    pub scale: f64,
    /// Centipawns at which a win is as likely as not; 0 where draws need no room of their own.
    pub offset: f64,
}

impl Promise {
    /// `sigmoid(score / scale)`
    pub fn scale(scale: f64) -> Self {
        Self { scale, offset: 0.0 }
    }

    /// The expected result of a score in centipawns, 0 to 1.
    pub fn of(self, score: f64) -> f64 {
        let Self { scale, offset } = self;
        match offset {
            0.0 => sigmoid(score / scale),
            _ => {
                let [win, loss] = [score, -score].map(|score| sigmoid((score - offset) / scale));
                0.5 * (1.0 + win - loss)
            }
        }
    }
}

/// What the positions of a source are worth.
#[derive(Clone, Debug)]
pub struct Worth {
    pub(crate) promise: Promise,
    /// The weight of the result in the target; none where that of the run counts.
    pub(crate) wdl: Option<f64>,
    /// What the whole centipawns from `-NEAR` to `NEAR` promise: a step would work it out for each of
    /// its positions, which takes a small net a tenth of its time.
    near: Arc<[f64]>,
}

/// Scores in a quiet game lie within this many centipawns.
const NEAR: i32 = 4096;

impl Worth {
    /// `wdl` is the weight of the result in the target; none where that of the run counts.
    pub fn new(promise: Promise, wdl: Option<f64>) -> Self {
        let near = (-NEAR..=NEAR).map(|score| promise.of(score.into())).collect();
        Self { promise, wdl, near }
    }

    /// The expected result of a score in centipawns, 0 to 1.
    fn expected(&self, score: f32) -> f64 {
        let whole = score as i32;
        match self.near.get(whole.saturating_add(NEAR) as usize) {
            Some(&expected) if whole as f32 == score => expected,
            _ => self.promise.of(score.into()),
        }
    }
}

impl From<Promise> for Worth {
    /// With the run's weight of results.
    fn from(promise: Promise) -> Self {
        Self::new(promise, None)
    }
}

/// Positions that a thread takes at least.
const LEAST: usize = 1 << 11;

/// The targets of a batch, 0 to 1, seen as the batch sees results. `wdl` is the weight of results in
/// the run; `worths` has an entry for each source, behind one for positions of none. Positions
/// without a score have their results as targets.
pub fn targets<'a>(batch: &'a Batch, wdl: f64, worths: &[Worth]) -> Cow<'a, [f32]> {
    let Batch { results, scores, sources, .. } = batch;
    if scores.is_empty() || sources.is_empty() && wdl == 1.0 {
        return Cow::Borrowed(results);
    }
    let of = |result: f32, score: f32, worth: &Worth| {
        let wdl = worth.wdl.unwrap_or(wdl);
        match wdl == 1.0 || score.is_nan() && !sources.is_empty() {
            true => result,
            false => (wdl * f64::from(result) + (1.0 - wdl) * worth.expected(score)) as f32,
        }
    };
    let positions = results.par_iter().zip(&scores[..]).with_min_len(LEAST);
    let targets: Vec<f32> = match sources.is_empty() {
        true => positions.map(|(&result, &score)| of(result, score, &worths[0])).collect(),
        false => {
            let of = |((&result, &score), &source): ((&f32, &f32), &u8)| {
                of(result, score, &worths[usize::from(source)])
            };
            positions.zip(&sources[..]).map(of).collect()
        }
    };
    targets.into()
}
