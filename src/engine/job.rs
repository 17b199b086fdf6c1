//! What all jobs share: items through the pool, what they made into the output by the journal.

use super::journal::Journal;
use super::player::Player;
use super::pool::{self, Obstacle, Tried, Workers};
use super::{EngineError, Report, Skip, Watch};

/// The most items that may fail one after the other.
const MAX_CONSECUTIVE_FAILURES: u64 = 10;

/// What became of an item once its bytes were appended.
pub struct Kept {
    /// Positions or games.
    pub written: u64,
    /// Whether the output may be cut behind it: it does not break off within a game.
    pub whole: bool,
}

/// Runs a job from where its journal stands. `items` begin behind the ones done already.
///
/// `keep` appends the bytes of an item that was made; with none, it appends what is still due once
/// an item was skipped. A batch is committed once it has `every` items, or it is time. Items that fail
/// are not committed before one that does not follows them, so that a broken engine spoils nothing.
pub fn drive<'a, I: Send, T: Send>(
    workers: &Workers<impl Fn() -> Result<Box<dyn Player + 'a>, EngineError> + Sync>,
    mut journal: Journal<Skip>,
    every: u64,
    items: impl Iterator<Item = Result<I, EngineError>> + Send,
    work: impl Fn(&mut dyn Player, &I) -> Result<T, Obstacle> + Sync,
    mut keep: impl FnMut(&I, Option<T>, &mut Vec<u8>) -> Result<Kept, EngineError>,
    watch: &dyn Watch,
) -> Result<Report, EngineError> {
    let begun = journal.progress();
    let (mut bytes, mut skips, mut progress) = (Vec::new(), Vec::new(), begun);
    // The part of it that may be committed.
    let (mut whole_bytes, mut whole_skips, mut whole) = (0, 0, begun);
    let mut failures = 0;
    let each = |tried: Tried<I, T>| {
        progress.restarts += tried.restarts;
        let made = match tried.made {
            Ok(made) => {
                failures = 0;
                Some(made)
            }
            Err(obstacle) => {
                let (fen, reason) = match obstacle {
                    Obstacle::Player(fault) => (fault.fen.clone(), fault.to_string()),
                    Obstacle::Item { fen, reason } => (fen, reason),
                };
                failures += 1;
                if failures == MAX_CONSECUTIVE_FAILURES {
                    return Err(EngineError::Hopeless { count: failures, reason });
                }
                skips.push(Skip { item: progress.items, fen, reason });
                None
            }
        };
        let is_made = made.is_some();
        let kept = keep(&tried.item, made, &mut bytes)?;
        progress.items += 1;
        progress.written += kept.written;
        watch.progress(progress.items);
        if is_made && kept.whole {
            (whole_bytes, whole_skips, whole) = (bytes.len(), skips.len(), progress);
            if whole.items >= journal.progress().items + every || watch.is_time() {
                journal.commit(&bytes, whole, &skips)?;
                (whole_bytes, whole_skips) = (0, 0);
                bytes.clear();
                skips.clear();
            }
        }
        Ok(())
    };
    let work = |player: &mut Box<dyn Player + 'a>, item: &I| work(&mut **player, item);
    let outcome = pool::run(workers, items, work, each, watch);
    let done = matches!(outcome, Ok(true));
    if done {
        (whole_bytes, whole_skips, whole) = (bytes.len(), skips.len(), progress);
    }
    whole.bytes = journal.progress().bytes;
    let committed = match whole == journal.progress() {
        true => Ok(()),
        false => journal.commit(&bytes[..whole_bytes], whole, &skips[..whole_skips]),
    };
    outcome?;
    committed?;

    let progress = journal.progress();
    let report = Report {
        done: progress.items,
        written: progress.written,
        skipped: journal.notes().to_vec(),
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
