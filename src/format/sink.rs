//! Writing of samples to a file that is replaced atomically.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};

use super::{Format, RecordError, SampleWriter};
use crate::output::{Output, OutputError};
use crate::sample::Sample;

/// The approximate size of the blocks that are written.
const BLOCK: usize = 1 << 16;

/// The reason why samples cannot be written. No file is left behind.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum WriteError {
    #[error("cannot write position {number} to {path} as {format}: {reason}")]
    Sample { path: PathBuf, format: &'static str, number: u64, reason: RecordError },
    #[error(
        "cannot write {path} as {format}: positions lack facts that it needs; choose another format"
    )]
    NoWriter { path: PathBuf, format: &'static str },
    #[error("no positions to write to {0}")]
    Empty(PathBuf),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// An unfinished file of samples, compressed by its extension (`.gz`, `.zst`).
pub struct FileSink {
    path: PathBuf,
    format: &'static Format,
    writer: Box<dyn SampleWriter>,
    bytes: Vec<u8>,
    compressor: Compressor,
    samples: u64,
}

impl FileSink {
    /// Creates a file, which appears only once it is complete.
    ///
    /// # Errors
    ///
    /// Fails with [`WriteError::NoWriter`] if the format cannot be written, and with
    /// [`WriteError::Output`] if the file cannot be created.
    pub fn create_file(path: &Path, format: &'static Format) -> Result<Self, WriteError> {
        Ok(Self {
            path: path.to_path_buf(),
            format,
            writer: format.new_writer(path)?,
            bytes: Vec::new(),
            compressor: Compressor::create_file(path)?,
            samples: 0,
        })
    }

    /// Adds a sample; after an error the file must be abandoned.
    ///
    /// # Errors
    ///
    /// Fails with [`WriteError::Sample`] if the format cannot store the sample, and with
    /// [`WriteError::Output`] if the file cannot be written.
    pub fn write_sample(&mut self, sample: &Sample) -> Result<(), WriteError> {
        self.samples += 1;
        self.writer.write_sample(sample, &mut self.bytes).map_err(|reason| WriteError::Sample {
            path: self.path.clone(),
            format: self.format.name,
            number: self.samples,
            reason,
        })?;
        if self.bytes.len() >= BLOCK {
            self.hand_on()?;
        }
        Ok(())
    }

    /// Renames the finished file and returns the number of positions.
    ///
    /// # Errors
    ///
    /// Fails with [`WriteError::Empty`] without positions, and with [`WriteError::Output`] if the
    /// file cannot be written.
    pub fn finish_file(mut self) -> Result<u64, WriteError> {
        if self.samples == 0 {
            return Err(WriteError::Empty(self.path));
        }
        self.writer.finish_output(&mut self.bytes);
        self.hand_on()?;
        let packed = self.compressor.finish_stream();
        packed.map_err(|error| OutputError::new(&self.path, error))?.commit_file()?;
        Ok(self.samples)
    }

    fn hand_on(&mut self) -> Result<(), WriteError> {
        let written = self.compressor.write_all(&self.bytes);
        written.map_err(|error| OutputError::new(&self.path, error))?;
        self.bytes.clear();
        Ok(())
    }
}

enum Compressor {
    Plain(Output),
    Gz(GzEncoder<Output>),
    Zst(zstd::Encoder<'static, Output>),
}

impl Compressor {
    fn create_file(path: &Path) -> Result<Self, OutputError> {
        let output = Output::create_stream(path)?;
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Compressor::Gz(GzEncoder::new(output, Compression::default())),
            Some("zst") => Compressor::Zst(
                zstd::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)
                    .map_err(|error| OutputError::new(path, error))?,
            ),
            _ => Compressor::Plain(output),
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Compressor::Plain(output) => output.write_all(bytes),
            Compressor::Gz(encoder) => encoder.write_all(bytes),
            Compressor::Zst(encoder) => encoder.write_all(bytes),
        }
    }

    fn finish_stream(self) -> io::Result<Output> {
        match self {
            Compressor::Plain(output) => Ok(output),
            Compressor::Gz(encoder) => encoder.finish(),
            Compressor::Zst(encoder) => encoder.finish(),
        }
    }
}
