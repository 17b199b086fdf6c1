//! The log of a run, for TensorBoard.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::events::Events;
use crate::input;
use crate::log::Row;
use crate::run::folder::{CONFIG, EVENTS, LOG};
use crate::train::log;

/// Seconds since 1970.
pub fn now() -> f64 {
    seconds(SystemTime::now())
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64())
}

/// Opens the event file of the run in this folder.
///
/// # Errors
/// If it cannot be written, or its config cannot be read.
pub fn open(folder: &Path, rows: &[(Row, f64)]) -> Result<Events> {
    let (config, events) = (folder.join(CONFIG), folder.join(EVENTS));
    let text = input::text(&config, input::TEXT)
        .with_context(|| format!("cannot read {}", config.display()))?;
    let begun = rows.first().map_or_else(now, |(_, time)| *time);
    let opened = Events::open(&events, &text, rows, begun);
    opened.with_context(|| format!("cannot write {}", events.display()))
}

/// The rows of a run's log, and about when they were written: the last one when the file was, those
/// before it as much earlier as training took.
pub fn rows(folder: &Path) -> Result<Vec<(Row, f64)>> {
    let path = folder.join(LOG);
    let written = match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.and_then(|it| it.modified()),
    };
    let mut time = seconds(written.with_context(|| format!("cannot read {}", path.display()))?);
    let mut rows: Vec<(Row, f64)> = log::read(&path)?.into_iter().map(|row| (row, 0.0)).collect();
    for place in (0..rows.len()).rev() {
        rows[place].1 = time;
        let Row { positions, positions_per_second, .. } = rows[place].0;
        let before = place.checked_sub(1).map_or(0, |before| rows[before].0.positions);
        let rate = positions_per_second.unwrap_or(f64::INFINITY).max(1.0);
        time -= positions.saturating_sub(before) as f64 / rate;
    }
    Ok(rows)
}
