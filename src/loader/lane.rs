//! What a batch takes its positions from: one lane for all, or one for each source, or for each
//! part of the files.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::encode::{Encoder, Part};
use super::feed::Quota;
use super::quieten::Quieten;
use super::stream::{Cursor, Cursors, Records, Stop, Window, keep, read_on};
use super::{Kept, LaneFiles, LoadError, Plan};
use crate::batch::{Batch, OfRank};

/// The lanes of a stream, as far as one of several ranks has to do with them.
pub(super) struct Lanes {
    of_rank: OfRank,
    /// Positions that this rank has of each lane's part of a batch.
    shares: Vec<Range<usize>>,
    lanes: Vec<Lane>,
}

/// A lane that is read, or one of others, of which only the place is known.
enum Lane {
    Read(Read),
    Counted(Counted),
}

/// A window, or what is left of it.
struct Open {
    window: Window,
    /// Where the batch under way begins in it.
    start: usize,
}

/// The windows of some files.
struct Read {
    windows: Receiver<Result<Window, LoadError>>,
    /// Those that the batch under way takes from, the last one still in use.
    open: Vec<Open>,
    /// Positions of the first window that an earlier run has passed.
    skip: usize,
    /// Positions a batch.
    quota: usize,
    /// Those of them that this rank has.
    share: Range<usize>,
    /// Whether mirror images are shown as well.
    mirrors: bool,
}

/// The place in files that were counted, and that another rank reads.
struct Counted {
    cursor: Cursor,
    /// Positions a window, but for the last, and an epoch.
    window: u64,
    epoch: u64,
    /// Positions a batch.
    quota: usize,
}

impl Lanes {
    pub fn new(of_rank: OfRank, quotas: &[Quota]) -> Self {
        Self { of_rank, shares: shares(of_rank, quotas), lanes: Vec::new() }
    }

    /// Opens the next lane; where this rank has no part of it, only the place is kept.
    pub fn open(
        &mut self,
        quota: Quota,
        encoder: &Encoder,
        from: Cursor,
        by: Option<Arc<dyn Quieten>>,
        kept: Option<Kept>,
    ) {
        let share = self.shares[self.lanes.len()].clone();
        self.lanes.push(match quota.plan.expected {
            Some(epoch) if share.is_empty() && epoch > 0 => Lane::Counted(Counted {
                cursor: from,
                window: quota.plan.window as u64,
                epoch,
                quota: quota.positions,
            }),
            _ => Lane::Read(Read::new(quota, share, encoder, from, by, kept)),
        });
    }

    /// The next batch, or this rank's share of it: of each lane its part, one after the other.
    pub fn next(&mut self, encoder: &Encoder) -> Option<Result<Batch, LoadError>> {
        for lane in &mut self.lanes {
            match lane {
                Lane::Counted(lane) => lane.advance(),
                Lane::Read(lane) => {
                    if let Err(error) = lane.advance()? {
                        return Some(Err(error));
                    }
                }
            }
        }
        let parts = match &self.lanes[..] {
            [Lane::Read(only)] => self.of_rank.of_parts(only.parts().collect()),
            lanes => {
                let read = lanes.iter().filter_map(|lane| match lane {
                    Lane::Read(lane) => Some(within(lane.parts(), lane.share.clone())),
                    Lane::Counted(_) => None,
                });
                read.flatten().collect()
            }
        };
        let place = Cursors::of(self.lanes.iter().map(Lane::cursor).collect());
        Some(Ok(Batch { cursor: Some(place.into()), ..encoder.encode_parts(&parts) }))
    }
}

impl Lane {
    /// Where it stands.
    fn cursor(&self) -> Cursor {
        match self {
            Lane::Read(lane) => lane.open.last().expect("it went on").window.cursor,
            Lane::Counted(lane) => lane.cursor,
        }
    }
}

impl Counted {
    /// Goes on by a batch's worth, as who reads would.
    fn advance(&mut self) {
        let mut missing = self.quota;
        loop {
            let Cursor { epoch, window, offset } = self.cursor;
            let behind = self.epoch.saturating_sub(window * self.window).min(self.window);
            let taken = (behind as usize).saturating_sub(offset).min(missing);
            self.cursor.offset += taken;
            missing -= taken;
            if missing == 0 {
                return;
            }
            self.cursor = match (window + 1) * self.window < self.epoch {
                true => Cursor { epoch, window: window + 1, offset: 0 },
                false => Cursor { epoch: epoch + 1, window: 0, offset: 0 },
            };
        }
    }
}

