//! Batches without end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rand::seq::SliceRandom;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use serde::{Deserialize, Serialize};

use super::encode::{Encoder, Part};
use super::packed::Packed;
use super::quieten::{Quieten, quieten};
use super::read::Interleaved;
use super::{LoadError, Plan};
use crate::batch::Batch;
use crate::format::BLOCK;
use crate::sample::mix;

/// A place in the stream: the next position to come.
///
/// An epoch is one pass over the data; a window is what was read together and shuffled; the
/// offset counts positions in it.
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

impl Stream {
    /// Starts the threads that read ahead: by one window, and by a few batches.
    ///
    /// Data that fits the window (`plan.expected` tells) is read once and kept; each epoch then
    /// only has its own order. Else each epoch reads the files anew, in a seeded order.
    pub fn new(plan: Plan, encoder: Encoder, from: Cursor) -> Self {
        Self::quiet(plan, encoder, from, None)
    }

    /// The same of the quiet ends of the positions, where somebody finds them.
    pub fn quiet(plan: Plan, encoder: Encoder, from: Cursor, by: Option<Arc<dyn Quieten>>) -> Self {
        let plan = Arc::new(plan);
        let (window_sender, windows) = sync_channel(1);
        let (batch_sender, batches) = sync_channel(4);
        let (reading, adding) = (plan.clone(), encoder.clone());
        std::thread::spawn(move || {
            let whole = reading.expected.is_some_and(|all| all <= reading.window as u64);
            let end = match whole {
                true => keep(&reading, &adding, from, by.as_deref(), &window_sender),
                false => read_on(&reading, &adding, from, by.as_deref(), &window_sender),
            };
            if let Err(Stop::Error(error)) = end {
                // Nobody left to hear it is no error.
                let _ = window_sender.send(Err(error));
            }
        });
        std::thread::spawn(move || cut_batches(&plan, &encoder, from, &windows, &batch_sender));
        Self { batches }
    }
}

impl Iterator for Stream {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.recv().ok()
    }
}

/// Records that are shuffled together.
struct Window {
    cursor: Cursor,
    records: Arc<Records>,
    order: Vec<u32>,
}

/// Records, and what [`Encoder::bases`] says of them.
struct Records {
    records: Vec<Packed>,
    bases: Vec<f32>,
}

/// Why there are no more windows.
enum Stop {
    /// Nobody listens any more.
    Unheard,
    Error(LoadError),
}

impl From<LoadError> for Stop {
    fn from(error: LoadError) -> Self {
        Stop::Error(error)
    }
}

type Windows = SyncSender<Result<Window, LoadError>>;

/// Reads everything once, and sends it in a new order each epoch.
fn keep(
    plan: &Arc<Plan>,
    encoder: &Encoder,
    from: Cursor,
    by: Option<&dyn Quieten>,
    windows: &Windows,
) -> Result<(), Stop> {
    let mut records = Vec::with_capacity(plan.expected.unwrap_or(0) as usize);
    let mut source = Interleaved::new(plan.clone(), plan.files.clone());
    while let Some(block) = source.next() {
        records.extend(block?.iter().map(|it| Packed::weighed(it, &plan.weighing)));
    }
    check_count(plan, records.len() as u64)?;
    if let Some(by) = by {
        quieten(&mut records, by);
    }
    let bases = encoder.bases(&records);
    let records = Arc::new(Records { records, bases });
    for epoch in from.epoch.. {
        send(plan, Cursor { epoch, window: 0, offset: 0 }, records.clone(), windows)?;
    }
    Ok(())
}

