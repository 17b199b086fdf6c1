//! Files to positions: formats, filters, and the turns in which files are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::{Filter, LoadError, Plan, Rejected, Subset, Weighing};
use crate::format::{Format, Holds, Source};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

/// Format, point of view and filter of files.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// None: each file's content tells.
    pub format: Option<&'static Format>,
    /// The point of view of scores and results; None: that which is usual for the format.
    pub view: Option<PointOfView>,
    pub filter: Filter,
    /// Whether positions without a score are skipped.
    pub scores: bool,
    /// Positions to take of each file at most, the first that pass the filter.
    pub limit: Option<u64>,
}

/// One of several sources: some of the files of a plan.
#[derive(Clone, Debug)]
pub struct DataSource {
    pub files: Vec<PathBuf>,
    pub reading: Reading,
}

impl Plan {
    /// The number of a file's source, from 1, or 0 without sources; and how the file is read.
    fn reading_of(&self, path: &Path) -> (u8, &Reading) {
        match self.sources.iter().position(|source| source.files.iter().any(|file| file == path)) {
            None => (0, &self.reading),
            Some(number) => {
                let source = u8::try_from(number + 1).expect("a plan has up to 255 sources");
                (source, &self.sources[number].reading)
            }
        }
    }
}

/// An open file behind its filter.
pub struct FilteredFile<'a> {
    path: &'a Path,
    pub source: Source,
    reading: &'a Reading,
    weighing: &'a Weighing,
    /// The number of the file's source in the plan.
    number: u8,
    /// Whether any position had a score.
    scored: bool,
    /// Positions that may still pass.
    left: u64,
    /// Positions read.
    pub read: u64,
    pub rejected: Rejected,
    raw: Vec<Sample>,
}

impl<'a> FilteredFile<'a> {
    /// Opens a file and checks that its format has all the facts that the plan needs.
    pub fn open(path: &'a Path, plan: &'a Plan) -> Result<Self, LoadError> {
        let (number, reading) = plan.reading_of(path);
        let source = Source::open(path, reading.format, plan.bad_records)?;
        let source = match reading.view {
            Some(view) => source.seen_by(view)?,
            None => source,
        };
        let format = source.format();
        reading.filter.check(path, format)?;
        plan.weighing.check(path, format)?;
        if plan.colours && format.facts.colours == Holds::Never {
            return Err(LoadError::NoColours { path: path.to_path_buf() });
        }
        if reading.scores && format.facts.scores == Holds::Never {
            return Err(LoadError::NoScore { path: path.to_path_buf() });
        }
        let (left, rejected) = (reading.limit.unwrap_or(u64::MAX), Rejected::default());
        let (weighing, scored, raw, read) = (&plan.weighing, false, Vec::new(), 0);
        Ok(Self { path, source, reading, weighing, number, scored, left, read, rejected, raw })
    }

    /// Appends the next positions that pass; false at the end of the file. Where scores are
    /// needed, positions without one are skipped, and a file without any is an error.
    pub fn next(&mut self, out: &mut Vec<Sample>) -> Result<bool, LoadError> {
        self.raw.clear();
        let more = self.source.next_block(&mut self.raw)?;
        for sample in &self.raw {
            if self.left == 0 {
                return Ok(false);
            }
            self.read += 1;
            self.scored |= sample.score.is_some();
            if let Some(key) = self.reading.filter.rejects(sample) {
                self.rejected.count(key);
            } else if self.reading.scores && sample.score.is_none() {
                self.rejected.count(Rejected::NO_SCORE);
            } else {
                self.weighing.check_own(self.path, sample)?;
                out.push(Sample { source: self.number, ..*sample });
                self.left -= 1;
            }
        }
        if !more && !self.scored && self.rejected.counts().any(|(key, _)| key == Rejected::NO_SCORE)
        {
            return Err(LoadError::NoScore { path: self.path.to_path_buf() });
        }
        Ok(more && self.left > 0)
    }
}

/// Files open at a time.
const SIDE_BY_SIDE: usize = 8;

/// Items of several files, one of each open file in turn. The turns fix the order of the items,
/// whichever file is read faster.
pub(super) struct Turns<W, F> {
    waiting: W,
    open: Vec<F>,
    turn: usize,
}

impl<W: Iterator<Item = F>, F: Iterator> Turns<W, F> {
    pub fn new(mut files: W) -> Self {
        let open = files.by_ref().take(SIDE_BY_SIDE).collect();
        Self { waiting: files, open, turn: 0 }
    }
}

impl<W: Iterator<Item = F>, F: Iterator> Iterator for Turns<W, F> {
    type Item = F::Item;

    fn next(&mut self) -> Option<F::Item> {
        while !self.open.is_empty() {
            self.turn %= self.open.len();
            if let Some(item) = self.open[self.turn].next() {
                self.turn += 1;
                return Some(item);
            }
            drop(self.open.remove(self.turn));
            self.open.extend(self.waiting.next());
        }
        None
    }
}

/// Blocks of positions to train on, read side by side. Each file has a thread that reads ahead by
/// two blocks.
pub(super) fn blocks(
    plan: Arc<Plan>,
    files: Vec<PathBuf>,
) -> impl Iterator<Item = Result<Vec<Sample>, LoadError>> {
    Turns::new(files.into_iter().map(move |path| read_ahead(path, plan.clone()).into_iter()))
}

fn read_ahead(path: PathBuf, plan: Arc<Plan>) -> Receiver<Result<Vec<Sample>, LoadError>> {
    let (sender, blocks) = sync_channel(2);
    std::thread::spawn(move || {
        let read = || -> Result<(), LoadError> {
            let mut file = FilteredFile::open(&path, &plan)?;
            let mut more = true;
            while more {
                let mut block = Vec::new();
                more = file.next(&mut block)?;
                block.retain(|it| plan.subset(it.group()) == Subset::Train);
                if sender.send(Ok(block)).is_err() {
                    break;
                }
            }
            Ok(())
        };
        if let Err(error) = read() {
            // Without a receiver the stream has ended.
            let _ = sender.send(Err(error));
        }
    });
    blocks
}
