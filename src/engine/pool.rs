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
    /// FEN of the item, if known.
    pub fen: String,
    pub reason: String,
    pub response: FailureResponse,
}

/// The consequence of an item's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureResponse {
    /// The player failed; another try may help.
    Retry,
    Skip,
    /// This player cannot make any item.
    EndJob,
}

impl ItemError {
    /// Makes the error of an item that no player can make.
    pub fn skip_item(fen: String, reason: impl ToString) -> Self {
        Self { fen, reason: reason.to_string(), response: FailureResponse::Skip }
    }
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

/// An item, and its result or the error of the last try.
pub type AttemptedItem<I, T> = (I, Result<T, ItemError>);
/// Number of finished items per worker that may wait for an earlier one.
const AHEAD: u64 = 64;

struct Queue<I> {
    items: I,
    next: u64,
    /// Number of items whose results are committed.
    committed: u64,
    closed: bool,
    /// The end of the items, or the error that ended them.
    end: Option<Result<(), EngineError>>,
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

    /// Takes the next item and its number; None at the end.
    fn next<T>(&self, ahead: u64) -> Option<(u64, T)>
    where
        I: Iterator<Item = Result<T, EngineError>>,
    {
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |queue: &mut Queue<I>| !queue.closed && queue.next >= queue.committed + ahead;
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
            Some(Err(error)) => queue.end = Some(Err(error)),
            None => queue.end = Some(Ok(())),
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

/// Makes `items` with `count` workers and passes the results to `commit`, in order. Returns whether
/// all are done. After `stop` or an error only items in progress are finished.
pub fn run_workers<W, I: Send, T: Send>(
    (start, count): (impl Fn() -> Result<W, EngineError> + Sync, usize),
    items: impl Iterator<Item = Result<I, EngineError>> + Send,
    work: impl Fn(&mut W, &I) -> Result<T, ItemError> + Sync,
    mut commit: impl FnMut(AttemptedItem<I, T>) -> Result<(), EngineError>,
    stop: &dyn Fn() -> bool,
) -> Result<bool, EngineError> {
    let count = count.max(1);
    let closed = stop();
    let queue = Queue { items, next: 0, committed: 0, closed, end: None };
    let shared = Shared(Mutex::new(queue), Condvar::new());
    let (sender, attempts) = channel();
    let outcome = thread::scope(|scope| {
        let _closing = CloseOnDrop(&shared);
        for _ in 0..count {
            let (shared, start, work, sender) = (&shared, &start, &work, sender.clone());
            scope.spawn(move || {
                // Closes the queue even after a panic.
                let _closing = CloseOnDrop(shared);
                let mut worker = None;
                while let Some((number, item)) = shared.next(AHEAD * count as u64) {
                    let attempt = attempt_item(start, &mut worker, item, work);
                    if sender.send((number, attempt)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut waiting, mut committed) = (BTreeMap::new(), 0);
        for (number, attempt) in attempts {
            waiting.insert(number, attempt);
            while let Some(attempt) = waiting.remove(&committed) {
                attempt.and_then(&mut commit).inspect_err(|_| shared.close_queue())?;
                committed += 1;
                shared.change_queue(|queue| queue.committed = committed);
            }
            if stop() {
                shared.close_queue();
            }
        }
        Ok::<_, EngineError>(())
    });
    let queue = shared.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome?;
    Ok(queue.end.transpose()?.is_some())
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
        let mut ready = match worker.take() {
            Some(worker) => worker,
            None => start()?,
        };
        let result = work(&mut ready, &item);
        if let Err(ItemError { response: FailureResponse::Retry, .. }) = result {
            // The item may have harmed the worker, so that the next try gets a fresh one.
            tries += 1;
            if tries <= RETRIES {
                continue;
            }
        } else {
            *worker = Some(ready);
        }
        return Ok((item, result));
    }
}

/// Seconds after which results are committed, even if they are few.
const COMMIT: f64 = 5.0;
/// The number of consecutive failures that ends a job.
const MAX_CONSECUTIVE_FAILURES: u64 = 10;

/// The effect of an item on the output, after its bytes were appended.
pub struct AppendedItem {
    /// Number of written positions or games.
    pub written: u64,
    /// Whether the output may be cut after the item: it does not end within a game.
    pub whole: bool,
}

/// Runs a job from its journal's state. `items` start after the finished ones; `append` appends the
/// bytes of an item. A batch ends after `every` items or some time, but not at a failure.
pub fn run_job<I: Send, T: Send>(
    crew: &ParallelPlayers,
    (mut journal, every): (Journal<SkippedItem>, u64),
    items: impl Iterator<Item = Result<I, EngineError>> + Send,
    work: impl Fn(&mut dyn Player, &I) -> Result<T, ItemError> + Sync,
    mut append: impl FnMut(&I, Option<T>, &mut Vec<u8>) -> Result<AppendedItem, EngineError>,
    (noun, total): (&'static str, u64),
    watch: &dyn Progress,
) -> Result<JobReport, EngineError> {
    let initial = journal.progress;
    let _guard = watch.begin_guarded(noun, Some(total), initial.items);
    let mut committed = watch.elapsed_seconds();
    let (mut bytes, mut skips, mut progress) = (Vec::new(), Vec::new(), initial);
    // What may be committed: it does not end within a game.
    let (mut whole_bytes, mut whole_skips, mut whole) = (0, 0, initial);
    let mut failures = 0;
    let commit = |(item, result): AttemptedItem<I, T>| {
        let made = match result {
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
        let appended = append(&item, made, &mut bytes)?;
        progress.items += 1;
        progress.written += appended.written;
        watch.advance_work(1);
        if is_made && appended.whole {
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
    let outcome = run_workers(players, items, work, commit, &|| watch.should_stop());
    let done = matches!(outcome, Ok(true));
    if done {
        (whole_bytes, whole_skips, whole) = (bytes.len(), skips.len(), progress);
    }
    if let (Err(EngineError::NodesIgnored(_)), 0) = (&outcome, initial.items) {
        // The output of this run is useless, and a job with another limit would not resume it.
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
        stopped: !done,
        ..JobReport::default()
    };
    if done {
        journal.finish_job()?;
    }
    Ok(report)
}
