//! What a position should be worth: `wdl * result + (1 - wdl) * promise(score)`.

use std::borrow::Cow;

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

/// The targets of a batch, 0 to 1, seen as the batch sees results. A batch without scores has its
/// results as targets.
pub fn targets(batch: &Batch, wdl: f64, promise: Promise) -> Cow<'_, [f32]> {
    if batch.scores.is_empty() || wdl == 1.0 {
        return Cow::Borrowed(&batch.results);
    }
    let positions = batch.results.iter().zip(batch.scores.iter());
    positions
        .map(|(&result, &score)| {
            let expected = promise.of(score.into());
            (wdl * f64::from(result) + (1.0 - wdl) * expected) as f32
        })
        .collect()
}
