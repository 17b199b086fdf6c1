//! The pool of another rank: it works on what rank 0 orders, and tells what came of it.
//!
//! ```text
//! rank 0                                another rank
//!                  ◀─ Here             so many workers, with these settings
//! Make, Make ... ─▶                    as many as keep them busy
//!                  ◀─ Made or Failed   in any order
//! Close or not ─▶                      nothing is begun any more
//! End ─▶ ... ◀─ Left                   what was begun is made
//! Leave ─▶
//! ```

use std::sync::mpsc::Sender;
use std::thread;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::EngineError;
use super::desk::News;
use super::pool::{Answer, Item, Obstacle, Others, Queue, Workers, serve};

/// What rank 0 says.
#[derive(Serialize, Deserialize)]
pub(super) enum Order<O> {
    /// Something to do, and its number.
    Make(u64, O),
    /// What is not begun yet shall not be.
    Close,
    /// There is no more to come.
    End,
    /// All is told.
    Leave,
}

/// What the others say.
#[derive(Serialize, Deserialize)]
enum Letter<T> {
    Here {
        workers: usize,
        settings: Vec<(String, String)>,
    },
    /// By the number of the order.
    Made(u64, Answer<T>),
    /// No worker could be hired for an order.
    Failed(u64, String),
    Left,
}

/// Works for rank 0 until it has no more to do.
///
/// # Errors
/// If rank 0 says what cannot be understood. Of workers that cannot be hired it is told instead.
pub fn help<W, I: Item, T: Serialize>(
    workers: &Workers<impl Fn() -> Result<W, EngineError> + Sync>,
    work: impl Fn(&mut W, &I::Order) -> Result<T, Obstacle> + Sync,
) -> Result<(), EngineError> {
    let Some(Others { post, settings }) = &workers.others else { return Ok(()) };
    let tell = |letter: Letter<T>| post.tell(0, &letter);
    let count = workers.count.max(1);
    tell(Letter::Here { workers: count, settings: settings.clone() });
    let (orders, queue) = Queue::open();
    let all_serve = || {
        thread::scope(|scope| {
            for _ in 0..count {
                let answered = |number, answer: Result<Answer<T>, EngineError>| {
                    tell(match answer {
                        Ok(answer) => Letter::Made(number, answer),
                        Err(error) => Letter::Failed(number, error.to_string()),
                    });
                    true
                };
                let (queue, work) = (&queue, &work);
                scope.spawn(move || serve(workers, queue, answered, work));
            }
        });
        tell(Letter::Left);
    };
    thread::scope(|scope| {
        scope.spawn(all_serve);
        // Dropped whatever happens, so that workers do not wait for more.
        let mut orders = Some(orders);
        loop {
            match post.hear::<Order<I::Order>>()?.1 {
                Order::Make(number, order) => {
                    let orders = orders.as_ref().expect("no orders come behind the last one");
                    orders.send((number, order)).expect("the queue outlives this scope");
                }
                Order::Close => {
                    queue.close();
                }
                Order::End => orders = None,
                Order::Leave => return Ok(()),
            }
        }
    })
}

/// Hears for rank 0 what all others say, until they have left.
pub(super) fn listen<T: DeserializeOwned>(others: &Others, news: &Sender<News<T>>) {
    let Others { post, settings } = others;
    let mut here = post.size() - 1;
    while here > 0 {
        let told = match post.hear() {
            Err(error) => {
                // Whoever cannot be understood cannot say that it leaves.
                let _ = news.send(News::Failed(error));
                return;
            }
            Ok((from, Letter::Here { workers, settings: theirs })) => {
                match difference(settings, &theirs) {
                    None => News::Here(from, workers),
                    Some(reason) => {
                        News::Failed(EngineError::Rank { name: post.name(from), reason })
                    }
                }
            }
            Ok((from, Letter::Made(number, answer))) => News::Made(from, number, Ok(answer)),
            Ok((from, Letter::Failed(number, reason))) => {
                let error = EngineError::Rank { name: post.name(from), reason };
                News::Made(from, number, Err(error))
            }
            Ok((from, Letter::Left)) => {
                here -= 1;
                News::Left(from)
            }
        };
        // After a panic nobody hears, but the others still have to leave.
        let _ = news.send(told);
    }
}

/// What another rank has set otherwise, in words.
fn difference(ours: &[(String, String)], theirs: &[(String, String)]) -> Option<String> {
    let other = theirs.iter().find(|setting| !ours.contains(setting));
    let (key, _) = other.or_else(|| ours.iter().find(|setting| !theirs.contains(setting)))?;
    let of = |settings: &[(String, String)]| {
        let values = settings.iter().filter(|(own, _)| own == key).map(|(_, value)| &value[..]);
        let values = values.collect::<Vec<_>>().join(", ");
        if values.is_empty() { "nothing".to_string() } else { values }
    };
    Some(format!(
        "{key} is {} there, and {} on rank 0; all ranks need the same program, options and files",
        of(theirs),
        of(ours)
    ))
}
