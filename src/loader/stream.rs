//! Batches without end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rand::seq::SliceRandom;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use serde::{Deserialize, Serialize};

use super::read::Interleaved;
use super::{LoadError, Plan};
use crate::batch::Batch;
use crate::sample::{Sample, mix};

/// A place in the stream: the next position to come.
///
/// An epoch is one pass over the data, in a seeded order of files; a window is what was read
/// together and shuffled; the offset counts positions in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub epoch: u64,
    pub window: u64,
    pub offset: usize,
}

impl Cursor {
    /// Reads what [`Batch::cursor`] says; an empty text is the beginning.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map_err(|_| LoadError::Cursor(text.to_string()))
    }
}

/// The stream: full batches, which run on over the borders of windows and epochs.
pub struct Stream {
    batches: Receiver<Result<Batch, LoadError>>,
}

struct Window {
    cursor: Cursor,
    samples: Vec<Sample>,
}

impl Stream {
    /// Starts the threads that read ahead: by one window, and by a few batches.
    pub fn new(plan: Plan, from: Cursor) -> Self {
        let plan = Arc::new(plan);
        let (window_sender, windows) = sync_channel(1);
        let (batch_sender, batches) = sync_channel(4);
        let reading = plan.clone();
        std::thread::spawn(move || read_windows(&reading, from, &window_sender));
        std::thread::spawn(move || cut_batches(&plan, from, &windows, &batch_sender));
        Self { batches }
    }
}

impl Iterator for Stream {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

type Windows = SyncSender<Result<Window, LoadError>>;

fn read_windows(plan: &Arc<Plan>, from: Cursor, windows: &Windows) {
    for epoch in from.epoch.. {
        let first = if epoch == from.epoch { from.window } else { 0 };
        match read_epoch(plan, epoch, first, windows) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                // Nobody left to hear it is no error.
                let _ = windows.send(Err(error));
                return;
            }
        }
    }
}

/// Sends the windows of an epoch from number `first` on; false once nobody listens.
fn read_epoch(
    plan: &Arc<Plan>,
    epoch: u64,
    first: u64,
    windows: &Windows,
) -> Result<bool, LoadError> {
    let mut files: Vec<PathBuf> = plan.files.clone();
    let seed = mix(mix(0, plan.seed), epoch);
    if plan.shuffle {
        files.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    }
    let mut source = Interleaved::new(plan.clone(), files);
    let mut samples: Vec<Sample> = Vec::new();
    let (mut number, mut found) = (0, 0);
    let mut more = true;
    while more {
        more = match source.next() {
            Some(block) => {
                let block = block?;
                found += block.len() as u64;
                samples.extend(block);
                true
            }
            None => false,
        };
        while samples.len() >= plan.window || !more && !samples.is_empty() {
            let rest = samples.split_off(samples.len().min(plan.window));
            let mut window = std::mem::replace(&mut samples, rest);
            if number >= first {
                if plan.shuffle {
                    let seed = mix(seed, number + 1);
                    window.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
                }
                let cursor = Cursor { epoch, window: number, offset: 0 };
                if windows.send(Ok(Window { cursor, samples: window })).is_err() {
                    return Ok(false);
                }
            }
            number += 1;
        }
    }
    match plan.expected {
        Some(expected) if found != expected => Err(LoadError::Changed { found, expected }),
        // Without this an empty file would be read for ever.
        _ if found == 0 => Err(LoadError::Empty("the files hold none".into())),
        _ => Ok(true),
    }
}

fn cut_batches(
    plan: &Plan,
    from: Cursor,
    windows: &Receiver<Result<Window, LoadError>>,
    batches: &SyncSender<Result<Batch, LoadError>>,
) {
    let mut pending: Vec<Sample> = Vec::with_capacity(plan.batch);
    let mut skip = from.offset;
    while let Ok(window) = windows.recv() {
        let Window { mut cursor, samples } = match window {
            Ok(window) => window,
            Err(error) => {
                // Nobody left to hear it is no error.
                let _ = batches.send(Err(error));
                return;
            }
        };
        cursor.offset = std::mem::take(&mut skip).min(samples.len());
        while cursor.offset < samples.len() {
            let take = (plan.batch - pending.len()).min(samples.len() - cursor.offset);
            pending.extend_from_slice(&samples[cursor.offset..][..take]);
            cursor.offset += take;
            if pending.len() == plan.batch {
                let mut batch = plan.encoder.encode(&pending);
                let place = serde_json::to_string(&cursor).expect("numbers have a JSON form");
                batch.cursor = Some(place.into());
                if batches.send(Ok(batch)).is_err() {
                    return;
                }
                pending.clear();
            }
        }
    }
}