impl Read {
    /// Starts the thread that reads.
    fn new(
        quota: Quota,
        share: Range<usize>,
        encoder: &Encoder,
        from: Cursor,
        by: Option<Arc<dyn Quieten>>,
        kept: Option<Kept>,
    ) -> Self {
        let (sender, windows) = sync_channel(1);
        let (plan, encoder) = (Arc::new(quota.plan), encoder.clone());
        let mirrors = plan.mirrored_copies;
        std::thread::spawn(move || {
            let end = match plan.keeps() {
                true => keep(&plan, &encoder, from, (by.as_deref(), kept), &sender),
                false => read_on(&plan, &encoder, from, by.as_deref(), &sender),
            };
            if let Err(Stop::Error(error)) = end {
                // Nobody left to hear it is no error.
                let _ = sender.send(Err(error));
            }
        });
        let (skip, quota) = (from.offset, quota.positions);
        Self { windows, open: Vec::new(), skip, quota, share, mirrors }
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
}

/// What the batch under way takes from a window.
fn part(open: &Open, mirrors: bool) -> Part<'_> {
    let Open { window, start } = open;
    let Records { records, bases, plans } = &*window.records;
    let mirroring = mirrors.then_some(window.cursor.epoch);
    let order = &window.order[*start..window.cursor.offset];
    Part { records, bases, order, plans: plans.as_ref(), mirroring }
}

impl Plan {
    /// A file that this rank reads for its share of each batch, and that is not here.
    pub fn absent(&self) -> Option<PathBuf> {
        let quotas = self.quotas();
        let shares = shares(self.of_rank, &quotas);
        let read = quotas.iter().zip(shares).filter(|(_, share)| !share.is_empty());
        let mut files = read.flat_map(|(quota, _)| &quota.plan.files);
        files.find(|path| !path.exists()).cloned()
    }
}

/// The positions that a rank has of each lane's part of a batch.
fn shares(of_rank: OfRank, quotas: &[Quota]) -> Vec<Range<usize>> {
    let borders = quotas.iter().scan(0, |border, quota| {
        *border += quota.positions;
        Some(*border)
    });
    let borders: Vec<usize> = [0].into_iter().chain(borders).collect();
    let listed = quotas.iter().any(|it| matches!(it.plan.lanes, LaneFiles::Listed(_)));
    let Range { start, end } = match listed && of_rank.size <= quotas.len() {
        true => whole(of_rank, &borders),
        false => even(of_rank, &borders),
    };
    let lanes = borders.windows(2).map(|lane| {
        let within = |place: usize| place.clamp(lane[0], lane[1]) - lane[0];
        within(start)..within(end)
    });
    lanes.collect()
}

/// The share of a batch that a rank has: cut between two lanes, where that makes shares uneven by an
/// eighth at most, so that each lane is read by one rank.
fn even(OfRank { rank, size }: OfRank, borders: &[usize]) -> Range<usize> {
    let batch = borders[borders.len() - 1];
    let cut = |rank: usize| {
        let even = batch * rank / size;
        let near = borders.iter().copied().min_by_key(|border| border.abs_diff(even));
        near.filter(|near| 8 * size * near.abs_diff(even) <= batch).unwrap_or(even)
    };
    cut(rank)..cut(rank + 1)
}

/// The same of whole lanes, one or more a rank, cut where shares are most even.
fn whole(OfRank { rank, size }: OfRank, borders: &[usize]) -> Range<usize> {
    let lanes = borders.len() - 1;
    let cuts = (1..size).scan(0, |before, rank| {
        let even = borders[lanes] * rank / size;
        let open = *before + 1..=lanes - (size - rank);
        *before =
            open.min_by_key(|cut| borders[*cut].abs_diff(even)).expect("there is a lane each");
        Some(*before)
    });
    let cuts: Vec<usize> = [0].into_iter().chain(cuts).chain([lanes]).collect();
    borders[cuts[rank]]..borders[cuts[rank + 1]]
}

/// What lies in a range of the positions of parts.
pub(super) fn within<'a>(
    parts: impl Iterator<Item = Part<'a>>,
    range: Range<usize>,
) -> Vec<Part<'a>> {
    let mut first = 0;
    let taken = parts.filter_map(|part| {
        let here = first..first + part.order.len();
        first = here.end;
        let place = |place: usize| place.clamp(here.start, here.end) - here.start;
        let taken = place(range.start)..place(range.end);
        (!taken.is_empty()).then(|| Part { order: &part.order[taken], ..part })
    });
    taken.collect()
}
