//! Batches without end, from a store.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rand::seq::SliceRandom;

use super::stream::{Cursor, random};
use super::{LoadError, Store};
use crate::batch::Batch;

/// The stream: full batches, which run on over the borders of epochs, or whole epochs.
pub struct Stored {
    batches: Receiver<Batch>,
}

/// How a store is cut into batches.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Positions a batch; None: all of them, in the order of the files.
    pub batch: Option<usize>,
    pub shuffle: bool,
    pub seed: u64,
}

impl Stored {
    /// Starts the thread that cuts a few batches ahead.
    pub fn new(store: Arc<Store>, cut: Cut, from: Cursor) -> Self {
        let (sender, batches) = sync_channel(4);
        std::thread::spawn(move || {
            let mut place = Place { cursor: from, order: Vec::new() };
            // Ends when nobody listens any more.
            while sender.send(place.next(&store, cut)).is_ok() {}
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

/// Where the stream stands, and the order of its epoch; empty before the first batch.
struct Place {
    cursor: Cursor,
    order: Vec<u32>,
}

impl Place {
    fn next(&mut self, store: &Store, cut: Cut) -> Batch {
        let mut batch = match cut.batch {
            None => {
                self.cursor.epoch += 1;
                store.all()
            }
            Some(size) => {
                let mut places = Vec::with_capacity(size);
                while places.len() < size {
                    if self.order.is_empty() {
                        self.shuffle(store.len(), cut);
                    }
                    let rest = &self.order[self.cursor.offset.min(self.order.len())..];
                    let taken = rest.len().min(size - places.len());
                    places.extend_from_slice(&rest[..taken]);
                    self.cursor.offset += taken;
                    if self.cursor.offset >= self.order.len() {
                        self.cursor = Cursor { epoch: self.cursor.epoch + 1, ..Cursor::default() };
                        self.order.clear();
                    }
                }
                store.batch(&places)
            }
        };
        let cursor = serde_json::to_string(&self.cursor).expect("numbers have a JSON form");
        batch.cursor = Some(cursor.into());
        batch
    }

    fn shuffle(&mut self, positions: usize, cut: Cut) {
        self.order = (0..positions as u32).collect();
        if cut.shuffle {
            self.order.shuffle(&mut random(cut.seed, self.cursor.epoch, 1));
        }
    }
}
