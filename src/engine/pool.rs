//! Several workers side by side, and what they made in the order in which it was asked for.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::uci::Fault;
use super::{EngineError, Watch};

/// Those who work side by side.
pub struct Workers<H> {
    /// Has one more begin.
    pub hire: H,
    /// At least 1. What they make does not depend on it.
    pub count: usize,
    /// How often an item is tried again, each time by a fresh worker, before it is skipped.
    pub retries: u32,
}

/// Items that are finished may wait for an earlier one, so many for each worker.
const AHEAD: usize = 64;

/// Why an item was not made.
#[derive(Debug)]
pub enum Obstacle {
    /// The player failed; another try may help.
    Player(Fault),
    /// The item itself is at fault. The FEN says where.
    Item { fen: String, reason: String },
}

impl From<Fault> for Obstacle {
    fn from(fault: Fault) -> Self {
        Obstacle::Player(fault)
    }
}

/// An item that was tried, and what came of it.
pub struct Tried<I, T> {
    pub item: I,
    /// The obstacle is that of the last try.
    pub made: Result<T, Obstacle>,
    /// How many workers had to be hired anew.
    pub restarts: u64,
}

type Answer<I, T> = (u64, Result<Tried<I, T>, EngineError>);

/// Has all workers work on `items` and hands what they made to `keep`, in order.
/// True once all items are kept.
///
/// Once [`Watch::stop`] is true no item is begun; those under way are finished and kept. An error
/// of `items` ends the work in the same way before it is returned. After one of `keep`, or a worker
/// that cannot be hired, those under way are finished but not kept.
pub fn run<W, I: Send, T: Send>(
    workers: &Workers<impl Fn() -> Result<W, EngineError> + Sync>,
    mut items: impl Iterator<Item = Result<I, EngineError>>,
    work: impl Fn(&mut W, &I) -> Result<T, Obstacle> + Sync,
    mut keep: impl FnMut(Tried<I, T>) -> Result<(), EngineError>,
    watch: &dyn Watch,
) -> Result<bool, EngineError> {
    let (orders, waiting) = channel();
    let (answers, answered) = channel::<Answer<I, T>>();
    let queue = Queue { waiting: Mutex::new(waiting), closed: AtomicBool::new(false) };
    let count = workers.count.max(1);
    thread::scope(|scope| {
        for _ in 0..count {
            let (queue, answers, work) = (&queue, answers.clone(), &work);
            scope.spawn(move || serve(workers, queue, &answers, work));
        }
        drop(answers);
        let mut kept = 0;
        let mut waiting = BTreeMap::new();
        let mut each = |(number, tried): Answer<I, T>| -> Result<u64, EngineError> {
            waiting.insert(number, tried);
            while let Some(tried) = waiting.remove(&kept) {
                kept += 1;
                keep(tried?)?;
            }
            Ok(kept)
        };
        let (mut ordered, mut returned, mut done) = (0, 0, 0);
        let mut ended = Ok(false);
        while matches!(ended, Ok(false)) && !watch.stop() {
            // An order for each worker lies ready, so that none has to wait for its next.
            let short = ordered - returned < 2 * count as u64;
            if short && ordered - done < (AHEAD * count) as u64 {
                match items.next() {
                    Some(Ok(item)) => {
                        orders.send((ordered, item)).expect("the queue outlives this scope");
                        ordered += 1;
                    }
                    Some(Err(error)) => ended = Err(error),
                    None => ended = Ok(true),
                }
            } else {
                let answer = answered.recv().expect("orders lie ready, and the queue is open");
                returned += 1;
                done = each(answer).inspect_err(|_| queue.close())?;
            }
        }
        // Orders are begun in turn, so those that are left are the last ones.
        if !matches!(ended, Ok(true)) {
            queue.close();
        }
        drop(orders);
        for answer in answered {
            done = each(answer).inspect_err(|_| queue.close())?;
            if watch.stop() {
                queue.close();
            }
        }
        ended.map(|all| all && done == ordered)
    })
}

/// Where workers get their orders.
struct Queue<I> {
    waiting: Mutex<Receiver<(u64, I)>>,
    /// Whether what lies ready is not to be begun any more.
    closed: AtomicBool,
}

impl<I> Queue<I> {
    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// The next order; none once there will be no more.
    fn next(&self) -> Option<(u64, I)> {
        let waiting = self.waiting.lock().expect("no worker panics while it holds the queue");
        let order = waiting.recv().ok()?;
        (!self.closed.load(Ordering::Relaxed)).then_some(order)
    }
}

/// One place at work: its worker is hired when first needed, and another one when it fails.
fn serve<W, I, T>(
    workers: &Workers<impl Fn() -> Result<W, EngineError>>,
    queue: &Queue<I>,
    answers: &Sender<Answer<I, T>>,
    work: &impl Fn(&mut W, &I) -> Result<T, Obstacle>,
) {
    let mut worker = None;
    while let Some((number, item)) = queue.next() {
        let tried = attempt(workers, &mut worker, item, work);
        if answers.send((number, tried)).is_err() {
            return;
        }
    }
}

fn attempt<W, I, T>(
    workers: &Workers<impl Fn() -> Result<W, EngineError>>,
    worker: &mut Option<W>,
    item: I,
    work: &impl Fn(&mut W, &I) -> Result<T, Obstacle>,
) -> Result<Tried<I, T>, EngineError> {
    let mut restarts = 0;
    loop {
        if worker.is_none() {
            *worker = Some((workers.hire)()?);
        }
        let made = work(worker.as_mut().expect("hired above"), &item);
        if let Err(Obstacle::Player(_)) = made {
            // The item may have harmed it, whatever it did: the next one meets a fresh worker.
            *worker = None;
            restarts += 1;
            if restarts <= u64::from(workers.retries) {
                continue;
            }
        }
        return Ok(Tried { item, made, restarts });
    }
}
