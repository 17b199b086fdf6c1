//! Endless stream of batches.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::chunk_plans::ChunkPlans;
use super::encode::{EncodedRecords, Encoder, RecordLayout, RecordSlice};
use super::pass::Passes;
use super::shuffle::{ChunkOrder, shuffled_order};
use super::{InputLayout, KeptRecords, LoadError, PassOrder, StreamPlan};
use crate::batch::{Batch, RankShare};
use crate::resume_point::{ReadFacts, ResumePoint};

/// An endless stream of full batches, which cross the borders of windows and epochs. A
/// [`LoadError`] is its last item.
pub struct Stream {
    batches: Receiver<Result<Batch, LoadError>>,
}

impl Stream {
    /// Starts the threads that read ahead, after the first `from` positions. Data that fit the
    /// window (by `plan.facts`) are read once; each epoch has a new order. Otherwise each pass
    /// reads the files again, in a seeded order.
    pub fn new(plan: StreamPlan, encoder: Encoder, from: u64) -> Self {
        Self::resume_stream(plan, encoder, from, None, None)
    }

    /// Starts a stream of records that a scan has read, or at a resume point in streamed data.
    pub fn resume_stream(
        plan: StreamPlan,
        encoder: Encoder,
        from: u64,
        records: Option<KeptRecords>,
        resume_point: Option<ResumePoint>,
    ) -> Self {
        let (sender, windows) = sync_channel(1);
        let (plan, reading) = (Arc::new(plan), encoder.clone());
        let PassOrder { of_rank, chunk, batch, .. } = plan.order;
        std::thread::spawn(move || {
            let end = match plan.order.keeps_in_memory(&plan.facts) {
                true => send_epochs(&plan, &reading, from, records, &sender),
                false => send_passes(&plan, &reading, resume_point, from, &sender),
            };
            if let Err(error) = end {
                // Without a receiver the stream has ended.
                let _ = sender.send(Err(error));
            }
        });
        let mut windows = WindowReader { windows, open: Vec::new(), batch };
        Self::spawn_loader(4, move || {
            if !windows.advance_batch()? {
                return Ok(None);
            }
            let slices = slice_of_rank(windows.record_slices(), of_rank, chunk);
            Ok(Some(Batch {
                resume_point: windows.resume_point(),
                ..encoder.encode_slices(&slices)
            }))
        })
    }

