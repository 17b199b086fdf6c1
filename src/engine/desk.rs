//! Where a pool hands out its orders, and puts what was made in order.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use serde::Serialize;

use super::EngineError;
use super::helper::Order;
use super::pool::{Answer, Item, Queue, Tried, Workers};
use super::post::Post;

/// Items that are finished may wait for an earlier one, so many for each worker.
const AHEAD: usize = 64;

/// What lies ready for the workers of a rank keeps them busy for so many microseconds, so that they
/// need not wait while something goes to the disk. It is no game: another rank may begin it sooner.
const READY: usize = 20_000;

/// What is heard at the desk. Places are ranks.
pub enum News<T> {
    /// So many workers are there.
    Here(usize, usize),
    /// By the number of the order; an error if there was no worker for it.
    Made(usize, u64, Result<Answer<T>, EngineError>),
    /// Nobody works there any more.
    Left(usize),
    Failed(EngineError),
}

/// Where orders are handed out and answers come in.
pub struct Desk<'a, I, O: Serialize, T> {
    /// None once there are no more.
    orders: Option<Sender<(u64, O)>>,
    queue: &'a Queue<O>,
    post: Option<&'a dyn Post>,
    /// This rank, and the others.
    places: Vec<Place>,
    /// What is ordered, and what came of it; the first of them is not kept yet.
    ordered: BTreeMap<u64, I>,
    answers: BTreeMap<u64, Result<Answer<T>, EngineError>>,
    /// Numbers of the next item to order, and to keep.
    next: u64,
    kept: u64,
    /// The first error, after which nothing is kept.
    pub failed: Option<EngineError>,
}

/// Some who work side by side.
#[derive(Clone, Default)]
struct Place {
    /// None before they are there.
    workers: usize,
    /// Whether they have left.
    gone: bool,
    /// Orders that they have not answered.
    orders: usize,
    /// What an order takes of late, once that is known.
    microseconds: Option<u64>,
}

impl Place {
    /// How many orders it should have.
    fn most(&self) -> usize {
        let ready = match self.microseconds {
            Some(each) => self.workers * READY / (each as usize).max(1),
            None => 0,
        };
        self.workers + ready.min((AHEAD - 1) * self.workers)
    }

    fn took(&mut self, microseconds: u64) {
        let before = self.microseconds.unwrap_or(microseconds);
        self.microseconds = Some((3 * before + microseconds) / 4);
    }
}

impl<'a, I: Item, T> Desk<'a, I, I::Order, T> {
    pub fn new<H>(
        workers: &'a Workers<H>,
        orders: Sender<(u64, I::Order)>,
        queue: &'a Queue<I::Order>,
    ) -> Self {
        let post = workers.others.as_ref().map(|others| &*others.post);
        let mut places = vec![Place::default(); post.map_or(1, Post::size)];
        places[0].workers = workers.count.max(1);
        let (ordered, answers) = (BTreeMap::new(), BTreeMap::new());
        let (next, kept, failed) = (0, 0, None);
        Self { orders: Some(orders), queue, post, places, ordered, answers, next, kept, failed }
    }

    /// Who should have another order; nobody if all have enough, or are too far ahead.
    pub fn short(&self) -> Option<usize> {
        let workers: usize = self.places.iter().map(|place| place.workers).sum();
        if self.next - self.kept >= (AHEAD * workers) as u64 {
            return None;
        }
        if self.post.is_none() {
            // An order for each worker lies ready, so that none has to wait for its next.
            return (self.places[0].orders < 2 * workers).then_some(0);
        }
        let short = |place: &&Place| place.orders < place.most();
        let all = self.places.iter().enumerate().filter(|(_, place)| short(place));
        // Who has least to do.
        all.min_by_key(|(_, place)| 1000 * place.orders / place.workers).map(|(place, _)| place)
    }

    pub fn order(&mut self, place: usize, item: I) {
        let (number, order) = (self.next, item.order());
        self.ordered.insert(number, item);
        self.next += 1;
        self.places[place].orders += 1;
        match (place, self.post) {
            (1.., Some(post)) => post.tell(place, &Order::Make(number, order)),
            _ => {
                let orders = self.orders.as_ref().expect("nothing is ordered after the end");
                orders.send((number, order)).expect("the queue outlives this desk");
            }
        }
    }

    pub fn hear(
        &mut self,
        news: News<T>,
        keep: &mut impl FnMut(Tried<I, T>) -> Result<(), EngineError>,
    ) {
        match news {
            News::Here(place, workers) => self.places[place].workers = workers,
            News::Left(place) => {
                self.tell(place, &Order::Leave);
                self.places[place].gone = true;
            }
            News::Failed(error) => self.fail(error),
            News::Made(place, number, answer) => {
                self.places[place].orders -= 1;
                if let Ok(answer) = &answer {
                    self.places[place].took(answer.microseconds);
                }
                self.answers.insert(number, answer);
            }
        }
        while self.failed.is_none()
            && let Some(answer) = self.answers.remove(&self.kept)
        {
            let item = self.ordered.remove(&self.kept).expect("what is answered was ordered");
            self.kept += 1;
            let tried = answer.map(|Answer { made, restarts, .. }| Tried { item, made, restarts });
            tried.and_then(&mut *keep).unwrap_or_else(|error| self.fail(error));
        }
    }

    /// Whether all that was ordered is kept.
    pub fn is_clear(&self) -> bool {
        self.kept == self.next
    }

    fn fail(&mut self, error: EngineError) {
        self.close();
        self.failed.get_or_insert(error);
    }
}

impl<I, O: Serialize, T> Desk<'_, I, O, T> {
    fn tell(&self, place: usize, order: &Order<O>) {
        if let Some(post) = self.post.filter(|_| place > 0 && !self.places[place].gone) {
            post.tell(place, order);
        }
    }

    fn tell_all(&self, order: &Order<O>) {
        (1..self.places.len()).for_each(|place| self.tell(place, order));
    }

    /// What lies ready is not begun any more.
    pub fn close(&self) {
        if self.queue.close() {
            self.tell_all(&Order::Close);
        }
    }

    /// There will be no more orders.
    pub fn end(&mut self) {
        if self.orders.take().is_some() {
            self.tell_all(&Order::End);
        }
    }
}

/// Also where `keep` panics, nobody waits for more orders.
impl<I, O: Serialize, T> Drop for Desk<'_, I, O, T> {
    fn drop(&mut self) {
        self.close();
        self.end();
    }
}
