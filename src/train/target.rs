//! What a position should be worth: `wdl * result + (1 - wdl) * sigmoid(score / scale)`.

use std::borrow::Cow;

use crate::batch::Batch;
use crate::loss::sigmoid;

/// The targets of a batch, 0 to 1, seen as the batch sees results.
///
/// `scale` is the number of centipawns of the data's scores that make one logit. A batch without
/// scores has its results as targets.
pub fn targets(batch: &Batch, wdl: f64, scale: f64) -> Cow<'_, [f32]> {
    if batch.scores.is_empty() || wdl == 1.0 {
        return Cow::Borrowed(&batch.results);
    }
    let positions = batch.results.iter().zip(batch.scores.iter());
    positions
        .map(|(&result, &score)| {
            let expected = sigmoid(f64::from(score) / scale);
            (wdl * f64::from(result) + (1.0 - wdl) * expected) as f32
        })
        .collect()
}
