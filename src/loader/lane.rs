//! Sources of a batch: one for all files, or one for each `[[data.source]]`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::encode::{Encoder, Part};
use super::feed::Quota;
use super::stream::{Cursor, Cursors, Records, Stop, Window, keep, read_on};
use super::{Kept, LoadError};
use crate::batch::{Batch, OfRank};

/// The sources of a stream.
pub(super) struct Lanes {
    of_rank: OfRank,
    /// Positions of a chunk, 0 for none.
    chunk: usize,
    lanes: Vec<Lane>,
}

/// A window, or what is left of it.
struct Open {
    window: Window,
    /// Where the batch under way begins in it.
    start: usize,
}

/// The windows of some files.
struct Lane {
    windows: Receiver<Result<Window, LoadError>>,
    /// Those that the batch under way takes from, the last one still in use.
    open: Vec<Open>,
    /// Positions of the first window that an earlier run has passed.
    skip: usize,
    /// Positions a batch.
    quota: usize,
    /// Whether mirror images are shown as well.
    mirrors: bool,
}

impl Lanes {
    pub fn new(of_rank: OfRank, chunk: usize) -> Self {
        Self { of_rank, chunk, lanes: Vec::new() }
    }

    /// Opens the next source.
    pub fn open(&mut self, quota: Quota, encoder: &Encoder, from: Cursor, kept: Option<Kept>) {
        self.lanes.push(Lane::new(quota, encoder, from, kept));
    }

    /// The rank's slice of the next batch: of each source its part, one after the other.
    pub fn next(&mut self, encoder: &Encoder) -> Option<Result<Batch, LoadError>> {
        for lane in &mut self.lanes {
            if let Err(error) = lane.advance()? {
                return Some(Err(error));
            }
        }
        let parts: Vec<Part> = self.lanes.iter().flat_map(Lane::parts).collect();
        let parts = slice(parts, self.of_rank, self.chunk);
        let place = Cursors::of(self.lanes.iter().map(Lane::cursor).collect());
        Some(Ok(Batch { cursor: Some(place.into()), ..encoder.encode_parts(&parts) }))
    }
}

impl Lane {
    /// Starts the thread that reads.
    fn new(quota: Quota, encoder: &Encoder, from: Cursor, kept: Option<Kept>) -> Self {
        let (sender, windows) = sync_channel(1);
        let (plan, encoder) = (Arc::new(quota.plan), encoder.clone());
        let mirrors = plan.mirrored_copies;
        std::thread::spawn(move || {
            let end = match plan.keeps() {
                true => keep(&plan, &encoder, from, kept, &sender),
                false => read_on(&plan, &encoder, from, &sender),
            };
            if let Err(Stop::Error(error)) = end {
                // Nobody left to hear it is no error.
                let _ = sender.send(Err(error));
            }
        });
        let (skip, quota) = (from.offset, quota.positions);
        Self { windows, open: Vec::new(), skip, quota, mirrors }
    }

    /// Goes on by a batch's worth; none where nothing comes any more.
    fn advance(&mut self) -> Option<Result<(), LoadError>> {
        // What earlier batches took is done with.
        self.open.drain(..self.open.len().saturating_sub(1));
        if let Some(last) = self.open.last_mut() {
            last.start = last.window.cursor.offset;
        }
        let mut missing = self.quota;
        loop {
            if let Some(Open { window, .. }) = self.open.last_mut() {
                let left = window.order.len() - window.cursor.offset;
                let taken = left.min(missing);
                window.cursor.offset += taken;
                missing -= taken;
            }
            if missing == 0 {
                return Some(Ok(()));
            }
            let mut window = match self.windows.recv().ok()? {
                Ok(window) => window,
                Err(error) => return Some(Err(error)),
            };
            window.cursor.offset = std::mem::take(&mut self.skip).min(window.order.len());
            self.open.push(Open { start: window.cursor.offset, window });
        }
    }

    /// What the batch under way takes.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.open.iter().map(|open| part(open, self.mirrors))
    }

    /// Where it stands.
    fn cursor(&self) -> Cursor {
        self.open.last().expect("it went on").window.cursor
    }
}

/// What the batch under way takes from a window.
fn part(open: &Open, mirrors: bool) -> Part<'_> {
    let Open { window, start } = open;
    let Records { records, bases, plans } = &*window.records;
    let mirroring = mirrors.then_some(window.cursor.epoch);
    let order = &window.order[*start..window.cursor.offset];
    Part { records, bases, order, plans: plans.as_ref(), mirroring }
}

/// The slice of a batch that a rank has, in whole chunks where each rank has several.
fn slice(parts: Vec<Part>, of_rank: OfRank, chunk: usize) -> Vec<Part> {
    let count: usize = parts.iter().map(|part| part.order.len()).sum();
    let unit = if chunk > 0 && count >= 2 * chunk * of_rank.size { chunk } else { 1 };
    let range = of_rank.range(count.div_ceil(unit));
    let [start, end] = [range.start, range.end].map(|border| (border * unit).min(count));
    let mut first = 0;
    let within = parts.into_iter().filter_map(|part| {
        let here = first..first + part.order.len();
        first = here.end;
        let [start, end] =
            [start, end].map(|border| border.clamp(here.start, here.end) - here.start);
        (start < end).then(|| Part { order: &part.order[start..end], ..part })
    });
    within.collect()
}
