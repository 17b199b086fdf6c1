//! Batches without end, from a store.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::stream::Cursor;
use super::walk::{Cut, Walk};
use super::{LoadError, Store};
use crate::batch::Batch;

/// The stream: full batches, which run on over the borders of epochs, or whole epochs.
pub struct Stored {
    batches: Receiver<Batch>,
}

impl Stored {
    /// Starts the thread that cuts a few batches ahead.
    pub fn new(store: Arc<Store>, cut: Cut, from: Cursor) -> Self {
        let (sender, batches) = sync_channel(4);
        std::thread::spawn(move || {
            let mut walk = Walk::new(store.len(), cut, from);
            // Ends when nobody listens any more.
            while sender.send(next(&store, cut, &mut walk)).is_ok() {}
        });
        Self { batches }
    }
}

impl Iterator for Stored {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok().map(Ok)
    }
}

fn next(store: &Store, cut: Cut, walk: &mut Walk) -> Batch {
    let batch = match cut.batch {
        None => {
            walk.skip();
            store.part(cut.of_rank)
        }
        Some(size) => {
            let mut places = Vec::with_capacity(size);
            while places.len() < size {
                let (_, passed) = walk.on(size - places.len(), usize::MAX);
                places.extend_from_slice(&walk.order()[passed]);
            }
            store.batch(&places[cut.of_rank.range(size)])
        }
    };
    Batch { cursor: Some(walk.text()), ..batch }
}
