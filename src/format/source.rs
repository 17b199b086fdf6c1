//! A file of samples: opened, unpacked, recognised, and read block by block.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use super::{BLOCK, BadRecord, Fault, Format, Input, Reader, fill, sniff};
use crate::sample::Sample;

/// The head of a file by which its format is recognised: many records of any format.
const HEAD: usize = 1 << 16;
const BUFFER: usize = 1 << 18;
/// So many bad records are kept for the report.
const KEPT: usize = 5;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot open {path}: {error}")]
    Open { path: PathBuf, error: io::Error },
    #[error("cannot read {path}: {error}; it may be damaged or cut off, fetch or make it anew")]
    Io { path: PathBuf, error: io::Error },
    #[error("{0} is empty")]
    Empty(PathBuf),
    #[error("{path} holds no positions ({skipped} bad records were skipped)")]
    NoPositions { path: PathBuf, skipped: u64 },
    #[error("cannot tell the positions in {path}: {looks}")]
    Unrecognised { path: PathBuf, looks: String },
    #[error("{path}, {bad} ({})", allowance(*.limit))]
    Bad { path: PathBuf, bad: BadRecord, limit: u64 },
}

fn allowance(limit: u64) -> String {
    match limit {
        0 => "to skip up to N bad records, set data.bad_records = N".to_string(),
        _ => format!("one more bad record than data.bad_records = {limit} allows"),
    }
}

/// The bad records that were skipped.
#[derive(Clone, Debug, Default)]
pub struct BadRecords {
    pub count: u64,
    /// The first few of them.
    pub first: Vec<BadRecord>,
}

impl BadRecords {
    /// Counts a bad record; an error if it is one more than the limit.
    pub(super) fn skip(
        &mut self,
        bad: BadRecord,
        path: &Path,
        limit: u64,
    ) -> Result<(), ReadError> {
        self.count += 1;
        if self.count > limit {
            return Err(ReadError::Bad { path: path.to_path_buf(), bad, limit });
        }
        if self.first.len() < KEPT {
            self.first.push(bad);
        }
        Ok(())
    }
}

/// A file of samples being read.
pub struct Source {
    path: PathBuf,
    format: &'static Format,
    reader: Box<dyn Reader>,
    limit: u64,
    bad: BadRecords,
    /// Whether any sample was read.
    some: bool,
    ended: bool,
}

impl Source {
    /// Opens a file and finds its format by its content; a `format` given is checked against it.
    ///
    /// Files packed with gzip or zstd are unpacked on the way, whatever they are called. More
    /// than `limit` bad records end the reading with an error.
    pub fn open(
        path: &Path,
        format: Option<&'static Format>,
        limit: u64,
    ) -> Result<Self, ReadError> {
        let (format, input) = opened(path, format)?;
        Ok(Self {
            path: path.to_path_buf(),
            format,
            reader: (format.reader)(input),
            limit,
            bad: BadRecords::default(),
            some: false,
            ended: false,
        })
    }

    /// Appends the next samples, about [`BLOCK`] of them and the same at every reading of the
    /// file; false when there are none left. After an error there are none left either.
    pub fn next_block(&mut self, out: &mut Vec<Sample>) -> Result<bool, ReadError> {
        let before = out.len();
        while !self.ended && out.len() < before + BLOCK {
            match self.reader.read(out) {
                Ok(more) => self.ended = !more,
                Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => self.skip(bad)?,
                Err(Fault::Io(error)) => {
                    (self.ended, self.some) = (true, true);
                    return Err(ReadError::Io { path: self.path.clone(), error });
                }
            }
        }
        self.some |= out.len() > before;
        if self.ended && !self.some {
            let (path, skipped) = (self.path.clone(), self.bad.count);
            self.some = true; // Told once: the next call finds the end.
            return Err(ReadError::NoPositions { path, skipped });
        }
        Ok(out.len() > before)
    }

    fn skip(&mut self, bad: BadRecord) -> Result<(), ReadError> {
        let skipped = self.bad.skip(bad, &self.path, self.limit);
        if skipped.is_err() {
            (self.ended, self.some) = (true, true);
        }
        skipped
    }

    pub fn format(&self) -> &'static Format {
        self.format
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was skipped so far.
    pub fn bad_records(&self) -> &BadRecords {
        &self.bad
    }
}

/// Opens a file, unpacks it and finds its format, which is checked against what the user said.
pub(super) fn opened(
    path: &Path,
    said: Option<&'static Format>,
) -> Result<(&'static Format, Input), ReadError> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    let file = opened.map_err(|error| ReadError::Open { path: path.to_path_buf(), error })?;
    let failed = |error| ReadError::Io { path: path.to_path_buf(), error };
    let mut input = unpacked(file).map_err(failed)?;
    let mut head = vec![0; HEAD];
    let length = fill(&mut *input, &mut head).map_err(failed)?;
    head.truncate(length);
    if head.is_empty() {
        return Err(ReadError::Empty(path.to_path_buf()));
    }
    let format = sniff::sniff(path, &head, said)
        .map_err(|looks| ReadError::Unrecognised { path: path.to_path_buf(), looks })?;
    let input = Box::new(BufReader::with_capacity(BUFFER, Cursor::new(head).chain(input)));
    Ok((format, input))
}

/// The content of a file, unpacked if its first bytes say that it is packed.
fn unpacked(file: File) -> io::Result<Box<dyn BufRead + Send>> {
    let mut file = BufReader::with_capacity(BUFFER, file);
    let mut magic = [0; 4];
    let length = fill(&mut file, &mut magic)?;
    let magic = &magic[..length];
    let input = Cursor::new(magic.to_vec()).chain(file);
    Ok(match magic {
        [0x1f, 0x8b, ..] => {
            let decoder = flate2::bufread::MultiGzDecoder::new(input);
            Box::new(BufReader::with_capacity(BUFFER, decoder))
        }
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let mut decoder = zstd::Decoder::with_buffer(input)?;
            // Files packed with `zstd --long` need more than the usual 128 MiB of window.
            decoder.window_log_max(31)?;
            Box::new(BufReader::with_capacity(BUFFER, decoder))
        }
        _ => Box::new(input),
    })
}
