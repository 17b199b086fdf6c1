//! Workers in parallel, with results in the order of the items.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError, mpsc::channel};
use std::thread;

use super::journal::Journal;
use super::player::{ParallelPlayers, Player};
use super::uci::EngineFault;
use super::{EngineError, JobReport, SkippedItem};
use crate::progress::Progress;

/// Retries of an item, each by a fresh worker, before it is skipped.
const RETRIES: u32 = 2;

#[derive(Debug)]
pub struct ItemError {
    /// Locates the item, if known.
    pub fen: String,
    pub reason: String,
    pub response: FailureResponse,
}

/// Consequence of the failure of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureResponse {
    /// The player failed; another try may help.
    Retry,
    Skip,
    /// No item can be made with this player.
    EndJob,
}

impl From<EngineFault> for ItemError {
    fn from(fault: EngineFault) -> Self {
        let response = match fault.ignores_nodes {
            true => FailureResponse::EndJob,
            false => FailureResponse::Retry,
        };
        ItemError { fen: fault.fen.clone(), reason: fault.to_string(), response }
    }
}

/// An item, and its result or the obstacle of the last try.
pub type AttemptedItem<I, T> = (I, Result<T, ItemError>);
/// Finished items per worker that may wait for an earlier one.
const AHEAD: u64 = 64;

struct Queue<I> {
    items: I,
    next: u64,
    /// Items whose results are committed.
    kept: u64,
    closed: bool,
    exhausted: bool,
    error: Option<EngineError>,
}

/// The queue, with a signal for workers that are too far ahead.
struct Shared<I>(Mutex<Queue<I>>, Condvar);

impl<I> Shared<I> {
    fn change_queue(&self, change: impl FnOnce(&mut Queue<I>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.1.notify_all();
    }

    fn close_queue(&self) {
        self.change_queue(|queue| queue.closed = true);
    }

    /// The next item and its number; none at the end.
    fn next<T>(&self, ahead: u64) -> Option<(u64, T)>
    where
        I: Iterator<Item = Result<T, EngineError>>,
    {
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |queue: &mut Queue<I>| !queue.closed && queue.next >= queue.kept + ahead;
        let queue = self.1.wait_while(queue, is_full);
        let mut queue = queue.unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return None;
        }
        match queue.items.next() {
            Some(Ok(item)) => {
                queue.next += 1;
                return Some((queue.next - 1, item));
            }
            Some(Err(error)) => queue.error = Some(error),
            None => queue.exhausted = true,
        }
        queue.closed = true;
        None
    }
}

/// Closes the queue when dropped, so that no worker waits for ever.
struct CloseOnDrop<'a, I>(&'a Shared<I>);

impl<I> Drop for CloseOnDrop<'_, I> {
    fn drop(&mut self) {
        self.0.close_queue();
    }
}

