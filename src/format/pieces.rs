//! Blocks of a file, from one start of a record to another, which several threads can read.

use std::fs::File;
use std::io::{self, Cursor, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{ALL, Format, GivenViews, ReadError, SampleSource, unpack};

/// Where the records of a format begin.
#[derive(Clone, Copy)]
pub struct RecordStarts {
    /// Bytes of a block: its records begin in the range of these.
    pub bytes: u64,
    /// The place of the first record that surely begins in these bytes, which start at a multiple
    /// of `bytes` in the file; none if more bytes are needed.
    pub border: fn(&[u8]) -> Option<usize>,
}

#[derive(Clone)]
pub struct FileBlocks {
    path: PathBuf,
    format: &'static Format,
    given: GivenViews,
    cut: RecordStarts,
    pub length: u64,
}

impl FileBlocks {
    /// None if the file can only be read from its beginning.
    pub(super) fn for_file(
        path: &Path,
        format: &'static Format,
        given: GivenViews,
    ) -> Option<Self> {
        // A custom reader may need the bytes before.
        let cut = format.cut.filter(|_| ALL.iter().any(|it| std::ptr::eq(*it, format)))?;
        let mut file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|it| it.is_file())?;
        let mut head = Vec::new();
        (&mut file).take(4).read_to_end(&mut head).ok()?;
        let (path, length) = (path.to_path_buf(), metadata.len());
        (!unpack::is_packed(&head)).then_some(Self { path, format, given, cut, length })
    }

    pub fn block_count(&self) -> u64 {
        self.length.div_ceil(self.cut.bytes)
    }

    /// Size of a range of blocks, in whole ones; the last one of the file is mostly shorter.
    pub fn size_in_blocks(&self, blocks: Range<u64>) -> f64 {
        let [start, end] = [blocks.start, blocks.end].map(|it| it * self.cut.bytes);
        (end.min(self.length) - start) as f64 / self.cut.bytes as f64
    }

    /// Opens a block as if it were a file; bad records are located in the whole file.
    pub fn open_block(&self, number: u64, limit: u64) -> Result<SampleSource, ReadError> {
        let failed = |error| ReadError::Io { path: self.path.clone(), error };
        let (from, bytes) = self.read_block(number).map_err(failed)?;
        let reader = (self.format.reader)(Box::new(Cursor::new(bytes)));
        Ok(SampleSource::new(&self.path, self.format, reader, limit).piece_at(from, self.given))
    }

    /// The bytes of a block, and where they begin.
    fn read_block(&self, number: u64) -> io::Result<(u64, Vec<u8>)> {
        let (from, size) = (number * self.cut.bytes, self.cut.bytes as usize);
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(from))?;
        let (mut bytes, mut more) = (Vec::with_capacity(size + MARGIN), size + MARGIN);
        let mut end = None;
        while end.is_none() {
            if bytes.len() > LONGEST {
                let reason =
                    format!("no record begins in {} MiB behind byte {from}", LONGEST >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            let read = (&mut file).take(more as u64).read_to_end(&mut bytes)?;
            let next = bytes.get(size..).and_then(self.cut.border).map(|end| size + end);
            end = next.or((read < more).then_some(bytes.len()));
            more = bytes.len();
        }
        bytes.truncate(end.unwrap_or(0));
        let start = if number == 0 { Some(0) } else { (self.cut.border)(&bytes) };
        let start = start.unwrap_or(bytes.len());
        bytes.drain(..start);
        Ok((from + start as u64, bytes))
    }
}

/// Bytes behind a block that are read with it, for its last record.
const MARGIN: usize = 1 << 12;
/// Bytes in which a record must begin: more than the largest one, a chunk of a binpack.
const LONGEST: usize = 128 << 20;
