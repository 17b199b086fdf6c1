//! Passes over streamed data. A round reads a block of each of several parts of files; a deal of
//! its positions goes to the next bins at random, and a bin is shuffled when it is full. A position
//! moves by up to twice the number of positions in memory. The order depends on recent reads only,
//! so a pass can resume at any bin.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::packed::Packed;
use super::shuffle::random_for;
use super::source::{FilePart, PartPositions, PlanFile, ReadCounts, in_order};
use super::{LoadError, PassOrder, StreamPlan};
use crate::resume_point::{ReadFacts, ResumePoint, TurnState};
use crate::sample::mix_hash;

/// Parts of files that are read side by side.
const SIDE_BY_SIDE: usize = 32;
/// Positions per deal, as a share of those in memory.
const SHARE: usize = 128;
/// Minimum number of positions per deal.
const FEWEST: usize = 256;
/// The reach of the first deal of a run.
const LEAST_REACH: u64 = 4;
/// Positions per block of a bin.
const BLOCK: usize = 1024;
/// Positions whose bins are drawn together; four draws follow from one number.
const DRAWN_TOGETHER: usize = 4096;
/// Maximum number of bins that are shuffled while the next ones are filled.
const MAX_AHEAD: usize = 8;

/// Endless passes over the training positions.
pub struct Passes {
    pass: DataPass,
    /// The next pass uses the memory that the last one frees.
    next: Option<DataPass>,
    /// The next bins, shuffled by the pool.
    ahead: VecDeque<Receiver<ShuffledBin>>,
}

type ShuffledBin = (Vec<Packed>, ResumePoint);

impl Passes {
    pub fn new(plan: &StreamPlan, resume_point: &ResumePoint) -> Result<Self, LoadError> {
        let files = PlanFile::open_all(&plan.read, &plan.facts)?.into();
        let pass = DataPass::new(plan.order, &files, resume_point);
        if pass.is_possible() {
            Ok(Self { pass, next: None, ahead: VecDeque::new() })
        } else {
            Err(LoadError::Place)
        }
    }

    /// Reads and drops training positions, to measure the speed; returns their number.
    pub fn skim_block(&mut self) -> Result<u64, LoadError> {
        if self.pass.is_read() {
            self.pass = self.pass.following_pass();
        }
        self.pass.read_round()?;
        self.pass.queue.clear();
        Ok(std::mem::take(&mut self.pass.queued) as u64)
    }

    /// Returns the next positions, shuffled, and the point at which to resume with them.
    pub fn take_bin(&mut self) -> Result<ShuffledBin, LoadError> {
        // A thread of the pool must not wait for it.
        if rayon::current_thread_index().is_some() {
            return Ok(self.next_bin()?.shuffle_records());
        }
        while self.ahead.len() < rayon::current_num_threads().min(MAX_AHEAD) {
            let bin = self.next_bin()?;
            let (sender, receiver) = sync_channel(1);
            // Without a receiver the passes have ended.
            rayon::spawn(move || drop(sender.send(bin.shuffle_records())));
            self.ahead.push_back(receiver);
        }
        let first = self.ahead.pop_front().expect("there is a thread");
        Ok(first.recv().expect("a shuffle ends"))
    }

    fn next_bin(&mut self) -> Result<ShuffleBin, LoadError> {
        let Self { pass, next, .. } = self;
        loop {
            if pass.is_dealt() {
                let next = next.get_or_insert_with(|| pass.following_pass());
                while !next.is_full()
                    && pass.held_records() + next.held_records() < pass.order.window
                {
                    next.deal_records()?;
                }
            }
            if let Some(bin) = pass.next_bin()? {
                return Ok(bin);
            } else if pass.first == 0 {
                return Err(LoadError::Empty("in the files".into()));
            }
            *pass = next.take().unwrap_or_else(|| pass.following_pass());
        }
    }
}

struct Open {
    part: usize,
    blocks: u64,
    source: Option<FilePart>,
}

