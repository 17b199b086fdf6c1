//! What all jobs share: items through the pool, what they made into the output by the journal.

use std::path::Path;

use super::journal::{Journal, Progress};
use super::player::Player;
use super::pool::{self, Obstacle, Tried, Workers};
use super::{EngineError, Report, Skip, Watch};
use crate::digest;

/// So many items that fail one after the other are no accident.
const HOPELESS: u64 = 10;

/// What became of an item once its bytes were appended.
pub struct Kept {
    /// Positions or games.
    pub written: u64,
    /// Whether the output may be cut behind it: it does not break off within a game.
    pub whole: bool,
}

/// What waits to be committed.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    skips: Vec<Skip>,
    progress: Progress,
    /// How much of it may be committed: bytes, skips, and the progress with them.
    marked: (usize, usize, Progress),
    /// Items that failed since the last one that did not.
    failed: u64,
}

impl Batch {
    /// All so far may be committed.
    fn mark(&mut self) {
        self.marked = (self.bytes.len(), self.skips.len(), self.progress);
    }

    fn commit(&mut self, journal: &mut Journal) -> Result<(), EngineError> {
        let (bytes, skips, progress) = self.marked;
        if progress != journal.progress() {
            journal.commit(&self.bytes[..bytes], progress, &self.skips[..skips])?;
            self.bytes.drain(..bytes);
            self.skips.drain(..skips);
            // The journal knows the length of the output.
            let length = journal.progress().bytes;
            self.progress.bytes = length;
            self.marked = (0, 0, Progress { bytes: length, ..progress });
        }
        Ok(())
    }
}

/// Runs a job from where its journal stands. `items` begin behind the ones done already.
///
/// `keep` appends the bytes of an item that was made; with none, it appends what is still due once
/// an item was skipped. A batch is committed once it has `every` items, or it is time. Items that fail are not
/// committed before one that does not follows them, so that a broken engine spoils nothing.
pub fn drive<'a, I: Send, T: Send>(
    workers: &Workers<impl Fn() -> Result<Box<dyn Player + 'a>, EngineError> + Sync>,
    mut journal: Journal,
    every: u64,
    items: impl Iterator<Item = Result<I, EngineError>> + Send,
    work: impl Fn(&mut dyn Player, &I) -> Result<T, Obstacle> + Sync,
    mut keep: impl FnMut(&I, Option<T>, &mut Vec<u8>) -> Result<Kept, EngineError>,
    watch: &dyn Watch,
) -> Result<Report, EngineError> {
    let begun = journal.progress();
    let mut batch = Batch { progress: begun, marked: (0, 0, begun), ..Batch::default() };
    let each = |tried: Tried<I, T>| {
        batch.progress.restarts += tried.restarts;
        let made = match tried.made {
            Ok(made) => Some(made),
            Err(obstacle) => {
                let (fen, reason) = match obstacle {
                    Obstacle::Player(fault) => (fault.fen.clone(), fault.to_string()),
                    Obstacle::Item { fen, reason } => (fen, reason),
                };
                batch.failed += 1;
                if batch.failed == HOPELESS {
                    return Err(EngineError::Hopeless { count: HOPELESS, reason });
                }
                batch.skips.push(Skip { item: batch.progress.items, fen, reason });
                None
            }
        };
        let sound = made.is_some();
        let kept = keep(&tried.item, made, &mut batch.bytes)?;
        batch.progress.items += 1;
        batch.progress.written += kept.written;
        watch.progress(batch.progress.items);
        if sound {
            batch.failed = 0;
            if kept.whole {
                batch.mark();
                let full = batch.marked.2.items >= journal.progress().items + every;
                if full || watch.is_time() {
                    batch.commit(&mut journal)?;
                }
            }
        }
        Ok(())
    };
    let work = |player: &mut Box<dyn Player + 'a>, item: &I| work(&mut **player, item);
    let outcome = pool::run(workers, items, work, each, watch);
    let done = matches!(outcome, Ok(true));
    if done {
        batch.mark();
    }
    let committed = batch.commit(&mut journal);
    outcome?;
    committed?;

    let progress = journal.progress();
    let report = Report {
        done: progress.items,
        written: progress.written,
        skipped: journal.skips().to_vec(),
        restarts: progress.restarts,
        resumed_at: begun.items,
        stopped: !done,
        ..Report::default()
    };
    if done {
        journal.finish()?;
    }
    Ok(report)
}

/// The SHA-256 of a file, in hexadecimal.
pub fn hash_of(path: &Path) -> Result<String, EngineError> {
    let failed = |error| EngineError::Input { path: path.to_path_buf(), error };
    Ok(digest::of_file(path).map_err(failed)?.1)
}