/// Makes `items` with `count` workers and passes the results to `keep`, in order. Returns whether
/// all are done. After `stop` or an error only those in progress are finished.
pub fn run_workers<W, I: Send, T: Send>(
    (start, count): (impl Fn() -> Result<W, EngineError> + Sync, usize),
    items: impl Iterator<Item = Result<I, EngineError>> + Send,
    work: impl Fn(&mut W, &I) -> Result<T, ItemError> + Sync,
    mut keep: impl FnMut(AttemptedItem<I, T>) -> Result<(), EngineError>,
    stop: &dyn Fn() -> bool,
) -> Result<bool, EngineError> {
    let count = count.max(1);
    let queue = Queue { items, next: 0, kept: 0, closed: stop(), exhausted: false, error: None };
    let shared = Shared(Mutex::new(queue), Condvar::new());
    let (results, tried) = channel();
    let kept = thread::scope(|scope| {
        let _closing = CloseOnDrop(&shared);
        for _ in 0..count {
            let (shared, start, work, results) = (&shared, &start, &work, results.clone());
            scope.spawn(move || {
                // Even after a panic.
                let _closing = CloseOnDrop(shared);
                let mut worker = None;
                while let Some((number, item)) = shared.next(AHEAD * count as u64) {
                    let tried = attempt_item(start, &mut worker, item, work);
                    if results.send((number, tried)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        let (mut waiting, mut kept) = (BTreeMap::new(), 0);
        for (number, tried) in tried {
            waiting.insert(number, tried);
            while let Some(tried) = waiting.remove(&kept) {
                tried.and_then(&mut keep).inspect_err(|_| shared.close_queue())?;
                kept += 1;
                shared.change_queue(|queue| queue.kept = kept);
            }
            if stop() {
                shared.close_queue();
            }
        }
        Ok::<_, EngineError>(())
    });
    let queue = shared.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    kept?;
    queue.error.map_or(Ok(queue.exhausted), Err)
}

/// Attempts an item. A worker is started when it is needed, and replaced when it fails.
fn attempt_item<W, I, T>(
    start: &impl Fn() -> Result<W, EngineError>,
    worker: &mut Option<W>,
    item: I,
    work: &impl Fn(&mut W, &I) -> Result<T, ItemError>,
) -> Result<AttemptedItem<I, T>, EngineError> {
    let mut tries = 0;
    loop {
        let mut own = match worker.take() {
            Some(worker) => worker,
            None => start()?,
        };
        let made = work(&mut own, &item);
        if let Err(ItemError { response: FailureResponse::Retry, .. }) = made {
            // The item may have harmed it: the next one gets a fresh worker.
            tries += 1;
            if tries <= RETRIES {
                continue;
            }
        } else {
            *worker = Some(own);
        }
        return Ok((item, made));
    }
}

/// Seconds after which results are committed, however few.
const COMMIT: f64 = 5.0;
/// Most items that may fail one after the other.
const MAX_CONSECUTIVE_FAILURES: u64 = 10;

/// An item's effect on the output after its bytes were appended.
pub struct AppendedItem {
    /// Positions or games.
    pub written: u64,
    /// Whether the output may be cut behind it: it does not end within a game.
    pub whole: bool,
}

/// Runs a job from its journal's state; `items` start behind the finished ones. `keep` appends the
/// bytes of an item. A batch is committed after `every` items or some time, failures with the next
/// success.
pub fn run_job<I: Send, T: Send>(
    crew: &ParallelPlayers,
    (mut journal, every): (Journal<SkippedItem>, u64),
    items: impl Iterator<Item = Result<I, EngineError>> + Send,
    work: impl Fn(&mut dyn Player, &I) -> Result<T, ItemError> + Sync,
    mut keep: impl FnMut(&I, Option<T>, &mut Vec<u8>) -> Result<AppendedItem, EngineError>,
    (noun, total): (&'static str, u64),
    watch: &dyn Progress,
) -> Result<JobReport, EngineError> {
    let begun = journal.progress;
    let _begun = watch.begin_guarded(noun, Some(total), begun.items);
    let mut committed = watch.elapsed_seconds();
    let (mut bytes, mut skips, mut progress) = (Vec::new(), Vec::new(), begun);
    // The part that may be committed.
    let (mut whole_bytes, mut whole_skips, mut whole) = (0, 0, begun);
    let mut failures = 0;
    let each = |(item, made): AttemptedItem<I, T>| {
        let made = match made {
            Ok(made) => {
                failures = 0;
                Some(made)
            }
            Err(ItemError { reason, response: FailureResponse::EndJob, .. }) => {
                return Err(EngineError::NodesIgnored(reason));
            }
            Err(ItemError { fen, reason, .. }) => {
                failures += 1;
                if failures == MAX_CONSECUTIVE_FAILURES {
                    return Err(EngineError::Hopeless { count: failures, reason });
                }
                skips.push(SkippedItem { item: progress.items, fen, reason });
                None
            }
        };
        let is_made = made.is_some();
        let kept = keep(&item, made, &mut bytes)?;
        progress.items += 1;
        progress.written += kept.written;
        watch.advance_work(1);
        if is_made && kept.whole {
            (whole_bytes, whole_skips, whole) = (bytes.len(), skips.len(), progress);
            if whole.items >= journal.progress.items + every
                || watch.elapsed_seconds() >= committed + COMMIT
            {
                journal.commit_batch(&bytes, whole, &skips)?;
                (whole_bytes, whole_skips) = (0, 0);
                committed = watch.elapsed_seconds();
                bytes.clear();
                skips.clear();
            }
        }
        Ok(())
    };
    let work = |player: &mut Box<dyn Player + '_>, item: &I| work(&mut **player, item);
    let players = (|| crew.entrant.start_player(), crew.players);
    let outcome = run_workers(players, items, work, each, &|| watch.should_stop());
    let done = matches!(outcome, Ok(true));
    if done {
        (whole_bytes, whole_skips, whole) = (bytes.len(), skips.len(), progress);
    }
    if let (Err(EngineError::NodesIgnored(_)), 0) = (&outcome, begun.items) {
        // What this run made is spoiled, and a job with another limit would not resume it.
        journal.discard_job()?;
        return outcome.map(|_| JobReport::default());
    }
    whole.bytes = journal.progress.bytes;
    let committed = match whole == journal.progress {
        true => Ok(()),
        false => journal.commit_batch(&bytes[..whole_bytes], whole, &skips[..whole_skips]),
    };
    outcome?;
    committed?;

    let progress = journal.progress;
    let report = JobReport {
        done: progress.items,
        written: progress.written,
        skipped: journal.notes.clone(),
        resumed_at: begun.items,
        stopped: !done,
        ..JobReport::default()
    };
    if done {
        journal.finish_job()?;
    }
    Ok(report)
}