/// Records of one block of each open part.
struct ReadRound {
    turns: TurnState,
    parts: Vec<Vec<Packed>>,
    /// Number of dealt records, and the next record to deal: its part and its index there.
    dealt: usize,
    part: usize,
    index: usize,
}

impl ReadRound {
    /// Takes the next records to deal, at most `max_count`: returns their part and their indices in
    /// it. None at the end.
    fn take_records(&mut self, max_count: usize) -> Option<(usize, Range<usize>)> {
        while self.index == self.parts.get(self.part)?.len() {
            (self.part, self.index) = (self.part + 1, 0);
        }
        let end = self.parts[self.part].len().min(self.index.saturating_add(max_count));
        let taken = self.index..end;
        (self.index, self.dealt) = (end, self.dealt + taken.len());
        Some((self.part, taken))
    }
}

/// Positions that are shuffled together.
struct ShuffleBin {
    blocks: Vec<Vec<Packed>>,
    resume_point: ResumePoint,
    /// None: they keep their order.
    random: Option<Xoshiro256PlusPlus>,
}

impl ShuffleBin {
    fn shuffle_records(self) -> ShuffledBin {
        let mut records = self.blocks.concat();
        if let Some(mut random) = self.random {
            records.shuffle(&mut random);
        }
        (records, self.resume_point)
    }
}

struct DataPass {
    order: PassOrder,
    files: Arc<[Arc<PlanFile>]>,
    /// Positions per deal.
    deal_size: usize,
    /// A deal goes to this many bins from its own number on, and to as many up to its own.
    reach: u64,
    number: u64,
    /// Files and their parts, in the order of opening.
    parts: Vec<(u32, u32)>,
    next: usize,
    open: Vec<Open>,
    rounds: u64,
    /// Rounds that were read but not yet dealt.
    queue: VecDeque<ReadRound>,
    /// Records of these rounds that are not yet dealt.
    queued: usize,
    /// Records of the first round that were dealt before the resume point.
    before: usize,
    deals: u64,
    /// Starts of the deals with positions in the first bin: number, read position, dealt records.
    starts: VecDeque<(u64, TurnState, usize)>,
    bins: VecDeque<Vec<Vec<Packed>>>,
    first: u64,
    binned: usize,
    read: Arc<ReadFacts>,
}

impl DataPass {
    fn new(order: PassOrder, files: &Arc<[Arc<PlanFile>]>, resume_point: &ResumePoint) -> Self {
        let ResumePoint { pass: number, bin: first, deal: deals, turns, dealt, read, .. } =
            resume_point.clone();
        let list_parts = |(index, file): (usize, &Arc<PlanFile>)| {
            (0..file.part_count() as u32).map(move |part| (index as u32, part))
        };
        let mut parts: Vec<(u32, u32)> = files.iter().enumerate().flat_map(list_parts).collect();
        if order.shuffle {
            parts.shuffle(&mut random_for(order.seed, number, 0));
        }
        let open = |(part, blocks)| Open { part, blocks, source: None };
        let deal_size = match order.shuffle {
            true => (order.window / SHARE).max(FEWEST),
            false => order.batch.min(1 << 16),
        };
        let reach = if order.shuffle { (order.window / deal_size).max(1) as u64 } else { 1 };
        Self {
            order,
            files: files.clone(),
            deal_size,
            reach,
            number,
            parts,
            next: turns.next,
            open: turns.open.into_iter().map(open).collect(),
            rounds: turns.rounds,
            queue: VecDeque::new(),
            queued: 0,
            before: dealt,
            deals,
            starts: VecDeque::new(),
            bins: VecDeque::new(),
            first,
            binned: 0,
            read,
        }
    }

    /// Whether the pass can have stopped at its resume point.
    fn is_possible(&self) -> bool {
        self.number.max(self.deals).max(self.rounds) < 1 << 40
            && self.next <= self.parts.len()
            && self.open.len() <= SIDE_BY_SIDE
            && self.open.iter().all(|it| it.part < self.next)
            && self.bins_of(self.deals).end > self.first
    }

