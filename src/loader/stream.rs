//! Batches without end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::encode::Encoder;
use super::lane::Lanes;
use super::order::{Chunks, random, shuffled};
use super::packed::Packed;
use super::plans::Plans;
use super::read::Interleaved;
use super::{Kept, LoadError, Plan};
use crate::batch::Batch;
use crate::format::BLOCK;

/// A place in a stream: the next position to come.
///
/// An epoch is one pass over the data; a window is what was read together and shuffled; the
/// offset counts positions in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub epoch: u64,
    pub window: u64,
    pub offset: usize,
}

/// A place in every source: a cursor each, or the only one there is. As text a list, or the one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cursors {
    One(Cursor),
    Each(Vec<Cursor>),
}

impl Default for Cursors {
    fn default() -> Self {
        Self::One(Cursor::default())
    }
}

impl Cursors {
    /// Reads what [`Batch::cursor`] says; an empty text is the beginning.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map_err(|_| LoadError::Cursor(text.to_string()))
    }

    /// As text.
    pub(super) fn of(cursors: Vec<Cursor>) -> String {
        let place = match cursors[..] {
            [only] => Self::One(only),
            _ => Self::Each(cursors),
        };
        serde_json::to_string(&place).expect("numbers have a JSON form")
    }

    /// The cursor of each of so many sources.
    fn each(self, sources: usize) -> Result<Vec<Cursor>, LoadError> {
        let cursors = match self {
            // The beginning is the same everywhere.
            Self::One(first) if first == Cursor::default() => vec![first; sources],
            Self::One(only) => vec![only],
            Self::Each(all) => all,
        };
        match cursors.len() == sources {
            true => Ok(cursors),
            false => Err(LoadError::Cursor(format!("{cursors:?}"))),
        }
    }

    /// The cursor of data that have one.
    pub fn only(self) -> Result<Cursor, LoadError> {
        Ok(self.each(1)?[0])
    }
}

/// The stream: full batches, which run on over the borders of windows and epochs.
pub struct Stream {
    batches: Receiver<Result<Batch, LoadError>>,
}

impl Stream {
    /// Starts the threads that read ahead: by one window of each source, and by a few batches.
    ///
    /// Data that fits the window (`plan.expected` tells) is read once and kept; each epoch then
    /// only has its own order, of positions or of chunks of them. Else each epoch reads the files
    /// anew, in a seeded order. Sources with a share of each batch have epochs of their own. A place
    /// that is none of this plan is the first error that comes.
    pub fn new(plan: Plan, encoder: Encoder, from: Cursors) -> Self {
        Self::of(plan, encoder, from, None)
    }

    /// The same of data that need not be read again, since a scan of this plan has `kept` it.
    pub fn of(plan: Plan, encoder: Encoder, from: Cursors, mut kept: Option<Kept>) -> Self {
        let (sender, batches) = sync_channel(4);
        let (quotas, of_rank, chunk) = (plan.quotas(), plan.of_rank, plan.chunk);
        let lanes = from.each(quotas.len()).map(|cursors| {
            let mut lanes = Lanes::new(of_rank, chunk);
            for (quota, from) in quotas.into_iter().zip(cursors) {
                let kept = kept.as_mut().map(|kept| kept.split_off(&quota.plan.files));
                lanes.open(quota, &encoder, from, kept);
            }
            lanes
        });
        std::thread::spawn(move || {
            let mut lanes = match lanes {
                Ok(lanes) => lanes,
                Err(error) => return drop(sender.send(Err(error))),
            };
            while let Some(batch) = lanes.next(&encoder) {
                let is_last = batch.is_err();
                // Nobody listens any more, or there is no more to say.
                if sender.send(batch).is_err() || is_last {
                    return;
                }
            }
        });
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
pub(super) struct Window {
    pub cursor: Cursor,
    pub records: Arc<Records>,
    pub order: Vec<u32>,
}

/// Records, and what [`Encoder::bases`] says of them.
pub(super) struct Records {
    pub records: Vec<Packed>,
    pub bases: Vec<f32>,
    /// Of those that come again in the same chunks.
    pub plans: Option<Plans>,
}

/// Why there are no more windows.
pub(super) enum Stop {
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

/// Reads everything once, unless it was kept, and sends it in a new order each epoch.
pub(super) fn keep(
    plan: &Arc<Plan>,
    encoder: &Encoder,
    from: Cursor,
    kept: Option<Kept>,
    windows: &Windows,
) -> Result<(), Stop> {
    let mut records = match kept {
        Some(kept) => kept.interleaved(&plan.files),
        None => read_whole(plan)?,
    };
    check_count(plan, records.len() as u64)?;
    let chunks = plan.keeps_chunks().then(|| Chunks::arrange(plan, encoder, &mut records));
    let bases = encoder.bases(&records);
    let plans = match encoder {
        Encoder::Net(net, _) if plan.plans_once() => Some(Plans::of(net, &records, plan)),
        _ => None,
    };
    let records = Arc::new(Records { records, bases, plans });
    for epoch in from.epoch.. {
        let cursor = Cursor { epoch, window: 0, offset: 0 };
        let positions = records.records.len();
        let order = match &chunks {
            Some(chunks) => chunks.order(plan, epoch, positions),
            None => shuffled(plan, cursor, positions),
        };
        send(cursor, records.clone(), order, windows)?;
    }
    Ok(())
}

fn read_whole(plan: &Arc<Plan>) -> Result<Vec<Packed>, LoadError> {
    let mut records = Vec::with_capacity(plan.expected.unwrap_or(0) as usize);
    let mut source = Interleaved::new(plan.clone(), plan.files.clone());
    while let Some(block) = source.next() {
        records.extend(block?.iter().map(|it| Packed::weighed(it, &plan.weighing)));
    }
    Ok(records)
}

/// Reads window after window, epoch after epoch.
pub(super) fn read_on(
    plan: &Arc<Plan>,
    encoder: &Encoder,
    from: Cursor,
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
                let full = std::mem::replace(&mut records, rest);
                if window >= first {
                    let cursor = Cursor { epoch, window, offset: 0 };
                    let order = shuffled(plan, cursor, full.len());
                    let pairs = plan.passing.clone();
                    let plans = pairs.map(|pairs| Plans::passing(plan.chunk, pairs));
                    let full = Records { bases: encoder.bases(&full), records: full, plans };
                    send(cursor, Arc::new(full), order, windows)?;
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

fn send(
    cursor: Cursor,
    records: Arc<Records>,
    order: Vec<u32>,
    windows: &Windows,
) -> Result<(), Stop> {
    windows.send(Ok(Window { cursor, records, order })).map_err(|_| Stop::Unheard)
}
