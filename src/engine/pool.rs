//! Several workers side by side, and what they made in the order in which it was asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::clock::Stopwatch;
use super::desk::{Desk, News};
use super::helper;
use super::post::Post;
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
    /// Workers of other ranks, if there are any.
    pub others: Option<Others>,
}

/// The other ranks.
pub struct Others {
    pub post: Arc<dyn Post>,
    /// What the work depends on, names and values, so that all ranks do the same.
    pub settings: Vec<(String, String)>,
}

impl Others {
    pub fn new(post: Arc<dyn Post>, settings: &[(&'static str, String)]) -> Self {
        let named = |(name, value): &(&'static str, String)| (name.to_string(), value.clone());
        Self { post, settings: settings.iter().map(named).collect() }
    }
}

/// Something to work on.
pub trait Item: Send {
    /// All that a worker needs of it, on this rank or another.
    type Order: Serialize + DeserializeOwned + Send;

    fn order(&self) -> Self::Order;
}

/// By its number.
impl Item for u64 {
    type Order = u64;

    fn order(&self) -> u64 {
        *self
    }
}

/// Why an item was not made.
#[derive(Debug, Serialize, Deserialize)]
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

/// What came of an order.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer<T> {
    pub made: Result<T, Obstacle>,
    pub restarts: u64,
    /// How long it took.
    pub microseconds: u64,
}

/// Has all workers work on `items` and hands what they made to `keep`, in order.
/// True once all items are kept.
///
/// Once [`Watch::stop`] is true no item is begun; those under way are finished and kept. An error
/// of `items` ends the work in the same way before it is returned. After one of `keep`, or a worker
/// that cannot be hired, those under way are finished but not kept. Where there are other ranks, an
/// item that is finished behind one that was not begun elsewhere is made again by another run.
pub fn run<W, I: Item, T: DeserializeOwned + Send>(
    workers: &Workers<impl Fn() -> Result<W, EngineError> + Sync>,
    mut items: impl Iterator<Item = Result<I, EngineError>>,
    work: impl Fn(&mut W, &I::Order) -> Result<T, Obstacle> + Sync,
    mut keep: impl FnMut(Tried<I, T>) -> Result<(), EngineError>,
    watch: &dyn Watch,
) -> Result<bool, EngineError> {
    let (orders, queue) = Queue::open();
    let (news, heard) = channel();
    thread::scope(|scope| {
        for _ in 0..workers.count.max(1) {
            let (queue, news, work) = (&queue, news.clone(), &work);
            let tell = move |number, answer| news.send(News::Made(0, number, answer)).is_ok();
            scope.spawn(move || serve(workers, queue, tell, work));
        }
        if let Some(others) = &workers.others {
            let news = news.clone();
            scope.spawn(move || helper::listen(others, &news));
        }
        drop(news);
        let mut desk = Desk::new(workers, orders, &queue);
        let mut ended = Ok(false);
        while matches!(ended, Ok(false)) && desk.failed.is_none() && !watch.stop() {
            match desk.short() {
                Some(place) => match items.next() {
                    Some(Ok(item)) => desk.order(place, item),
                    Some(Err(error)) => ended = Err(error),
                    None => ended = Ok(true),
                },
                None => {
                    let news = heard.recv().expect("orders lie ready, and the queue is open");
                    desk.hear(news, &mut keep);
                }
            }
        }
        if !matches!(ended, Ok(true)) {
            desk.close();
        }
        desk.end();
        for news in heard {
            desk.hear(news, &mut keep);
            if watch.stop() {
                desk.close();
            }
        }
        match desk.failed.take() {
            Some(error) => Err(error),
            None => ended.map(|all| all && desk.is_clear()),
        }
    })
}

/// Where workers get their orders.
pub(super) struct Queue<O> {
    waiting: Mutex<Receiver<(u64, O)>>,
    /// Whether what lies ready is not to be begun any more.
    closed: AtomicBool,
}

impl<O> Queue<O> {
    /// The queue, and what orders are put into it with.
    pub fn open() -> (Sender<(u64, O)>, Self) {
        let (orders, waiting) = channel();
        (orders, Self { waiting: Mutex::new(waiting), closed: AtomicBool::new(false) })
    }

    /// False if it was closed before.
    pub fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::Relaxed)
    }

    /// The next order; none once there will be no more.
    fn next(&self) -> Option<(u64, O)> {
        let waiting = self.waiting.lock().expect("no worker panics while it holds the queue");
        let order = waiting.recv().ok()?;
        (!self.closed.load(Ordering::Relaxed)).then_some(order)
    }
}

/// One place at work: its worker is hired when first needed, and another one when it fails. `tell`
/// is told what came of each order, and false if nobody wants to know.
pub(super) fn serve<W, O, T>(
    workers: &Workers<impl Fn() -> Result<W, EngineError>>,
    queue: &Queue<O>,
    tell: impl Fn(u64, Result<Answer<T>, EngineError>) -> bool,
    work: &impl Fn(&mut W, &O) -> Result<T, Obstacle>,
) {
    let mut worker = None;
    while let Some((number, order)) = queue.next() {
        if !tell(number, attempt(workers, &mut worker, &order, work)) {
            return;
        }
    }
}

fn attempt<W, O, T>(
    workers: &Workers<impl Fn() -> Result<W, EngineError>>,
    worker: &mut Option<W>,
    order: &O,
    work: &impl Fn(&mut W, &O) -> Result<T, Obstacle>,
) -> Result<Answer<T>, EngineError> {
    let mut restarts = 0;
    loop {
        if worker.is_none() {
            *worker = Some((workers.hire)()?);
        }
        let watch = Stopwatch::start();
        let made = work(worker.as_mut().expect("hired above"), order);
        if let Err(Obstacle::Player(_)) = made {
            // The item may have harmed it, whatever it did: the next one meets a fresh worker.
            *worker = None;
            restarts += 1;
            if restarts <= u64::from(workers.retries) {
                continue;
            }
        }
        return Ok(Answer { made, restarts, microseconds: watch.microseconds() });
    }
}