    fn following_pass(&self) -> Self {
        let start = ResumePoint {
            pass: self.number + 1,
            read: self.read.clone(),
            ..ResumePoint::default()
        };
        Self::new(self.order, &self.files, &start)
    }

    fn is_read(&self) -> bool {
        self.open.is_empty() && self.next == self.parts.len()
    }

    fn is_dealt(&self) -> bool {
        self.is_read() && self.queued == 0
    }

    fn held_records(&self) -> usize {
        self.queued + self.binned
    }

    fn is_full(&self) -> bool {
        self.is_dealt() || self.bins_of(self.deals).start > self.first
    }

    /// Returns the bins of a deal, around its own; at first fewer, to start before memory is full.
    fn bins_of(&self, deal: u64) -> Range<u64> {
        let reach = match self.number {
            0 => self.reach.min(LEAST_REACH + deal / 2),
            _ => self.reach,
        };
        (deal + 1).saturating_sub(reach)..deal + reach
    }

    /// Returns the next bin; none at the end.
    fn next_bin(&mut self) -> Result<Option<ShuffleBin>, LoadError> {
        while !self.is_full() {
            self.deal_records()?;
        }
        let Some(blocks) = self.bins.pop_front() else { return Ok(None) };
        let (deal, turns, dealt) = self.starts.front().cloned().unwrap_or_default();
        let (pass, bin, read) = (self.number, self.first, self.read.clone());
        let resume_point = ResumePoint { pass, bin, taken: 0, deal, turns, dealt, read };
        self.binned -= blocks.iter().map(Vec::len).sum::<usize>();
        let random = random_for(self.order.seed, self.number, 1 + self.first);
        let random = self.order.shuffle.then_some(random);
        self.first += 1;
        while self.starts.front().is_some_and(|(deal, ..)| self.bins_of(*deal).end <= self.first) {
            self.starts.pop_front();
        }
        Ok(Some(ShuffleBin { blocks, resume_point, random }))
    }

    fn deal_records(&mut self) -> Result<(), LoadError> {
        let targets = self.bins_of(self.deals);
        while self.queued < self.deal_size && !self.is_read() {
            self.read_round()?;
        }
        if let Some(round) = self.queue.front() {
            self.starts.push_back((self.deals, round.turns.clone(), round.dealt));
        }
        let (low, bins) = (targets.start, targets.end - targets.start);
        let missing = (targets.end - self.first) as usize;
        self.bins.resize_with(self.bins.len().max(missing), Vec::new);
        let mut rest = self.deal_size.min(self.queued);
        self.queued -= rest;
        let mut drawn = vec![0; rest];
        let (mut taken, mut ended) = (Vec::new(), 0);
        while let Some(round) = self.queue.get_mut(ended).filter(|_| rest > 0) {
            match round.take_records(rest) {
                Some((part, indices)) => {
                    rest -= indices.len();
                    taken.push((ended, part, indices));
                }
                None => ended += 1,
            }
        }
        let hash = mix_hash(mix_hash(mix_hash(2, self.order.seed), self.number), self.deals);
        let together = drawn.par_chunks_mut(DRAWN_TOGETHER).enumerate();
        together.for_each(|(first, drawn)| {
            let first = (first * DRAWN_TOGETHER) as u64;
            for (number, four) in (first..).step_by(4).zip(drawn.chunks_mut(4)) {
                let mut draws = mix_hash(hash, number);
                for bin in four {
                    let number = low + (((draws & 0xffff) * bins) >> 16);
                    // Bins before a resume point were already trained on.
                    *bin = number.checked_sub(self.first).map_or(u32::MAX, |bin| bin as u32);
                    draws >>= 16;
                }
            }
        });
        // Each thread fills some of the bins, in the order of the records.
        let each = self.bins.len().div_ceil(rayon::current_num_threads()).max(1);
        let (queue, drawn) = (&self.queue, &drawn[..]);
        let filled = self.bins.make_contiguous().par_chunks_mut(each).enumerate();
        let binned = filled.map(|(chunk, bins)| {
            let first = (chunk * each) as u32;
            let (mut binned, mut drawn) = (0, drawn.iter());
            for (round, part, indices) in &taken {
                let records = &queue[*round].parts[*part][indices.clone()];
                for (record, bin) in records.iter().zip(drawn.by_ref()) {
                    let Some(bin) = bins.get_mut(bin.wrapping_sub(first) as usize) else {
                        continue;
                    };
                    binned += 1;
                    match bin.last_mut() {
                        Some(block) if block.len() < BLOCK => block.push(*record),
                        _ => {
                            let mut block = Vec::with_capacity(BLOCK);
                            block.push(*record);
                            bin.push(block);
                        }
                    }
                }
            }
            binned
        });
        self.binned += binned.sum::<usize>();
        self.queue.drain(..ended);
        self.deals += 1;
        Ok(())
    }

