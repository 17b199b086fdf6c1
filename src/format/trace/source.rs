//! A file of traces: opened, unpacked, and read position by position.

use std::path::{Path, PathBuf};

use super::{Checked, FORMAT, Traced, Traces};
use crate::format::source::opened;
use crate::format::{BadRecords, Fault, ReadError};
use crate::terms::OwnTerms;

/// A file of traces being read.
pub struct TraceSource {
    path: PathBuf,
    traces: Traces,
    limit: u64,
    bad: BadRecords,
    /// Whether any position was read, or the reason told why there was none.
    some: bool,
    ended: bool,
}

impl TraceSource {
    /// Opens a file of the traces of some terms, packed or not. More than `limit` bad records end
    /// the reading with an error.
    pub fn open(path: &Path, own: &OwnTerms, limit: u64) -> Result<Self, ReadError> {
        let (_, input) = opened(path, Some(&FORMAT))?;
        Ok(Self {
            path: path.to_path_buf(),
            traces: Traces::new(input, Some(own)),
            limit,
            bad: BadRecords::default(),
            some: false,
            ended: false,
        })
    }

    /// Reads the next position into `traced`, whose buffers are used again; false when there is
    /// none left. After an error there is none left either.
    pub fn next(&mut self, traced: &mut Traced) -> Result<bool, ReadError> {
        while !self.ended {
            let told = match self.traces.next(traced) {
                Ok(true) => {
                    self.some = true;
                    return Ok(true);
                }
                Ok(false) => break,
                Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => {
                    self.bad.skip(bad, &self.path, self.limit)
                }
                Err(Fault::Io(error)) => Err(ReadError::Io { path: self.path.clone(), error }),
            };
            if told.is_err() {
                (self.ended, self.some) = (true, true);
            }
            told?;
        }
        self.ended = true;
        if !self.some {
            self.some = true; // Told once: the next call finds the end.
            return Err(ReadError::NoPositions {
                path: self.path.clone(),
                skipped: self.bad.count,
                unfinished: 0,
            });
        }
        Ok(false)
    }

    /// The evaluations that were found to be what the counts give.
    pub fn checked(&self) -> &Checked {
        self.traces.checked()
    }

    /// What was skipped so far.
    pub fn bad_records(&self) -> &BadRecords {
        &self.bad
    }
}