    /// Starts a thread that makes up to `ahead` batches in advance, until the end or the drop.
    pub(super) fn spawn_loader(
        ahead: usize,
        mut next: impl FnMut() -> Result<Option<Batch>, LoadError> + Send + 'static,
    ) -> Self {
        let (sender, batches) = sync_channel(ahead);
        std::thread::spawn(move || {
            while let Some(batch) = next().transpose() {
                let is_last = batch.is_err();
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

/// Returns the slice of a batch for a rank, of whole chunks if each rank has several.
fn slice_of_rank(
    slices: Vec<RecordSlice<'_>>,
    of_rank: RankShare,
    chunk: usize,
) -> Vec<RecordSlice<'_>> {
    let count: usize = slices.iter().map(|slice| slice.order.len()).sum();
    let unit = if chunk > 0 && count >= 2 * chunk * of_rank.size { chunk } else { 1 };
    let range = of_rank.range_of_rank(count.div_ceil(unit));
    let [start, end] = [range.start, range.end].map(|border| (border * unit).min(count));
    let mut first = 0;
    let within = slices.into_iter().filter_map(|slice| {
        let range = first..first + slice.order.len();
        first = range.end;
        let [start, end] =
            [start, end].map(|border| border.clamp(range.start, range.end) - range.start);
        (start < end).then(|| RecordSlice { order: &slice.order[start..end], ..slice })
    });
    within.collect()
}

struct WindowReader {
    windows: Receiver<Result<Window, LoadError>>,
    /// The windows of the current batch; the last one is still in use.
    open: Vec<Window>,
    batch: usize,
}

/// Records that are shuffled together.
struct Window {
    records: Arc<EncodedRecords>,
    order: Vec<u32>,
    /// Range of the current batch in the order.
    taken: Range<usize>,
    resume_point: Option<ResumePoint>,
}

impl WindowReader {
    /// Loads the positions of the next batch; returns false at the end.
    fn advance_batch(&mut self) -> Result<bool, LoadError> {
        // Earlier windows are used up.
        self.open.drain(..self.open.len().saturating_sub(1));
        if let Some(last) = self.open.last_mut() {
            last.taken.start = last.taken.end;
        }
        let mut missing = self.batch;
        loop {
            if let Some(Window { order, taken, .. }) = self.open.last_mut() {
                let more = missing.min(order.len() - taken.end);
                taken.end += more;
                missing -= more;
            }
            if missing == 0 {
                return Ok(true);
            }
            match self.windows.recv() {
                Ok(window) => self.open.push(window?),
                Err(_) => return Ok(false),
            }
        }
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        let Window { taken, resume_point, .. } = self.open.last()?;
        Some(ResumePoint { taken: taken.end, ..resume_point.clone()? })
    }

    fn record_slices(&self) -> Vec<RecordSlice<'_>> {
        let windows = self.open.iter();
        let slices =
            windows.map(|it| RecordSlice { of: &it.records, order: &it.order[it.taken.clone()] });
        slices.collect()
    }
}

type Windows = SyncSender<Result<Window, LoadError>>;

/// Reads all records once, unless in memory, and sends them in a new order each epoch.
fn send_epochs(
    plan: &StreamPlan,
    encoder: &Encoder,
    from: u64,
    records: Option<KeptRecords>,
    windows: &Windows,
) -> Result<(), LoadError> {
    let mut records =
        records.map_or_else(|| KeptRecords::read_all(&plan.read, &plan.facts), Ok)?.into_records();
    let found = records.len() as u64;
    match plan.facts.positions {
        Some(expected) if found != expected => return Err(LoadError::Changed { found, expected }),
        _ if found == 0 => return Err(LoadError::Empty("in the files".into())),
        _ => {}
    }
    let has_chunks = plan.order.has_fixed_chunks(&plan.facts);
    let chunks = has_chunks.then(|| ChunkOrder::arrange_chunks(&plan.order, encoder, &mut records));
    let bases = encoder.logits_of_base(&records);
    let layout = match (encoder, &plan.layout) {
        (Encoder::Net(net, _), &InputLayout::CachedPlans { max_bytes, max_pairs, inverted })
            if has_chunks =>
        {
            let chunk = plan.order.chunk;
            let plans =
                ChunkPlans::cached_plans(net, &records, chunk, [max_bytes, max_pairs], inverted);
            RecordLayout::Plans(Arc::new(plans))
        }
        _ => RecordLayout::Lists,
    };
    let records = Arc::new(EncodedRecords { records, bases, layout });
    let positions = plan.facts.positions.unwrap_or(u64::MAX).max(1);
    let mut done = from % positions;
    for epoch in from / positions.. {
        let positions = records.records.len();
        let order = match &chunks {
            Some(chunks) => chunks.order_of_pass(&plan.order, epoch, positions),
            None => shuffled_order(&plan.order, epoch, positions),
        };
        let passed = std::mem::take(&mut done) as usize;
        let window =
            Window { records: records.clone(), order, taken: passed..passed, resume_point: None };
        if windows.send(Ok(window)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Reads and sends pass after pass, from a resume point or after the first `from` positions.
fn send_passes(
    plan: &StreamPlan,
    encoder: &Encoder,
    resume_point: Option<ResumePoint>,
    from: u64,
    windows: &Windows,
) -> Result<(), LoadError> {
    let mut to_skip = if resume_point.is_some() { 0 } else { from };
    // Rounds are counted once.
    let read =
        Arc::new(ReadFacts { is_complete: plan.facts.positions.is_some(), ..ReadFacts::default() });
    let start = resume_point.unwrap_or(ResumePoint { read, ..ResumePoint::default() });
    let mut taken = start.taken;
    let mut passes = Passes::new(plan, &start)?;
    loop {
        let (records, resume_point) = passes.take_bin()?;
        if taken > records.len() {
            return Err(LoadError::Place);
        }
        let skipped = to_skip.min((records.len() - taken) as u64);
        to_skip -= skipped;
        taken += skipped as usize;
        if taken < records.len() {
            let order = (0..records.len() as u32).collect();
            let layout = match &plan.layout {
                InputLayout::FirstViews(pairs) => RecordLayout::FirstViews(pairs.clone()),
                InputLayout::PassingPlans(pairs) => {
                    let plans = ChunkPlans::passing_plans(plan.order.chunk, pairs.clone());
                    RecordLayout::Plans(Arc::new(plans))
                }
                InputLayout::Lists | InputLayout::CachedPlans { .. } => RecordLayout::Lists,
            };
            let bases = encoder.logits_of_base(&records);
            let records = Arc::new(EncodedRecords { records, bases, layout });
            let window =
                Window { records, order, taken: taken..taken, resume_point: Some(resume_point) };
            if windows.send(Ok(window)).is_err() {
                return Ok(());
            }
        }
        taken = 0;
    }
}
