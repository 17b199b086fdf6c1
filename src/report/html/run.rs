//! A run as its folder tells it.

use crate::log::{BySource, Row};

/// What a page says of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub name: String,
    /// As commands name it.
    pub folder: String,
    /// What it trained and on what, a fact and its value.
    pub about: Vec<(String, String)>,
    /// Every key of its config, sorted.
    pub settings: Vec<(String, String)>,
    /// Its validations, in order.
    pub rows: Vec<Row>,
    /// Its validation loss by source; nothing where it has no sources.
    pub sources: BySource,
    /// Whether it has come to its end.
    pub state: String,
}

impl Run {
    /// Seconds of training until each row, validating itself left out; none where a row does
    /// not know its speed.
    pub fn seconds(&self) -> Option<Vec<f64>> {
        let (mut seconds, mut positions) = (0.0, 0);
        let times = self.rows.iter().map(|row| {
            let since = row.positions.saturating_sub(positions);
            positions = row.positions;
            if since > 0 {
                seconds += since as f64 / row.positions_per_second.filter(|it| *it > 0.0)?;
            }
            Some(seconds)
        });
        times.collect()
    }

    /// The row with the lowest validation loss.
    pub fn best(&self) -> Option<&Row> {
        let known = self.rows.iter().filter(|row| row.held_out_loss.is_some());
        known.min_by(|a, b| {
            let loss = |row: &Row| row.held_out_loss.unwrap_or(f64::INFINITY);
            loss(a).total_cmp(&loss(b))
        })
    }
}
