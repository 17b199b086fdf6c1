//! Blocks of a file, from one record's start to another's, which several threads can read.

use std::fs::File;
use std::io::{self, Cursor, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{ALL, Format, GivenViews, ReadError, SampleSource, unpack};

/// The starts of records of a format.
#[derive(Clone, Copy)]
pub struct RecordStarts {
    /// The number of bytes in which the records of a block begin.
    pub bytes: u64,
    /// The function that finds the offset of the first record that surely begins in some bytes, which
    /// start at a multiple of `bytes` in the file; none if more bytes are needed.
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
    /// The blocks of a file; none if the file can only be read from its beginning.
    pub(super) fn for_file(
        path: &Path,
        format: &'static Format,
        given: GivenViews,
    ) -> Option<Self> {
        // A custom reader may need the preceding bytes.
        let cut = format.cut.filter(|_| ALL.iter().any(|it| std::ptr::eq(*it, format)))?;
        let mut file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|it| it.is_file())?;
        let mut head = Vec::new();
        (&mut file).take(4).read_to_end(&mut head).ok()?;
        let blocks = Self { path: path.to_path_buf(), format, given, cut, length: metadata.len() };
        (!unpack::is_packed(&head)).then_some(blocks)
    }

    pub fn block_count(&self) -> u64 {
        self.length.div_ceil(self.cut.bytes)
    }

    /// The size of a range in whole blocks; the last block of the file is usually shorter.
    pub fn size_in_blocks(&self, blocks: Range<u64>) -> f64 {
        let [start, end] = [blocks.start, blocks.end].map(|it| it * self.cut.bytes);
        (end.min(self.length) - start) as f64 / self.cut.bytes as f64
    }

    /// Opens a block as a source; locations of bad records are those in the whole file.
    ///
    /// # Errors
    ///
    /// Fails with [`ReadError::Io`] if the file cannot be read, or if no record begins within 128
    /// MiB.
    pub fn open_block(&self, number: u64, limit: u64) -> Result<SampleSource, ReadError> {
        let failed = |error| ReadError::Io { path: self.path.clone(), error };
        let (block_start, bytes) = self.read_block(number).map_err(failed)?;
        let reader = (self.format.reader)(Box::new(Cursor::new(bytes)));
        Ok(SampleSource::new(&self.path, self.format, reader, limit)
            .piece_at(block_start, self.given))
    }

    /// Reads the bytes of a block, and returns their offset as well.
    fn read_block(&self, number: u64) -> io::Result<(u64, Vec<u8>)> {
        let block_start = number * self.cut.bytes;
        let size = self.cut.bytes as usize;
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(block_start))?;
        let mut wanted = size + MARGIN;
        let mut bytes = Vec::with_capacity(wanted);
        let end = loop {
            if bytes.len() > LONGEST {
                let reason =
                    format!("no record begins in {} MiB behind byte {block_start}", LONGEST >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            let read = (&mut file).take(wanted as u64).read_to_end(&mut bytes)?;
            let next = bytes.get(size..).and_then(self.cut.border).map(|end| size + end);
            if let Some(end) = next.or((read < wanted).then_some(bytes.len())) {
                break end;
            }
            wanted = bytes.len();
        };
        bytes.truncate(end);
        let start = if number == 0 { Some(0) } else { (self.cut.border)(&bytes) };
        let start = start.unwrap_or(bytes.len());
        bytes.drain(..start);
        Ok((block_start + start as u64, bytes))
    }
}

/// The number of bytes behind a block that are read with it, for its last record.
const MARGIN: usize = 1 << 12;
/// The number of bytes in which a record must begin: more than the largest, a chunk of a binpack.
const LONGEST: usize = 128 << 20;
