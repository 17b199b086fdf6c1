//! The positions of a file that training or validation may see.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::feed::Reading;
use super::{Filter, LoadError, Plan, Rejected, Rejection, Subset};
use crate::format::{Holds, Source};
use crate::sample::Sample;

/// An open file behind its filter.
pub struct Filtered<'a> {
    path: PathBuf,
    source: Source,
    filter: &'a Filter,
    scores: bool,
    /// What its samples say of it.
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

impl<'a> Filtered<'a> {
    /// Opens a file and checks that its format can tell what the plan asks for.
    pub fn open(path: &Path, plan: &'a Plan) -> Result<Self, LoadError> {
        let Reading { source: number, format, view, filter, scores, limit } = plan.reading_of(path);
        let source = Source::open(path, format, plan.bad_records)?;
        let source = match view {
            Some(view) => source.seen_by(view)?,
            None => source,
        };
        let format = source.format();
        filter.check(path, format)?;
        plan.weighing.check(path, format)?;
        let path = path.to_path_buf();
        if plan.colours && format.facts.colours == Holds::Never {
            return Err(LoadError::NoColours { path });
        }
        if scores && format.facts.scores == Holds::Never {
            return Err(LoadError::NoScore { path });
        }
        let (left, rejected) = (limit.unwrap_or(u64::MAX), Rejected::default());
        let (scored, raw, read) = (false, Vec::new(), 0);
        Ok(Self { path, source, filter, scores, number, scored, left, read, rejected, raw })
    }

    pub fn source(&self) -> &Source {
        &self.source
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
            if let Some(rejection) = self.filter.rejects(sample) {
                self.rejected.count(rejection);
            } else if self.scores && sample.score.is_none() {
                self.rejected.count(Rejection::NoScore);
            } else {
                out.push(Sample { source: self.number, ..*sample });
                self.left -= 1;
            }
        }
        if !more && self.scores && !self.scored && self.rejected.has(Rejection::NoScore) {
            return Err(LoadError::NoScore { path: self.path.clone() });
        }
        Ok(more && self.left > 0)
    }
}

/// Files that are read side by side, one block from each in turn.
///
/// Each file has a thread that reads ahead by two blocks; the turns fix the order of the blocks,
/// whichever thread is faster.
pub struct Interleaved {
    plan: Arc<Plan>,
    /// Files not yet open, next one last.
    waiting: Vec<PathBuf>,
    open: Vec<Opened>,
    turn: usize,
}

struct Opened {
    path: PathBuf,
    /// None is the end of the file; a sender that is dropped without one has panicked.
    blocks: Receiver<Result<Option<Vec<Sample>>, LoadError>>,
}

/// Files open at a time.
pub(super) const SIDE_BY_SIDE: usize = 8;

impl Interleaved {
    pub fn new(plan: Arc<Plan>, mut files: Vec<PathBuf>) -> Self {
        files.reverse();
        let mut this = Self { plan, waiting: files, open: Vec::new(), turn: 0 };
        while this.open.len() < SIDE_BY_SIDE && this.open_next() {}
        this
    }

    fn open_next(&mut self) -> bool {
        let Some(path) = self.waiting.pop() else { return false };
        let plan = self.plan.clone();
        let (sender, blocks) = sync_channel(2);
        let opened = Opened { path: path.clone(), blocks };
        std::thread::spawn(move || {
            let read = || -> Result<(), LoadError> {
                let mut file = Filtered::open(&path, &plan)?;
                let mut more = true;
                while more {
                    let mut block = Vec::new();
                    more = file.next(&mut block)?;
                    block.retain(|it| plan.subset(it) == Subset::Train);
                    if sender.send(Ok(Some(block))).is_err() {
                        return Ok(());
                    }
                }
                // Nobody left to hear it is no error.
                let _ = sender.send(Ok(None));
                Ok(())
            };
            if let Err(error) = read() {
                // Nobody left to hear it is no error.
                let _ = sender.send(Err(error));
            }
        });
        self.open.push(opened);
        true
    }

    /// The next block; none at the end of the last file.
    pub fn next(&mut self) -> Option<Result<Vec<Sample>, LoadError>> {
        while !self.open.is_empty() {
            self.turn %= self.open.len();
            let Opened { path, blocks } = &self.open[self.turn];
            match blocks.recv() {
                Ok(Ok(Some(block))) => {
                    self.turn += 1;
                    return Some(Ok(block));
                }
                Ok(Ok(None)) => {
                    self.open.remove(self.turn);
                    self.open_next();
                }
                Ok(Err(error)) => return Some(Err(error)),
                Err(_) => return Some(Err(LoadError::Died { path: path.clone() })),
            }
        }
        None
    }
}
