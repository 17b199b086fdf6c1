//! Batches of choices without end.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::prelude::*;

use super::choose::{Choose, Chosen};
use super::stream::Cursor;
use super::walk::{Cut, Walk};
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
            let walk = Walk::new(asked.samples.len(), cut, from);
            let mut place = Place { asked, walk, window: None };
            let all = cut.batch.is_none().then(|| place.all());
            // Ends when nobody listens any more.
            while sender.send(place.next(all.as_ref(), cut.batch)).is_ok() {}
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
    walk: Walk,
    /// The epoch and the number of the window that was searched last, and its choices.
    window: Option<([u64; 2], Chosen)>,
}

impl Place {
    fn next(&mut self, all: Option<&Batch>, size: Option<usize>) -> Batch {
        let batch = match (all, size) {
            (Some(all), _) => {
                self.walk.skip();
                all.clone()
            }
            (None, size) => self.take(size.unwrap_or(usize::MAX)).encode(&self.asked.encoder),
        };
        Batch { cursor: Some(self.walk.text()), ..batch }
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
            let window = if self.asked.whole.is_some() { usize::MAX } else { self.asked.window };
            let (epoch, passed) = self.walk.on(size - taken.len(), window);
            match &self.asked.whole {
                Some(whole) => taken.take(whole, &self.walk.order()[passed]),
                None => {
                    let number = passed.start / window;
                    let places = passed.map(|place| (place - number * window) as u32);
                    let places: Vec<u32> = places.collect();
                    taken.take(self.window(epoch, number), &places);
                }
            }
        }
        taken
    }

    /// A window of the epoch that the walk went on in.
    fn window(&mut self, epoch: u64, number: usize) -> &Chosen {
        let wanted = [epoch, number as u64];
        if self.window.as_ref().is_none_or(|(there, _)| *there != wanted) {
            // What makes way does so before its successor needs the room.
            self.window = None;
            let Asked { samples, encoder, by, window, .. } = &self.asked;
            let order = self.walk.order();
            let behind = order.len().min((number + 1) * window);
            let here = order[number * window..behind].par_iter();
            let here = here.map(|place| &samples[*place as usize]);
            self.window = Some((wanted, Chosen::of(here, encoder, &**by, &|_| {})));
        }
        &self.window.as_ref().expect("it was searched").1
    }
}