/// Reads window after window, epoch after epoch.
fn read_on(
    plan: &Arc<Plan>,
    encoder: &Encoder,
    from: Cursor,
    by: Option<&dyn Quieten>,
    windows: &Windows,
) -> Result<(), Stop> {
    for epoch in from.epoch.. {
        let first = if epoch == from.epoch { from.window } else { 0 };
        let mut files: Vec<PathBuf> = plan.files.clone();
        if plan.shuffle {
            files.shuffle(&mut random(plan.seed, epoch, 0));
        }
        let mut source = Interleaved::new(plan.clone(), files);
        let mut records: Vec<Packed> = Vec::with_capacity(plan.window + BLOCK);
        let (mut window, mut found) = (0, 0);
        let mut more = true;
        while more {
            match source.next() {
                Some(block) => {
                    let block = block?;
                    found += block.len() as u64;
                    records.extend(block.iter().map(|it| Packed::weighed(it, &plan.weighing)));
                }
                None => more = false,
            }
            while records.len() >= plan.window || !more && !records.is_empty() {
                let full = plan.window.min(records.len());
                let mut rest = Vec::with_capacity(plan.window + BLOCK);
                rest.extend_from_slice(&records[full..]);
                records.truncate(full);
                let mut full = std::mem::replace(&mut records, rest);
                if window >= first {
                    if let Some(by) = by {
                        quieten(&mut full, by);
                    }
                    let full = Records { bases: encoder.bases(&full), records: full };
                    send(plan, Cursor { epoch, window, offset: 0 }, Arc::new(full), windows)?;
                }
                window += 1;
            }
        }
        check_count(plan, found)?;
    }
    Ok(())
}

/// Data that changes under a run, or is none at all, must not go unnoticed.
fn check_count(plan: &Plan, found: u64) -> Result<(), LoadError> {
    match plan.expected {
        Some(expected) if found != expected => Err(LoadError::Changed { found, expected }),
        _ if found == 0 => Err(LoadError::Empty("the files hold none".into())),
        _ => Ok(()),
    }
}

fn send(plan: &Plan, cursor: Cursor, records: Arc<Records>, windows: &Windows) -> Result<(), Stop> {
    let mut order: Vec<u32> = (0..records.records.len() as u32).collect();
    if plan.shuffle {
        order.shuffle(&mut random(plan.seed, cursor.epoch, cursor.window + 1));
    }
    windows.send(Ok(Window { cursor, records, order })).map_err(|_| Stop::Unheard)
}

/// A generator for one subset in one epoch.
pub(super) fn random(seed: u64, epoch: u64, subset: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(mix(mix(mix(0, seed), epoch), subset))
}

/// A window, or what is left of it.
struct Open {
    window: Window,
    /// Where the batch under way begins in it.
    start: usize,
}

fn cut_batches(
    plan: &Plan,
    encoder: &Encoder,
    from: Cursor,
    windows: &Receiver<Result<Window, LoadError>>,
    batches: &SyncSender<Result<Batch, LoadError>>,
) {
    // The windows that the batch under way takes from, the last one still in use.
    let mut open: Vec<Open> = Vec::new();
    let mut skip = from.offset;
    while let Ok(window) = windows.recv() {
        let mut window = match window {
            Ok(window) => window,
            Err(error) => {
                // Nobody left to hear it is no error.
                let _ = batches.send(Err(error));
                return;
            }
        };
        window.cursor.offset = std::mem::take(&mut skip).min(window.order.len());
        let before: usize = open.iter().map(|it| it.window.order.len() - it.start).sum();
        open.push(Open { start: window.cursor.offset, window });
        let mut pending = before;
        loop {
            let last = open.last_mut().expect("a window was pushed");
            let cursor = &mut last.window.cursor;
            let left = last.window.order.len() - cursor.offset;
            if pending + left < plan.batch {
                break;
            }
            cursor.offset += plan.batch - pending;
            let place = serde_json::to_string(cursor).expect("numbers have a JSON form");
            let mut batch = encoder.encode_parts(&open.iter().map(part).collect::<Vec<_>>());
            batch.cursor = Some(place.into());
            if batches.send(Ok(batch)).is_err() {
                return;
            }
            open.drain(..open.len() - 1);
            open[0].start = open[0].window.cursor.offset;
            pending = 0;
        }
        // What is left waits for the next window.
        if let Some(last) = open.last_mut() {
            last.window.cursor.offset = last.window.order.len();
        }
    }
}

/// What the batch under way takes from a window.
fn part(open: &Open) -> Part<'_> {
    let Open { window, start } = open;
    let Records { records, bases } = &*window.records;
    Part { records, bases, order: &window.order[*start..window.cursor.offset] }
}
