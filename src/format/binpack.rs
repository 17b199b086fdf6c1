//! Stockfish's binpack: chunks of chains; docs/formats.md has the layout. A chain is a position
//! with the move played there, then moves and scores that follow from it. Numbers are big-endian.
//! Lengths of chains are not stored, so the rest of a chunk is lost with a bad one.

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
/// Size that ends a chunk of the writer, after the chain that reaches it.
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

/// The start of a chunk and of its first chain.
fn find_border(bytes: &[u8]) -> Option<usize> {
    let begins = |at: &usize| {
        let (header, chunk) = bytes[*at..].split_at(HEADER);
        header.starts_with(MAGIC) && chain::begins_chain(chunk)
    };
    (0..bytes.len().saturating_sub(HEADER)).find(begins)
}

const HEADER: usize = 8;

struct BinpackReader {
    input: ByteInput,
    /// The current chunk, and how much of it is read.
    chunk: Vec<u8>,
    at: usize,
    /// Whether the file ends within the chunk.
    cut: bool,
    /// Where this chunk and the next one begin in the file.
    from: u64,
    next: u64,
    chains: u64,
    ended: bool,
}

impl BinpackReader {
    fn new(input: ByteInput) -> Self {
        let (chunk, at) = (Vec::new(), 0);
        Self { input, chunk, at, cut: false, from: 0, next: 0, chains: 0, ended: false }
    }

    /// Reads the next chunk; false at the end of the file.
    fn next_chunk(&mut self) -> Result<bool, Fault> {
        let mut header = [0; HEADER];
        let length = fill_buffer(&mut *self.input, &mut header)?;
        self.ended = length < header.len();
        if length == 0 {
            return Ok(false);
        }
        self.from = self.next;
        let [magic @ .., _, _, _, _] = header;
        let size = u32::from_le_bytes(*header.last_chunk().expect("8 bytes"));
        let reason = if self.ended {
            let words = "the file ends after {} of the 8 bytes that begin a chunk";
            RecordError::Number(words, length)
        } else if magic != *MAGIC {
            "a chunk does not begin with the bytes BINP".into()
        } else if size > LARGEST {
            let words = "a chunk has {} bytes, expected at most ";
            RecordError::Limit(words, size as usize, LARGEST as usize)
        } else {
            self.chunk.clear();
            // Grows with the data: the length may be wrong.
            let read = (&mut self.input).take(size.into()).read_to_end(&mut self.chunk)?;
            (self.at, self.chains, self.cut) = (0, 0, read < size as usize);
            self.next += (HEADER + read) as u64;
            return Ok(true);
        };
        self.ended = true;
        Err(Fault::CutOff(BadRecord { place: self.record_place(String::new()), reason }))
    }

    fn record_place(&self, rest: String) -> RecordPlace {
        RecordPlace::Byte("chunk", self.from, rest)
    }

    fn read_chain(&mut self, out: &mut Vec<Sample>) -> Result<(), Fault> {
        self.chains += 1;
        let kept = out.len();
        let broken = match chain::read_chain(&self.chunk[self.at..], out) {
            Ok(length) => {
                self.at += length;
                return Ok(());
            }
            Err(broken) => broken,
        };
        out.truncate(kept);
        let (moves, reason) = broken;
        let place = self.record_place(match moves {
            0 => format!(", chain {}", self.chains),
            _ => format!(", chain {}, move {moves}", self.chains),
        });
        let lost = self.chunk.len() - self.at;
        self.at = self.chunk.len();
        if std::mem::take(&mut self.cut) {
            let reason = "the file ends within the chunk".into();
            return Err(Fault::CutOff(BadRecord { place, reason }));
        }
        let reason = RecordError::Chain(reason.into(), lost);
        Err(Fault::Skipped(BadRecord { place, reason }))
    }
}

impl SampleReader for BinpackReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        if self.at < self.chunk.len() {
            self.read_chain(out)?;
        } else if std::mem::take(&mut self.cut) {
            let reason = "the file ends within the chunk".into();
            return Err(Fault::CutOff(BadRecord {
                place: self.record_place(String::new()),
                reason,
            }));
        } else {
            return Ok(!self.ended && self.next_chunk()?);
        }
        Ok(true)
    }
}

/// Chains samples that share a known [`Sample::game`] and result and follow from each other.
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
