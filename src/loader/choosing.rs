//! Batches of choices without end.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::choose::{Choose, Chosen};
use super::stored::Cut;
use super::stream::{Cursor, random};
use super::{Encoder, LoadError};
use crate::batch::Batch;
use crate::sample::Sample;

/// The positions whose moves are learnt, and who searches these.
#[derive(Clone)]
pub struct Asked {
    pub samples: Arc<Vec<Sample>>,
    pub encoder: Encoder,
    pub by: Arc<dyn Choose>,
    /// All of them searched; none where each window is when its turn comes.
    pub whole: Option<Arc<Chosen>>,
    /// Positions that are searched together.
    pub window: usize,
}

/// The stream: full batches, which run on over the borders of windows and epochs, or whole epochs.
pub struct Choosing {
    batches: Receiver<Batch>,
}

impl Choosing {
    /// Starts the thread that searches and encodes a few batches ahead.
    pub fn new(asked: Asked, cut: Cut, from: Cursor) -> Self {
        let (sender, batches) = sync_channel(2);
        std::thread::spawn(move || {
            let mut place = Place { asked, cut, cursor: from, order: Vec::new(), window: None };
            let all = cut.batch.is_none().then(|| place.all());
            // Ends when nobody listens any more.
            while sender.send(place.next(all.as_ref())).is_ok() {}
        });
        Self { batches }
    }
}

impl Iterator for Choosing {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok().map(Ok)
    }
}

/// Where the stream stands.
struct Place {
    asked: Asked,
    cut: Cut,
    cursor: Cursor,
    /// Of the epoch; empty before its first batch.
    order: Vec<u32>,
    /// The number of the window that was searched last, and its choices.
    window: Option<(usize, Chosen)>,
}

impl Place {
    fn next(&mut self, all: Option<&Batch>) -> Batch {
        let mut batch = match (all, self.cut.batch) {
            (Some(all), _) => {
                self.cursor.epoch += 1;
                all.clone()
            }
            (None, size) => self.take(size.unwrap_or(usize::MAX)).encode(&self.asked.encoder),
        };
        let cursor = serde_json::to_string(&self.cursor).expect("numbers have a JSON form");
        batch.cursor = Some(cursor.into());
        batch
    }

    /// All positions, in the order of the files.
    fn all(&self) -> Batch {
        let Asked { samples, encoder, by, whole, .. } = &self.asked;
        match whole {
            Some(whole) => whole.encode(encoder),
            None => Chosen::of(samples.par_iter(), encoder, &**by, &|_| {}).encode(encoder),
        }
    }

    /// The next positions.
    fn take(&mut self, size: usize) -> Chosen {
        let mut taken = Chosen::default();
        while taken.len() < size {
            let count = self.asked.samples.len();
            if self.order.is_empty() {
                self.order = (0..count as u32).collect();
                if self.cut.shuffle {
                    self.order.shuffle(&mut random(self.cut.seed, self.cursor.epoch, 1));
                }
            }
            let begin = self.cursor.offset.min(count);
            let mut end = count.min(begin + size - taken.len());
            match &self.asked.whole {
                Some(whole) => taken.take(whole, &self.order[begin..end]),
                None => {
                    let number = begin / self.asked.window;
                    let first = number * self.asked.window;
                    end = end.min(first + self.asked.window);
                    let places: Vec<u32> =
                        (begin..end).map(|place| (place - first) as u32).collect();
                    taken.take(self.window(number), &places);
                }
            }
            self.cursor.offset = end;
            if end == count {
                self.cursor = Cursor { epoch: self.cursor.epoch + 1, ..Cursor::default() };
                self.order.clear();
                self.window = None;
            }
        }
        taken
    }

    /// A window of the present epoch.
    fn window(&mut self, number: usize) -> &Chosen {
        if self.window.as_ref().is_none_or(|(there, _)| *there != number) {
            // What makes way does so before its successor needs the room.
            self.window = None;
            let Asked { samples, encoder, by, window, .. } = &self.asked;
            let behind = self.order.len().min((number + 1) * window);
            let here = self.order[number * window..behind].par_iter();
            let here = here.map(|place| &samples[*place as usize]);
            self.window = Some((number, Chosen::of(here, encoder, &**by, &|_| {})));
        }
        &self.window.as_ref().expect("it was searched").1
    }
}