    /// Reads a block of each open part; first, new parts replace those that ended.
    fn read_round(&mut self) -> Result<(), LoadError> {
        let more = (SIDE_BY_SIDE - self.open.len()).min(self.parts.len() - self.next);
        let opened = self.next..self.next + more;
        self.open.extend(opened.map(|part| Open { part, blocks: 0, source: None }));
        self.next += more;
        let open = self.open.iter().map(|it| (it.part, it.blocks)).collect();
        let turns = TurnState { rounds: self.rounds, next: self.next, open };
        // A round that is read again was counted before.
        let counts = !self.read.is_complete && self.rounds >= self.read.rounds;
        let bound = if counts { self.read.sketch.upper_bound() } else { 0 };
        let (files, parts) = (&self.files, &self.parts);
        let read = |open: &mut Open| {
            let (file, part) = parts[open.part];
            let mut positions = PartPositions::default();
            if open.source.is_none() {
                let source = open.source.insert(files[file as usize].open_part(part.into())?);
                for _ in 0..open.blocks {
                    if !source.next(0, &mut positions, |_, _| {})? {
                        return Err(LoadError::Place);
                    }
                }
                positions = PartPositions::default();
            }
            let source = open.source.as_mut().expect("it was opened");
            open.blocks += 1;
            let more = source.next(bound, &mut positions, |_, _| {})?;
            Ok((more, file as usize, positions))
        };
        let blocks = in_order(self.open.par_iter_mut().map(read))?;
        let (mut parts, mut is_open) = (Vec::new(), Vec::with_capacity(blocks.len()));
        for (more, file, PartPositions { counts: block_counts, records, hashes }) in blocks {
            is_open.push(more);
            self.queued += records.len();
            parts.push(records);
            if counts {
                self.count_read(file, &block_counts, hashes)?;
            }
        }
        let mut is_open = is_open.into_iter();
        self.open.retain(|_| is_open.next().unwrap_or(false));
        self.rounds += 1;
        if counts {
            let is_complete = self.is_read();
            let read = Arc::make_mut(&mut self.read);
            (read.rounds, read.is_complete) = (self.rounds, is_complete);
        }
        let mut round = ReadRound { turns, parts, dealt: 0, part: 0, index: 0 };
        while self.before > 0 {
            let dealt = round.take_records(self.before).map_or(0, |(_, indices)| indices.len());
            // The round has fewer records than before the stop.
            self.before = if dealt == 0 { 0 } else { self.before - dealt };
            self.queued -= dealt;
        }
        self.queue.push_back(round);
        Ok(())
    }

    fn count_read(
        &mut self,
        file: usize,
        counts: &ReadCounts,
        hashes: Vec<u64>,
    ) -> Result<(), LoadError> {
        let read = Arc::make_mut(&mut self.read);
        read.files.resize(self.files.len(), [0; 3]);
        read.gameless.resize(self.files.len(), 0);
        read.gameless[file] += counts.gameless;
        read.train += counts.train;
        let sums = [counts.read, counts.games, counts.bad.count];
        read.files[file].iter_mut().zip(sums).for_each(|(sum, count)| *sum += count);
        read.sketch.add_hashes(hashes);
        let mut bad = counts.bad.clone();
        bad.count = read.files[file][2];
        self.files[file].check_bad(&bad)
    }
}
