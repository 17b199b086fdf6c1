//! Samples to a file that appears whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use liblzma::write::XzEncoder;

use super::{Format, Holds, Told, Writer};
use crate::output::{Output, OutputError};
use crate::sample::Sample;

/// Bytes are handed on in pieces of about this many.
const PIECE: usize = 1 << 16;
/// The usual level of xz.
const XZ_LEVEL: u32 = 6;

/// Why samples could not be written. No file is left behind.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write position {number} to {path} as {format}: {reason}")]
    Sample { path: PathBuf, format: &'static str, number: u64, reason: String },
    #[error(
        "cannot write {path} as {format}: positions do not hold what it wants; choose another \
         format"
    )]
    NoWriter { path: PathBuf, format: &'static str },
    #[error("no positions to write to {0}")]
    Empty(PathBuf),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// A file of samples under way, packed as its name says: `.gz`, `.zst`, `.xz` or not; `-` is
/// standard output.
pub struct Sink {
    path: PathBuf,
    format: &'static Format,
    writer: Box<dyn Writer>,
    bytes: Vec<u8>,
    compressor: Compressor,
    samples: u64,
    told: Told,
}

/// What a file holds that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub positions: u64,
    pub told: Told,
}

impl Sink {
    pub fn create(path: &Path, format: &'static Format) -> Result<Self, WriteError> {
        let Some(writer) = format.writer else {
            return Err(WriteError::NoWriter { path: path.to_path_buf(), format: format.name });
        };
        Ok(Self {
            path: path.to_path_buf(),
            format,
            writer: writer(),
            bytes: Vec::new(),
            compressor: Compressor::create(path)?,
            samples: 0,
            told: Told::default(),
        })
    }

    /// Whether positions that are left out of games are marked in them.
    pub fn marks(&self) -> bool {
        self.writer.marks()
    }

    /// Games are unknown in the file, whatever samples say.
    pub fn forget_games(&mut self) {
        self.told.games_lost |= self.format.facts.games != Holds::Never;
        self.writer.forget_games();
    }

    /// Adds a sample; after an error the file can only be given up.
    pub fn write(&mut self, sample: &Sample) -> Result<(), WriteError> {
        self.samples += 1;
        self.told.games_lost |= sample.game.is_some() && self.format.facts.games == Holds::Never;
        self.add(sample)
    }

    /// Leaves a sample out: marked in its game where the format can do that, not there elsewhere.
    pub fn leave_out(&mut self, sample: &Sample) -> Result<(), WriteError> {
        let in_game = sample.game.is_some() && sample.played.is_some();
        if in_game && self.writer.marks() { self.add(&sample.left_out()) } else { Ok(()) }
    }

    fn add(&mut self, sample: &Sample) -> Result<(), WriteError> {
        self.writer.write(sample, &mut self.bytes).map_err(|reason| WriteError::Sample {
            path: self.path.clone(),
            format: self.format.name,
            number: self.samples,
            reason,
        })?;
        if self.bytes.len() >= PIECE {
            self.hand_on()?;
        }
        Ok(())
    }

    /// Gives the file its name and tells what it holds; no positions are an error.
    pub fn finish(mut self) -> Result<Finished, WriteError> {
        if self.samples == 0 {
            return Err(WriteError::Empty(self.path));
        }
        self.writer.finish(&mut self.bytes);
        self.hand_on()?;
        self.compressor.finish()?;
        let Told { marked, games_lost } = self.writer.told();
        let told = Told { marked, games_lost: games_lost || self.told.games_lost };
        Ok(Finished { positions: self.samples, told })
    }

    fn hand_on(&mut self) -> Result<(), WriteError> {
        self.compressor.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// Writes samples to a file of a format and tells how many they were.
pub fn write_all<'a>(
    path: &Path,
    format: &'static Format,
    samples: impl IntoIterator<Item = &'a Sample>,
) -> Result<u64, WriteError> {
    let mut sink = Sink::create(path, format)?;
    for sample in samples {
        sink.write(sample)?;
    }
    Ok(sink.finish()?.positions)
}

enum Compressor {
    Plain(Output),
    Gz(GzEncoder<Output>),
    Zst(zstd::Encoder<'static, Output>),
    Xz(XzEncoder<Output>),
}

impl Compressor {
    fn create(path: &Path) -> Result<Self, OutputError> {
        let output = Output::stream(path)?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Ok(Compressor::Gz(GzEncoder::new(output, Compression::default()))),
            Some("zst") => zstd::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)
                .map(Compressor::Zst)
                .map_err(|error| OutputError::new(path, error)),
            Some("xz") => Ok(Compressor::Xz(XzEncoder::new(output, XZ_LEVEL))),
            Some("zip") => {
                let reason = "zip archives are only read; choose .zst";
                Err(OutputError::new(path, io::Error::new(io::ErrorKind::Unsupported, reason)))
            }
            _ => Ok(Compressor::Plain(output)),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let written = match self {
            Compressor::Plain(output) => output.write_all(bytes),
            Compressor::Gz(encoder) => encoder.write_all(bytes),
            Compressor::Zst(encoder) => encoder.write_all(bytes),
            Compressor::Xz(encoder) => encoder.write_all(bytes),
        };
        written.map_err(|error| self.output().failed(error))
    }

    fn output(&self) -> &Output {
        match self {
            Compressor::Plain(output) => output,
            Compressor::Gz(encoder) => encoder.get_ref(),
            Compressor::Zst(encoder) => encoder.get_ref(),
            Compressor::Xz(encoder) => encoder.get_ref(),
        }
    }

    fn finish(self) -> Result<(), OutputError> {
        let path = self.output().path().to_path_buf();
        let unpacked: io::Result<Output> = match self {
            Compressor::Plain(output) => Ok(output),
            Compressor::Gz(encoder) => encoder.finish(),
            Compressor::Zst(encoder) => encoder.finish(),
            Compressor::Xz(encoder) => encoder.finish(),
        };
        unpacked.map_err(|error| OutputError::new(&path, error))?.finish()
    }
}
