//! Stockfish's binpack: chunks of chains; docs/formats.md has the layout. A chain is a position
//! with the move played there, then the following moves and scores. Numbers are big-endian. Lengths
//! of chains are not stored, so the rest of a chunk is lost after a bad chain.

mod board;
mod chain;

use std::io::Read;

use super::Presence::Sometimes;
use super::{
    BadRecord, ByteInput, Facts, Fault, Format, RecordError, RecordPlace, RecordStarts,
    SampleReader, SampleWriter, fill_buffer,
};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;
use chain::BinpackChain;

const MAGIC: &[u8; 4] = b"BINP";
const LARGEST: u32 = 100 << 20;
/// The size at which the writer ends a chunk, after the chain that reaches it.
const CHUNK: usize = 1 << 20;
pub static FORMAT: Format = Format {
    name: "binpack",
    about: "Stockfish's binpack; score in units of the engine, score and result from the side to \
         move's point of view; every move must be legal",
    extensions: &["binpack"],
    facts: Facts { scores: Sometimes, moves: Sometimes, games: Sometimes, ..Facts::ALL },
    view: PointOfView::SideToMove,
    recognises: |head| head.starts_with(MAGIC),
    reader: |input| Box::new(BinpackReader::new(input)),
    cut: Some(RecordStarts { bytes: CHUNK as u64, border: find_border }),
    writer: Some(|| Box::new(BinpackWriter::default())),
};

/// Finds the start of a chunk and of its first chain.
fn find_border(bytes: &[u8]) -> Option<usize> {
    let begins = |start: &usize| {
        let (header, chunk) = bytes[*start..].split_at(HEADER);
        header.starts_with(MAGIC) && chain::begins_chain(chunk)
    };
    (0..bytes.len().saturating_sub(HEADER)).find(begins)
}

const HEADER: usize = 8;

struct BinpackReader {
    input: ByteInput,
    /// The current chunk, and the number of its bytes that were read.
    chunk: Vec<u8>,
    offset: usize,
    /// Whether the file ends within the chunk.
    cut: bool,
    /// The offsets of this chunk and the next one in the file.
    start: u64,
    next: u64,
    chains: u64,
    ended: bool,
}

impl BinpackReader {
    fn new(input: ByteInput) -> Self {
        let chunk = Vec::new();
        Self { input, chunk, offset: 0, cut: false, start: 0, next: 0, chains: 0, ended: false }
    }

    /// Reads the next chunk; false at the end of the file.
    fn next_chunk(&mut self) -> Result<bool, Fault> {
        let mut header = [0; HEADER];
        let length = fill_buffer(&mut *self.input, &mut header)?;
        self.ended = length < header.len();
        if length == 0 {
            return Ok(false);
        }
        self.start = self.next;
        let [magic @ .., _, _, _, _] = header;
        let size = u32::from_le_bytes(*header.last_chunk().expect("8 bytes"));
        let reason = if self.ended {
            format!("the file ends after {length} of the 8 bytes that begin a chunk").into()
        } else if magic != *MAGIC {
            "a chunk does not begin with the bytes BINP".into()
        } else if size > LARGEST {
            format!("a chunk has {size} bytes, expected at most {LARGEST}").into()
        } else {
            self.chunk.clear();
            // The buffer grows with the data, since the length may be wrong.
            let read = (&mut self.input).take(size.into()).read_to_end(&mut self.chunk)?;
            self.offset = 0;
            self.chains = 0;
            self.cut = read < size as usize;
            self.next += (HEADER + read) as u64;
            return Ok(true);
        };
        self.ended = true;
        Err(Fault::CutOff(BadRecord { location: self.record_place(String::new()), reason }))
    }

    fn record_place(&self, rest: String) -> RecordPlace {
        RecordPlace::Byte("chunk", self.start, rest)
    }

    fn cut_within_chunk(&self, location: RecordPlace) -> Fault {
        Fault::CutOff(BadRecord { location, reason: "the file ends within the chunk".into() })
    }

    fn read_chain(&mut self, out: &mut Vec<Sample>) -> Result<(), Fault> {
        self.chains += 1;
        let first = out.len();
        let (moves, reason) = match chain::read_chain(&self.chunk[self.offset..], out) {
            Ok(length) => {
                self.offset += length;
                return Ok(());
            }
            Err(error) => error,
        };
        out.truncate(first);
        let location = self.record_place(match moves {
            0 => format!(", chain {}", self.chains),
            _ => format!(", chain {}, move {moves}", self.chains),
        });
        let lost = self.chunk.len() - self.offset;
        self.offset = self.chunk.len();
        if std::mem::take(&mut self.cut) {
            return Err(self.cut_within_chunk(location));
        }
        let reason = format!("{reason}; the last {lost} bytes of the chunk are lost with it");
        Err(Fault::Skipped(BadRecord { location, reason: reason.into() }))
    }
}

impl SampleReader for BinpackReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        if self.offset < self.chunk.len() {
            self.read_chain(out)?;
        } else if std::mem::take(&mut self.cut) {
            return Err(self.cut_within_chunk(self.record_place(String::new())));
        } else {
            return Ok(!self.ended && self.next_chunk()?);
        }
        Ok(true)
    }
}

/// A writer that chains successive samples with the same known [`Sample::game`] and result.
#[derive(Default)]
struct BinpackWriter {
    chunk: Vec<u8>,
    chain: Option<BinpackChain>,
}

impl SampleWriter for BinpackWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        if let Some(chain) = &mut self.chain
            && chain.append_sample(sample)?
        {
            return Ok(());
        }
        self.chain.take().into_iter().for_each(|chain| chain.end_chain(&mut self.chunk));
        if self.chunk.len() >= CHUNK {
            self.end_chunk(out);
        }
        self.chain = Some(BinpackChain::begin_chain(sample)?);
        Ok(())
    }

    fn finish_output(&mut self, out: &mut Vec<u8>) {
        self.chain.take().into_iter().for_each(|chain| chain.end_chain(&mut self.chunk));
        if !self.chunk.is_empty() {
            self.end_chunk(out);
        }
    }
}

impl BinpackWriter {
    fn end_chunk(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        let size = u32::try_from(self.chunk.len()).expect("a chain has at most 65,535 moves");
        out.extend_from_slice(&size.to_le_bytes());
        out.append(&mut self.chunk);
    }
}
